//! Whatever of a frontier is lost is found, and put back as far as anything still names it.

use proptest::prelude::*;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Withdrawn;
use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry as Logged};
use seine_proto::monitor::v1::{CrawlState, OutcomeKind};

use super::super::filled::{self, CRAWLS, DUE_MS, HOSTS, LOG, fill, host, is_leased, logged, url};
use super::super::key::UrlAt;
use super::super::sieve::Seen;
use super::super::{Frontier, Known};
use super::*;
use crate::place::Order;
use crate::store::{Batch, COUNTERS, MemoryStore};
use crate::tests_support::candidate;

const ID: CrawlId = CrawlId(1);
/// Not leased.
const HOST: u32 = 3;
const NOW_MS: i64 = 70_000;

struct Subject {
    store: MemoryStore,
    log: Vec<LogEntry>,
}

impl Subject {
    fn new() -> Self {
        let store = MemoryStore::default();
        fill(&mut Frontier::over(store.clone()).unwrap());
        Self { store, log: logged() }
    }

    fn frontier(&self) -> Frontier {
        Frontier::over(self.store.clone()).unwrap()
    }

    fn walk(&self, mends: bool) -> Report {
        let mut frontier = open(Box::new(self.store.clone())).unwrap();
        let mut check = Check::new(&mut frontier, mends, NOW_MS).unwrap();
        let mut watch = |_: &'static str, _: u64| {};
        check.tables(&mut watch).unwrap();
        let half = self.log.len() / 2;
        for (first, entries) in [(0, &self.log[..half]), (half, &self.log[half..])] {
            check.log_entries(first as u64, entries).unwrap();
        }
        if check.has_to_restore() {
            check.restore(0, &self.log).unwrap();
        }
        check.end(&HashSet::from([LOG.to_owned()]), &mut watch).unwrap()
    }

    fn check(&self) -> Vec<Damage> {
        self.walk(false).damage.into_keys().collect()
    }

    /// All that is found once more is found by a check, too, and nothing is found afterwards.
    fn repair(&self) -> Report {
        let report = self.walk(true);
        let left = self.walk(false);
        assert!(left.is_sound(), "{:?} are left of {:?}", left.damage, report.damage);
        report
    }

    fn at(&self, page: u32) -> UrlAt {
        self.frontier().url_at(ID, &parsed(page))
    }

    fn seen(&self, page: u32) -> Seen {
        let at = self.at(page);
        Seen::decode(&self.store.get(at.slot, Table::Seen, &at.key).unwrap().unwrap()).unwrap()
    }

    /// Where a page waits, with the key.
    fn waits_at(&self, page: u32) -> (Table, Vec<u8>) {
        let host = self.at(page).host();
        match self.seen(page) {
            Seen::Queued { place, .. } => (Table::Queue, key::queue(&host, place).to_vec()),
            Seen::Retrying { due_ms, place, .. } => (Table::Retries, key::retry(&host, due_ms, place).to_vec()),
            Seen::Settled { .. } => panic!("page {page} does not wait"),
        }
    }

    fn lose(&mut self, table: Table, key: impl AsRef<[u8]>) {
        let slot = self.at(0).slot;
        assert!(self.store.has(slot, table, key.as_ref()).unwrap(), "{table:?} has no such key");
        let mut batch = Batch::at(slot);
        batch.delete(table, key);
        self.store.write(batch).unwrap();
    }

    fn put(&mut self, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let mut batch = Batch::at(self.at(0).slot);
        batch.put(table, key, value);
        self.store.write(batch).unwrap();
    }

    fn known(&self, page: u32) -> Option<Known> {
        self.frontier().known(ID, &parsed(page)).unwrap()
    }

    fn ready_key(&self) -> Vec<u8> {
        let host = self.at(0).host();
        [&host[..4], &key::time(50), &host[4..]].concat()
    }
}

fn parsed(page: u32) -> CanonicalUrl {
    CanonicalUrl::parse(&url(HOST, page)).unwrap()
}

#[test]
fn a_frontier_that_lost_nothing_is_sound() {
    let subject = Subject::new();
    let report = subject.walk(false);
    assert!(report.is_sound(), "{:?}", report.damage);
    assert_eq!(report.log_entries, u64::from(CRAWLS * HOSTS * 2));
    assert!(report.entries > u64::from(CRAWLS * HOSTS * 10));
}

