//! From the start of a request to its settlement, and the ends of a lease.

use seine_proto::common::v1::ArchivePosition;
use seine_proto::monitor::v1::{Pace, Revisit};

use super::*;

#[test]
fn a_page_is_settled_after_its_links_and_holds_its_connection_until_they_are_answered() {
    let mut bench = Bench::prepared(terms(), &[10, 20]);
    let (page, path) = bench.start_page();
    assert_eq!(path, "/10");
    bench.fetched(page);
    assert!(bench.starts().is_empty());
    bench.parsed(page, &["http://example.org/5"]);
    let discover = bench.discover();
    assert_eq!((discover.request_id, discover.redirect, discover.links.len()), (page, false, 1));
    bench.tell(Event::Saved { page, archive: None });
    assert!(bench.starts().is_empty(), "the answer may hold the URL that goes next");
    assert_eq!(bench.outcomes(), [(format!("{HOST}/10"), OutcomeKind::Saved)]);
    bench.tell(Event::Discovered { page, urls: vec![queued(5)] });
    assert_eq!(bench.start_page().1, "/5", "depth first");
    bench.settled(page);
    assert!(bench.other.contains(&Action::Remember { link_hashes: vec![1, 2], depth: 2 }));
}

#[test]
fn a_saved_page_is_settled_with_all_that_is_known_of_it() {
    let mut bench = Bench::prepared(terms(), &[1]);
    let (page, _) = bench.start_page();
    bench.fetched(page);
    bench.parsed(page, &[]);
    let archive =
        seine_proto::common::v1::ArchivePosition { file: "a".into(), offset: 1, length: 2, ..Default::default() };
    bench.tell(Event::Saved { page, archive: Some(archive.clone()) });
    let [Message::Settle(settle)] = &bench.sent[..] else { panic!("{:?}", bench.sent) };
    let expected = Outcome {
        kind: OutcomeKind::Saved.into(),
        status: 200,
        fetched_at_ms: 9,
        bytes: 5,
        archive: Some(archive),
        fingerprint: 3,
        generate: true,
        title: "t".into(),
        ..Outcome::default()
    };
    assert_eq!((settle.token, settle.place.as_ref(), settle.outcome.as_ref()), (7, [1].as_slice(), Some(&expected)));
    bench.settled(page);
    assert!(bench.returned().is_some());
}

#[test]
fn an_answer_that_is_kept_settles_its_url_when_the_archive_has_it_or_never_will() {
    for is_saved in [true, false] {
        let mut bench = Bench::prepared(terms(), &[1, 2]);
        let (page, _) = bench.start_page();
        let ending = redirect_to("http://example.org/2");
        bench.tell(Event::Ended { page, ending, at_ms: 9, is_kept: true });
        assert_eq!(bench.discover().links, ["http://example.org/2"], "where it leads to is told at once");
        bench.tell(Event::Discovered { page, urls: Vec::new() });
        assert_eq!(bench.start_page().1, "/2", "its connection is free");
        assert!(bench.outcomes().is_empty(), "the archive does not have it yet");
        bench.tell(match is_saved {
            true => Event::Saved { page, archive: None },
            false => Event::Failed { page, reason: "no room".into() },
        });
        assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::Redirected)], "saved: {is_saved}");
        bench.settled(page);
        bench.complete(2);
        assert!(bench.returned().is_some());
    }
}

#[test]
fn a_page_that_is_confirmed_missing_is_withdrawn_after_the_answer_is_kept() {
    let revisit = Revisit { gone_if_missing: true, ..Revisit::default() };
    let known = QueuedUrl { revisit: Some(Box::new(revisit)), ..queued(1) };
    let mut bench = Bench::with(terms(), vec![known], &[]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    let (page, _) = bench.start_page();
    bench.tell(Event::Ended { page, ending: ending(OutcomeKind::NotFound), at_ms: 9, is_kept: true });
    let withdrawal = Action::Withdraw { page, url: format!("{HOST}/1") };
    assert!(!bench.other.contains(&withdrawal));
    bench.tell(Event::Saved { page, archive: None });
    assert!(bench.other.contains(&withdrawal) && bench.outcomes().is_empty());
    bench.tell(Event::Saved { page, archive: None });
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::NotFound)]);
}

#[test]
fn several_connections_work_at_once_and_no_more() {
    let mut bench = Bench::prepared(Terms { connections: 3, ..terms() }, &[1, 2, 3, 4, 5]);
    assert_eq!(bench.starts().len(), 3);
    bench.ended(1, ending(OutcomeKind::NotFound));
    assert_eq!(bench.start_page().1, "/4");
}

