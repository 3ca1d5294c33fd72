use std::collections::BTreeMap;

use proptest::prelude::*;
use tantivy::TantivyDocument;
use tantivy::collector::DocSetCollector;
use tantivy::query::AllQuery;
use tantivy::schema::Value;

use super::*;
use crate::entry::Page;
use crate::tokenizer::unmarked;
use crate::version::Version;
use crate::{count, publish};

const LOG: &str = "log";

fn config() -> IndexerConfig {
    IndexerConfig { memory_bytes: 1 << 20, threads: 2, ..IndexerConfig::default() }
}

fn page(url: &str, fetched_at_ms: i64, token: u64) -> Entry {
    Entry::Page(Box::new(Page {
        url: url.to_owned(),
        crawl: "test".to_owned(),
        title: format!("Page {url}"),
        text: format!("as fetched at {fetched_at_ms} under {token}"),
        fetched_at_ms,
        token,
        ..Page::default()
    }))
}

fn gone(url: &str, fetched_at_ms: i64, token: u64) -> Entry {
    Entry::Gone { url: url.to_owned(), version: Version { epoch: 0, fetched_at_ms, token, gone: true } }
}

/// What the index holds: URL and text of every document, sorted.
fn documents(writer: &DocumentWriter) -> Vec<(String, String)> {
    let searcher = writer.reader().searcher();
    let fields = schema::schema().1;
    let mut found = Vec::new();
    for address in searcher.search(&AllQuery, &DocSetCollector).unwrap() {
        let document: TantivyDocument = searcher.doc(address).unwrap();
        let value = |field| document.get_first(field).and_then(|value| value.as_str().map(str::to_owned));
        if let (Some(url), Some(text)) = (value(fields.url), value(fields.text)) {
            found.push((url, unmarked(&text).1.to_owned()));
        }
    }
    found.sort();
    found
}

fn texts(pairs: &[(&str, i64, u64)]) -> Vec<(String, String)> {
    let mut texts: Vec<_> = pairs
        .iter()
        .map(|(url, fetched_at, token)| ((*url).to_owned(), format!("as fetched at {fetched_at} under {token}")))
        .collect();
    texts.sort();
    texts
}

fn new_index() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let (path, _) = publish::open_or_create(root.path()).unwrap();
    (root, path)
}

#[test]
fn the_later_version_wins_in_whatever_order_and_commit_they_arrive() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    for entry in [page("a", 2, 1), page("a", 1, 9), page("b", 1, 1), page("c", 5, 1), page("c", 5, 2)] {
        writer.apply(entry).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(documents(&writer), texts(&[("a", 2, 1), ("b", 1, 1), ("c", 5, 2)]));
    for entry in [page("a", 1, 1), page("b", 2, 1), page("c", 5, 1), page("b", 3, 1)] {
        writer.apply(entry).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(documents(&writer), texts(&[("a", 2, 1), ("b", 3, 1), ("c", 5, 2)]));
}

#[test]
fn what_is_gone_stays_gone_when_an_older_description_comes_after_it() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    for entry in [page("a", 1, 1), gone("a", 3, 1), gone("b", 3, 1), page("c", 3, 1), gone("c", 3, 1)] {
        writer.apply(entry).unwrap();
    }
    writer.commit().unwrap();
    for entry in [page("a", 2, 1), page("b", 2, 1), page("c", 3, 1)] {
        writer.apply(entry).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(documents(&writer), []);
    assert_eq!(writer.documents().unwrap(), 0);
    writer.apply(page("b", 4, 1)).unwrap();
    writer.commit().unwrap();
    assert_eq!(documents(&writer), texts(&[("b", 4, 1)]));
    assert_eq!(writer.documents().unwrap(), 1);
    assert_eq!(count::documents_of_crawl(&writer.reader().searcher(), "test").unwrap(), 1);
    assert_eq!(count::documents_of_crawl(&writer.reader().searcher(), "tes").unwrap(), 0);
}

#[test]
fn documents_and_checkpoint_are_lost_or_kept_together() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    writer.apply(page("a", 1, 1)).unwrap();
    writer.advance(LOG, LogProgress::at(100));
    writer.commit().unwrap();
    writer.apply(page("b", 1, 1)).unwrap();
    writer.advance(LOG, LogProgress::at(200));
    drop(writer);
    let writer = DocumentWriter::open(&path, &config()).unwrap();
    assert_eq!(writer.checkpoint(), &Checkpoint::from([(LOG.to_owned(), LogProgress::at(100))]));
    assert_eq!(documents(&writer), texts(&[("a", 1, 1)]));
}

