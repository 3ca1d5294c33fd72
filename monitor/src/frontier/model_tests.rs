//! The frontier against a simple model in memory, over each kind of store: random discoveries, leases, settlements, lost
//! leases, retries, visits, restarts and moves of the clock. After every step both must know the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::{OutcomeKind, Revisit};

use super::{Candidate, Frontier, Known, Settlement};
use crate::place::{Class, Order, Place};
use crate::record::{CrawlId, CrawlRecord, HostRecord, LeaseRecord, QueueEntry, UrlRecord};
use crate::store::MemoryStore;
use crate::tests_support::{Valkey, candidate, crawl, outcome, settled};

/// A frontier that can be closed and opened again.
struct Subject {
    /// Dropped first: it may still have something to write into what `open` holds.
    frontier: Option<Frontier>,
    open: Box<dyn Fn() -> Frontier>,
}

impl Subject {
    fn new(open: impl Fn() -> Frontier + 'static) -> Self {
        Self { open: Box::new(open), frontier: None }
    }

    fn frontier(&mut self) -> &mut Frontier {
        self.frontier.get_or_insert_with(&self.open)
    }

    /// As after a crash of the process.
    fn restart(&mut self) {
        self.frontier = None;
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Links to pages of hosts, at a depth.
    Discover(Vec<(u8, u8)>, u8),
    Lease(u8),
    /// The n-th waiting URL of a host is saved or given up, and due again some time later.
    Settle(u8, u8, bool, u16),
    Retry(u8, u8, u16),
    /// The lease ends, whoever ended it, and the host rests.
    Release(u8, u16),
    Promote(u8),
    Revisit(u8),
    SettleRest(u8),
    Forget(u8, u8),
    Wait(u16),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let (host, page) = (0u8..3, 0u8..12);
    prop_oneof![
        48 => (prop::collection::vec((host.clone(), page.clone()), 1..8), 0u8..5).prop_map(|(l, d)| Step::Discover(l, d)),
        24 => host.clone().prop_map(Step::Lease),
        48 => (host.clone(), 0u8..4, any::<bool>(), 1u16..3_000).prop_map(|(h, n, s, due)| Step::Settle(h, n, s, due)),
        16 => (host.clone(), 0u8..4, 1u16..2_000).prop_map(|(h, n, due)| Step::Retry(h, n, due)),
        24 => (host.clone(), 0u16..2_000).prop_map(|(h, rest)| Step::Release(h, rest)),
        16 => host.clone().prop_map(Step::Promote),
        16 => (1u8..4).prop_map(Step::Revisit),
        8 => host.clone().prop_map(Step::SettleRest),
        8 => (host, page).prop_map(|(h, p)| Step::Forget(h, p)),
        24 => (0u16..1_500).prop_map(Step::Wait),
        1 => Just(Step::Restart),
    ]
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Queued(Place),
    Retrying(Place, i64),
    Settled,
}

#[derive(Clone, Debug)]
struct Page {
    state: State,
    depth: u32,
    attempts: u32,
    saved: bool,
    /// 0: never.
    due_ms: i64,
    revisit: bool,
}

#[derive(Default)]
struct Model {
    now: i64,
    sequence: u64,
    /// Host and page number.
    pages: BTreeMap<(u8, u8), Page>,
    /// When a host is ready; `None` while it is leased. Hosts without anything to do are not in it.
    heads: BTreeMap<u8, Option<i64>>,
    tokens: BTreeMap<u8, u64>,
}

impl Model {
    /// Waiting pages of a host in order.
    fn queue(&self, host: u8) -> Vec<((u8, u8), Place)> {
        let waiting = self.pages.iter().filter(|(key, _)| key.0 == host).filter_map(|(key, page)| match page.state {
            State::Queued(place) => Some((*key, place)),
            _ => None,
        });
        let mut queue: Vec<_> = waiting.collect();
        queue.sort_by_key(|(_, place)| *place);
        queue
    }

    fn first_retry(&self, host: u8) -> Option<i64> {
        let of_host = self.pages.iter().filter(|(key, _)| key.0 == host);
        of_host.filter_map(|(_, page)| if let State::Retrying(_, due) = page.state { Some(due) } else { None }).min()
    }

    fn requeue(&mut self, host: u8, ready: i64) {
        let ready =
            if self.queue(host).is_empty() { self.first_retry(host).map(|due| due.max(ready)) } else { Some(ready) };
        match ready {
            Some(ready) => drop(self.heads.insert(host, Some(ready))),
            None => drop(self.heads.remove(&host)),
        }
    }

