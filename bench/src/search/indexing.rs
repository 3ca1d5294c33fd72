//! Writes the corpus into an index: by Seine's writer, and by tantivy's own with the same schema, words, memory and
//! commits.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use seine_common::document_id::DocumentId;
use seine_indexer::entry::{Entry, Page};
use seine_indexer::tokenizer::mark;
use seine_indexer::writer::DocumentWriter;
use seine_indexer::{Indexer, IndexerConfig, count, publish, schema};
use serde::Serialize;
use tantivy::{Index, IndexWriter, TantivyDocument};

use super::corpus::Corpus;

const DOCUMENTS_PER_COMMIT: u32 = 5_000;

/// Documents per second of wall-clock time, the final commit included.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Speeds {
    pub documents: u32,
    pub seine: f64,
    pub tantivy: f64,
}

pub fn compare(corpus: &Corpus, documents: u32, work: &Path) -> anyhow::Result<Speeds> {
    // Made before, so that only the writing is measured.
    let pages: Vec<Page> = (0..documents).map(|number| corpus.page(number)).collect();
    let config = IndexerConfig::default();
    let seine = by_seine(pages.iter().cloned(), &work.join("index-seine"), &config)?;
    let tantivy = by_tantivy(pages.into_iter(), &work.join("index-tantivy"), &config)?;
    let per_second = |took: Duration| f64::from(documents) / took.as_secs_f64();
    Ok(Speeds { documents, seine: per_second(seine), tantivy: per_second(tantivy) })
}

/// The whole corpus as the index of a data directory, unless it is there from an earlier run.
pub fn ensure_index(corpus: &Corpus, documents: u32, data: &Path) -> anyhow::Result<()> {
    let root = data.join("index");
    if is_complete(&root, documents) {
        return Ok(());
    }
    eprintln!("indexing {documents} documents once, for this and later runs");
    if data.exists() {
        std::fs::remove_dir_all(data)?;
    }
    let config = IndexerConfig { memory_bytes: 256 << 20, ..IndexerConfig::default() };
    by_seine((0..documents).map(|number| corpus.page(number)), &root, &config)?;
    Ok(())
}

fn is_complete(root: &Path, documents: u32) -> bool {
    let Ok(Some(path)) = publish::current(root) else { return false };
    let Ok(index) = publish::open(&path) else { return false };
    if index.schema() != schema::schema().0 {
        return false;
    }
    let counted = index.reader().and_then(|reader| count::documents(&reader.searcher()));
    counted.is_ok_and(|counted| counted == u64::from(documents))
}

fn by_seine(pages: impl Iterator<Item = Page>, root: &Path, config: &IndexerConfig) -> anyhow::Result<Duration> {
    Indexer::open(root, config.clone())?;
    let current = publish::current(root)?.context("the new index is not there")?;
    let started = Instant::now();
    let mut writer = DocumentWriter::open(&current, config)?;
    for (number, page) in (1..).zip(pages) {
        writer.apply(Entry::Page(Box::new(page)))?;
        if number % DOCUMENTS_PER_COMMIT == 0 {
            writer.commit()?;
        }
    }
    writer.commit()?;
    let took = started.elapsed();
    // What merges in the background is not waited for here, and not in the other.
    drop(writer);
    Ok(took)
}

fn by_tantivy(pages: impl Iterator<Item = Page>, root: &Path, config: &IndexerConfig) -> anyhow::Result<Duration> {
    std::fs::create_dir_all(root)?;
    let (schema, fields) = schema::schema();
    let index = Index::builder().schema(schema).settings(schema::settings()).create_in_dir(root)?;
    schema::register_tokenizer(&index);
    let started = Instant::now();
    let mut writer: IndexWriter = index.writer_with_num_threads(config.threads, config.memory_bytes)?;
    for (number, mut page) in (1..).zip(pages) {
        for text in [&mut page.title, &mut page.text] {
            mark(text, &page.lang);
        }
        let mut document = TantivyDocument::new();
        document.add_bytes(fields.id, DocumentId::of(&page.url).as_bytes());
        let host = page.url.split('/').nth(2).unwrap_or_default();
        for site in [host, "example"] {
            document.add_text(fields.site, site);
        }
        document.add_text(fields.host_name, host);
        let texts = [
            (fields.url, &page.url),
            (fields.address, &page.url),
            (fields.title, &page.title),
            (fields.text, &page.text),
            (fields.crawl, &page.crawl),
            (fields.lang, &page.lang),
            (fields.content_type, &page.content_type),
        ];
        for (field, text) in texts {
            document.add_text(field, text);
        }
        document.add_u64(fields.host, u64::from(number));
        document.add_u64(fields.bytes, page.bytes);
        document.add_u64(fields.token, page.token);
        document.add_u64(fields.simhash, page.simhash);
        document.add_i64(fields.date, page.fetched_at_ms);
        document.add_i64(fields.fetched_at, page.fetched_at_ms);
        writer.add_document(document)?;
        if number % DOCUMENTS_PER_COMMIT == 0 {
            writer.commit()?;
        }
    }
    writer.commit()?;
    let took = started.elapsed();
    writer.wait_merging_threads()?;
    Ok(took)
}