#[test]
fn a_checkpoint_that_moved_over_known_entries_is_committed_too() {
    let (_root, path) = new_index();
    let mut writer = DocumentWriter::open(&path, &config()).unwrap();
    assert!(!writer.has_uncommitted());
    writer.advance(LOG, LogProgress::at(7));
    assert!(writer.has_uncommitted());
    writer.commit().unwrap();
    writer.advance(LOG, LogProgress::at(3));
    assert!(!writer.has_uncommitted(), "a log never goes back");
    drop(writer);
    let writer = DocumentWriter::open(&path, &config()).unwrap();
    assert_eq!(writer.checkpoint()[LOG].offset, 7);
}

#[test]
fn a_second_writer_is_refused_while_the_first_lives() {
    let (_root, path) = new_index();
    let first = DocumentWriter::open(&path, &config()).unwrap();
    assert!(matches!(DocumentWriter::open(&path, &config()), Err(IndexerError::Index { .. })));
    drop(first);
    assert!(DocumentWriter::open(&path, &config()).is_ok());
}

/// What happens to a writer between two entries of the log.
#[derive(Clone, Copy, Debug)]
enum Then {
    GoOn,
    Commit,
    /// Dropped without a commit; the log is followed again from the checkpoint.
    Killed,
}

fn log() -> impl Strategy<Value = Vec<(Entry, Then)>> {
    let entry = (0..6u8, 0..8i64, 0..3u64, prop::bool::weighted(0.3)).prop_map(|(url, at, token, is_gone)| {
        let url = format!("http://example.org/{url}");
        if is_gone { gone(&url, at, token) } else { page(&url, at, token) }
    });
    let then = prop_oneof![6 => Just(Then::GoOn), 2 => Just(Then::Commit), 1 => Just(Then::Killed)];
    prop::collection::vec((entry, then), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn kills_at_any_moment_leave_each_url_once_in_its_latest_version(log in log()) {
        let (_root, path) = new_index();
        let mut writer = DocumentWriter::open(&path, &config()).unwrap();
        let mut kills = log.iter().map(|(_, then)| *then).collect::<Vec<_>>();
        let mut at = 0;
        while at < log.len() {
            writer.apply(log[at].0.clone()).unwrap();
            writer.advance(LOG, LogProgress::at(at as u64 + 1));
            // Each kill happens once; the entries that come again after it go on.
            match std::mem::replace(&mut kills[at], Then::GoOn) {
                Then::GoOn => at += 1,
                Then::Commit => {
                    writer.commit().unwrap();
                    at += 1;
                }
                Then::Killed => {
                    drop(writer);
                    writer = DocumentWriter::open(&path, &config()).unwrap();
                    at = writer.checkpoint().get(LOG).map_or(0, |log| log.offset) as usize;
                }
            }
        }
        writer.commit().unwrap();
        let mut latest: BTreeMap<&str, &Entry> = BTreeMap::new();
        for (entry, _) in &log {
            let known = latest.entry(entry.url()).or_insert(entry);
            if entry.version() > known.version() {
                *known = entry;
            }
        }
        let expected: Vec<(String, String)> = latest.values().filter_map(|entry| match entry {
            Entry::Page(page) => Some((page.url.clone(), page.text.clone())),
            Entry::Gone { .. } => None,
        }).collect();
        prop_assert_eq!(writer.documents().unwrap(), expected.len() as u64);
        prop_assert_eq!(documents(&writer), expected);
    }

    #[test]
    fn entries_of_different_logs_commute(log in log(), logs in prop::collection::vec(0..3usize, 40), turns in prop::collection::vec(0..3usize, 40)) {
        // The order within a log stays; which log is read next does not matter.
        let read = |turns: &[usize]| {
            let (_root, path) = new_index();
            let mut writer = DocumentWriter::open(&path, &config()).unwrap();
            let mut waiting: [Vec<&Entry>; 3] = Default::default();
            for (number, (entry, _)) in log.iter().enumerate().rev() {
                waiting[logs[number]].push(entry);
            }
            for turn in turns.iter().copied().chain(0..3).cycle() {
                if let Some(entry) = waiting[turn].pop() {
                    writer.apply(entry.clone()).unwrap();
                }
                if waiting.iter().all(Vec::is_empty) {
                    break;
                }
            }
            writer.commit().unwrap();
            documents(&writer)
        };
        prop_assert_eq!(read(&turns), read(&[]));
    }
}