    fn due(&self) -> Vec<(i64, (u8, u8))> {
        let settled = self.pages.iter().filter(|(_, page)| page.state == State::Settled && page.due_ms > 0);
        let mut due: Vec<_> = settled.map(|(key, page)| (page.due_ms, *key)).collect();
        due.sort_unstable();
        due
    }
}

/// One run of the model beside a frontier, under a crawl and host names of its own.
struct Run<'a> {
    subject: &'a mut Subject,
    id: CrawlId,
    model: Model,
}

impl Run<'_> {
    fn host(&self, host: u8) -> HostKey {
        HostKey::from_stored(format!("h{host}-{}.test", self.id.0))
    }

    fn url(&self, (host, page): (u8, u8)) -> String {
        format!("http://{}/{page}", self.host(host))
    }

    fn candidate(&self, key: (u8, u8), depth: u32, place: Place) -> Candidate {
        Candidate { place, ..candidate(&self.url(key), depth, 0, 0) }
    }

    fn frontier(&mut self) -> &mut Frontier {
        self.subject.frontier()
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let id = self.id;
        match step.clone() {
            Step::Discover(links, depth) => {
                let now = self.model.now;
                self.model.sequence += 1;
                let place = |number| Order::DepthFirst.place(u32::from(depth), self.model.sequence, number as u32);
                let found: Vec<_> =
                    links.iter().enumerate().map(|(n, key)| self.candidate(*key, u32::from(depth), place(n))).collect();
                let expected: Vec<bool> = links.iter().zip(&found).map(|(key, c)| self.discover(*key, c)).collect();
                prop_assert_eq!(self.frontier().admit(id, &found, now).unwrap(), expected);
            }
            Step::Lease(host) => self.lease(host),
            Step::Settle(host, n, saved, due) => {
                if let Some((key, place)) = self.model.queue(host).get(usize::from(n)).copied() {
                    let due_ms = self.model.now + i64::from(due);
                    let page = self.model.pages.get_mut(&key).unwrap();
                    let was_saved = page.saved;
                    *page = Page {
                        state: State::Settled,
                        saved: saved || was_saved,
                        due_ms,
                        revisit: false,
                        ..page.clone()
                    };
                    let kind = if page.saved { OutcomeKind::Saved } else { OutcomeKind::NotFound };
                    let depth = page.depth;
                    let candidate = self.candidate(key, depth, place);
                    let record = UrlRecord { next_visit_ms: due_ms, ..settled(&candidate, outcome(kind)) };
                    let host = self.host(host);
                    prop_assert!(self.frontier().settle(id, &host, place, Settlement::Done(Box::new(record))).unwrap());
                }
            }
            Step::Retry(host, n, due) => {
                if let Some((key, place)) = self.model.queue(host).get(usize::from(n)).copied() {
                    let due_ms = self.model.now + i64::from(due);
                    let page = self.model.pages.get_mut(&key).unwrap();
                    page.state = State::Retrying(place, due_ms);
                    page.attempts += 1;
                    let retry = Settlement::Retry { due_ms, outcome: outcome(OutcomeKind::Timeout) };
                    let host = self.host(host);
                    prop_assert!(self.frontier().settle(id, &host, place, retry).unwrap());
                }
            }
            Step::Release(host, rest) => self.release(host, rest),
            Step::Promote(host) => {
                let now = self.model.now;
                for (_, page) in self.model.pages.iter_mut().filter(|(key, _)| key.0 == host) {
                    if let State::Retrying(place, due) = page.state
                        && due <= now
                    {
                        page.state = State::Queued(place);
                    }
                }
                let host = self.host(host);
                self.frontier().promote_retries(id, &host, now).unwrap();
            }
            Step::Revisit(limit) => self.revisit(usize::from(limit))?,
            Step::SettleRest(host) => self.settle_rest(host)?,
            Step::Forget(host, page) => self.forget((host, page))?,
            Step::Wait(ms) => self.model.now += i64::from(ms),
            Step::Restart => self.subject.restart(),
        }
        Ok(())
    }

    fn discover(&mut self, key: (u8, u8), candidate: &Candidate) -> bool {
        let depth = candidate.entry.depth;
        match self.model.pages.get_mut(&key) {
            Some(page) => {
                if matches!(page.state, State::Queued(_)) {
                    page.depth = page.depth.min(depth);
                }
                false
            }
            None => {
                let state = State::Queued(candidate.place);
                let page = Page { state, depth, attempts: 0, saved: false, due_ms: 0, revisit: false };
                self.model.pages.insert(key, page);
                let now = self.model.now;
                self.model.heads.entry(key.0).or_insert(Some(now));
                true
            }
        }
    }

    fn lease(&mut self, host: u8) {
        if !matches!(self.model.heads.get(&host), Some(Some(_))) {
            return;
        }
        self.model.heads.insert(host, None);
        let name = self.host(host).as_str().to_owned();
        let token = self.frontier().next_token().unwrap();
        let lease = LeaseRecord { token, crawl: self.id.0, host: name.clone(), ..LeaseRecord::default() };
        let record = HostRecord { host: name, lease_token: token, ..HostRecord::default() };
        self.frontier().grant(&lease, &record).unwrap();
        self.model.tokens.insert(host, token);
    }

    fn release(&mut self, host: u8, rest: u16) {
        let (id, ready) = (self.id, self.model.now + i64::from(rest));
        let Some(token) = self.model.tokens.remove(&host) else { return };
        let name = self.host(host);
        let record = HostRecord { host: name.as_str().to_owned(), next_allowed_ms: ready, ..HostRecord::default() };
        self.frontier().release(token, &record).unwrap();
        self.frontier().requeue_host(id, &name, ready).unwrap();
        self.model.requeue(host, ready);
    }

    fn revisit(&mut self, limit: usize) -> Result<(), TestCaseError> {
        let (id, now) = (self.id, self.model.now);
        let due: Vec<_> = self.model.due().into_iter().filter(|(due, _)| *due < now).collect();
        let found = self.frontier().due_visits(id, now, limit).unwrap();
        // Equal times may come in any order.
        prop_assert_eq!(found.len(), due.len().min(limit));
        self.model.sequence += 1;
        let mut visits = Vec::new();
        for (number, record) in found.iter().enumerate() {
            let key = *self.model.pages.keys().find(|key| self.url(**key) == record.entry.url).unwrap();
            prop_assert!(due.iter().any(|(_, other)| *other == key));
            let place = Place::in_turn(Class::Revisit, self.model.sequence, number as u32);
            let page = self.model.pages.get_mut(&key).unwrap();
            (page.state, page.revisit, page.attempts) = (State::Queued(place), true, 0);
            let depth = page.depth;
            let mut visit = self.candidate(key, depth, place);
            visit.entry = QueueEntry { revisit: Some(Revisit::default()), ..visit.entry };
            visits.push(visit);
            self.model.heads.entry(key.0).or_insert(Some(now));
        }
        self.frontier().revisit(id, visits, now).unwrap();
        Ok(())
    }

    fn settle_rest(&mut self, host: u8) -> Result<(), TestCaseError> {
        let (id, due_ms) = (self.id, self.model.now + 700);
        let mut count = 0;
        for (_, page) in self.model.pages.iter_mut().filter(|(key, _)| key.0 == host) {
            if page.state != State::Settled {
                count += 1;
                (page.state, page.revisit, page.due_ms) = (State::Settled, false, due_ms);
            }
        }
        let host = self.host(host);
        let settled = self.frontier().settle_rest(id, &host, &outcome(OutcomeKind::HostFailed), due_ms, 1_000).unwrap();
        prop_assert_eq!(settled, count);
        Ok(())
    }

    fn forget(&mut self, key: (u8, u8)) -> Result<(), TestCaseError> {
        let id = self.id;
        let page = self.model.pages.entry(key).or_insert_with(|| Page {
            state: State::Settled,
            depth: 0,
            attempts: 0,
            saved: false,
            due_ms: 0,
            revisit: false,
        });
        (page.state, page.saved, page.due_ms, page.revisit) = (State::Settled, false, 0, false);
        let url = self.candidate(key, 0, Place::in_turn(Class::Deferred, 0, 0)).url;
        self.frontier().forget_url(id, &url).unwrap();
        Ok(())
    }

    /// Both know the same.
    fn compare(&mut self) -> Result<(), TestCaseError> {
        let id = self.id;
        let mut waiting = 0;
        for host in 0..3 {
            let expected: Vec<_> =
                self.model.queue(host).into_iter().map(|(key, place)| (self.url(key), place)).collect();
            let name = self.host(host);
            let stretch = self.frontier().stretch(id, &name, None, 1_000).unwrap();
            let found: Vec<_> = stretch.urls.into_iter().map(|queued| (queued.entry.url, queued.place)).collect();
            prop_assert_eq!(found, expected);
        }
        for (key, page) in self.model.pages.clone() {
            let url = self.candidate(key, 0, Place::in_turn(Class::Deferred, 0, 0)).url;
            let known = self.frontier().known(id, &url).unwrap();
            match (&page.state, known) {
                (State::Queued(place), Some(Known::Queued(queued))) => {
                    prop_assert_eq!(
                        (*place, page.depth, page.attempts),
                        (queued.place, queued.entry.depth, queued.entry.attempts)
                    );
                }
                (State::Retrying(..), Some(Known::Retrying(entry))) => prop_assert_eq!(entry.attempts, page.attempts),
                (State::Settled, Some(Known::Settled(record))) => {
                    prop_assert_eq!(record.outcome.kind() == OutcomeKind::Saved, page.saved);
                }
                (state, known) => prop_assert!(false, "{:?} and {:?}", state, known),
            }
            waiting += u64::from(page.state != State::Settled);
        }
        let progress = self.frontier().progress(id);
        prop_assert_eq!(progress.queued, waiting);
        prop_assert_eq!(progress.pages, self.model.pages.values().filter(|page| page.saved).count() as u64);
        let revisits = self.model.pages.values().filter(|page| page.revisit && page.state != State::Settled).count();
        prop_assert_eq!(progress.revisits_queued, revisits as u64);
        let mut expected: Vec<_> =
            self.model.heads.iter().filter_map(|(host, ready)| Some(((*ready)?, self.host(*host)))).collect();
        expected.sort_by(|a, b| (a.0, a.1.as_str()).cmp(&(b.0, b.1.as_str())));
        let mut found = self.frontier().ready(id, 100).unwrap();
        prop_assert!(found.is_sorted_by_key(|(at, _)| *at));
        found.sort_by(|a, b| (a.0, a.1.as_str()).cmp(&(b.0, b.1.as_str())));
        prop_assert_eq!(found, expected);
        prop_assert_eq!(self.frontier().next_due(id).unwrap(), self.model.due().first().map(|(due, _)| *due));
        Ok(())
    }
}

