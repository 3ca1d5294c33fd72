//! A copy has all that the original has, each where it is looked for, whatever kind of store it lies in.

use std::collections::BTreeSet;

use proptest::prelude::*;
use seine_common::address::AddressKey;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::*;
use crate::frontier::filled::{self, ADDRESSES, CRAWLS, DUE_MS, HOSTS, fill};
use crate::frontier::{Frontier, Known};
use crate::record::CrawlId;
use crate::store::{DEFAULT_MEMORY_BYTES, MemoryStore, RocksStore, Walked};

/// Counts what is told, and breaks off where it is told to.
#[derive(Default)]
struct Told {
    safe: Vec<Reached>,
    breaks_off_after: Option<usize>,
}

impl Watcher for Told {
    fn reached(&mut self, _: &Reached) {}

    fn safe(&mut self, reached: &Reached) -> Result<()> {
        self.safe.push(reached.clone());
        match self.breaks_off_after {
            Some(most) if self.safe.len() > most => Err(MonitorError::Closed),
            _ => Ok(()),
        }
    }
}

/// Everything in a store, counters as numbers.
fn contents(store: &dyn Store) -> BTreeSet<(Table, Entry)> {
    let mut found = BTreeSet::new();
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Counters) {
        let mut cursor = Vec::new();
        loop {
            let Walked { entries, next } = store.walk(table, &cursor, 7).unwrap();
            found.extend(entries.into_iter().map(|(_, entry)| (table, entry)));
            if next.is_empty() {
                break;
            }
            cursor = next;
        }
    }
    for crawl in 1..=CRAWLS {
        let key = key::meta::progress(crawl);
        let counters: Vec<u8> = counters(store, &key).unwrap().iter().flat_map(|number| number.to_be_bytes()).collect();
        found.insert((Table::Counters, (Box::from(key.as_slice()), counters.into())));
    }
    found
}

fn rocks(dir: &tempfile::TempDir) -> RocksStore {
    RocksStore::open(dir.path(), DEFAULT_MEMORY_BYTES).unwrap()
}

/// A filled frontier in a directory.
fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fill(&mut Frontier::over(rocks(&dir)).unwrap());
    dir
}

#[test]
fn a_copy_to_a_store_with_slots_and_back_has_all_that_the_original_has() {
    let (original, back) = (filled(), tempfile::tempdir().unwrap());
    let original = rocks(&original);
    let mut memory = MemoryStore::default();
    let mut told = Told::default();
    let reached = copy(&original, &mut memory, Reached::default(), &mut told).unwrap();
    assert_eq!(reached.left_out, 0);
    assert_eq!(contents(&memory), contents(&original));
    assert_eq!(reached.total() as usize, contents(&original).len());
    let mut back = rocks(&back);
    copy(&memory, &mut back, Reached::default(), &mut told).unwrap();
    assert_eq!(contents(&back), contents(&original));
}

