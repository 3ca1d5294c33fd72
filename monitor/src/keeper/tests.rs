//! What the keeper promises, with a clock that the test moves and a collector that the test plays over its channels.

mod addresses;
mod blocking;
mod clocks;
mod failing;
mod forgetting;
mod leases;
mod resuming;
mod draining;
mod ended;
mod settings;
mod sitemaps;
mod troubles;
mod withdrawing;

use std::path::Path;
use std::time::{Duration, Instant};

use seine_proto::monitor::v1::{
    Crawl, CrawlState, Credit, Discover, Heartbeat, Lease, Outcome, OutcomeKind, PausePer, Pin, Pinned, QueuedUrl,
    Refresh, RefreshPolicy, ReturnLease, SetCrawlStateRequest, Settle, Settled, WantUrls,
};

use super::*;
use crate::tests_support::{crawl, outcome};

const SESSION: SessionId = SessionId(1);
const DEADLINE: Duration = Duration::from_secs(10);

/// A keeper with one attached collector.
struct Bench {
    keeper: Keeper,
    clock: Clock,
    inbox: mpsc::Receiver<MonitorMessage>,
}

impl Bench {
    fn new(path: &Path, clock: Clock, embedded: bool) -> Self {
        Self::attached(path, clock, Hello { embedded, ..hello("c") }).0
    }

    /// With the leases that the collector goes on with.
    fn attached(path: &Path, clock: Clock, hello: Hello) -> (Self, Vec<u64>) {
        let frontier = Frontier::open(path).unwrap();
        let nodes = NodeTable::new(clock.clone());
        let mut keeper = Keeper::new(frontier, MonitorConfig::default(), clock.clone(), nodes).unwrap();
        let (messages, inbox) = mpsc::channel(64);
        keeper.handle(Command::Attach { session: SESSION, hello, messages }).unwrap();
        let mut bench = Self { keeper, clock, inbox };
        let welcome = bench.hear_welcome();
        bench.say(collector_message::Message::Credit(Credit { leases: 8, preparations: 0, ..Credit::default() }));
        (bench, welcome)
    }

    fn hear_welcome(&mut self) -> Vec<u64> {
        match self.hear() {
            monitor_message::Message::Welcome(welcome) => welcome.tokens,
            other => panic!("expected a welcome, heard {other:?}"),
        }
    }

    /// How long an unrenewed lease lasts.
    fn lease_ms(&self) -> i64 {
        self.keeper.config.lease.as_millis() as i64
    }

    fn add(&mut self, settings: Crawl) {
        self.keeper.add_crawl(AddCrawlRequest { crawl: Some(settings), again: false }).unwrap();
        self.keeper.grant_ready().unwrap();
    }

    fn say(&mut self, message: collector_message::Message) {
        self.keeper.handle(Command::Message { session: SESSION, message }).unwrap();
        self.keeper.grant_ready().unwrap();
    }

    fn advance(&mut self, ms: i64) {
        self.clock.advance(ms);
        self.keeper.expire_leases().unwrap();
        self.keeper.grant_ready().unwrap();
    }

