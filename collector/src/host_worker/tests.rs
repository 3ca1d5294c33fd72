//! The decisions of a host worker, told what happens and when.

mod fetching;
mod preparation;
mod resuming;

use std::sync::Arc;

use bytes::Bytes;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Discover, Outcome, RobotsVerdict};

use super::events::{Event, PageId, Parsed, StartPage};
use super::*;
use crate::fetch::freshness::Freshness;
use crate::fetch::robots::RobotsAnswer;
use crate::robots::{Rules, Verdict};

const HOST: &str = "http://example.org";

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn queued(number: u8) -> QueuedUrl {
    let place = Place::from(Bytes::copy_from_slice(&[number]));
    QueuedUrl {
        place,
        url: format!("{HOST}/{number}").into(),
        depth: 1,
        redirect_hops: 0,
        revisit: None,
        is_sitemap: false,
    }
}

fn terms() -> Terms {
    Terms {
        epoch: 1,
        token: 7,
        host: "example.org".into(),
        crawl: "test".into(),
        duration: ms(10_000),
        usable: ms(8_000),
        rest: Duration::ZERO,
        delay: Duration::ZERO,
        response_factor: 0.0,
        connections: 1,
        request_allowance: None,
        prepare: false,
        page_allowance: None,
        ignore_robots: true,
        user_agent: "Seine/0.1".into(),
        agent_token: "Seine".into(),
        max_body_bytes: 1_000,
        keywords: Arc::new([]),
        filters: Arc::default(),
        unusable_below: 0.0,
        traceparent: "".into(),
    }
}

/// A worker, the clock it is told, and what it has asked for.
struct Bench {
    worker: HostWorker,
    now: Instant,
    sent: Vec<Message>,
    other: Vec<Action>,
}

impl Bench {
    fn new(terms: Terms, urls: &[u8]) -> Self {
        Self::with(terms, urls.iter().copied().map(queued).collect(), &[])
    }

    fn with(terms: Terms, urls: Vec<QueuedUrl>, robots: &[Robots]) -> Self {
        let now = Instant::now();
        let worker = HostWorker::new(terms, urls, true, robots, now, now);
        let mut bench = Self { worker, now, sent: Vec::new(), other: Vec::new() };
        bench.advance();
        bench
    }

    /// With address and pin.
    fn prepared(terms: Terms, urls: &[u8]) -> Self {
        let mut bench = Self::new(terms, urls);
        bench.address_found();
        bench.tell(Event::Pinned { go: true, request_allowance: None });
        bench.sent.clear();
        bench.other.clear();
        bench
    }

    fn address_found(&mut self) {
        let found = Found::Use { address: "93.184.216.34".parse().unwrap(), allowed_by_name: false };
        self.tell(Event::AddressFound { origin: HOST.into(), found });
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.worker.handle(event, self.now, &mut actions);
        self.file(actions);
        self.advance();
    }

    fn advance(&mut self) {
        let mut actions = Vec::new();
        self.worker.advance(self.now, &mut actions);
        self.file(actions);
    }

    fn file(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => self.sent.push(message),
                other => self.other.push(other),
            }
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.advance();
    }

    /// Starts whatever wants to start.
    fn starts(&mut self) -> Vec<Start> {
        let mut starts = Vec::new();
        while self.worker.wants_to_start(self.now) {
            starts.extend(self.worker.start(self.now));
            self.advance();
        }
        starts
    }

    fn start_page(&mut self) -> (PageId, String) {
        let mut starts = self.starts();
        assert_eq!(starts.len(), 1, "{starts:?}");
        match starts.pop() {
            Some(Start::Page(StartPage { page, url, .. })) => (page, url.path_and_query().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    fn fetched(&mut self, page: PageId) {
        self.tell(Event::Fetched { page, status: 200, bytes: 5, at_ms: 9, freshness: Freshness::default() });
    }

    fn parsed(&mut self, page: PageId, links: &[&str]) {
        let links = links.iter().map(|&link| link.to_owned()).collect();
        let parsed = Parsed {
            links,
            link_hashes: vec![1, 2],
            generate: true,
            fingerprint: 3,
            title: "t".into(),
            ..Parsed::default()
        };
        self.tell(Event::Parsed { page, parsed });
    }

    fn ended(&mut self, page: PageId, ending: Ending) {
        self.tell(Event::Ended { page, ending, at_ms: 9, is_kept: false });
    }

    fn settled(&mut self, page: PageId) {
        self.tell(Event::Settled { page, stale: false });
    }

    /// From fetched to settled, without links.
    fn complete(&mut self, page: PageId) {
        self.fetched(page);
        self.parsed(page, &[]);
        self.tell(Event::Saved { page, archive: None });
        self.settled(page);
    }

    fn outcomes(&self) -> Vec<(String, OutcomeKind)> {
        let settles = self.sent.iter().filter_map(|message| match message {
            Message::Settle(settle) => Some((settle.url.clone(), settle.outcome.as_ref().map(Outcome::kind).unwrap())),
            _ => None,
        });
        settles.collect()
    }

    fn returned(&self) -> Option<&ReturnLease> {
        let returns = self.sent.iter().find_map(|message| match message {
            Message::ReturnLease(returned) => Some(returned),
            _ => None,
        });
        assert_eq!(returns.is_some(), self.other.contains(&Action::Finish));
        returns
    }

    fn discover(&self) -> &Discover {
        match self.sent.iter().rfind(|message| matches!(message, Message::Discover(_))) {
            Some(Message::Discover(discover)) => discover,
            _ => panic!("no links were sent: {:?}", self.sent),
        }
    }
}

fn ending(kind: OutcomeKind) -> Ending {
    Ending::new(kind, "")
}

fn redirect_to(url: &str) -> Ending {
    let target = CanonicalUrl::parse(url).unwrap();
    Ending { redirect_to: Some(target), ..Ending::new(OutcomeKind::Redirected, url).with_status(301) }
}
