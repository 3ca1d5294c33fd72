//! A lease over the end of its stream, and at its own end.

use tokio::sync::mpsc;

use super::*;
use crate::link::uplink::Uplink;

impl Bench {
    fn resume(&mut self) {
        self.sent.clear();
        self.tell(Event::Resumed { since: self.now, uplink: Uplink::new(mpsc::channel(1).0) });
    }

    fn said(&self) -> Vec<&'static str> {
        let name = |message: &Message| match message {
            Message::Pin(_) => "pin",
            Message::Robots(_) => "robots",
            Message::Discover(_) => "discover",
            Message::Settle(_) => "settle",
            Message::WantUrls(_) => "want",
            Message::ReturnLease(_) => "return",
            _ => "other",
        };
        self.sent.iter().map(name).collect()
    }
}

#[test]
fn what_was_not_acknowledged_is_said_again_in_order_and_nothing_else() {
    let mut bench = Bench::prepared(Terms { connections: 3, ..terms() }, &[1, 2, 3, 4]);
    assert_eq!(bench.starts().len(), 3);
    bench.complete(1);
    bench.fetched(2);
    bench.parsed(2, &["http://example.org/5"]);
    bench.tell(Event::Saved { page: 2, archive: None });
    bench.tell(Event::Detached);
    bench.sent.clear();
    bench.fetched(3);
    bench.parsed(3, &["http://example.org/6"]);
    bench.tell(Event::Saved { page: 3, archive: None });
    assert!(bench.sent.is_empty(), "there is nobody to tell");
    bench.resume();
    assert_eq!(bench.said(), ["discover", "settle", "discover", "settle", "want"]);
    let Some(Message::WantUrls(want)) = bench.sent.last() else { panic!("the queue is asked for") };
    assert!(want.after_place.is_empty(), "from its beginning");
    assert_eq!(want.under_way.iter().map(|place| place.as_ref()).collect::<Vec<_>>(), [[2], [3]]);
    bench.settled(2);
    bench.resume();
    assert_eq!(bench.said(), ["discover", "settle", "want"], "the first settlement confirmed what came before it");
    // What is under way is not handed out again, whatever the answer says.
    bench.tell(Event::Urls { urls: [3, 4].map(queued).into(), exhausted: true });
    bench.tell(Event::Discovered { page: 2, urls: Vec::new() });
    bench.tell(Event::Discovered { page: 3, urls: Vec::new() });
    assert_eq!(bench.start_page().1, "/4");
}

#[test]
fn requests_go_on_without_a_stream_for_as_long_as_the_lease_lasts() {
    let mut bench = Bench::prepared(terms(), &[1, 2, 3]);
    bench.tell(Event::Detached);
    let (page, _) = bench.start_page();
    bench.fetched(page);
    bench.parsed(page, &[]);
    let (_, path) = bench.start_page();
    assert_eq!(path, "/2");
}

#[test]
fn a_lease_is_returned_only_where_somebody_hears_it() {
    let mut bench = Bench::prepared(terms(), &[1]);
    bench.tell(Event::Detached);
    bench.tell(Event::Drain);
    assert!(bench.returned().is_none());
    bench.resume();
    assert!(bench.returned().is_some());
}

#[test]
fn an_address_that_was_not_answered_for_is_asked_about_again() {
    let mut bench = Bench::new(terms(), &[1]);
    bench.address_found();
    assert_eq!(bench.said(), ["pin"]);
    bench.tell(Event::Detached);
    bench.resume();
    assert_eq!(bench.said(), ["pin", "want"]);
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    bench.resume();
    assert_eq!(bench.said(), ["want"]);
}

#[test]
fn at_the_end_of_an_unrenewed_lease_connections_are_closed_once_and_what_was_cut_off_is_asked_again_later() {
    let mut bench = Bench::prepared(Terms { connections: 2, ..terms() }, &[1, 2, 3]);
    let started = bench.now;
    assert_eq!(bench.starts().len(), 2);
    bench.fetched(2);
    assert_eq!(bench.worker.wake_at(bench.now), Some(started + ms(10_000)), "it looks at the end of the lease");
    bench.wait(ms(9_999));
    assert_eq!(bench.other, []);
    bench.wait(ms(1));
    assert_eq!(bench.other, [Action::CloseConnections]);
    bench.tell(Event::CutOff { page: 1 });
    bench.wait(ms(50_000));
    assert_eq!(bench.other, [Action::CloseConnections]);
    assert_eq!(bench.worker.wake_at(bench.now), None);
    // A renewal that was sent long ago renews nothing.
    bench.tell(Event::Renewed { since: started + ms(20_000) });
    assert!(bench.starts().is_empty());
    // What was fetched is settled when the Monitor has kept the lease for it.
    bench.parsed(2, &[]);
    bench.tell(Event::Saved { page: 2, archive: None });
    bench.resume();
    assert_eq!(bench.said(), ["settle", "want"]);
    bench.tell(Event::Urls { urls: [1, 2, 3].map(queued).into(), exhausted: true });
    let paths = bench.starts().into_iter().filter_map(|start| match start {
        Start::Page(start) => Some(start.url.path_and_query().to_owned()),
        Start::Robots { .. } => None,
    });
    assert_eq!(paths.collect::<Vec<_>>(), ["/1", "/3"]);
}

#[test]
fn a_robots_txt_that_was_cut_off_is_asked_for_again() {
    let mut bench = Bench::new(Terms { ignore_robots: false, ..terms() }, &[1]);
    bench.address_found();
    bench.tell(Event::Pinned { go: true, request_allowance: None });
    let Some(Start::Robots { origin, url, .. }) = bench.starts().pop() else { panic!("robots.txt comes first") };
    bench.wait(ms(10_000));
    bench.tell(Event::RobotsCutOff { origin, url });
    assert!(bench.starts().is_empty());
    bench.tell(Event::Renewed { since: bench.now });
    assert!(matches!(bench.starts()[..], [Start::Robots { .. }]));
}