#[test]
fn requests_keep_their_distance_and_the_rest() {
    let mut bench = Bench::prepared(Terms { delay: ms(100), rest: ms(50), connections: 4, ..terms() }, &[1, 2, 3]);
    assert!(bench.starts().is_empty());
    assert_eq!(bench.worker.wake_at(bench.now), Some(bench.now + ms(50)));
    bench.wait(ms(50));
    assert_eq!(bench.starts().len(), 1);
    let next = bench.worker.wake_at(bench.now).unwrap();
    assert!(next >= bench.now + ms(100));
    bench.wait(ms(99));
    assert!(bench.starts().is_empty());
    let rest = next - bench.now;
    bench.wait(rest);
    assert_eq!(bench.starts().len(), 1);
}

#[test]
fn nothing_starts_late_in_the_lease_until_it_is_renewed() {
    let mut bench = Bench::prepared(terms(), &[1, 2]);
    bench.wait(ms(8_000));
    assert!(bench.starts().is_empty());
    let lease_end = bench.worker.lease_end();
    assert_eq!(bench.worker.wake_at(bench.now), Some(lease_end), "only its end is waited for");
    let since = bench.now - ms(100);
    bench.tell(Event::Renewed { since });
    assert_eq!(bench.starts().len(), 1);
}

#[test]
fn a_redirect_is_a_discovery_and_then_an_outcome() {
    let mut bench = Bench::prepared(terms(), &[1, 2]);
    let (page, _) = bench.start_page();
    bench.ended(page, redirect_to("http://example.org/target"));
    assert!(matches!(
        &bench.sent[..],
        [Message::Discover(discover), Message::Settle(_)] if discover.redirect && discover.links == ["http://example.org/target"]
    ));
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::Redirected)]);
    assert!(bench.starts().is_empty());
    bench.tell(Event::Discovered { page, urls: vec![] });
    assert_eq!(bench.start_page().1, "/2");
}

#[test]
fn the_eleventh_redirect_in_a_row_is_given_up() {
    let mut bench = Bench::with(terms(), vec![QueuedUrl { redirect_hops: 10, ..queued(1) }], &[]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    bench.sent.clear();
    let (page, _) = bench.start_page();
    bench.ended(page, redirect_to("http://example.org/target"));
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::TooManyRedirects)]);
    assert_eq!(bench.sent.len(), 1, "no discovery");
}

#[test]
fn a_host_that_asks_for_patience_gets_its_lease_returned() {
    let mut bench = Bench::prepared(Terms { connections: 2, ..terms() }, &[1, 2, 3]);
    assert_eq!(bench.starts().len(), 2);
    bench.ended(1, ending(OutcomeKind::SlowDown));
    assert!(bench.starts().is_empty());
    bench.settled(1);
    assert!(bench.returned().is_none(), "a request is still under way");
    bench.complete(2);
    assert!(bench.returned().unwrap().since_last_request_ms.is_some());
}

#[test]
fn told_to_drain_it_finishes_what_is_under_way() {
    let mut bench = Bench::prepared(terms(), &[1, 2]);
    let (page, _) = bench.start_page();
    bench.tell(Event::Drain);
    bench.fetched(page);
    bench.parsed(page, &["http://example.org/9"]);
    bench.tell(Event::Discovered { page, urls: vec![queued(9)] });
    bench.tell(Event::Saved { page, archive: None });
    assert!(bench.starts().is_empty() && bench.returned().is_none());
    bench.settled(page);
    assert!(bench.returned().is_some());
}

#[test]
fn never_more_pages_than_allowed_can_be_saved() {
    let mut bench = Bench::prepared(Terms { page_allowance: Some(2), connections: 8, ..terms() }, &[1, 2, 3, 4]);
    assert_eq!(bench.starts().len(), 2);
    bench.ended(1, ending(OutcomeKind::NotFound));
    let (third, path) = bench.start_page();
    assert_eq!(path, "/3", "a page that is none gives its place to another");
    bench.settled(1);
    bench.complete(2);
    assert!(bench.starts().is_empty());
    bench.complete(third);
    assert!(bench.returned().is_some());
}

#[test]
fn a_page_that_cannot_be_kept_is_settled_as_that_and_the_others_go_on() {
    let mut bench = Bench::prepared(Terms { page_allowance: Some(1), ..terms() }, &[1, 2]);
    let (page, _) = bench.start_page();
    bench.fetched(page);
    bench.tell(Event::Failed { page, reason: "a page made the worker panic".into() });
    let outcomes: Vec<_> = bench.outcomes().into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(outcomes, [OutcomeKind::NotKept]);
    bench.settled(page);
    let (_, path) = bench.start_page();
    assert_eq!(path, "/2", "it took nothing from what may be saved");
}

#[test]
fn a_stale_answer_means_that_the_lease_is_lost() {
    let mut bench = Bench::prepared(terms(), &[1]);
    let (page, _) = bench.start_page();
    bench.ended(page, ending(OutcomeKind::NotFound));
    bench.tell(Event::Settled { page, stale: true });
    assert_eq!(bench.other, [Action::Abandon]);
}

