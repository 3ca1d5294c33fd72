//! What is left when the process is killed, and what the next one makes of it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use futures::StreamExt;
use proptest::prelude::*;
use seine_proto::filesaver::v1::{ReadForm, ReadRequest, SaveRequest, read_request};

use crate::support::*;

fn log_file(dir: &Path) -> PathBuf {
    dir.join("log").join(format!("{:020}.log", 0))
}

fn open_archive(dir: &Path) -> PathBuf {
    let open: Vec<String> = archive_files(dir).into_iter().filter(|name| name.ends_with(".open")).collect();
    assert_eq!(open.len(), 1, "{open:?}");
    archive_path(dir, &open[0])
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// Opens the directory, checks all that must hold whatever happened, saves one page more and checks again.
/// Returns how many of the pages saved before are still in the log.
async fn reopen(dir: &Path) -> usize {
    let node = Node::open(dir);
    for name in archive_files(dir) {
        assert!(name.ends_with(".warc.gz"), "{name} was not sealed");
        records(&archive_path(dir, &name));
    }
    let (before, end) = node.read_log(0).await;
    assert_eq!(end, node.filesaver.log_end());
    let urls = described_urls(&before);
    assert_eq!(urls, (0..before.len() as u64).map(url).collect::<Vec<_>>());

    let saved = node.save(requests(1000..1001)).await;
    assert!(record_at(dir, saved[0].archive.as_ref().unwrap()).contains(&body(1000)));
    let (after, _) = node.read_log(end).await;
    assert_eq!(described_urls(&after), [url(1000)]);
    node.close().await;
    for name in archive_files(dir) {
        records(&archive_path(dir, &name));
    }
    before.len()
}

/// A directory as a killed process leaves it, with pages saved one by one; and where each one's entry ends.
async fn killed(pages: u64) -> (tempfile::TempDir, Vec<u64>) {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut ends = Vec::new();
    for number in 0..pages {
        ends.push(node.save(requests(number..number + 1)).await[0].log_offset);
    }
    let copy = snapshot(dir.path());
    node.close().await;
    (copy, ends)
}

/// Reopens copies of a directory, each with one file cut to another length; `kept` says how many pages must be left.
async fn reopen_cut(
    dir: &Path,
    file: impl Fn(&Path) -> PathBuf + Clone + Send + 'static,
    lengths: std::ops::Range<u64>,
    kept: impl Fn(u64) -> usize,
) {
    // Recovery mostly waits for the disk.
    const AT_ONCE: usize = 8;
    let reopened = futures::stream::iter(lengths.map(|length| {
        let (copy, file, kept) = (snapshot(dir), file.clone(), kept(length));
        tokio::spawn(async move {
            cut(&file(copy.path()), length);
            assert_eq!(reopen(copy.path()).await, kept, "cut at {length}");
        })
    }));
    reopened.buffer_unordered(AT_ONCE).for_each(|done| async { done.unwrap() }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_log_cut_anywhere_keeps_every_whole_entry() {
    let (dir, ends) = killed(4).await;
    let whole = |length| ends.iter().filter(|end| **end <= length).count();
    reopen_cut(dir.path(), log_file, ends[1]..ends[3], whole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn an_archive_cut_anywhere_is_sealed_behind_its_last_whole_record() {
    let (dir, ends) = killed(3).await;
    let whole = fs::metadata(open_archive(dir.path())).unwrap().len();
    // As a kill between the two writes leaves it: the log ends before the page whose records are cut.
    cut(&log_file(dir.path()), ends[1]);
    let copy = snapshot(dir.path());
    let node = Node::open(copy.path());
    let (entries, _) = node.read_log(0).await;
    let last = description(&entries[1]).archive.clone().unwrap();
    node.close().await;
    reopen_cut(dir.path(), open_archive, last.offset + last.length..whole, |_| 2).await;
}

#[tokio::test]
async fn an_archive_without_a_page_is_removed() {
    let (dir, _) = killed(1).await;
    cut(&log_file(dir.path()), 0);
    for length in [0, 1, 100, 250] {
        let copy = snapshot(dir.path());
        cut(&open_archive(copy.path()), length);
        let node = Node::open(copy.path());
        assert_eq!(archive_files(copy.path()), Vec::<String>::new(), "cut at {length}");
        node.close().await;
    }
}

#[test]
fn any_garbage_behind_the_last_records_is_cut_off() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (dir, ends) = runtime.block_on(killed(3));
    let whole = fs::metadata(open_archive(dir.path())).unwrap().len();
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    // Also what a power cut without syncing can leave: an archive shorter than the log says.
    let strategy = (0..=ends[2], 0..=whole, any::<Vec<u8>>(), any::<Vec<u8>>());
    proptest!(config, |((log_length, archive_length, log_tail, archive_tail) in strategy)| {
        let copy = snapshot(dir.path());
        for (path, length, tail) in [
            (log_file(copy.path()), log_length, log_tail),
            (open_archive(copy.path()), archive_length, archive_tail),
        ] {
            cut(&path, length);
            OpenOptions::new().append(true).open(&path).unwrap().write_all(&tail).unwrap();
        }
        let kept = runtime.block_on(reopen(copy.path()));
        prop_assert_eq!(kept, ends.iter().filter(|end| **end <= log_length).count());
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_at_any_moment_has_lost_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let (sender, receiver) = tokio::sync::mpsc::channel::<SaveRequest>(8);
    let stream = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut answers = node.client().save(stream).await.unwrap().into_inner();
    let feeding = tokio::spawn(async move {
        for request in requests(0..400) {
            if sender.send(request).await.is_err() {
                return;
            }
        }
    });
    let mut acknowledged = Vec::new();
    while let Some(answer) = soon(answers.message()).await.unwrap() {
        let saved = result(&answer).unwrap();
        acknowledged.push((url(answer.page_id), saved));
        if acknowledged.len() % 50 != 7 {
            continue;
        }
        // Pages go on being written while the copy is made.
        let copy = snapshot(dir.path());
        let survivor = Node::open(copy.path());
        let (entries, _) = survivor.read_log(0).await;
        for (url, saved) in &acknowledged {
            let entry = entries.iter().find(|entry| description(entry).url == *url);
            let archive = description(entry.unwrap_or_else(|| panic!("{url} is lost"))).archive.clone();
            assert_eq!(archive, saved.archive);
            assert!(record_at(copy.path(), &archive.unwrap()).contains(&format!("WARC-Target-URI: {url}\r\n")));
        }
        for name in archive_files(copy.path()) {
            records(&archive_path(copy.path(), &name));
        }
        survivor.close().await;
    }
    assert_eq!(acknowledged.len(), 400);
    soon(feeding).await.unwrap();
    node.close().await;
}

#[tokio::test]
async fn a_log_whose_first_segment_is_missing_is_read_behind_it() {
    let (dir, _) = killed(2).await;
    fs::rename(log_file(dir.path()), dir.path().join("log").join(format!("{:020}.log", 4096))).unwrap();
    let node = Node::open(dir.path());
    let (entries, _) = node.read_log(0).await;
    assert_eq!(described_urls(&entries), [url(0), url(1)]);
    node.close().await;
}

/// Each byte of the last segment and of the open archive in turn: 206 of 300 pages were lost by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn one_flipped_bit_costs_no_page_but_its_own() {
    let (dir, ends) = killed(6).await;
    for file in [log_file as fn(&Path) -> PathBuf, open_archive] {
        let length = fs::metadata(file(dir.path())).unwrap().len();
        for at in (0..length).step_by(23) {
            let copy = snapshot(dir.path());
            let path = file(copy.path());
            let mut bytes = fs::read(&path).unwrap();
            bytes[at as usize] ^= 1 << (at % 8);
            fs::write(&path, bytes).unwrap();
            let node = Node::open(copy.path());
            let found = described_urls(&node.read_log(0).await.0);
            let in_log = path == log_file(copy.path());
            let lost = |number: usize| in_log && ends.partition_point(|end| *end <= at) == number;
            let expected: Vec<String> =
                (0..6).filter(|number| !lost(*number)).map(|number| url(number as u64)).collect();
            assert_eq!(found, expected, "{} at {at}", path.display());
            let mut unreadable = 0;
            for entry in node.read_log(0).await.0 {
                let position = description(&entry).archive.clone().unwrap();
                let record = Some(read_request::Record::Position(position));
                let read = node
                    .client()
                    .read(ReadRequest { record, form: ReadForm::AsReceived.into(), ..ReadRequest::default() })
                    .await;
                unreadable += u32::from(read.is_err());
            }
            assert!(unreadable <= u32::from(!in_log), "{unreadable} records lost, {} at {at}", path.display());
            node.close().await;
        }
    }
}

#[tokio::test]
async fn an_archive_whose_first_record_is_damaged_keeps_its_pages() {
    let (dir, _) = killed(3).await;
    // Without the log to vouch for any of them.
    cut(&log_file(dir.path()), 0);
    let path = open_archive(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 4;
    fs::write(&path, &bytes).unwrap();
    Node::open(dir.path()).close().await;
    let sealed = path.with_extension("");
    assert_eq!(fs::read(sealed).unwrap(), bytes);
}
