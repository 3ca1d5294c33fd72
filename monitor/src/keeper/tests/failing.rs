//! URLs and hosts that fail: when they are tried again, and when no more.

use super::*;

#[test]
fn retry_after_holds_the_host_for_as_long_as_it_asks() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], Outcome { retry_after_s: 120, ..outcome(OutcomeKind::SlowDown) });
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    assert_eq!(
        bench.keeper.status(CrawlId(1)).unwrap().waiting_reason,
        "a.test rests until 00:18:40 UTC: it asked for patience (429 or 503)"
    );
    bench.advance(119_800);
    assert!(bench.silent());
    bench.advance(200);
    assert_eq!(urls(&bench.hear_lease())[0].attempts, 1);
}

#[test]
fn a_url_that_keeps_failing_is_given_up_after_three_attempts() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    for attempt in 0..3 {
        let lease = bench.hear_lease();
        assert_eq!(urls(&lease)[0].attempts, attempt);
        bench.settle(lease.token, &urls(&lease)[0], outcome(OutcomeKind::Timeout));
        bench.hear_settled();
        bench.give_back(lease.token, Some(0));
        bench.advance(20_000);
    }
    assert_eq!(bench.state("c"), CrawlState::Finished);
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().failed, 1);
}

#[test]
fn a_page_that_cannot_be_kept_uses_up_its_attempts_and_says_nothing_about_its_host() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let not_kept = || Outcome { status: 200, detail: "it panicked".to_owned(), ..outcome(OutcomeKind::NotKept) };
    for attempt in 0..3 {
        let lease = bench.hear_lease();
        assert_eq!(urls(&lease)[0].attempts, attempt);
        bench.settle(lease.token, &urls(&lease)[0], not_kept());
        bench.hear_settled();
        bench.give_back(lease.token, Some(0));
        bench.advance(20_000);
    }
    assert_eq!((bench.state("c"), bench.keeper.status(CrawlId(1)).unwrap().failed), (CrawlState::Finished, 1));
    let explained = bench.keeper.explain("http://a.test/").unwrap();
    let verdict = &explained.crawls[0];
    assert_eq!((verdict.state.as_str(), verdict.reason.as_str()), ("not kept", "it panicked"));
    let host = bench.keeper.frontier.host(&HostKey::from_stored("a.test".to_owned())).unwrap();
    assert_eq!((host.failures, host.skips), (0, 0));
}

#[test]
fn a_retry_that_is_almost_due_is_handed_out_with_its_host() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let mut settings = crawl("c", &["http://a.test/"]);
    settings.delay_ms = Some(0);
    bench.add(settings);
    let lease = bench.hear_lease();
    bench.settle(lease.token, &urls(&lease)[0], outcome(OutcomeKind::Timeout));
    bench.hear_settled();
    bench.give_back(lease.token, Some(0));
    bench.advance(1_950);
    assert_eq!(urls(&bench.hear_lease())[0].attempts, 1);
}

#[test]
fn a_host_that_keeps_failing_is_skipped_with_all_its_urls_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let seeds: Vec<String> = (0..30).map(|i| format!("http://a.test/{i}")).collect();
    bench.add(crawl("c", &seeds.iter().map(String::as_str).collect::<Vec<_>>()));
    let lease = bench.hear_lease();
    for url in &urls(&lease)[..8] {
        bench.settle(lease.token, url, outcome(OutcomeKind::Timeout));
    }
    let heard: Vec<_> = (0..9).map(|_| bench.hear()).collect();
    assert!(heard.iter().any(|message| matches!(message, monitor_message::Message::Revoke(_))), "{heard:?}");
    bench.give_back(lease.token, Some(0));
    let reason = bench.keeper.status(CrawlId(1)).unwrap().waiting_reason;
    assert!(reason.starts_with("a.test rests until") && reason.contains("keeps failing"), "{reason}");
    bench.advance(59_000);
    assert!(bench.silent());
    bench.advance(1_000);
    let lease = bench.hear_lease();
    assert_eq!(urls(&lease).len(), 30, "nothing was given up");
    bench.settle(lease.token, &urls(&lease)[0], saved());
    bench.hear_settled();
    assert_eq!(bench.keeper.frontier.host(&HostKey::from_stored("a.test".into())).unwrap().failures, 0);
}

#[test]
fn a_host_that_still_fails_after_it_was_skipped_twice_is_given_up_and_the_crawl_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let seeds: Vec<String> = (0..2_500).map(|i| format!("http://a.test/{i}")).collect();
    bench.add(crawl("c", &seeds.iter().map(String::as_str).collect::<Vec<_>>()));
    for round in 0..3 {
        let lease = loop {
            if let monitor_message::Message::Lease(lease) = bench.hear() {
                break lease;
            }
        };
        for url in urls(&lease).iter().take(if round == 0 { 8 } else { 1 }) {
            bench.settle(lease.token, url, outcome(OutcomeKind::ConnectionFailed));
        }
        bench.give_back(lease.token, Some(0));
        bench.keeper.empty_some().unwrap();
        bench.advance(300_000);
    }
    for _ in 0..4 {
        bench.keeper.empty_some().unwrap();
    }
    assert_eq!(bench.state("c"), CrawlState::Finished);
    let status = bench.keeper.status(CrawlId(1)).unwrap();
    assert_eq!((status.failed, status.queued), (2_500, 0));
}