#[test]
fn a_check_changes_nothing() {
    let mut subject = Subject::new();
    let (table, key) = subject.waits_at(4);
    subject.lose(table, key);
    assert_eq!(subject.check(), subject.check());
    assert!(!subject.check().is_empty());
}

#[test]
fn a_url_that_waits_is_known_again() {
    let mut subject = Subject::new();
    subject.lose(Table::Seen, subject.at(3).key);
    assert_eq!(subject.check(), [Damage::WaitsUnknown]);
    subject.repair();
    let again = candidate(&url(HOST, 3), 0, 900, 0);
    assert_eq!(subject.frontier().admit(ID, &[again], 0).unwrap(), [false]);
}

#[test]
fn a_url_without_its_queue_entry_is_found_again_by_a_page_that_names_it() {
    for page in [2, 4] {
        let mut subject = Subject::new();
        let (table, key) = subject.waits_at(page);
        subject.lose(table, key);
        assert_eq!(subject.check(), [Damage::Lost, Damage::Counter]);
        let report = subject.repair();
        assert_eq!((report.found_again, report.not_found_again), (1, 0));
        assert!(matches!(subject.known(page), Some(Known::Queued(queued)) if queued.entry.url == url(HOST, page)));
    }
}

#[test]
fn a_url_that_nothing_names_enters_again_when_something_does() {
    let mut subject = Subject::new();
    subject.log.clear();
    let (table, key) = subject.waits_at(4);
    subject.lose(table, key);
    let report = subject.walk(true);
    assert_eq!((report.found_again, report.not_found_again), (0, 1));
    let again = candidate(&url(HOST, 4), 1, 900, 0);
    assert_eq!(subject.frontier().admit(ID, &[again], 0).unwrap(), [true]);
}

#[test]
fn a_seed_is_found_again_without_any_page() {
    let mut subject = Subject::new();
    subject.log.clear();
    let (table, key) = subject.waits_at(3);
    subject.lose(table, key);
    let report = subject.walk(true);
    assert_eq!(report.found_again, 1);
    assert!(matches!(subject.known(3), Some(Known::Queued(queued)) if queued.entry.seed));
}

#[test]
fn a_page_that_was_to_be_visited_is_due_again() {
    let mut subject = Subject::new();
    let (table, key) = subject.waits_at(0);
    subject.lose(table, key);
    assert_eq!(subject.check(), [Damage::WaitsNowhere, Damage::Counter]);
    subject.repair();
    let due = subject.frontier().due_visits(ID, DUE_MS + 1, 1_000).unwrap();
    assert!(due.iter().any(|record| record.entry.url == url(HOST, 0)));
}

#[test]
fn a_page_of_the_log_without_a_record_is_recorded_and_visited() {
    let mut subject = Subject::new();
    let at = subject.at(1);
    subject.lose(Table::Seen, at.key);
    subject.lose(Table::Records, at.key);
    subject.lose(Table::Visits, key::visit(&at.key, DUE_MS));
    assert_eq!(subject.check(), [Damage::PageWithoutRecord, Damage::Counter]);
    let mut record = subject.frontier().crawls().unwrap().remove(0);
    record.state = CrawlState::Finished.into();
    subject.frontier().put_crawl(&record).unwrap();
    subject.repair();
    let frontier = subject.frontier();
    let record = frontier.record(ID, &parsed(1)).unwrap().unwrap();
    assert_eq!((record.outcome.kind(), record.outcome.archive.unwrap().filesaver.as_str()), (OutcomeKind::Saved, LOG));
    let Some(Known::Queued(queued)) = subject.known(1) else { panic!("it is not queued") };
    assert!(queued.entry.revisit.is_some_and(|revisit| revisit.saved && revisit.etag.is_empty()));
    assert_eq!(frontier.progress(ID).pages, u64::from(HOSTS * 2));
    assert_eq!(frontier.host_use(ID, &host(HOST)).unwrap().pages, 2, "what it has given was not lost");
    assert_eq!(frontier.crawls().unwrap()[0].state(), CrawlState::Running, "it has something to do again");
}