#[test]
fn everything_is_found_in_the_slot_of_its_host() {
    let original = filled();
    let mut memory = MemoryStore::default();
    copy(&rocks(&original), &mut memory, Reached::default(), &mut Told::default()).unwrap();
    let original = Frontier::over(rocks(&original)).unwrap();
    let copied = Frontier::over(memory).unwrap();
    for id in 1..=CRAWLS {
        let id = CrawlId(id);
        assert_eq!(copied.progress(id), original.progress(id));
        assert_eq!(copied.ready(id, 1_000).unwrap(), original.ready(id, 1_000).unwrap());
        assert_eq!(copied.due_visits(id, DUE_MS + 1, 1_000).unwrap().len(), HOSTS as usize);
        for host in 0..HOSTS {
            for page in 0..6 {
                let url = CanonicalUrl::parse(&filled::url(host, page)).unwrap();
                let kind = |known: Option<Known>| match known {
                    Some(Known::Queued(queued)) => format!("queued {:?}", queued.place),
                    Some(Known::Retrying(_)) => "retrying".to_owned(),
                    Some(Known::Settled(_)) => "settled".to_owned(),
                    None => "unknown".to_owned(),
                };
                let found = [&copied, &original].map(|frontier| kind(frontier.known(id, &url).unwrap()));
                assert!(found[0] == found[1] && found[0] != "unknown", "{}: {found:?}", url.as_str());
            }
            let name = filled::host(host);
            assert_eq!(copied.host(&name).unwrap(), original.host(&name).unwrap());
            assert_eq!(copied.robots(&name).unwrap().len(), 1);
            assert_eq!(copied.host_use(id, &name).unwrap().pages, 2);
            assert!(copied.has_work(id, &name).unwrap());
            let address = AddressKey::parse(&format!("192.0.2.{host}")).unwrap();
            assert_eq!(copied.hosts_at(address, 10).unwrap(), [name]);
        }
        assert_eq!(copied.first_with_content(id, 7).unwrap(), original.first_with_content(id, 7).unwrap());
    }
    for address in ADDRESSES.map(|address| AddressKey::parse(address).unwrap()) {
        assert_eq!(copied.address(address).unwrap().requests_since_pause, 5);
    }
    assert_eq!(copied.leases().unwrap(), original.leases().unwrap());
    assert_eq!(copied.blocks().unwrap(), original.blocks().unwrap());
}

#[test]
fn epochs_and_tokens_never_go_back() {
    let original = filled();
    let mut memory = MemoryStore::default();
    let mut used = Frontier::over(memory.clone()).unwrap();
    let epoch_there = used.begin_epoch(50).unwrap();
    drop(used);
    copy(&rocks(&original), &mut memory, Reached::default(), &mut Told::default()).unwrap();
    assert_eq!(epoch(&memory).unwrap(), Some(epoch_there));
}

#[test]
fn an_entry_of_a_host_that_nothing_names_is_left_out_and_counted() {
    let original = filled();
    let mut original = rocks(&original);
    let mut batch = Batch::at_home();
    batch.put(Table::Seen, [9; key::URL_BYTES], [b's', 0, 0, 0, 0]);
    original.write(batch).unwrap();
    let reached = copy(&original, &mut MemoryStore::default(), Reached::default(), &mut Told::default()).unwrap();
    assert_eq!(reached.left_out, 1);
}

#[test]
fn a_host_with_nothing_left_but_its_place_in_the_index_is_copied() {
    let original = filled();
    let name = HostKey::from_stored("idle.test".to_owned());
    let mut frontier = Frontier::over(rocks(&original)).unwrap();
    let mut batch = Batch::at_home();
    frontier.enter_ready(&mut batch, CrawlId(1), &name, 90);
    frontier.write(batch).unwrap();
    drop(frontier);
    let mut memory = MemoryStore::default();
    let reached = copy(&rocks(&original), &mut memory, Reached::default(), &mut Told::default()).unwrap();
    assert_eq!(reached.left_out, 0);
    assert!(Frontier::over(memory).unwrap().has_work(CrawlId(1), &name).unwrap());
}

#[test]
fn a_store_without_a_frontier_is_empty_and_one_with_it_is_not() {
    assert!(is_empty(&MemoryStore::default()).unwrap());
    assert!(!is_empty(&rocks(&filled())).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_copy_that_is_broken_off_goes_on_and_counts_nothing_twice(first in 0usize..19, second in 0usize..19) {
        let original = filled();
        let original = rocks(&original);
        let mut memory = MemoryStore::default();
        let mut reached = Reached::default();
        for breaks_off_after in [Some(first), Some(second), None] {
            let mut told = Told { breaks_off_after, ..Told::default() };
            let ended = copy(&original, &mut memory, reached.clone(), &mut told);
            // What was told last may not have been kept.
            told.safe.truncate(breaks_off_after.unwrap_or(usize::MAX));
            reached = told.safe.last().cloned().unwrap_or(reached);
            prop_assert_eq!(ended.is_ok(), reached.table == Table::ALL.len());
        }
        prop_assert_eq!(contents(&memory), contents(&original));
    }
}
