//! Collectors that are asked to finish.

use super::*;

#[test]
fn a_draining_collector_finishes_its_lease_gets_no_other_and_its_slots_go_to_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), false);
    bench.add(crawl("c", &["http://a.test/1", "http://a.test/2"]));
    let lease = bench.hear_lease();
    assert_eq!(bench.keeper.drain("c", false).unwrap(), 1);
    assert!(matches!(bench.hear(), monitor_message::Message::Revoke(revoke) if revoke.token == lease.token));
    bench.settle(lease.token, &urls(&lease)[0], saved());
    assert!(!bench.hear_settled().stale, "what is under way is finished");
    bench.give_back(lease.token, Some(0));
    bench.advance(1_000);
    assert!(bench.silent());
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().waiting_reason, "the collector is draining");
    assert_eq!(bench.keeper.slots.collectors().count(), 0);

    // Still so after a restart, also for a lease that was held then.
    drop(bench);
    let (mut bench, _) = Bench::attached(dir.path(), clock, hello("c"));
    bench.advance(1_000);
    assert!(bench.silent());
    let (messages, mut other) = mpsc::channel(64);
    bench.keeper.handle(Command::Attach { session: SessionId(2), hello: hello("d"), messages }).unwrap();
    let credit = collector_message::Message::Credit(Credit { leases: 1, preparations: 0, ..Credit::default() });
    bench.keeper.handle(Command::Message { session: SessionId(2), message: credit }).unwrap();
    bench.keeper.grant_ready().unwrap();
    std::mem::swap(&mut bench.inbox, &mut other);
    assert!(bench.hear_welcome().is_empty());
    assert_eq!(urls(&bench.hear_lease()).len(), 1);
    assert_eq!(bench.keeper.slots.collectors().collect::<Vec<_>>(), ["d"]);

    assert_eq!(bench.keeper.drain("c", true).unwrap(), 0);
    assert_eq!(bench.keeper.slots.collectors().count(), 2);
}