#[test]
fn a_page_that_was_withdrawn_later_is_missed_by_nobody() {
    let mut subject = Subject::new();
    for id in [ID, CrawlId(2)] {
        let url = parsed(1);
        let mut frontier = subject.frontier();
        let at = frontier.url_at(id, &url);
        for table in [Table::Seen, Table::Records] {
            frontier.delete(at.slot, table, at.key).unwrap();
        }
        frontier.delete(at.slot, Table::Visits, key::visit(&at.key, DUE_MS)).unwrap();
    }
    let withdrawn = |token| Withdrawn { url: url(HOST, 1), epoch: 1, token, ..Withdrawn::default() };
    subject.log.insert(0, LogEntry { entry: Some(Logged::Withdrawn(withdrawn(2))) });
    assert_eq!(subject.check(), [Damage::Counter]);
    // One that came before the page is about an earlier one.
    subject.log[0] = LogEntry { entry: Some(Logged::Withdrawn(withdrawn(0))) };
    assert_eq!(subject.check(), [Damage::PageWithoutRecord, Damage::Counter]);
}

#[test]
fn a_saved_page_that_no_log_has_is_fetched_in_full() {
    let mut subject = Subject::new();
    subject.log.retain(|entry| match &entry.entry {
        Some(Logged::Description(page)) => ![url(HOST, 0), url(HOST, 1)].contains(&page.url),
        _ => true,
    });
    assert_eq!(subject.check(), [Damage::RecordWithoutPage]);
    subject.walk(true);
    for page in [0, 1] {
        let Some(Known::Queued(queued)) = subject.known(page) else { panic!("page {page} is not queued") };
        assert!(queued.entry.revisit.is_some_and(|revisit| revisit.saved && revisit.etag.is_empty()));
    }
}

#[test]
fn pages_in_logs_that_were_not_read_are_left_alone() {
    let subject = Subject::new();
    let mut frontier = open(Box::new(subject.store)).unwrap();
    let check = Check::new(&mut frontier, false, NOW_MS).unwrap();
    let report = check.end(&HashSet::from(["another log".to_owned()]), &mut |_, _| {}).unwrap();
    assert_eq!(report.in_other_logs, u64::from(CRAWLS * HOSTS * 2));
    assert!(!report.damage.contains_key(&Damage::RecordWithoutPage));
}

#[test]
fn a_record_is_known_and_planned_again() {
    let mut subject = Subject::new();
    let at = subject.at(1);
    subject.lose(Table::Seen, at.key);
    assert_eq!(subject.check(), [Damage::RecordUnknown]);
    subject.repair();
    subject.lose(Table::Visits, key::visit(&at.key, DUE_MS));
    assert_eq!(subject.check(), [Damage::VisitMissing]);
    subject.repair();
    subject.put(Table::Visits, key::visit(&at.key, 5), b"");
    assert_eq!(subject.check(), [Damage::VisitOfNothing]);
    subject.repair();
    assert!(matches!(subject.known(1), Some(Known::Settled(_))));
}

#[test]
fn a_url_that_waits_twice_waits_once() {
    let mut subject = Subject::new();
    let (_, key) = subject.waits_at(4);
    let value = subject.store.get(subject.at(4).slot, Table::Queue, &key).unwrap().unwrap();
    let elsewhere = Order::DepthFirst.place(9, 1, 9);
    subject.put(Table::Queue, key::queue(&subject.at(4).host(), elsewhere), &value);
    assert_eq!(subject.check(), [Damage::WaitsTwice, Damage::Counter]);
    subject.repair();
    // One that is settled does not wait.
    subject.put(Table::Seen, subject.at(1).key, Seen::Settled { depth: 1 }.encode());
    let settled = crate::record::QueueEntry { url: url(HOST, 1), ..Default::default() };
    let settled = prost::Message::encode_to_vec(&settled);
    subject.put(Table::Queue, key::queue(&subject.at(1).host(), elsewhere), settled);
    assert_eq!(subject.check(), [Damage::WaitsSettled, Damage::Counter]);
    subject.repair();
    assert!(matches!(subject.known(1), Some(Known::Settled(_))));
}

