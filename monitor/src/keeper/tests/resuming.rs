//! Leases over restarts of the Monitor and broken streams.

use super::*;

const SEEDS: [&str; 3] = ["http://a.test/1", "http://a.test/2", "http://a.test/3"];

/// A collector elsewhere gets a lease, and the Monitor is killed.
fn killed(path: &Path, clock: &Clock, settings: Crawl) -> Lease {
    let mut bench = Bench::new(path, clock.clone(), false);
    bench.add(settings);
    bench.hear_lease()
}

fn showing(tokens: &[u64]) -> Hello {
    Hello { tokens: tokens.to_vec(), ..hello("c") }
}

#[test]
fn a_lease_that_is_shown_after_a_restart_goes_on_at_once_under_its_token() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let lease = killed(dir.path(), &clock, crawl("c", &SEEDS));
    let (mut bench, resumed) = Bench::attached(dir.path(), clock, showing(&[lease.token, 99]));
    assert_eq!(resumed, [lease.token]);
    assert!(matches!(bench.hear(), monitor_message::Message::Terms(terms) if terms.token == lease.token));
    bench.settle(lease.token, &urls(&lease)[0], saved());
    assert!(!bench.hear_settled().stale);
    // What was settled and not acknowledged is settled again.
    bench.settle(lease.token, &urls(&lease)[0], saved());
    assert!(!bench.hear_settled().stale);
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 1);
    bench.say(collector_message::Message::WantUrls(WantUrls { token: lease.token, limit: 512, ..WantUrls::default() }));
    let monitor_message::Message::Urls(rest) = bench.hear() else { panic!("wanted URLs are sent") };
    assert_eq!(rest.urls, urls(&lease)[1..]);
    bench.advance(bench.lease_ms() - 1);
    assert!(bench.silent(), "nobody else gets the host");
    bench.give_back(lease.token, Some(0));
    bench.advance(1_000);
    assert_eq!(urls(&bench.hear_lease()).len(), 2);
}

#[test]
fn a_lease_that_its_collector_does_not_show_ends_at_once_and_its_host_rests_one_delay() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let lease = killed(dir.path(), &clock, crawl("c", &SEEDS));
    let (mut bench, resumed) = Bench::attached(dir.path(), clock, showing(&[]));
    assert!(resumed.is_empty());
    bench.advance(899);
    assert!(bench.silent());
    bench.advance(1);
    let next = bench.hear_lease();
    assert!(next.token > lease.token && next.rest_ms == 100);
}

#[test]
fn a_lease_that_nobody_shows_ends_with_its_term_and_no_process_but_its_own_goes_on_with_it() {
    let dir = tempfile::tempdir().unwrap();
    for stranger in [Hello { instance: 2, ..showing(&[1]) }, Hello { tokens: vec![1], ..hello("d") }] {
        let path = dir.path().join(format!("{}{}", stranger.collector_id, stranger.instance));
        let clock = Clock::manual(1_000_000);
        assert_eq!(killed(&path, &clock, crawl("c", &SEEDS)).token, 1);
        let (mut bench, resumed) = Bench::attached(&path, clock, stranger);
        assert!(resumed.is_empty());
        let first = bench.lease_ms() - 1;
        bench.advance(first);
        assert!(bench.silent(), "the process that has it may be at work");
        bench.advance(1);
        bench.advance(1_000);
        bench.hear_lease();
    }
}

#[test]
fn time_in_which_no_monitor_ran_counts_for_a_lease_that_nobody_shows() {
    for (away_ms, left_ms) in [(0, 15_000), (5_000, 11_100), (600_000, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(1_000_000);
        killed(dir.path(), &clock, crawl("c", &SEEDS));
        clock.advance(away_ms);
        let (mut bench, _) = Bench::attached(dir.path(), clock, hello("d"));
        if left_ms > 0 {
            bench.advance(left_ms - 1);
            assert!(bench.silent(), "away for {away_ms} ms");
        }
        bench.advance(1);
        bench.advance(1_000);
        bench.hear_lease();
    }
}

#[test]
fn pages_promised_before_a_restart_are_not_promised_again() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let settings = Crawl { max_pages: Some(2), ..crawl("c", &["http://a.test/", "http://b.test/"]) };
    let lease = killed(dir.path(), &clock, settings);
    let (mut bench, _) = Bench::attached(dir.path(), clock, showing(&[lease.token]));
    assert!(matches!(bench.hear(), monitor_message::Message::Terms(_)));
    assert!(bench.silent(), "the whole limit is promised");
}

type Change<'a> = &'a dyn Fn(&mut Bench);

