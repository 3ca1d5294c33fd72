//! What must be known of a host before its pages may be fetched: address, pin, robots.txt.

use super::*;
use crate::host_worker::pacing::GRACE;

#[test]
fn nothing_starts_before_the_pin_is_confirmed() {
    let mut bench = Bench::new(terms(), &[1]);
    assert!(matches!(&bench.other[..], [Action::FindAddress { origin, .. }] if &**origin == HOST));
    assert!(bench.starts().is_empty());
    bench.address_found();
    assert!(matches!(&bench.sent[..], [Message::Pin(pin)] if pin.address == "93.184.216.34" && !pin.allowed_by_name));
    assert!(bench.starts().is_empty());
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    assert_eq!(bench.start_page().1, "/1");
}

#[test]
fn a_refused_pin_returns_the_lease_at_once() {
    let mut bench = Bench::new(terms(), &[1]);
    bench.address_found();
    bench.tell(Event::Pinned { go: false, request_allowance: None });
    assert_eq!(bench.returned().unwrap().since_last_request_ms, None);
    assert!(bench.outcomes().is_empty());
}

#[test]
fn a_denied_address_settles_every_url_without_a_request() {
    let mut bench = Bench::new(terms(), &[1, 2]);
    let found = Found::Denied("10.0.0.1".parse().unwrap());
    bench.tell(Event::AddressFound { origin: HOST.into(), found });
    assert!(bench.starts().is_empty());
    let kind = OutcomeKind::AddressNotAllowed;
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), kind), (format!("{HOST}/2"), kind)]);
    assert!(bench.returned().is_none(), "not before all is settled");
    bench.settled(1);
    bench.settled(2);
    assert!(bench.returned().is_some());
}

#[test]
fn an_unknown_name_costs_one_url_an_attempt_and_the_others_nothing() {
    let mut bench = Bench::new(terms(), &[1, 2]);
    bench.tell(Event::AddressFound { origin: HOST.into(), found: Found::Unknown("no such name".into()) });
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::NameNotFound)]);
    bench.settled(1);
    assert!(bench.returned().is_some(), "it is the host that failed");
}

#[test]
fn robots_are_read_first_counted_in_the_pace_and_obeyed() {
    let mut bench = Bench::prepared(Terms { ignore_robots: false, delay: ms(100), ..terms() }, &[1, 2]);
    let starts = bench.starts();
    assert!(matches!(&starts[..], [Start::Robots { url, .. }] if url.as_str() == "http://example.org/robots.txt"));
    let body = Bytes::from_static(b"user-agent: seine\ndisallow: /1\ncrawl-delay: 1");
    let answer = RobotsAnswer::Verdict(Verdict::Rules(body.clone()));
    bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    let found = bench.sent.iter().any(|message| {
        matches!(message, Message::Robots(found) if found.robots.as_ref().unwrap().verdict() == RobotsVerdict::Rules)
    });
    assert!(found && bench.other.contains(&Action::ParseRobots { origin: HOST.into(), body: body.clone() }));
    bench.tell(Event::RobotsParsed { origin: HOST.into(), rules: Arc::new(Rules::parse(&body, "Seine")) });
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::RefusedByRobots)]);
    bench.wait(ms(900));
    assert!(bench.starts().is_empty(), "the host asks for a second");
    bench.wait(ms(100) + GRACE + ms(1));
    assert_eq!(bench.start_page().1, "/2");
    bench.ended(2, ending(OutcomeKind::Timeout));
    bench.settled(1);
    bench.settled(2);
    assert_eq!(bench.returned().unwrap().crawl_delay_ms, 1000);
}

