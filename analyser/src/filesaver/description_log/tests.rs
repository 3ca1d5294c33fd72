//! The log as a whole: many segments, and what is left of it when files are damaged, cut or missing.

use std::fs;

use seine_proto::common::v1::{ArchivePosition, Description};
use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};

use super::entry::EntryBody;
use super::reader::LogReader;
use super::*;
use crate::filesaver::recover::recover_log;

/// Long enough for several segments.
const ENTRIES: u64 = 100;
const SEGMENT_BYTES: u64 = 500;

fn entry(number: u64, mark: Mark) -> Vec<u8> {
    let description = Description { url: format!("http://example.org/{number}"), ..Description::default() };
    let mut bytes = Vec::new();
    EntryBody::of(&LogEntry { entry: Some(Entry::Description(description)) }).write(
        mark,
        &ArchivePosition::default(),
        &mut bytes,
    );
    bytes
}

fn open(dir: &Path) -> DescriptionLog {
    let segments = Segments::list(dir).unwrap();
    let recovered = recover_log(&segments).unwrap();
    DescriptionLog::open(segments, recovered.end, recovered.mark, SEGMENT_BYTES).unwrap()
}

/// Where each entry ends.
fn filled(dir: &Path) -> Vec<u64> {
    let mut ends = Vec::new();
    for number in 0..ENTRIES {
        // Reopened now and then, as by another process.
        let mut log = open(dir);
        assert_eq!(log.end(), ends.last().copied().unwrap_or(0));
        log.rotate().unwrap();
        log.append(&entry(number, log.mark())).unwrap();
        ends.push(log.end());
    }
    ends
}

/// Numbers of the entries that can be read, and the damaged stretches between them.
fn read(dir: &Path) -> (Vec<u64>, Vec<Damaged>) {
    let log = open(dir);
    let (end, mut reader) = (log.end(), LogReader::new(log.segments));
    let (mut offset, mut numbers, mut damaged) = (0, Vec::new(), Vec::new());
    while offset < end {
        let batch = reader.read(offset, end).unwrap();
        numbers.extend(batch.entries.iter().map(|entry| match &entry.entry {
            Some(Entry::Description(page)) => page.url.rsplit('/').next().unwrap().parse::<u64>().unwrap(),
            other => panic!("{other:?}"),
        }));
        damaged.extend(batch.damaged);
        assert!(batch.end > offset, "reading goes on");
        offset = batch.end;
    }
    assert_eq!(offset, end);
    (numbers, damaged)
}

#[test]
fn a_log_of_many_segments_reads_as_one() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    assert!(Segments::list(dir.path()).unwrap().newest_first().len() > 5);
    assert_eq!(read(dir.path()), ((0..ENTRIES).collect(), vec![]));
}

#[test]
fn all_entries_of_a_log_carry_one_mark_over_segments_and_restarts() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let mark = open(dir.path()).mark();
    let last = open(dir.path()).segments.last().unwrap();
    // Also when the last segment has no entry yet.
    fs::write(dir.path().join(format!("{:020}.log", last + 10_000)), "").unwrap();
    assert_eq!(open(dir.path()).mark(), mark);
}

#[test]
fn a_flipped_bit_anywhere_costs_the_entry_it_is_in_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let ends = filled(dir.path());
    let segments = Segments::list(dir.path()).unwrap();
    for at in (0..*ends.last().unwrap()).step_by(37) {
        let path = segments.path(segments.holding(at).0.unwrap());
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[(at - segments.holding(at).0.unwrap()) as usize] ^= 1 << (at % 8);
        fs::write(&path, bytes).unwrap();
        let lost = ends.partition_point(|end| *end <= at) as u64;
        let (numbers, damaged) = read(dir.path());
        assert_eq!(numbers, (0..ENTRIES).filter(|number| *number != lost).collect::<Vec<_>>(), "flipped at {at}");
        if lost + 1 < ENTRIES {
            assert!(damaged.iter().any(|damaged| (damaged.start..damaged.end).contains(&at)), "{at} in {damaged:?}");
        }
        fs::write(&path, whole).unwrap();
        for aside in fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if aside.extension().is_some_and(|extension| extension == "damaged") {
                fs::remove_file(aside).unwrap();
            }
        }
    }
}