#[test]
fn what_has_changed_while_a_collector_was_away_reaches_it() {
    let pause = |bench: &mut Bench| {
        let state = SetCrawlStateRequest { name: "c".to_owned(), state: CrawlState::Paused.into() };
        drop(bench.keeper.set_state(&state).unwrap());
    };
    let set = |bench: &mut Bench, settings: Crawl, field: &str| {
        let fields = vec![field.to_owned()];
        let request = SetCrawlRequest { name: "c".to_owned(), settings: Some(settings), fields };
        drop(bench.keeper.set_crawl(request).unwrap());
    };
    let other_agent = |bench: &mut Bench| {
        set(bench, Crawl { user_agent: Some("Other/1 (+http://a.test)".to_owned()), ..Crawl::default() }, "user_agent");
    };
    let other_delay = |bench: &mut Bench| set(bench, Crawl { delay_ms: Some(7_000), ..Crawl::default() }, "delay_ms");
    let changes: [(&str, Change, bool); 3] =
        [("paused", &pause, true), ("another user agent", &other_agent, true), ("another delay", &other_delay, false)];
    for (what, change, revokes) in changes {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(1_000_000);
        let mut bench = Bench::new(dir.path(), clock.clone(), false);
        bench.add(crawl("c", &SEEDS));
        let lease = bench.hear_lease();
        bench.keeper.handle(Command::Detach { session: SESSION }).unwrap();
        change(&mut bench);
        drop(bench);
        let (mut bench, resumed) = Bench::attached(dir.path(), clock, showing(&[lease.token]));
        assert_eq!(resumed, [lease.token], "{what}");
        match bench.hear() {
            monitor_message::Message::Revoke(revoke) => assert!(revokes && revoke.token == lease.token, "{what}"),
            monitor_message::Message::Terms(terms) => {
                assert!(!revokes && terms.pace.unwrap().delay_ms == 7_000, "{what}");
            }
            other => panic!("{what}: heard {other:?}"),
        }
    }
}

#[test]
fn a_collector_whose_stream_broke_goes_on_with_its_lease_on_another_and_the_old_one_counts_no_more() {
    const NEXT: SessionId = SessionId(2);
    let dir = tempfile::tempdir().unwrap();
    for notices in [true, false] {
        let path = dir.path().join(notices.to_string());
        let mut bench = Bench::new(&path, Clock::manual(1_000_000), true);
        bench.add(crawl("c", &SEEDS));
        let lease = bench.hear_lease();
        if notices {
            bench.keeper.handle(Command::Detach { session: SESSION }).unwrap();
        }
        bench.advance(bench.lease_ms() - 1);
        let (messages, inbox) = mpsc::channel(64);
        let hello = Hello { embedded: true, ..showing(&[lease.token]) };
        bench.keeper.handle(Command::Attach { session: NEXT, hello, messages }).unwrap();
        bench.inbox = inbox;
        assert_eq!(bench.hear_welcome(), [lease.token]);
        assert!(matches!(bench.hear(), monitor_message::Message::Terms(_)));
        bench.settle(lease.token, &urls(&lease)[0], saved());
        assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 0, "it came on the old stream");
        // Its end is noticed late.
        bench.keeper.handle(Command::Detach { session: SESSION }).unwrap();
        bench.advance(bench.lease_ms() - 1);
        let settle = Settle {
            token: lease.token,
            request_id: 1,
            url: urls(&lease)[0].url.clone(),
            place: urls(&lease)[0].place.clone(),
            outcome: Some(saved()),
        };
        let message = collector_message::Message::Settle(settle);
        bench.keeper.handle(Command::Message { session: NEXT, message }).unwrap();
        assert!(!bench.hear_settled().stale);
        assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 1);
    }
}

#[test]
fn the_length_of_a_lease_leaves_a_dead_collectors_hosts_to_others_within_twenty_seconds() {
    let config = MonitorConfig::default();
    assert!(config.lease_at_collector() < config.lease);
    // A heartbeat may have just been missed, and the lease is looked at in ticks.
    assert!(config.lease + TICK + Duration::from_secs(3) < Duration::from_secs(20));
}

#[test]
fn a_collector_that_says_nothing_gets_nothing_more_and_its_hosts_go_to_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), false);
    bench.add(crawl("c", &SEEDS));
    bench.hear_lease();
    let (messages, mut other) = mpsc::channel(64);
    bench.keeper.handle(Command::Attach { session: SessionId(2), hello: hello("d"), messages }).unwrap();
    bench.advance(bench.lease_ms() - 1);
    let credit = collector_message::Message::Credit(Credit { leases: 1, preparations: 0, ..Credit::default() });
    bench.keeper.handle(Command::Message { session: SessionId(2), message: credit }).unwrap();
    // As at every tick.
    bench.keeper.notice_silent_collectors();
    bench.advance(1);
    bench.advance(60_000);
    std::mem::swap(&mut bench.inbox, &mut other);
    assert!(bench.hear_welcome().is_empty());
    assert_eq!(urls(&bench.hear_lease()).len(), SEEDS.len());
    assert_eq!(bench.keeper.collectors.len(), 1, "the silent one has to come again");
}

/// A place that no URL has.
fn elsewhere(url: &QueuedUrl) -> QueuedUrl {
    let mut place = url.place.to_vec();
    *place.last_mut().unwrap() ^= 0x80;
    QueuedUrl { place: place.into(), ..url.clone() }
}

#[test]
fn a_page_told_of_by_a_monitor_that_lost_it_is_settled_where_the_next_one_found_it_and_nothing_else_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), false);
    bench.add(crawl("c", &SEEDS));
    let lease = bench.hear_lease();
    let [first, second, third] = urls(&lease).try_into().unwrap();
    let links = bench.discover(lease.token, &elsewhere(&first), &["http://a.test/4"], false);
    assert_eq!(links.len(), 1, "it is told of the links too");
    bench.settle(lease.token, &elsewhere(&first), saved());
    assert!(!bench.hear_settled().stale);
    // The place that it was told of has been given to another.
    bench.settle(lease.token, &QueuedUrl { place: second.place.clone(), ..links[0].clone() }, saved());
    assert!(!bench.hear_settled().stale);
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 2);
    bench.say(collector_message::Message::WantUrls(WantUrls { token: lease.token, limit: 512, ..WantUrls::default() }));
    let monitor_message::Message::Urls(rest) = bench.hear() else { panic!("wanted URLs are sent") };
    assert_eq!(rest.urls, [second, third]);
}