#[test]
fn more_urls_are_asked_for_before_the_window_is_empty() {
    let now = Instant::now();
    let mut worker = HostWorker::new(terms(), [queued(1), queued(2)], false, &[], now, now);
    let mut actions = Vec::new();
    worker.advance(now, &mut actions);
    worker.advance(now, &mut actions);
    let questions: Vec<_> =
        actions.iter().filter(|action| matches!(action, Action::Send(Message::WantUrls(_)))).collect();
    assert!(matches!(questions[..], [Action::Send(Message::WantUrls(want))] if want.after_place.as_ref() == [2]));
}

#[test]
fn unsettled_pages_are_bounded() {
    let urls: Vec<QueuedUrl> = (0..300u16)
        .map(|n| QueuedUrl {
            place: Bytes::copy_from_slice(&n.to_be_bytes()).into(),
            url: format!("{HOST}/{n}").into(),
            ..queued(0)
        })
        .collect();
    let mut bench = Bench::with(Terms { connections: 1000, ..terms() }, urls, &[]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    assert_eq!(bench.starts().len(), pages::MAX_UNSETTLED);
    bench.ended(1, ending(OutcomeKind::NotFound));
    assert!(bench.starts().is_empty());
    bench.settled(1);
    assert_eq!(bench.starts().len(), 1);
}

#[test]
fn no_more_requests_are_started_than_the_lease_allows() {
    let mut bench = Bench::prepared(Terms { request_allowance: Some(2), connections: 8, ..terms() }, &[1, 2, 3, 4]);
    assert_eq!(bench.starts().len(), 2);
    bench.complete(1);
    bench.complete(2);
    assert_eq!(bench.returned().unwrap().requests, 2);
}

fn known(number: u8, revisit: Revisit) -> QueuedUrl {
    QueuedUrl { revisit: Some(Box::new(revisit)), ..queued(number) }
}

fn revisiting(revisit: Revisit) -> Bench {
    let mut bench = Bench::with(terms(), vec![known(1, revisit)], &[]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    bench.sent.clear();
    bench.other.clear();
    bench
}

#[test]
fn a_known_page_is_asked_for_with_its_marks_and_may_be_unchanged() {
    let mut bench = revisiting(Revisit { etag: "\"a\"".into(), saved: true, ..Revisit::default() });
    let starts = bench.starts();
    assert!(matches!(&starts[..], [Start::Page(start)] if start.known.etag == "\"a\""));
    bench.ended(1, ending(OutcomeKind::NotModified));
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::NotModified)]);
}

#[test]
fn a_page_that_is_as_it_was_is_settled_once_its_visit_is_in_the_archive() {
    let archive =
        Some(ArchivePosition { file: "a.warc.gz".into(), offset: 7, length: 9, ..ArchivePosition::default() });
    let mut bench = revisiting(Revisit { archive: archive.clone(), saved: true, ..Revisit::default() });
    let starts = bench.starts();
    assert!(matches!(&starts[..], [Start::Page(start)] if start.known.archive == archive), "{starts:?}");
    let freshness = Freshness { etag: "\"b\"".into(), ..Freshness::default() };
    bench.tell(Event::Fetched { page: 1, status: 304, bytes: 0, at_ms: 9, freshness });
    assert!(bench.outcomes().is_empty(), "not before the visit is durable");
    bench.tell(Event::Saved { page: 1, archive: None });
    let [Message::Settle(settle)] = &bench.sent[..] else { panic!("{:?}", bench.sent) };
    let outcome = settle.outcome.as_ref().unwrap();
    assert_eq!((outcome.kind(), outcome.etag.as_str()), (OutcomeKind::NotModified, "\"b\""));
    bench.settled(1);
    assert!(bench.returned().is_some());
}

#[test]
fn a_visit_on_its_way_to_the_archive_holds_no_connection() {
    let archive = Some(ArchivePosition::default());
    let visits = [1, 2].map(|number| known(number, Revisit { archive: archive.clone(), ..Revisit::default() }));
    let mut bench = Bench::with(terms(), visits.into(), &[]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    let (page, _) = bench.start_page();
    bench.tell(Event::Fetched { page, status: 304, bytes: 0, at_ms: 9, freshness: Freshness::default() });
    assert_eq!(bench.start_page().1, "/2");
}

#[test]
fn a_page_that_is_gone_is_withdrawn_before_it_is_settled() {
    let mut bench = revisiting(Revisit { gone_if_missing: true, saved: true, ..Revisit::default() });
    let (page, _) = bench.start_page();
    bench.ended(page, ending(OutcomeKind::NotFound));
    assert!(bench.outcomes().is_empty(), "not before the withdrawal is durable");
    assert_eq!(bench.other, [Action::Withdraw { page, url: format!("{HOST}/1") }]);
    bench.tell(Event::Saved { page, archive: None });
    let [Message::Settle(settle)] = &bench.sent[..] else { panic!("{:?}", bench.sent) };
    assert!(settle.outcome.as_ref().is_some_and(|outcome| outcome.withdrawn));
    bench.settled(page);
    assert!(bench.returned().is_some());
}

#[test]
fn trouble_never_withdraws_a_page() {
    for kind in [OutcomeKind::Timeout, OutcomeKind::ServerError, OutcomeKind::ClientError] {
        let mut bench = revisiting(Revisit { gone_if_missing: true, saved: true, ..Revisit::default() });
        let (page, _) = bench.start_page();
        bench.ended(page, ending(kind));
        assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), kind)]);
    }
}