fn behaves_like_the_model(subject: &mut Subject, id: CrawlId, steps: &[Step]) -> Result<(), TestCaseError> {
    let settings = crawl(&format!("c{}", id.0), &["http://a.test/"]);
    subject.frontier().put_crawl(&CrawlRecord { id: id.0, settings, ..CrawlRecord::default() }).unwrap();
    let mut run = Run { subject, id, model: Model { now: 1_000, ..Model::default() } };
    for step in steps {
        run.take(step)?;
        run.compare()?;
    }
    Ok(())
}

/// Opening RocksDB is slow and cases do not meet: they share a directory for a while.
struct Rocks {
    subject: Subject,
    cases: u32,
}

const CASES_PER_DIRECTORY: u32 = 100;
thread_local! {
    static ROCKS: RefCell<Option<Rocks>> = const { RefCell::new(None) };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_frontier_on_rocksdb_behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        let result = ROCKS.with_borrow_mut(|shared| {
            let rocks = shared.get_or_insert_with(|| {
                let dir = tempfile::tempdir().unwrap();
                Rocks { subject: Subject::new(move || Frontier::open(dir.path()).unwrap()), cases: 0 }
            });
            rocks.cases += 1;
            let result = behaves_like_the_model(&mut rocks.subject, CrawlId(rocks.cases), &steps);
            if rocks.cases >= CASES_PER_DIRECTORY || result.is_err() {
                *shared = None;
            }
            result
        });
        result?;
    }

    #[test]
    fn the_frontier_in_memory_behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        let store = MemoryStore::default();
        let mut subject = Subject::new(move || Frontier::over(store.clone()).unwrap());
        behaves_like_the_model(&mut subject, CrawlId(1), &steps)?;
    }
}

thread_local! {
    static VALKEY: RefCell<Option<Subject>> = const { RefCell::new(None) };
}

proptest! {
    // A restart of a frontier there is a round over all slots, and answers come over a connection.
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_frontier_on_valkey_behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        static CRAWLS: AtomicU32 = AtomicU32::new(0);
        let crawl = CrawlId(CRAWLS.fetch_add(1, Ordering::Relaxed) + 1);
        let result = VALKEY.with_borrow_mut(|shared| {
            if shared.is_none() {
                let valkey = Valkey::take()?;
                *shared = Some(Subject::new(move || Frontier::over(valkey.open()).unwrap()));
            }
            shared.as_mut().map(|subject| behaves_like_the_model(subject, crawl, &steps))
        });
        result.unwrap_or(Ok(()))?;
    }
}
