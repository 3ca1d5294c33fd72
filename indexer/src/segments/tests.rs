//! tantivy's own writer is the oracle: the same documents must give the same terms, postings, positions, lengths, columns and
//! stored texts.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use seine_common::document_id::DocumentId;
use tantivy::indexer::NoMergePolicy;
use tantivy::postings::Postings as _;
use tantivy::schema::{Document, IndexRecordOption, TantivyDocument};
use tantivy::{DocSet, Index, SegmentReader, TERMINATED};

use super::*;
use crate::anchors::{Anchors, Link};
use crate::document::Budget;
use crate::entry::{Entry, Page};
use crate::known_pages::Form;
use crate::likeness::Likeness;
use crate::version::Version;

fn new_index() -> Index {
    let index = Index::create_in_ram(schema::schema().0);
    schema::register_tokenizer(&index);
    index
}

fn document(entry: &Entry, called: &[String]) -> PageDocument {
    let id = DocumentId::of(entry.url());
    let permit = Budget::new(1 << 20).take(1, Duration::ZERO).expect("the budget is new");
    let form = match entry {
        Entry::Page(page) => Form::Shown(Likeness::of(page, &id)),
        Entry::Gone { .. } => Form::Gone,
    };
    let anchors = Anchors { texts: called.to_vec(), digest: called.len() as u64 };
    PageDocument::new(schema::schema().1, id, entry.clone(), form, anchors, permit)
}

fn pages(texts: Vec<(String, String, Vec<String>)>) -> Vec<(Entry, Vec<String>)> {
    let page = |(number, (title, text, called)): (usize, (String, String, Vec<String>))| {
        let url = format!("http://example.org/{number}");
        if text.is_empty() {
            let version = Version { epoch: 1, fetched_at_ms: 2, token: 3, gone: true };
            return (Entry::Gone { url, version }, Vec::new());
        }
        let links = [Link::new("http://example.org/0", &title), Link::new("http://example.org/1", "next")];
        let page = Page {
            url,
            title,
            lang: if number % 3 == 0 { "cs".to_owned() } else { "en".to_owned() },
            rest: text.chars().rev().collect(),
            text,
            crawl: "test".to_owned(),
            content_type: "text/html".to_owned(),
            simhash: number as u64 % 4,
            links: links.into_iter().flatten().collect(),
            ..Page::default()
        };
        (Entry::Page(Box::new(page)), called)
    };
    texts.into_iter().enumerate().map(page).collect()
}

fn by_tantivy(pages: &[(Entry, Vec<String>)]) -> Index {
    let index = new_index();
    let mut writer: IndexWriter<PageDocument> = index.writer_with_num_threads(1, TANTIVY_ARENA_BYTES).unwrap();
    for (entry, called) in pages {
        writer.add_document(document(entry, called)).unwrap();
    }
    writer.commit().unwrap();
    index
}

fn by_us(pages: &[(Entry, Vec<String>)]) -> Index {
    let index = new_index();
    let mut segments = Segments::open(&index, 1, 1 << 30, Box::new(NoMergePolicy)).unwrap();
    for (entry, called) in pages {
        segments.add(document(entry, called), false).unwrap();
    }
    segments.commit("").unwrap();
    index
}

/// A document, and where the term stands in it.
type Standing = Vec<(u32, Vec<u32>)>;

fn terms(segment: &SegmentReader) -> BTreeMap<(String, Vec<u8>), Standing> {
    let mut found = BTreeMap::new();
    for (field, entry) in segment.schema().fields().filter(|(_, entry)| entry.is_indexed()) {
        let inverted = segment.inverted_index(field).unwrap();
        found.insert(
            (format!("{} tokens", entry.name()), Vec::new()),
            vec![(0, vec![inverted.total_num_tokens() as u32])],
        );
        let mut terms = inverted.terms().stream().unwrap();
        while terms.advance() {
            let option = IndexRecordOption::WithFreqsAndPositions;
            let mut postings = inverted.read_postings_from_terminfo(terms.value(), option).unwrap();
            let mut documents = Vec::new();
            while postings.doc() != TERMINATED {
                let mut positions = Vec::new();
                postings.positions(&mut positions);
                positions.push(postings.term_freq());
                documents.push((postings.doc(), positions));
                postings.advance();
            }
            found.insert((entry.name().to_owned(), terms.key().to_vec()), documents);
        }
    }
    found
}

fn lengths(segment: &SegmentReader) -> Vec<(String, Vec<u8>)> {
    let fields = segment.schema().fields().filter(|(_, entry)| entry.is_indexed() && entry.has_fieldnorms());
    let of_field = fields.filter_map(|(field, entry)| {
        let reader = segment.get_fieldnorms_reader(field).ok()?;
        Some((entry.name().to_owned(), (0..segment.max_doc()).map(|doc| reader.fieldnorm_id(doc)).collect()))
    });
    of_field.collect()
}