#[test]
fn an_excluded_page_is_withdrawn_without_a_request_or_even_an_address() {
    let excluded = known(1, Revisit { withdraw: "deny-urls \"*\"".into(), saved: true, ..Revisit::default() });
    let mut bench = Bench::with(terms(), vec![excluded], &[]);
    let page = 1;
    assert_eq!(bench.other, [Action::Withdraw { page, url: format!("{HOST}/1") }]);
    bench.tell(Event::Saved { page, archive: None });
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::Excluded)]);
    bench.settled(page);
    assert_eq!(bench.returned().unwrap().requests, 0);
}

#[test]
fn links_of_an_unusable_page_are_not_remembered_since_another_page_may_bring_them_in() {
    let mut bench = Bench::prepared(Terms { unusable_below: 0.1, ..terms() }, &[1]);
    let (page, _) = bench.start_page();
    bench.fetched(page);
    bench.parsed(page, &["http://example.org/5"]);
    bench.tell(Event::Saved { page, archive: None });
    bench.tell(Event::Discovered { page, urls: Vec::new() });
    bench.settled(page);
    assert!(!bench.other.iter().any(|action| matches!(action, Action::Remember { .. })), "{:?}", bench.other);
}

/// New settings of the crawl, as the Monitor tells them.
fn changed(delay_ms: u32, connections: u32, judge_again: bool) -> Event {
    let pace = Some(Pace { delay_ms, connections, ..Pace::default() });
    Event::TermsChanged { crawl: Box::default(), pace, judge_again }
}

#[test]
fn a_changed_delay_holds_from_the_next_request_on_and_so_does_a_shorter_one() {
    let mut bench = Bench::prepared(Terms { delay: ms(50), connections: 4, ..terms() }, &[1, 2, 3, 4]);
    assert_eq!(bench.starts().len(), 1);
    bench.tell(changed(2_000, 4, false));
    bench.wait(ms(1_900));
    assert!(bench.starts().is_empty());
    bench.wait(ms(400));
    assert_eq!(bench.starts().len(), 1);
    bench.tell(changed(10, 4, false));
    bench.wait(ms(300));
    assert_eq!(bench.starts().len(), 1);
}

#[test]
fn fewer_connections_hold_as_soon_as_the_others_are_free() {
    let mut bench = Bench::prepared(Terms { connections: 3, ..terms() }, &[1, 2, 3, 4, 5]);
    assert_eq!(bench.starts().len(), 3);
    bench.tell(changed(0, 1, false));
    bench.ended(1, ending(OutcomeKind::NotFound));
    bench.ended(2, ending(OutcomeKind::NotFound));
    assert!(bench.starts().is_empty(), "one is still at work");
    bench.ended(3, ending(OutcomeKind::NotFound));
    assert_eq!(bench.start_page().1, "/4");
}

#[test]
fn after_a_change_of_rules_only_what_is_sent_again_is_fetched() {
    let mut bench = Bench::prepared(terms(), &[1, 2, 3]);
    let (page, _) = bench.start_page();
    bench.tell(changed(0, 1, true));
    let want = bench.sent.iter().find_map(|message| match message {
        Message::WantUrls(want) => Some(want.clone()),
        _ => None,
    });
    let want = want.expect("the queue is asked for from its beginning");
    assert_eq!((want.after_place.as_ref(), want.under_way), ([].as_slice(), vec![Bytes::copy_from_slice(&[1])]));
    bench.complete(page);
    assert!(bench.starts().is_empty() && bench.returned().is_none(), "nothing is known to be wanted");
    bench.tell(Event::Urls { urls: vec![queued(3)], exhausted: true });
    let (page, path) = bench.start_page();
    assert_eq!(path, "/3");
    bench.complete(page);
    assert!(bench.returned().is_some());
}

#[test]
fn a_preparation_is_given_back_when_rules_change() {
    let mut bench = Bench::new(Terms { prepare: true, ..terms() }, &[1]);
    assert!(bench.returned().is_none());
    bench.tell(changed(0, 1, true));
    assert!(bench.returned().is_some());
}
