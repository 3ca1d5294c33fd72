//! What a damaged write-ahead log costs: what was written behind the damage, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use futures::executor::block_on;

use super::Frontier;
use crate::record::CrawlRecord;
use crate::tests_support::crawl;

const CRAWLS: u32 = 1_000;

/// A frontier as a killed process leaves it: nothing of it is in tables yet.
fn killed(path: &Path) {
    let open = tempfile::tempdir().unwrap();
    let mut frontier = Frontier::open(open.path()).unwrap();
    for id in 1..=CRAWLS {
        let settings = crawl(&format!("crawl {id}"), &["http://a.test/"]);
        frontier.put_crawl(&CrawlRecord { id, settings, ..CrawlRecord::default() }).unwrap();
    }
    block_on(frontier.syncer().sync()).unwrap();
    for file in fs::read_dir(open.path()).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), path.join(file.file_name())).unwrap();
    }
}

fn write_ahead_log(path: &Path) -> PathBuf {
    let files = fs::read_dir(path).unwrap().map(|file| file.unwrap().path());
    let logs = files.filter(|file| file.extension().is_some_and(|suffix| suffix == "log"));
    logs.max_by_key(|log| fs::metadata(log).unwrap().len()).unwrap()
}

#[test]
fn a_damaged_write_ahead_log_counts_up_to_the_damage() {
    for damage in [
        |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2),
        |bytes: &mut Vec<u8>| bytes[27_000] ^= 4,
        |bytes: &mut Vec<u8>| bytes[20_000..24_000].fill(0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        killed(dir.path());
        let log = write_ahead_log(dir.path());
        let mut bytes = fs::read(&log).unwrap();
        damage(&mut bytes);
        fs::write(&log, &bytes).unwrap();
        let frontier = Frontier::open(dir.path()).expect("what stands before the damage is good");
        let found: Vec<u32> = frontier.crawls().unwrap().into_iter().map(|crawl| crawl.id).collect();
        let expected: Vec<u32> = (1..=found.len() as u32).collect();
        assert_eq!(found, expected, "a prefix");
        assert!(!found.is_empty() && found.len() < CRAWLS as usize, "{} crawls", found.len());
    }
}