    /// The next message; fails when none comes, because durable answers come from another thread.
    fn hear(&mut self) -> monitor_message::Message {
        let until = Instant::now() + DEADLINE;
        loop {
            if let Ok(message) = self.inbox.try_recv() {
                return message.message.unwrap();
            }
            assert!(Instant::now() < until, "the monitor says nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn hear_lease(&mut self) -> Lease {
        match self.hear() {
            monitor_message::Message::Lease(lease) => lease,
            other => panic!("expected a lease, heard {other:?}"),
        }
    }

    fn hear_settled(&mut self) -> Settled {
        match self.hear() {
            monitor_message::Message::Settled(settled) => settled,
            other => panic!("expected settled, heard {other:?}"),
        }
    }

    fn hear_discovered(&mut self) -> Vec<QueuedUrl> {
        match self.hear() {
            monitor_message::Message::Discovered(discovered) => discovered.urls,
            other => panic!("expected discovered, heard {other:?}"),
        }
    }

    fn settle(&mut self, token: u64, url: &QueuedUrl, outcome: Outcome) {
        let settle =
            Settle { token, request_id: 1, url: url.url.clone(), place: url.place.clone(), outcome: Some(outcome) };
        self.say(collector_message::Message::Settle(settle));
    }

    fn discover(&mut self, token: u64, from: &QueuedUrl, links: &[&str], redirect: bool) -> Vec<QueuedUrl> {
        let discover = Discover {
            token,
            request_id: 1,
            from_url: from.url.clone(),
            from_place: from.place.clone(),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            redirect,
            ..Discover::default()
        };
        self.say(collector_message::Message::Discover(discover));
        self.hear_discovered()
    }

    fn give_back(&mut self, token: u64, since: Option<u32>) {
        let requests = u32::from(since.is_some());
        let returned = ReturnLease { token, since_last_request_ms: since, requests, ..ReturnLease::default() };
        self.say(collector_message::Message::ReturnLease(returned));
    }

    fn silent(&mut self) -> bool {
        // Whatever is due is answered after at most one sync; give it ample time to be wrong.
        std::thread::sleep(Duration::from_millis(60));
        self.inbox.try_recv().is_err()
    }

    fn state(&self, name: &str) -> CrawlState {
        self.keeper.status(self.keeper.crawl_named(name).unwrap()).unwrap().state()
    }
}

fn hello(collector: &str) -> Hello {
    Hello { collector_id: collector.to_owned(), instance: 1, ..Hello::default() }
}

fn urls(lease: &Lease) -> Vec<QueuedUrl> {
    lease.urls.clone().unwrap().urls
}

fn saved() -> Outcome {
    Outcome { fingerprint: 0, status: 200, ..outcome(OutcomeKind::Saved) }
}

#[test]
fn a_crawl_ends_when_every_url_is_settled_and_the_host_returned() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    let new = bench.discover(lease.token, &root, &["http://a.test/1", "http://other.test/", "http://a.test/"], false);
    assert_eq!(new.iter().map(|url| url.url.as_str()).collect::<Vec<_>>(), ["http://a.test/1"]);
    bench.settle(lease.token, &root, saved());
    assert!(!bench.hear_settled().stale);
    bench.settle(lease.token, &new[0], outcome(OutcomeKind::NotFound));
    bench.hear_settled();
    assert_eq!(bench.state("c"), CrawlState::Running);
    bench.give_back(lease.token, Some(0));
    assert_eq!(bench.state("c"), CrawlState::Finished);
    let status = bench.keeper.status(CrawlId(1)).unwrap();
    assert_eq!((status.pages, status.failed, status.queued, status.excluded), (1, 1, 0, 1));
}

#[test]
fn the_page_limit_is_never_promised_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let seeds = ["http://a.test/", "http://b.test/", "http://c.test/"];
    let mut settings = crawl("c", &seeds);
    settings.max_pages = Some(2);
    bench.add(settings);
    let lease = bench.hear_lease();
    assert_eq!(lease.page_allowance, 2);
    assert!(bench.silent(), "the whole limit is promised");
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    let lease = bench.hear_lease();
    assert_eq!(lease.page_allowance, 1);
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    assert_eq!(bench.state("c"), CrawlState::Finished);
}

#[test]
fn one_address_serves_no_more_hosts_than_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://b.test/", "http://c.test/"]));
    let tokens: Vec<u64> = (0..3).map(|_| bench.hear_lease().token).collect();
    let mut pin = |token, allowed_by_name| {
        bench.say(collector_message::Message::Pin(Pin { token, address: "192.0.2.1".to_owned(), allowed_by_name }));
        let monitor_message::Message::Pinned(pinned) = bench.hear() else { panic!("a pin is answered") };
        pinned.go
    };
    assert_eq!([pin(tokens[0], false), pin(tokens[1], false), pin(tokens[2], false)], [true, true, false]);
    assert!(pin(tokens[2], true), "networks named by the crawl are not limited");
}

#[test]
fn where_a_seed_redirects_to_joins_the_scope_and_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    bench.discover(lease.token, &root, &["http://b.test/home"], true);
    let target = bench.hear_lease();
    assert_eq!((target.host.as_str(), urls(&target)[0].depth, urls(&target)[0].redirect_hops), ("b.test", 0, 1));
    drop(bench);
    let mut bench = Bench::new(dir.path(), clock, true);
    bench.advance(2_000);
    let leases = [bench.hear_lease(), bench.hear_lease()];
    let on_b = leases.iter().find(|lease| lease.host == "b.test").unwrap();
    let new = bench.discover(on_b.token, &urls(on_b)[0], &["http://b.test/more", "http://c.test/"], false);
    assert_eq!(new.len(), 1);
}

#[test]
fn a_depth_limit_keeps_links_out_until_a_shorter_way_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let mut settings = crawl("c", &["http://a.test/", "http://a.test/other"]);
    settings.max_depth = Some(1);
    bench.add(settings);
    let lease = bench.hear_lease();
    let seeds = urls(&lease);
    let first = bench.discover(lease.token, &seeds[0], &["http://a.test/1"], false);
    assert_eq!(bench.discover(lease.token, &first[0], &["http://a.test/deep"], false), []);
    let readmitted = bench.discover(lease.token, &seeds[1], &["http://a.test/deep"], false);
    assert_eq!(readmitted[0].depth, 1);
}