#[test]
fn a_segment_that_is_missing_or_cut_keeps_its_offsets_and_is_read_past() {
    let dir = tempfile::tempdir().unwrap();
    let ends = filled(dir.path());
    let mut starts = Segments::list(dir.path()).unwrap().newest_first();
    starts.reverse();
    let path = |number: usize| Segments::list(dir.path()).unwrap().path(starts[number]);
    // The first, and one in between.
    for number in [0, 2] {
        fs::remove_file(path(number)).unwrap();
    }
    fs::File::options().write(true).open(path(4)).unwrap().set_len(0).unwrap();
    let is_lost = |number: usize| {
        let begin = if number == 0 { 0 } else { ends[number - 1] };
        let segment = starts.partition_point(|start| *start <= begin) - 1;
        [0, 2, 4].contains(&segment)
    };
    let (numbers, damaged) = read(dir.path());
    let expected: Vec<u64> = (0..ENTRIES).filter(|number| !is_lost(*number as usize)).collect();
    assert_eq!(numbers, expected);
    let stretches: Vec<(u64, u64)> = damaged.iter().map(|damaged| (damaged.start, damaged.end)).collect();
    assert_eq!(stretches, [(0, starts[1]), (starts[2], starts[3]), (starts[4], starts[5])]);
}

#[test]
fn what_is_cut_off_behind_the_last_entry_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path());
    log.append(&entry(0, log.mark())).unwrap();
    let (end, path) = (log.end(), log.segments.path(0));
    log.append(&entry(1, log.mark())).unwrap();
    drop(log);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(open(dir.path()).end(), end);
    let aside = fs::read(dir.path().join(format!("{end:020}.damaged"))).unwrap();
    assert_eq!(aside, bytes[end as usize..]);
}

#[test]
fn what_a_failed_write_left_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path());
    let mark = log.mark();
    log.append(&entry(0, mark)).unwrap();
    let end = log.end();
    log.append(&[entry(1, mark), entry(2, mark)].concat()).unwrap();
    log.cut_back(end).unwrap();
    assert_eq!(recover_log(&log.segments).unwrap().end, end);
    log.append(&entry(3, mark)).unwrap();
    let batch = LogReader::new(log.segments.clone()).read(0, log.end()).unwrap();
    assert_eq!(batch.entries.len(), 2);
}

#[test]
fn a_damaged_name_is_taken_from_its_copy_and_drawn_anew_where_both_are() {
    let dir = tempfile::tempdir().unwrap();
    let (log, copies) = (dir.path().join("log"), dir.path());
    fs::create_dir(&log).unwrap();
    let id = log_id(&log, copies).unwrap();
    assert_eq!(log_id(&log, copies).unwrap(), id);
    let [path, copy] = [&log, copies].map(|dir| dir.join("ID"));
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(log_id(&log, copies).unwrap(), id, "{at}");
        assert_eq!(fs::read(&path).unwrap(), whole, "{at}");
        fs::write(&copy, &bytes).unwrap();
        assert_eq!(log_id(&log, copies).unwrap(), id, "{at}");
        for file in [&path, &copy] {
            fs::write(file, &bytes).unwrap();
        }
        assert_ne!(log_id(&log, copies).unwrap(), id, "{at}");
        for file in [&path, &copy] {
            fs::write(file, &whole).unwrap();
        }
    }
    fs::remove_file(&path).unwrap();
    fs::write(&copy, &whole).unwrap();
    assert_eq!(log_id(&log, copies).unwrap(), id);
    // As earlier versions wrote it, with no copy.
    fs::write(&path, format!("{id}\n")).unwrap();
    fs::remove_file(&copy).unwrap();
    assert_eq!(log_id(&log, copies).unwrap(), id);
}