#[test]
fn robots_are_obeyed_at_once_and_told_when_the_archive_has_them() {
    let told = |bench: &Bench| bench.sent.iter().any(|message| matches!(message, Message::Robots(_)));
    for is_saved in [true, false] {
        let mut bench = Bench::prepared(Terms { ignore_robots: false, prepare: true, ..terms() }, &[1]);
        let [Start::Robots { record, .. }] = bench.starts()[..] else { panic!("robots.txt is read first") };
        let answer = RobotsAnswer::Verdict(Verdict::AllowAll);
        bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: Some(record) });
        assert!(!told(&bench) && bench.returned().is_none(), "the archive does not have it yet");
        bench.tell(match is_saved {
            true => Event::Saved { page: record, archive: None },
            false => Event::Failed { page: record, reason: "no room".into() },
        });
        assert!(told(&bench) && bench.returned().is_some(), "saved: {is_saved}");
    }
}

#[test]
fn unreadable_robots_cost_one_url_an_attempt_and_the_others_nothing() {
    let mut bench = Bench::prepared(Terms { ignore_robots: false, ..terms() }, &[1, 2]);
    assert_eq!(bench.starts().len(), 1);
    let answer = RobotsAnswer::Verdict(Verdict::Unavailable("500".into()));
    bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::RobotsUnavailable)]);
    bench.settled(1);
    assert_eq!(bench.returned().unwrap().requests, 1);
}

#[test]
fn a_host_that_is_prepared_is_returned_before_any_page_is_fetched() {
    let mut bench = Bench::prepared(Terms { ignore_robots: false, prepare: true, ..terms() }, &[1]);
    assert!(matches!(&bench.starts()[..], [Start::Robots { .. }]));
    let body = Bytes::from_static(b"user-agent: seine\ncrawl-delay: 2");
    let answer = RobotsAnswer::Verdict(Verdict::Rules(body.clone()));
    bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    bench.tell(Event::RobotsParsed { origin: HOST.into(), rules: Arc::new(Rules::parse(&body, "Seine")) });
    assert!(bench.starts().is_empty() && bench.outcomes().is_empty());
    let returned = bench.returned().unwrap();
    assert_eq!((returned.requests, returned.crawl_delay_ms), (1, 2_000));
}

#[test]
fn fresh_robots_that_came_with_the_lease_are_not_read_again() {
    let brought = Verdict::AllowAll.to_message(HOST, 1);
    let mut bench = Bench::with(Terms { ignore_robots: false, ..terms() }, vec![queued(1)], &[brought]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    assert_eq!(bench.start_page().1, "/1");
}

#[test]
fn robots_redirects_are_followed_five_times() {
    let mut bench = Bench::prepared(Terms { ignore_robots: false, ..terms() }, &[1]);
    for hop in 0..=crate::robots::MAX_ROBOTS_REDIRECTS {
        let starts = bench.starts();
        assert!(matches!(&starts[..], [Start::Robots { .. }]), "hop {hop}: {starts:?}");
        let answer = RobotsAnswer::Redirect(CanonicalUrl::parse(&format!("http://other.org/{hop}")).unwrap());
        bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    }
    assert_eq!(bench.start_page().1, "/1", "as if there were none");
}

#[test]
fn a_url_of_another_host_is_never_fetched_under_the_lease() {
    let stranger = QueuedUrl { url: "http://other.org/".into(), ..queued(1) };
    let mut bench = Bench::with(terms(), vec![stranger], &[]);
    assert_eq!(bench.outcomes().len(), 1);
    assert!(bench.other.is_empty() && bench.starts().is_empty());
}

#[test]
fn a_robots_txt_that_asks_for_patience_holds_the_whole_host_as_long_as_it_says() {
    let mut bench = Bench::prepared(Terms { ignore_robots: false, ..terms() }, &[1, 2]);
    assert_eq!(bench.starts().len(), 1);
    let verdict = Verdict::SlowDown { status: 429, retry_after: Some(Duration::from_secs(90)) };
    let answer = RobotsAnswer::Verdict(verdict);
    bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::SlowDown)]);
    let patience = bench.sent.iter().find_map(|message| match message {
        Message::Settle(settle) => settle.outcome.as_ref().map(|outcome| outcome.retry_after_s),
        _ => None,
    });
    assert_eq!(patience, Some(90));
}