#[test]
fn a_host_with_something_waiting_comes_up_again() {
    let host_comes_up = |subject: &Subject| {
        let ready = subject.frontier().ready(ID, 1_000).unwrap();
        ready.iter().filter(|(_, name)| *name == host(HOST)).count() == 1
    };
    let mut subject = Subject::new();
    let head = subject.at(0).host();
    subject.lose(Table::Heads, head);
    assert_eq!(subject.check(), [Damage::HostMissing, Damage::ReadyOfNothing]);
    subject.repair();
    assert!(host_comes_up(&subject));

    let mut subject = Subject::new();
    let ready = subject.ready_key();
    subject.lose(Table::Ready, &ready);
    assert_eq!(subject.check(), [Damage::HostNotReady]);
    subject.lose(Table::Heads, head);
    assert_eq!(subject.check(), [Damage::HostMissing]);
    subject.repair();
    assert!(host_comes_up(&subject));

    let mut subject = Subject::new();
    let ready = subject.ready_key();
    subject.lose(Table::Ready, &ready);
    subject.put(Table::Heads, head, key::time(i64::MAX));
    assert_eq!(subject.check(), [Damage::HostTaken]);
    subject.repair();
    assert!(host_comes_up(&subject));
}

#[test]
fn a_host_that_is_leased_is_not_ready() {
    let subject = Subject::new();
    let leased = (0..HOSTS).find(|number| is_leased(ID.0, *number)).unwrap();
    let mut frontier = subject.frontier();
    let at = frontier.host_at(ID, &host(leased));
    let mut batch = Batch::at(at.slot);
    frontier.enter_ready(&mut batch, ID, &host(leased), 60);
    frontier.write(batch).unwrap();
    assert_eq!(subject.check(), [Damage::LeasedAndReady]);
    subject.repair();
    assert!(frontier.ready(ID, 1_000).unwrap().iter().all(|(_, name)| *name != host(leased)));
}

#[test]
fn counters_are_counted_anew() {
    let mut subject = Subject::new();
    let before = subject.frontier().progress(ID);
    let mut batch = Batch::at_home();
    batch.count(&key::meta::progress(ID.0), [-3; COUNTERS], Vec::new());
    subject.store.write(batch).unwrap();
    assert_eq!(subject.check(), [Damage::Counter]);
    subject.repair();
    let after = subject.frontier().progress(ID);
    assert_eq!((after.pages, after.queued, after.bytes), (before.pages, before.queued, before.bytes));
    assert_eq!(after.sequence, before.sequence, "new places are not those of others");
}

#[test]
fn keys_without_the_number_they_are_made_by_are_no_frontier() {
    let mut subject = Subject::new();
    let mut batch = Batch::at_home();
    batch.delete(Table::Meta, key::meta::POLYNOMIAL);
    subject.store.write(batch).unwrap();
    assert!(matches!(open(Box::new(subject.store)), Err(MonitorError::Corrupt(_))));
}

/// What a store may lose without losing the crawls themselves.
const LOSABLE: [Table; 9] = [
    Table::Seen,
    Table::Queue,
    Table::Retries,
    Table::Records,
    Table::Heads,
    Table::Ready,
    Table::Visits,
    Table::Uses,
    Table::Leases,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_lost_is_put_back_or_let_in_again(
        losses in prop::collection::vec((0..LOSABLE.len(), any::<prop::sample::Index>()), 1..60),
        keeps_log: bool,
    ) {
        let mut subject = Subject::new();
        for (table, index) in losses {
            let entries = subject.store.walk(LOSABLE[table], &[], usize::MAX).unwrap().entries;
            if entries.is_empty() {
                continue;
            }
            let (slot, (key, _)) = index.get(&entries);
            let mut batch = Batch::at(slot.unwrap());
            batch.delete(LOSABLE[table], key);
            subject.store.write(batch).unwrap();
        }
        if keeps_log {
            subject.repair();
            // All URLs of the logs, and all that their pages name, are known again.
            let frontier = subject.frontier();
            for (crawl, number, page) in (1..=CRAWLS).flat_map(|c| (0..HOSTS).map(move |h| (c, h, h % 6))) {
                let url = CanonicalUrl::parse(&filled::url(number, page)).unwrap();
                let known = frontier.known(CrawlId(crawl), &url).unwrap();
                prop_assert!(known.is_some() || page > 1, "{}", url.as_str());
            }
        } else {
            subject.log.clear();
            subject.walk(true);
            let left = subject.walk(false);
            // Pages that no log has are found again and again, until they are fetched.
            prop_assert!(left.damage.keys().all(|damage| *damage == Damage::RecordWithoutPage), "{:?}", left.damage);
        }
    }
}
