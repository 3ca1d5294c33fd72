//! Who has a host, for how long, and who gets it next.

use super::*;

#[test]
fn an_expired_lease_rests_one_delay_and_its_urls_are_handed_out_again_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/1", "http://a.test/2"]));
    let first = bench.hear_lease();
    let lasts = bench.lease_ms();
    bench.advance(lasts - 1);
    assert!(bench.silent());
    bench.advance(1);
    assert!(bench.silent(), "the host must rest one delay first");
    bench.advance(1_000);
    let second = bench.hear_lease();
    assert!(second.token > first.token);
    assert_eq!(urls(&second), urls(&first));
}

#[test]
fn a_settlement_under_an_old_token_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let old = bench.hear_lease();
    bench.advance(10_000_000);
    bench.advance(1_000);
    let new = bench.hear_lease();
    let root = urls(&old).remove(0);
    bench.settle(old.token, &root, saved());
    assert!(bench.hear_settled().stale);
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 0);
    assert_eq!(bench.discover(old.token, &root, &["http://a.test/x"], false), []);
    bench.settle(new.token, &root, saved());
    assert!(!bench.hear_settled().stale);
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().pages, 1);
}

#[test]
fn renewing_keeps_a_lease_alive() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    for _ in 0..20 {
        bench.advance(14_000);
        bench.say(collector_message::Message::Heartbeat(Heartbeat {
            tokens: vec![lease.token, 99],
            ..Heartbeat::default()
        }));
        let monitor_message::Message::Renewed(renewed) = bench.hear() else { panic!("a heartbeat is answered") };
        assert_eq!(renewed.tokens, [lease.token]);
    }
}

#[test]
fn after_a_restart_a_host_of_the_dead_process_rests_one_full_delay() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    bench.add(crawl("c", &["http://a.test/"]));
    bench.hear_lease();
    drop(bench);
    let mut bench = Bench::new(dir.path(), clock, true);
    bench.keeper.grant_ready().unwrap();
    assert!(bench.silent());
    bench.advance(899);
    assert!(bench.silent());
    bench.advance(1);
    // Handed out a little early, with the rest of the delay as the lease's own waiting time.
    assert_eq!(bench.hear_lease().rest_ms, 100);
}

#[test]
fn a_returned_host_waits_out_its_delay() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/1", "http://a.test/2"]));
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, Some(300));
    assert!(bench.silent());
    bench.advance(600);
    let again = bench.hear_lease();
    assert_eq!((again.rest_ms, urls(&again).len()), (100, 1));
}

#[test]
fn more_urls_follow_the_last_place_of_the_lease() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let seeds: Vec<String> = (0..600).map(|i| format!("http://a.test/{i}")).collect();
    bench.add(crawl("c", &seeds.iter().map(String::as_str).collect::<Vec<_>>()));
    let lease = bench.hear_lease();
    let mut handed_out = urls(&lease);
    assert!(!lease.urls.as_ref().unwrap().exhausted);
    let after_place = handed_out.last().unwrap().place.clone();
    bench.say(collector_message::Message::WantUrls(WantUrls {
        token: lease.token,
        after_place,
        limit: 512,
        ..WantUrls::default()
    }));
    let monitor_message::Message::Urls(more) = bench.hear() else { panic!("wanted URLs are sent") };
    assert!(more.exhausted);
    handed_out.extend(more.urls);
    assert_eq!(handed_out.into_iter().map(|url| url.url).collect::<Vec<_>>(), seeds);
}

#[test]
fn a_new_host_is_prepared_before_it_is_fetched_where_a_collector_has_room_for_that() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.say(collector_message::Message::Credit(Credit { leases: 0, preparations: 4, ..Credit::default() }));
    bench.add(crawl("c", &["http://a.test/1", "http://a.test/2"]));
    let preparation = bench.hear_lease();
    assert!(preparation.prepare && urls(&preparation).len() == 1);
    bench.give_back(preparation.token, Some(0));
    bench.advance(1_000);
    let lease = bench.hear_lease();
    assert!(!lease.prepare && urls(&lease).len() == 2);
}

#[test]
fn a_host_goes_to_the_collector_of_its_slot_and_to_another_when_that_has_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let (messages, mut inbox) = mpsc::channel(64);
    let hello = Hello { embedded: true, ..hello("d") };
    bench.keeper.handle(Command::Attach { session: SessionId(2), hello, messages }).unwrap();
    assert!(matches!(inbox.try_recv().unwrap().message, Some(monitor_message::Message::Welcome(_))));
    let credit = collector_message::Message::Credit(Credit { leases: 3, preparations: 0, ..Credit::default() });
    bench.keeper.handle(Command::Message { session: SessionId(2), message: credit }).unwrap();
    let hosts: Vec<String> = (0..11).map(|number| format!("http://h{number}.test/")).collect();
    bench.add(crawl("c", &hosts.iter().map(String::as_str).collect::<Vec<_>>()));
    let (mut mine, mut others) = (Vec::new(), Vec::new());
    let until = Instant::now() + DEADLINE;
    while mine.len() + others.len() < 11 {
        assert!(Instant::now() < until, "{} and {} leases came", mine.len(), others.len());
        mine.extend(bench.inbox.try_recv());
        others.extend(inbox.try_recv());
    }
    assert_eq!((mine.len(), others.len()), (8, 3), "an idle collector takes what the other has no room for");
    let leased = |messages: &[MonitorMessage]| -> Vec<String> {
        let host = |message: &MonitorMessage| match &message.message {
            Some(monitor_message::Message::Lease(lease)) => lease.host.clone(),
            other => panic!("expected a lease, heard {other:?}"),
        };
        messages.iter().map(host).collect()
    };
    let owner = |host: &String| bench.keeper.slots.owner(HostKey::from_stored(host.clone()).slot()).unwrap();
    let own = leased(&mine).iter().filter(|host| owner(host) == "c").count();
    let strangers = leased(&others).iter().filter(|host| owner(host) == "c").count();
    assert!(own == 8 || strangers == 0, "a host went elsewhere while its own collector had room");
}

#[test]
fn a_lease_that_is_taken_back_at_once_is_heard_of_before_that() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    // As many as the collector of the bench has credit for.
    for number in 0..8 {
        let name = format!("c{number}");
        bench.add(crawl(&name, &[&format!("http://h{number}.test/")]));
        let pause = SetCrawlStateRequest { name, state: CrawlState::Paused.into() };
        bench.keeper.set_state(&pause).unwrap();
        let lease = bench.hear_lease();
        assert!(matches!(bench.hear(), monitor_message::Message::Revoke(revoke) if revoke.token == lease.token));
        bench.give_back(lease.token, None);
    }
}
