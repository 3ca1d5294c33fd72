//! A Monitor for one host and one crawl that keeps its promises in memory: depth-first places, answers in order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use seine_proto::monitor::v1::collector_message::Message as Up;
use seine_proto::monitor::v1::monitor_message::Message as Down;
use seine_proto::monitor::v1::work_server::Work;
use seine_proto::monitor::v1::{
    CollectorMessage, Crawl, Discover, Discovered, Goodbye, Lease, MonitorMessage, OutcomeKind, Pinned, QueuedUrl,
    Renewed, ReturnLease, Revoke, Settle, Settled, Urls, Welcome,
};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// What the test may change while the crawl runs.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub crawl: Crawl,
    pub host: String,
    pub page_allowance: u64,
    /// How long a lease lasts; 0 for half a minute.
    pub lease_ms: u32,
    /// URLs sent with a lease or an answer.
    pub urls_at_once: usize,
}

#[derive(Default)]
pub struct State {
    pub settings: Settings,
    queue: BTreeMap<Bytes, QueuedUrl>,
    seen: HashSet<String>,
    discoveries: u32,
    token: u64,
    /// Held under the present token.
    leased: bool,
    pub settled: HashMap<String, OutcomeKind>,
    pub settled_twice: u32,
    pub returned: Vec<ReturnLease>,
    /// How many pages were saved when each lease came back: the next one is granted at once.
    pub saved_at_return: Vec<usize>,
    pub pins: Vec<String>,
    pub robots_found: u32,
    pub streams: u32,
    /// Heartbeats are not answered.
    deaf: bool,
    to_collector: Option<mpsc::Sender<Result<MonitorMessage, Status>>>,
}

pub struct FakeMonitor {
    state: Mutex<State>,
    /// Grows with every message that was handled.
    handled: watch::Sender<u64>,
}

impl FakeMonitor {
    pub fn new(settings: Settings, seeds: &[String]) -> Arc<Self> {
        let mut state = State { settings, ..State::default() };
        for (number, seed) in seeds.iter().enumerate() {
            state.queue_new(seed.clone(), 0, 0, number as u32, 0);
        }
        Arc::new(Self { state: Mutex::new(state), handled: watch::Sender::new(0) })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics here")
    }

    /// Waits until the test finds the state as it wants it.
    pub async fn until(&self, what: &str, mut reached: impl FnMut(&State) -> bool) {
        let mut handled = self.handled.subscribe();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !reached(&self.state()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = tokio::time::timeout(left, handled.changed()).await;
            waited.unwrap_or_else(|_| panic!("{what} was not reached")).expect("the sender lives");
        }
    }

    pub fn send(&self, message: Down) {
        let sender = self.state().to_collector.clone().expect("a stream is open");
        sender.try_send(Ok(MonitorMessage { message: Some(message) })).expect("there is room");
    }

    pub fn revoke(&self) {
        let token = self.state().token;
        self.send(Down::Revoke(Revoke { token, reason: "test".into() }));
    }

    pub fn say_goodbye(&self) {
        self.send(Down::Goodbye(Goodbye { reason: "test".into() }));
    }

    /// Ends the stream without a word.
    pub fn break_stream(&self) {
        let mut state = self.state();
        let sender = state.to_collector.take().expect("a stream is open");
        sender.try_send(Err(Status::internal("test"))).expect("there is room");
    }

    /// The lease is over, whoever has it.
    pub fn forget_lease(&self) {
        let mut state = self.state();
        (state.leased, state.token) = (false, state.token + 1);
    }

    /// Heartbeats are answered, or not any more.
    pub fn hear_heartbeats(&self, hear: bool) {
        self.state().deaf = !hear;
    }

    fn handle(&self, message: Up) -> Vec<Down> {
        let answers = self.state().handle(message);
        self.handled.send_modify(|handled| *handled += 1);
        answers
    }
}

