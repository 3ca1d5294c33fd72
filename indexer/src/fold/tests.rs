use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use tantivy::TantivyDocument;
use tantivy::collector::DocSetCollector;
use tantivy::query::AllQuery;
use tantivy::schema::Value;

use super::*;
use crate::checkpoint::LogProgress;
use crate::entry::{Entry, Page};
use crate::version::Version;
use crate::writer::DocumentWriter;
use crate::{IndexerConfig, publish, schema};

const LOG: &str = "log";

fn config() -> IndexerConfig {
    IndexerConfig { memory_bytes: 15 << 20, ..IndexerConfig::default() }
}

fn new_index() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let (path, _) = publish::open_or_create(root.path()).unwrap();
    (root, path)
}

fn open(path: &std::path::Path) -> DocumentWriter {
    DocumentWriter::open(path, &config()).unwrap()
}

/// Long enough for its simhash to count.
fn page(url: &str, at: i64, simhash: u64) -> Page {
    Page {
        url: url.to_owned(),
        crawl: "test".to_owned(),
        title: format!("Title of {url}"),
        headings: "Heading\n".to_owned(),
        text: format!("{} as fetched at {at}", "word ".repeat(60)),
        rest: "Menu".to_owned(),
        lang: "en".to_owned(),
        simhash,
        fingerprint: 1,
        fetched_at_ms: at,
        date_ms: 5,
        ..Page::default()
    }
}

fn entry(page: Page) -> Entry {
    Entry::Page(Box::new(page))
}

fn gone(url: &str, at: i64) -> Entry {
    Entry::Gone { url: url.to_owned(), version: Version { epoch: 0, fetched_at_ms: at, token: 0, gone: true } }
}

/// URL and text of what is shown, and the URLs of what is folded. Each of these has a leader that is shown and that it is
/// like.
fn contents(writer: &DocumentWriter) -> (BTreeMap<String, String>, Vec<String>) {
    let searcher = writer.reader().searcher();
    let fields = schema::schema().1;
    let pages = KnownPages::of(&searcher, &fields).unwrap();
    let (mut shown, mut leaders) = (BTreeMap::new(), HashMap::new());
    let mut folded = BTreeMap::new();
    for address in searcher.search(&AllQuery, &DocSetCollector).unwrap() {
        let document: TantivyDocument = searcher.doc(address).unwrap();
        let value = |field| document.get_first(field).and_then(|value| value.as_str().map(str::to_owned));
        let url = value(fields.url).unwrap();
        match pages.get(&DocumentId::of(&url), &fields).unwrap().unwrap().form {
            Form::Gone => {}
            Form::Shown(likeness) => {
                leaders.extend(likeness.map(|likeness| (likeness.rank, likeness)));
                assert!(shown.insert(url.clone(), value(fields.text).unwrap()).is_none(), "{url} is there twice");
            }
            Form::Folded { likeness, leader } => {
                assert!(folded.insert(url.clone(), (likeness, leader)).is_none(), "{url} is there twice");
            }
        }
    }
    for (url, (likeness, leader)) in &folded {
        assert!(leaders.get(leader).is_some_and(|leader| leader.folds(likeness)), "{url} has no leader");
    }
    assert_eq!(writer.documents().unwrap(), (shown.len() + folded.len()) as u64);
    (shown, folded.into_keys().collect())
}

fn shown(writer: &DocumentWriter) -> Vec<String> {
    contents(writer).0.into_keys().collect()
}

#[test]
fn of_alike_pages_one_is_shown_and_another_takes_its_place_when_it_goes() {
    let (_root, path) = new_index();
    let mut writer = open(&path);
    writer.apply(entry(page("http://a.example/copy", 1, 0b111))).unwrap();
    writer.apply(entry(page("http://a.example/", 1, 0b1))).unwrap();
    writer.apply(entry(page("http://a.example/print", 1, 0b1))).unwrap();
    writer.apply(entry(page("http://other.example/", 1, u64::MAX))).unwrap();
    writer.commit().unwrap();
    assert_eq!(shown(&writer), ["http://a.example/", "http://other.example/"]);
    writer.apply(gone("http://a.example/", 2)).unwrap();
    writer.commit().unwrap();
    assert_eq!(shown(&writer), ["http://a.example/copy", "http://other.example/"]);
    // Changed into something else, it gives way to the last one.
    writer.apply(entry(page("http://a.example/copy", 3, u64::MAX << 32))).unwrap();
    writer.commit().unwrap();
    assert_eq!(shown(&writer), ["http://a.example/copy", "http://a.example/print", "http://other.example/"]);
}

#[test]
fn a_page_that_was_folded_and_unfolded_is_found_as_before() {
    let (_root, path) = new_index();
    let mut writer = open(&path);
    let first = page("http://a.example/longer", 7, 9);
    writer.apply(entry(first.clone())).unwrap();
    writer.commit().unwrap();
    let before = stored_page(&writer, &first.url);
    writer.apply(entry(page("http://a.example/", 8, 9))).unwrap();
    writer.commit().unwrap();
    assert_eq!(contents(&writer).1, ["http://a.example/longer"]);
    writer.apply(gone("http://a.example/", 9)).unwrap();
    writer.commit().unwrap();
    let after = stored_page(&writer, &first.url);
    assert_eq!(before, after);
    assert_eq!(after, Page { simhash: 0, fingerprint: 0, ..first });
}

