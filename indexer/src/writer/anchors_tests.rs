use std::collections::BTreeMap;

use proptest::prelude::*;
use tantivy::collector::DocSetCollector;
use tantivy::query::{Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{TantivyDocument, Term};

use super::*;
use crate::anchors::Link;
use crate::entry::Page;
use crate::version::Version;

/// Words that no stemmer changes.
const WORDS: [&str; 4] = ["gauge", "level", "tide", "weir"];

fn config() -> IndexerConfig {
    IndexerConfig { memory_bytes: 1 << 20, threads: 2, ..IndexerConfig::default() }
}

fn new_index() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let (path, _) = publish::open_or_create(root.path()).unwrap();
    (root, path)
}

fn url(number: usize) -> String {
    format!("http://host-{}.example/{number}", number % 3)
}

/// Page `number`, which calls others by these words.
fn page(number: usize, at: i64, links: &[(usize, &str)]) -> Entry {
    let links = links.iter().map(|(target, text)| Link::new(&url(*target), text).unwrap()).collect();
    let text = format!("page {number}");
    Entry::Page(Box::new(Page { url: url(number), text, fetched_at_ms: at, links, ..Page::default() }))
}

fn gone(number: usize, at: i64) -> Entry {
    Entry::Gone { url: url(number), version: Version { epoch: 0, fetched_at_ms: at, token: 0, gone: true } }
}

/// The pages that are called so.
fn called(writer: &DocumentWriter, word: &str) -> Vec<String> {
    let (_, fields) = schema::schema();
    let searcher = writer.reader().searcher();
    let query: Box<dyn Query> =
        Box::new(TermQuery::new(Term::from_field_text(fields.anchors, word), IndexRecordOption::Basic));
    let found = searcher.search(&query, &DocSetCollector).unwrap();
    let url = |address| {
        let document: TantivyDocument = searcher.doc(address).unwrap();
        document.get_first(fields.url).and_then(|url| url.as_str()).unwrap_or_default().to_owned()
    };
    let mut urls: Vec<String> = found.into_iter().map(url).collect();
    urls.sort();
    urls
}

/// Until nothing is left to do.
fn settle(writer: &mut DocumentWriter) {
    writer.commit().unwrap();
    while writer.has_lazy_work() {
        writer.fold_anchors(20).unwrap();
        writer.commit().unwrap();
    }
}

#[test]
fn what_others_call_a_page_is_folded_into_it_at_once_or_later_and_goes_with_them() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    writer.apply(page(1, 1, &[(2, "gauge")])).unwrap();
    writer.commit().unwrap();
    // One comes after others spoke of it, one before.
    writer.apply(page(2, 1, &[(3, "tide")])).unwrap();
    writer.apply(page(3, 1, &[])).unwrap();
    writer.commit().unwrap();
    assert_eq!((called(&writer, "gauge"), called(&writer, "tide")), (vec![url(2)], vec![]));
    settle(&mut writer);
    assert_eq!((called(&writer, "gauge"), called(&writer, "tide")), (vec![url(2)], vec![url(3)]));
    assert_eq!(writer.documents().unwrap(), 3);
    // A page that was written again still says what it said.
    writer.apply(page(1, 2, &[(2, "weir")])).unwrap();
    settle(&mut writer);
    assert_eq!((called(&writer, "gauge"), called(&writer, "weir")), (vec![], vec![url(2)]));
    writer.apply(gone(2, 3)).unwrap();
    settle(&mut writer);
    assert_eq!((called(&writer, "weir"), called(&writer, "tide")), (vec![], vec![]));
    assert_eq!(writer.documents().unwrap(), 2);
}

#[test]
fn what_was_left_to_do_is_done_after_a_kill() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    writer.apply(page(2, 1, &[])).unwrap();
    writer.apply(page(1, 1, &[(2, "gauge")])).unwrap();
    writer.commit().unwrap();
    writer.fold_anchors(20).unwrap();
    drop(writer);
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    assert_eq!(called(&writer, "gauge"), Vec::<String>::new());
    settle(&mut writer);
    assert_eq!(called(&writer, "gauge"), [url(2)]);
}

#[test]
fn a_walk_goes_on_where_it_stopped_until_every_page_has_its_anchors() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    let pages = 70;
    for number in 0..pages {
        writer.apply(page(number, 1, &[((number + 1) % pages, "gauge")])).unwrap();
    }
    writer.commit().unwrap();
    writer.fold_anchors(20).unwrap();
    writer.commit().unwrap();
    assert_eq!(called(&writer, "gauge").len(), 20);
    settle(&mut writer);
    assert_eq!(called(&writer, "gauge").len(), pages);
    writer.fold_anchors(20).unwrap();
    assert!(!writer.has_uncommitted(), "nothing is written twice");
}

#[test]
fn a_page_that_very_many_speak_of_is_settled_too() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    writer.apply(page(0, 1, &[])).unwrap();
    for number in 1..1_500 {
        writer.apply(page(number, 1, &[(0, &format!("gauge {number}"))])).unwrap();
        if number % 500 == 0 {
            writer.commit().unwrap();
        }
    }
    settle(&mut writer);
    assert_eq!(called(&writer, "gauge"), [url(0)]);
    assert!(writer.committed.outdated(0, usize::MAX, 10, &writer.fields).unwrap().pages.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Page(usize, Vec<(usize, usize)>),
    Gone(usize),
    Commit,
    Fold,
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let links = prop::collection::vec((0..8usize, 0..WORDS.len()), 0..5);
    let step = prop_oneof![
        6 => (0..8usize, links).prop_map(|(number, links)| Step::Page(number, links)),
        1 => (0..8usize).prop_map(Step::Gone),
        3 => Just(Step::Commit),
        2 => Just(Step::Fold),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn in_the_end_every_page_is_called_what_the_others_call_it(steps in steps()) {
        let (_root, path) = new_index();
        let mut writer = DocumentWriter::open(&path, &config()).unwrap();
        let mut committed: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        let mut living = committed.clone();
        for (at, step) in steps.into_iter().enumerate() {
            match step {
                Step::Page(number, links) => {
                    let words: Vec<(usize, &str)> = links.iter().map(|(target, word)| (*target, WORDS[*word])).collect();
                    writer.apply(page(number, at as i64, &words)).unwrap();
                    living.insert(number, links);
                }
                Step::Gone(number) => {
                    writer.apply(gone(number, at as i64)).unwrap();
                    living.remove(&number);
                }
                Step::Commit => {
                    writer.commit().unwrap();
                    committed = living.clone();
                }
                Step::Fold => writer.fold_anchors(20).unwrap(),
                Step::Kill => {
                    drop(writer);
                    writer = DocumentWriter::open(&path, &config()).unwrap();
                    living = committed.clone();
                }
            }
        }
        settle(&mut writer);
        for (number, word) in WORDS.iter().enumerate() {
            let mut expected: Vec<String> = living.values().flatten()
                .filter(|(target, said)| *said == number && living.contains_key(target))
                .map(|(target, _)| url(*target)).collect();
            expected.sort();
            expected.dedup();
            prop_assert_eq!(called(&writer, word), expected);
        }
        prop_assert_eq!(writer.documents().unwrap(), living.len() as u64);
    }
}
