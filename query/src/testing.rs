//! An index with a few pages, for the tests of this crate.

use std::path::PathBuf;
use std::sync::LazyLock;

use seine_indexer::entry::{Entry, Page};
use seine_indexer::schema::{self, Fields};
use seine_indexer::version::Version;
use seine_indexer::writer::DocumentWriter;
use seine_indexer::{Indexer, IndexerConfig, publish};
use tantivy::{Index, Searcher};

use crate::parse::parse;
use crate::plan::{Plan, plan};
use crate::request::SearchRequest;
use crate::search::{QueryConfig, QueryService};
use crate::weights::RankingWeights;

pub struct TestIndex {
    root: tempfile::TempDir,
    next_time: i64,
}

impl TestIndex {
    /// Nothing on disk yet.
    pub fn absent() -> Self {
        Self { root: tempfile::tempdir().unwrap(), next_time: 1_700_000_000_000 }
    }

    pub fn of(pages: &[(&str, &str, &str)]) -> Self {
        let mut index = Self::absent();
        index.add(pages.iter().map(|(url, title, text)| page(url, title, text)));
        index
    }

    pub fn path(&self) -> PathBuf {
        self.root.path().join("index")
    }

    pub fn service(&self) -> QueryService {
        QueryService::open(&self.path(), QueryConfig::default()).unwrap()
    }

    /// Commits the pages, each as fetched later than all before.
    pub fn add(&mut self, pages: impl IntoIterator<Item = Page>) {
        let mut writer = self.writer();
        for mut page in pages {
            self.next_time += 1;
            page.fetched_at_ms = self.next_time;
            writer.apply(Entry::Page(Box::new(page))).unwrap();
        }
        writer.commit().unwrap();
        while writer.has_lazy_work() {
            writer.fold_anchors(usize::MAX).unwrap();
            writer.commit().unwrap();
        }
    }

    pub fn withdraw(&mut self, url: &str) {
        self.next_time += 1;
        let version = Version { epoch: 0, fetched_at_ms: self.next_time, token: 0, gone: true };
        let mut writer = self.writer();
        writer.apply(Entry::Gone { url: url.to_owned(), version }).unwrap();
        writer.commit().unwrap();
    }

    fn writer(&self) -> DocumentWriter {
        let config = IndexerConfig { memory_bytes: 15 << 20, ..IndexerConfig::default() };
        Indexer::open(&self.path(), config.clone()).unwrap();
        let current = publish::current(&self.path()).unwrap().unwrap();
        DocumentWriter::open(&current, &config).unwrap()
    }
}

/// What a query means to an index that has nothing yet.
pub fn plan_without_index(query: &str, lang: &str) -> Plan {
    static EMPTY: LazyLock<(Searcher, Fields)> = LazyLock::new(|| {
        let (schema, fields) = schema::schema();
        let index = Index::create_in_ram(schema);
        schema::register_tokenizer(&index);
        (index.reader().unwrap().searcher(), fields)
    });
    let request = SearchRequest { lang: Some(lang.to_owned()), ..SearchRequest::default() }.check().unwrap();
    let (searcher, fields) = &*EMPTY;
    plan(&parse(query), &request, searcher, fields, &RankingWeights::default()).unwrap()
}

pub fn page(url: &str, title: &str, text: &str) -> Page {
    Page {
        url: url.to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        crawl: "test".to_owned(),
        ..Page::default()
    }
}