fn stored_page(writer: &DocumentWriter, url: &str) -> Page {
    let fields = schema::schema().1;
    let searcher = writer.reader().searcher();
    let pages = KnownPages::of(&searcher, &fields).unwrap();
    let known = pages.get(&DocumentId::of(url), &fields).unwrap().unwrap();
    assert!(matches!(known.form, Form::Shown(Some(_))), "{known:?}");
    crate::stored::page(&searcher, known.address.unwrap(), known.version, &fields).unwrap()
}

#[test]
fn pages_of_few_words_are_folded_only_when_text_and_title_are_equal() {
    let (_root, path) = new_index();
    let mut writer = open(&path);
    let short = |url: &str, title: &str, fingerprint| Page {
        title: title.to_owned(),
        text: "few words".to_owned(),
        fingerprint,
        ..page(url, 1, 9)
    };
    for page in [short("a", "T", 5), short("bb", "T", 5), short("ccc", "Other", 5), short("dddd", "T", 6)] {
        writer.apply(entry(page)).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(shown(&writer), ["a", "ccc", "dddd"]);
}

#[derive(Clone, Copy, Debug)]
enum Then {
    GoOn,
    Commit,
    Killed,
    /// Between the two halves of a commit.
    KilledBeforeSettling,
}

/// Simhashes of which neighbours in the list are alike and others are not, so that likeness is not transitive.
const CHAIN: [u64; 6] = [0, 0b11, 0b1111, 0b11_1111, 0b1111_1111, 0b11_1111_1111];

fn log() -> impl Strategy<Value = Vec<(Entry, Then)>> {
    let drawn = (0..12usize, 0..30i64, 0..CHAIN.len() + 2, prop::bool::weighted(0.2));
    let entry = drawn.prop_map(|(number, at, text, is_gone)| {
        let url = format!("http://example.org/{}", "x".repeat(number * 7 % 12));
        let simhash = CHAIN.get(text).copied().unwrap_or(1u64.rotate_right(text as u32) | u64::MAX << 40);
        if is_gone { gone(&url, at) } else { entry(page(&url, at, simhash)) }
    });
    let then = prop_oneof![
        8 => Just(Then::GoOn),
        2 => Just(Then::Commit),
        1 => Just(Then::Killed),
        1 => Just(Then::KilledBeforeSettling),
    ];
    prop::collection::vec((entry, then), 1..60)
}

/// What the rule says, on the latest versions, in the simplest way.
fn model(entries: &[Entry]) -> BTreeMap<String, String> {
    let mut latest: BTreeMap<&str, &Entry> = BTreeMap::new();
    for entry in entries {
        let known = latest.entry(entry.url()).or_insert(entry);
        if entry.version() > known.version() {
            *known = entry;
        }
    }
    let mut pages: Vec<(Likeness, &Page)> = latest
        .values()
        .filter_map(|entry| match entry {
            Entry::Page(page) => Some((Likeness::of(page, &DocumentId::of(&page.url)).unwrap(), page.as_ref())),
            Entry::Gone { .. } => None,
        })
        .collect();
    pages.sort_by_key(|(likeness, _)| likeness.rank);
    let mut shown: Vec<(Likeness, &Page)> = Vec::new();
    for (likeness, page) in pages {
        if !shown.iter().any(|(preferred, _)| preferred.folds(&likeness)) {
            shown.push((likeness, page));
        }
    }
    shown.into_iter().map(|(_, page)| (page.url.clone(), page.text.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn whatever_order_updates_withdrawals_and_kills_come_in_the_same_pages_are_shown(log in log()) {
        let (_root, path) = new_index();
        let mut writer = open(&path);
        let mut thens: Vec<Then> = log.iter().map(|(_, then)| *then).collect();
        let mut at = 0;
        while at < log.len() {
            writer.apply(log[at].0.clone()).unwrap();
            writer.advance(LOG, LogProgress::at(at as u64 + 1));
            at += 1;
            match std::mem::replace(&mut thens[at - 1], Then::GoOn) {
                Then::GoOn => {}
                Then::Commit => writer.commit().unwrap(),
                then @ (Then::Killed | Then::KilledBeforeSettling) => {
                    if matches!(then, Then::KilledBeforeSettling) {
                        writer.commit_applied().unwrap();
                    }
                    drop(writer);
                    writer = open(&path);
                    at = writer.checkpoint().get(LOG).map_or(0, |log| log.offset) as usize;
                }
            }
        }
        writer.commit().unwrap();
        let entries: Vec<Entry> = log.iter().map(|(entry, _)| entry.clone()).collect();
        let found: BTreeMap<String, String> = contents(&writer).0.into_iter()
            .map(|(url, text)| (url, crate::tokenizer::unmarked(&text).1.to_owned()))
            .collect();
        prop_assert_eq!(found, model(&entries));
    }
}