#[test]
fn pausing_takes_hosts_back_and_resuming_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let change = |state: CrawlState| SetCrawlStateRequest { name: "c".to_owned(), state: state.into() };
    bench.keeper.set_state(&change(CrawlState::Paused)).unwrap();
    assert!(matches!(bench.hear(), monitor_message::Message::Revoke(revoke) if revoke.token == lease.token));
    bench.give_back(lease.token, None);
    assert!(bench.silent());
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().waiting_reason, "paused by admin");
    bench.keeper.set_state(&change(CrawlState::Running)).unwrap();
    bench.keeper.grant_ready().unwrap();
    bench.hear_lease();
}

#[test]
fn a_crawl_that_is_over_can_be_given_more_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    bench.add(crawl("c", &["http://a.test/"]));
    assert_eq!(bench.state("c"), CrawlState::Finished, "there is nothing new");
    bench.add(crawl("c", &["http://a.test/", "http://a.test/new"]));
    assert_eq!(bench.state("c"), CrawlState::Running);
    bench.advance(1_000);
    assert_eq!(urls(&bench.hear_lease())[0].url, "http://a.test/new");
}

#[test]
fn a_general_pause_follows_so_many_requests_also_when_the_collector_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    let mut settings = crawl("c", &["http://a.test/1", "http://a.test/2", "http://a.test/3"]);
    (settings.requests_before_pause, settings.pause_ms) = (Some(5), Some(60_000));
    settings.set_pause_per(PausePer::Host);
    bench.add(settings);
    let lease = bench.hear_lease();
    assert_eq!(lease.pace.unwrap().request_allowance, 5);
    let returned =
        ReturnLease { token: lease.token, since_last_request_ms: Some(0), requests: 2, ..ReturnLease::default() };
    bench.say(collector_message::Message::ReturnLease(returned));
    bench.advance(1_000);
    assert_eq!(bench.hear_lease().pace.unwrap().request_allowance, 3);
    // The process dies: nobody knows how many of the three were made.
    drop(bench);
    let mut bench = Bench::new(dir.path(), clock, true);
    bench.advance(59_000);
    assert!(bench.silent());
    bench.advance(1_000);
    assert_eq!(bench.hear_lease().pace.unwrap().request_allowance, 5);
}

#[test]
fn a_schedule_brings_pages_back_when_they_are_due_and_tells_when_that_is() {
    let dir = tempfile::tempdir().unwrap();
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let mut settings = crawl("c", &["http://a.test/"]);
    settings.refresh =
        Some(Refresh { interval_ms: Some(DAY as u64), gone_after_ms: Some(DAY as u64), ..Refresh::default() });
    settings.refresh.as_mut().unwrap().set_policy(RefreshPolicy::Fixed);
    bench.add(settings);
    let lease = bench.hear_lease();
    let page = Outcome { etag: "\"1\"".to_owned(), ..saved() };
    bench.settle(lease.token, &urls(&lease)[0], page);
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    assert_eq!(bench.state("c"), CrawlState::Finished);
    let reason = bench.keeper.status(CrawlId(1)).unwrap().waiting_reason;
    assert!(reason.starts_with("no URL is due before 1970-01-0"), "{reason}");
    bench.clock.advance(DAY / 2);
    bench.keeper.look_after_things().unwrap();
    bench.keeper.grant_ready().unwrap();
    assert!(bench.silent());
    bench.clock.advance(DAY);
    bench.keeper.look_after_things().unwrap();
    bench.keeper.grant_ready().unwrap();
    let lease = bench.hear_lease();
    assert_eq!(urls(&lease)[0].revisit.as_ref().unwrap().etag, "\"1\"");
    assert_eq!(bench.state("c"), CrawlState::Running);
}

#[test]
fn a_page_that_cannot_be_found_is_not_asked_for_again_before_an_interval_has_passed() {
    let dir = tempfile::tempdir().unwrap();
    const DAY: i64 = 24 * 60 * 60 * 1000;
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let refresh = Refresh { interval_ms: Some(DAY as u64), gone_after_ms: Some(DAY as u64), ..Refresh::default() };
    bench.add(Crawl { refresh: Some(refresh), max_attempts: Some(1), ..crawl("c", &["http://a.test/"]) });
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    for kind in [OutcomeKind::ServerError, OutcomeKind::NotFound, OutcomeKind::NotFound, OutcomeKind::NotFound] {
        bench.clock.advance(2 * DAY);
        bench.keeper.look_after_things().unwrap();
        bench.keeper.grant_ready().unwrap();
        let lease = bench.hear_lease();
        let url = urls(&lease).remove(0);
        let withdrawn = kind == OutcomeKind::NotFound && url.revisit.as_ref().unwrap().gone_if_missing;
        bench.settle(lease.token, &url, Outcome { withdrawn, status: 500, ..outcome(kind) });
        bench.hear_settled();
        bench.give_back(lease.token, Some(0));
        let due = bench.keeper.status(CrawlId(1)).unwrap().next_visit_ms.unwrap();
        assert!(due >= bench.clock.now_ms() + DAY / 2, "after {kind:?} it is due in {} ms", due - bench.clock.now_ms());
    }
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().gone, 1);
}