/// Host, date and simhash of a document.
type Row = (Option<u64>, Option<i64>, Option<u64>);

fn columns(segment: &SegmentReader) -> Vec<Row> {
    let columns = segment.fast_fields();
    let (host, date) = (columns.u64(schema::HOST).unwrap(), columns.i64(schema::DATE).unwrap());
    let simhash = columns.u64(schema::SIMHASH).unwrap();
    let of = |doc| (host.first(doc), date.first(doc), simhash.first(doc));
    (0..segment.max_doc()).map(of).collect()
}

fn stored(index: &Index) -> Vec<String> {
    let searcher = index.reader().unwrap().searcher();
    let schema = index.schema();
    let documents = searcher.segment_readers().iter().flat_map(|segment| {
        let store = segment.get_store_reader(0).unwrap();
        segment.doc_ids_alive().map(|doc| store.get::<TantivyDocument>(doc).unwrap()).collect::<Vec<_>>()
    });
    documents.map(|document| document.to_json(&schema)).collect()
}

fn one_segment(index: &Index) -> SegmentReader {
    let searcher = index.reader().unwrap().searcher();
    assert_eq!(searcher.segment_readers().len(), 1);
    searcher.segment_reader(0).clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_segment_is_what_tantivy_makes_of_the_same_documents(
        texts in proptest::collection::vec(
            ("[a-c]{1,2}( [a-c]{1,2}s?){0,3}", "([a-d]{1,3}(ing|s)? |snake_case |中国 |3\\.14 |.){0,40}", proptest::collection::vec("[a-c ]{0,6}", 0..4)),
            1..200,
        ),
    ) {
        let pages = pages(texts);
        let (ours, oracle) = (by_us(&pages), by_tantivy(&pages));
        let (our_segment, expected) = (one_segment(&ours), one_segment(&oracle));
        prop_assert_eq!(our_segment.max_doc(), expected.max_doc());
        prop_assert_eq!(terms(&our_segment), terms(&expected));
        prop_assert_eq!(lengths(&our_segment), lengths(&expected));
        prop_assert_eq!(columns(&our_segment), columns(&expected));
        prop_assert_eq!(stored(&ours), stored(&oracle));
    }
}

#[test]
fn a_later_version_replaces_an_earlier_one_wherever_that_is() {
    // All in one segment for each thread, or each in its own.
    for memory_bytes in [1 << 30, 1] {
        replace_versions(memory_bytes);
    }
}

fn replace_versions(memory_bytes: usize) {
    let index = new_index();
    let mut segments = Segments::open(&index, 2, memory_bytes, Box::new(NoMergePolicy)).unwrap();
    let page = |number: u32, text: &str| {
        let page = Page { url: format!("http://example.org/{number}"), text: text.to_owned(), ..Page::default() };
        document(&Entry::Page(Box::new(page)), &[])
    };
    // Committed, flushed and not, and in the segment that is being built.
    for number in 0..40 {
        segments.add(page(number, "first"), false).unwrap();
    }
    segments.commit("").unwrap();
    for (number, text) in (0..40).zip(["second"; 40]).chain((0..20).zip(["third"; 20])) {
        segments.add(page(number, text), true).unwrap();
    }
    segments.commit("").unwrap();
    let texts = |word: &str| stored(&index).iter().filter(|document| document.contains(word)).count();
    assert_eq!((stored(&index).len(), texts("first"), texts("second"), texts("third")), (40, 0, 20, 20));
}

#[test]
fn documents_that_take_more_memory_than_is_set_become_several_segments() {
    let index = new_index();
    let mut segments = Segments::open(&index, 1, 1, Box::new(NoMergePolicy)).unwrap();
    for (entry, called) in pages(vec![("a".to_owned(), "b".to_owned(), Vec::new()); 5]) {
        segments.add(document(&entry, &called), false).unwrap();
    }
    segments.commit("payload").unwrap();
    assert_eq!(index.reader().unwrap().searcher().segment_readers().len(), 5);
    assert_eq!(index.load_metas().unwrap().payload.as_deref(), Some("payload"));
}

#[test]
fn what_is_not_committed_is_forgotten() {
    let index = new_index();
    let pages = pages(vec![("a".to_owned(), "b".to_owned(), Vec::new()); 3]);
    for _ in 0..2 {
        let mut segments = Segments::open(&index, 2, 1, Box::new(NoMergePolicy)).unwrap();
        for (entry, called) in &pages {
            segments.add(document(entry, called), false).unwrap();
        }
    }
    assert_eq!(stored(&index).len(), 0);
}