impl State {
    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && !self.leased
    }

    pub fn count(&self, kind: OutcomeKind) -> usize {
        self.settled.values().filter(|settled| **settled == kind).count()
    }

    /// Depth descending, parents descending, link number ascending.
    fn queue_new(
        &mut self,
        url: String,
        depth: u32,
        parent: u32,
        number: u32,
        redirect_hops: u32,
    ) -> Option<QueuedUrl> {
        if !self.seen.insert(url.clone()) {
            return None;
        }
        let parts = [u32::MAX - depth, u32::MAX - parent, number];
        let place: Bytes = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
        let queued = QueuedUrl { url, depth, place: place.clone(), attempts: 0, redirect_hops, ..QueuedUrl::default() };
        self.queue.insert(place, queued.clone());
        Some(queued)
    }

    fn urls_behind(&self, place: &Bytes, limit: usize) -> Urls {
        let mut behind =
            self.queue.range(place.clone()..).map(|(_, queued)| queued).filter(|queued| queued.place != *place);
        let urls: Vec<QueuedUrl> = behind.by_ref().take(limit).cloned().collect();
        Urls { token: self.token, urls, exhausted: behind.next().is_none() }
    }

    fn lease(&mut self, rest_ms: u32) -> Vec<Down> {
        if self.leased || self.queue.is_empty() {
            return Vec::new();
        }
        self.token += 1;
        self.leased = true;
        let urls = self.urls_behind(&Bytes::new(), self.settings.urls_at_once);
        vec![Down::Lease(Lease {
            token: self.token,
            host: self.settings.host.clone(),
            crawl: Some(self.settings.crawl.clone()),
            duration_ms: if self.settings.lease_ms == 0 { 30_000 } else { self.settings.lease_ms },
            rest_ms,
            page_allowance: self.settings.page_allowance,
            urls: Some(urls),
            ..Lease::default()
        })]
    }

    fn handle(&mut self, message: Up) -> Vec<Down> {
        match message {
            Up::Hello(hello) => {
                self.streams += 1;
                let is_held = |token: &u64| self.leased && *token == self.token;
                let tokens: Vec<u64> = hello.tokens.into_iter().filter(is_held).collect();
                self.leased = !tokens.is_empty();
                vec![Down::Welcome(Welcome { tokens })]
            }
            Up::Credit(_) => {
                // What the last lease left of the delay, and a millisecond for the rounding.
                let since = self.returned.last().and_then(|returned| returned.since_last_request_ms);
                self.lease(since.map_or(0, |since| (self.settings.crawl.delay_ms() + 1).saturating_sub(since)))
            }
            Up::Heartbeat(_) if self.deaf => Vec::new(),
            Up::Heartbeat(heartbeat) => vec![Down::Renewed(Renewed { tokens: heartbeat.tokens })],
            Up::Pin(pin) => {
                self.pins.push(pin.address);
                vec![Down::Pinned(Pinned { token: pin.token, go: true, request_allowance: 0 })]
            }
            Up::Robots(_) => {
                self.robots_found += 1;
                Vec::new()
            }
            Up::WantUrls(want) if want.token == self.token => {
                let limit = self.settings.urls_at_once.min(want.limit as usize);
                vec![Down::Urls(self.urls_behind(&want.after_place, limit))]
            }
            Up::Discover(discover) if discover.token == self.token => vec![self.discover(discover)],
            Up::Settle(settle) => vec![self.settle(&settle)],
            Up::ReturnLease(returned) if returned.token == self.token => {
                self.returned.push(returned);
                self.saved_at_return.push(self.count(OutcomeKind::Saved));
                self.leased = false;
                Vec::new()
            }
            Up::WantUrls(_) | Up::Discover(_) | Up::ReturnLease(_) => Vec::new(),
        }
    }

    fn discover(&mut self, discover: Discover) -> Down {
        let Some(from) = self.queue.get(&discover.from_place).cloned() else {
            assert!(self.streams > 1, "links come from a queued page");
            let (request_id, token) = (discover.request_id, discover.token);
            return Down::Discovered(Discovered { request_id, token, urls: Vec::new() });
        };
        assert_eq!(from.url, discover.from_url);
        self.discoveries += 1;
        let parent = self.discoveries;
        let (depth, hops) = if discover.redirect { (from.depth, from.redirect_hops + 1) } else { (from.depth + 1, 0) };
        let links = discover.links.into_iter().enumerate();
        let mut urls: Vec<QueuedUrl> =
            links.filter_map(|(number, link)| self.queue_new(link, depth, parent, number as u32, hops)).collect();
        urls.sort_by(|a, b| a.place.cmp(&b.place));
        Down::Discovered(Discovered { request_id: discover.request_id, token: discover.token, urls })
    }

    fn settle(&mut self, settle: &Settle) -> Down {
        let stale = settle.token != self.token;
        if !stale {
            let kind = settle.outcome.as_ref().expect("a settlement has an outcome").kind();
            match self.queue.remove(&settle.place) {
                Some(_) => self.settled_twice += u32::from(self.settled.insert(settle.url.clone(), kind).is_some()),
                // One that was not acknowledged before the stream ended comes again.
                None => {
                    assert!(self.streams > 1 && self.settled.contains_key(&settle.url), "only queued pages are settled")
                }
            }
        }
        Down::Settled(Settled { request_id: settle.request_id, token: settle.token, stale })
    }
}

/// The service: one fake Monitor behind it.
pub struct Service(pub Arc<FakeMonitor>);

#[tonic::async_trait]
impl Work for Service {
    type AttachStream = ReceiverStream<Result<MonitorMessage, Status>>;

    async fn attach(
        &self,
        request: Request<Streaming<CollectorMessage>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let (answers, receiver) = mpsc::channel(10_000);
        let monitor = self.0.clone();
        monitor.state().to_collector = Some(answers.clone());
        let mut messages = request.into_inner();
        tokio::spawn(async move {
            while let Ok(Some(CollectorMessage { message: Some(message) })) = messages.message().await {
                for answer in monitor.handle(message) {
                    let _ = answers.send(Ok(MonitorMessage { message: Some(answer) })).await;
                }
            }
            // The lease stays with the collector, which may come back.
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}
