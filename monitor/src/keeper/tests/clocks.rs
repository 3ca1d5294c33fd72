//! A clock that was ahead: what it dated is put right, and what is known of pages is ordered without it.

use seine_proto::monitor::v1::{Robots, RobotsFound, RobotsVerdict};

use super::*;

const NOW: i64 = 1_700_000_000_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const AHEAD: i64 = NOW + 365 * DAY_MS;
const PAGE: &str = "http://a.test/page";

#[test]
fn a_robots_txt_that_was_read_in_the_future_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let known = |at: i64, wait: i64| {
        let mut bench = Bench::new(dir.path(), Clock::manual(at), true);
        if at == AHEAD {
            bench.add(crawl("c", &["http://a.test/", PAGE]));
        }
        bench.keeper.look_after_things().unwrap();
        bench.advance(wait);
        let lease = bench.hear_lease();
        let robots = Robots {
            origin: "http://a.test".to_owned(),
            fetched_at_ms: bench.clock.now_ms(),
            verdict: RobotsVerdict::AllowAll.into(),
            body: Default::default(),
        };
        let found = RobotsFound { token: lease.token, robots: Some(robots) };
        bench.say(collector_message::Message::Robots(found));
        bench.give_back(lease.token, None);
        lease.robots.len()
    };
    assert_eq!(known(AHEAD, 0), 0);
    assert_eq!(known(AHEAD + DAY_MS / 2, 2_000), 1, "fresh for a day");
    assert_eq!(known(NOW, DAY_MS), 0, "not for a year");
}

#[test]
fn a_host_that_was_to_wait_by_a_clock_that_was_ahead_waits_a_day_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(AHEAD), true);
    bench.add(crawl("c", &["http://a.test/", PAGE]));
    let lease = bench.hear_lease();
    let failed = urls(&lease);
    bench.settle(lease.token, &failed[0], outcome(OutcomeKind::Timeout));
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    drop(bench);

    let mut bench = Bench::new(dir.path(), Clock::manual(NOW), true);
    bench.keeper.look_after_things().unwrap();
    let mut waited = 0;
    while bench.keeper.leases.iter().next().is_none() && waited <= 2 * DAY_MS {
        bench.advance(DAY_MS / 8);
        waited += DAY_MS / 8;
    }
    let lease = bench.hear_lease();
    assert!(waited <= DAY_MS, "{waited}");
    assert_eq!(urls(&lease).len(), 2, "the page that is to be tried again too");
}

#[test]
fn pages_that_were_saved_by_a_clock_that_was_ahead_are_due_when_somebody_asks() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(AHEAD), true);
    bench.add(crawl("c", &[PAGE]));
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    bench.give_back(lease.token, None);
    assert_eq!(bench.state("c"), CrawlState::Finished);
    drop(bench);

    let mut bench = Bench::new(dir.path(), Clock::manual(NOW), true);
    let again = AddCrawlRequest { crawl: Some(crawl("c", &[PAGE])), again: true };
    bench.keeper.add_crawl(again).unwrap();
    bench.keeper.grant_ready().unwrap();
    bench.advance(DAY_MS);
    let lease = bench.hear_lease();
    assert_eq!(urls(&lease)[0].url, PAGE);
    bench.settle(lease.token, &urls(&lease)[0], outcome(OutcomeKind::NotModified));
    bench.hear_settled();
    bench.give_back(lease.token, None);
    assert_eq!(bench.state("c"), CrawlState::Finished, "each page once in a round");
}

#[test]
fn what_is_forgotten_stands_above_what_was_fetched_and_below_what_is_fetched_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(AHEAD), true);
    bench.add(crawl("c", &["http://a.test/", PAGE]));
    let before = bench.hear_lease();
    for url in urls(&before) {
        bench.settle(before.token, &url, saved());
        bench.hear_settled();
    }
    bench.give_back(before.token, None);
    let what = Some(seine_proto::monitor::v1::forget_request::What::Url(PAGE.to_owned()));
    let id = bench.keeper.begin_forgetting(what).unwrap().id;
    let forgotten = bench.keeper.forget_some(id, &[]).unwrap().unwrap();
    assert!((forgotten.epoch, forgotten.token) > (before.epoch, before.token));
    drop(bench);

    // The clock is right again, and the monitor started anew.
    let mut bench = Bench::new(dir.path(), Clock::manual(NOW), true);
    bench.add(crawl("d", &["http://b.test/"]));
    let after = bench.hear_lease();
    assert!((after.epoch, after.token) > (forgotten.epoch, forgotten.token));
}