/// A thousand rules that were written to be slow, and URLs that are as long as they may be.
#[test]
fn a_hostile_robots_txt_is_matched_a_bounded_piece_per_turn() {
    let rules: String = (0..1_200).map(|number| format!("disallow: /*a*a*a*a{number}*b\n")).collect();
    let body = Bytes::from(format!("user-agent: *\n{rules}disallow: /\n"));
    let long = |number: u8| QueuedUrl {
        url: format!("{HOST}/{}0123456789b{number}", "a".repeat(1_900)).into(),
        ..queued(number)
    };
    let urls: Vec<_> = (0..200).map(long).collect();
    let rules = Arc::new(Rules::parse(&body, "Seine"));
    let most_per_url = rules.decision(urls[0].url.strip_prefix(HOST).unwrap()).cost;
    let mut bench = Bench::with(Terms { ignore_robots: false, ..terms() }, urls, &[]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    bench.starts();
    let answer = RobotsAnswer::Verdict(Verdict::Rules(body));
    bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    bench.tell(Event::RobotsParsed { origin: HOST.into(), rules });
    let mut turns = 1;
    let mut before = 0;
    while bench.worker.has_more() {
        let settled = bench.outcomes().len() - before;
        assert!((settled - 1) * most_per_url <= ROBOTS_BYTES_PER_TURN, "{settled} in one turn at {most_per_url} each");
        before = bench.outcomes().len();
        turns += 1;
        bench.advance();
    }
    assert!(turns > 100, "{turns} turns at {most_per_url} bytes a URL");
    assert!(bench.outcomes().iter().all(|(_, kind)| *kind == OutcomeKind::RefusedByRobots));
    assert_eq!(bench.outcomes().len(), 200, "nothing is left undecided");
}

#[test]
fn ordinary_rules_are_matched_in_one_turn() {
    let body = Bytes::from_static(b"user-agent: *\ndisallow: /\nallow: /*?page=\ndisallow: /*.php$\n");
    let mut bench = Bench::prepared(Terms { ignore_robots: false, ..terms() }, &(0..200).collect::<Vec<u8>>());
    bench.starts();
    let answer = RobotsAnswer::Verdict(Verdict::Rules(body.clone()));
    bench.tell(Event::RobotsAnswered { origin: HOST.into(), answer, at_ms: 5, record: None });
    bench.tell(Event::RobotsParsed { origin: HOST.into(), rules: Arc::new(Rules::parse(&body, "Seine")) });
    assert!(!bench.worker.has_more());
    assert_eq!(bench.outcomes().len(), 200);
}

#[test]
fn a_port_that_browsers_refuse_is_not_asked_whatever_was_queued() {
    let url = "http://example.org:25/".to_owned();
    let queued = QueuedUrl { url: url.clone().into(), ..queued(1) };
    let bench = Bench::with(Terms { host: "example.org:25".into(), ..terms() }, vec![queued], &[]);
    assert_eq!(bench.outcomes(), [(url, OutcomeKind::Excluded)]);
    assert!(bench.other.is_empty(), "not even the address is looked up");
}

#[test]
fn a_robots_txt_that_redirects_to_a_refused_port_counts_as_unreadable() {
    let mut bench = Bench::prepared(Terms { ignore_robots: false, ..terms() }, &[1]);
    bench.starts();
    let target = CanonicalUrl::parse("http://example.org:25/robots.txt").unwrap();
    bench.tell(Event::RobotsAnswered {
        origin: HOST.into(),
        answer: RobotsAnswer::Redirect(target),
        at_ms: 5,
        record: None,
    });
    assert!(bench.starts().is_empty());
    assert_eq!(bench.outcomes(), [(format!("{HOST}/1"), OutcomeKind::RobotsUnavailable)]);
}
