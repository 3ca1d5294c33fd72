//! Does what a host worker decides: sends its messages, makes its requests, and brings it what came of them.
//!
//! One task per lease. Requests run in tasks of their own, which end with the driver: when the lease is lost, dropping
//! the driver drops everything under way. A request starts only with a permit of the collector's [`Gate`], taken after
//! the host's pace allows it, so that waiting for one host never holds back another.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_common::address::AddressRules;
use seine_common::clock::Clock;
use seine_common::limits::MAX_BODY_BYTES;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{FetchedPage, LeaseRef, Withdrawn};
use seine_proto::monitor::v1::OutcomeKind;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::HostWorker;
use super::answer_record::AnswerKeeper;
use super::events::{Action, Event, Origin, PageId, Start, StartPage};
use super::fetch_span::FetchSpan;
use super::terms::Terms;
use crate::CollectorError;
use crate::deliver::{Content, Delivery, Parcel};
use crate::fetch::http::{Http, OriginClient};
use crate::fetch::outcome::{Ending, NOT_MODIFIED};
use crate::fetch::robots::{RobotsAnswer, RobotsReading, read_robots};
use crate::fetch::wire::Wire;
use crate::fetch::{FetchLimits, NoPage};
use crate::gate::{Gate, StartPermit};
use crate::link::uplink::Uplink;
use crate::link_memory::{CrawlKey, LinkMemory};
use crate::resolve::{Found, Resolver};
use crate::robots::{self, Verdict};

/// Events that can wait for one worker: two answers of the Monitor and two of the analyser for each unsettled page, and
/// a few more. It is never full unless the other side answers what was not asked.
pub const MAILBOX: usize = 5 * super::pages::MAX_UNSETTLED;

/// What all leases share.
pub struct Tools {
    pub http: Http,
    pub resolver: Resolver,
    pub gate: Gate,
    pub delivery: Delivery,
    pub memory: LinkMemory,
    pub request_timeout: Duration,
    /// Answers that are no pages go to the archive too.
    pub keeps_answers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseEnd {
    Returned,
    Lost,
}

pub struct Driver {
    pub worker: HostWorker,
    pub tools: Arc<Tools>,
    pub rules: Arc<AddressRules>,
    /// With the fixed addresses of the crawl.
    pub resolver: Resolver,
    pub crawl: CrawlKey,
    pub mailbox: mpsc::Sender<Event>,
    uplink: Uplink,
    /// Ends the requests that are under way, when the lease ends unrenewed.
    connections: CancellationToken,
    wire: Arc<Wire>,
    clients: HashMap<Origin, OriginClient>,
    /// What DNS said of the host's name: one address for the whole lease.
    looked_up: Option<Found>,
    tasks: JoinSet<Option<Event>>,
}

impl Driver {
    pub fn new(
        worker: HostWorker,
        tools: Arc<Tools>,
        rules: Arc<AddressRules>,
        resolver: Resolver,
        crawl: CrawlKey,
        mailbox: mpsc::Sender<Event>,
        uplink: Uplink,
    ) -> Self {
        let (wire, clients, tasks) = (Arc::default(), HashMap::new(), JoinSet::new());
        let connections = CancellationToken::new();
        Self {
            worker,
            tools,
            rules,
            resolver,
            crawl,
            mailbox,
            uplink,
            connections,
            wire,
            clients,
            looked_up: None,
            tasks,
        }
    }

    /// Works until the lease is returned or turns out to be lost.
    pub async fn run(mut self, mut events: mpsc::Receiver<Event>) -> LeaseEnd {
        let tools = self.tools.clone();
        let wire = self.wire.clone();
        let mut actions = Vec::new();
        let mut permit = None;
        loop {
            let now = Instant::now();
            self.worker.observe(wire.marks());
            self.worker.advance(now, &mut actions);
            wire.set_lease_end(self.worker.lease_end());
            for action in actions.drain(..) {
                if let Some(end) = self.perform(action).await {
                    return end;
                }
            }
            let wants_to_start = self.worker.wants_to_start(now);
            permit = if wants_to_start { permit.or_else(|| tools.gate.try_acquire()) } else { None };
            if let Some(permit) = permit.take() {
                self.start(now, permit);
                continue;
            }
            let wake = self.worker.wake_at(now).map(tokio::time::Instant::from_std);
            let event = tokio::select! {
                event = events.recv() => event,
                Some(ended) = self.tasks.join_next() => match ended {
                    Ok(event) => event,
                    Err(error) => {
                        tracing::error!(%error, lease = self.worker.terms().token, "a task of the lease failed; giving it up");
                        return LeaseEnd::Lost;
                    }
                },
                acquired = tools.gate.acquire(), if wants_to_start => {
                    permit = Some(acquired);
                    None
                }
                () = wire.connected() => None,
                () = tokio::task::yield_now(), if self.worker.has_more() => None,
                () = tokio::time::sleep_until(wake.unwrap_or_else(tokio::time::Instant::now)), if wake.is_some() => None,
            };
            let mut next = event;
            while let Some(event) = next {
                let event = self.take_in(event);
                self.worker.handle(event, Instant::now(), &mut actions);
                next = events.try_recv().ok();
            }
        }
    }

    /// Adds what only the driver knows, and notes what only the driver needs.
    fn take_in(&mut self, mut event: Event) -> Event {
        match &mut event {
            // Every link of a sitemap goes up, for its date.
            Event::Parsed { page, parsed } if !self.worker.is_sitemap(*page) => {
                let depth = self.worker.depth_of(*page).unwrap_or_default() + 1;
                parsed.link_hashes = self.tools.memory.sift(self.crawl, &mut parsed.links, depth);
            }
            Event::Resumed { uplink, .. } => self.uplink = uplink.clone(),
            // Links are admitted by other rules now, so what was known of them does not count.
            Event::TermsChanged { crawl, .. } => self.crawl = self.tools.memory.crawl_key(crawl),
            Event::AddressFound { origin, found } => {
                if let Found::Use { address, .. } = *found {
                    match self.client(address) {
                        Ok(client) => drop(self.clients.insert(origin.clone(), client)),
                        Err(error) => *found = Found::Unknown(error.to_string()),
                    }
                }
                let is_fixed = CanonicalUrl::parse(origin).is_ok_and(|url| self.is_fixed(&url));
                if !is_fixed {
                    self.looked_up.get_or_insert_with(|| found.clone());
                }
            }
            _ => {}
        }
        event
    }

    fn client(&self, address: IpAddr) -> Result<OriginClient, CollectorError> {
        let connections = self.worker.terms().connections as usize;
        self.tools.http.client(address, &self.user_agent(), connections, self.wire.clone())
    }

    fn user_agent(&self) -> String {
        self.worker.terms().user_agent.to_string()
    }

    fn is_fixed(&self, url: &CanonicalUrl) -> bool {
        let (name, port) = name_and_port(url);
        self.resolver.fixed_address(&name, port).is_some()
    }

    async fn perform(&mut self, action: Action) -> Option<LeaseEnd> {
        match action {
            Action::Send(message) => self.uplink.send(message).await,
            Action::FindAddress { origin, url } => self.find_address(origin, &url),
            Action::ParseRobots { origin, body } => {
                let agent = self.worker.terms().agent_token.clone();
                self.tasks.spawn(async move {
                    let rules = Arc::new(robots::parse_elsewhere(body, agent).await);
                    Some(Event::RobotsParsed { origin, rules })
                });
            }
            Action::Withdraw { page, url } => self.withdraw(page, url),
            Action::Remember { link_hashes, depth } => self.tools.memory.remember(&link_hashes, depth),
            Action::CloseConnections => self.close_connections(),
            Action::Finish => return Some(LeaseEnd::Returned),
            Action::Abandon => return Some(LeaseEnd::Lost),
        }
        None
    }

    /// With the clients go the connections that are idle; further requests, under a lease that goes on, open others.
    fn close_connections(&mut self) {
        std::mem::take(&mut self.connections).cancel();
        let addresses: Vec<_> = self.clients.drain().map(|(origin, client)| (origin, client.address())).collect();
        for (origin, address) in addresses {
            match self.client(address) {
                Ok(client) => drop(self.clients.insert(origin, client)),
                Err(error) => tracing::error!(%error, "a client that could be made before cannot be made now"),
            }
        }
    }

    fn find_address(&mut self, origin: Origin, url: &CanonicalUrl) {
        let (name, port) = name_and_port(url);
        let known = self.looked_up.clone().filter(|_| !self.is_fixed(url));
        let (resolver, rules) = (self.resolver.clone(), self.rules.clone());
        self.tasks.spawn(async move {
            let found = match known {
                Some(found) => found,
                None => resolver.find(&name, port, &rules).await,
            };
            Some(Event::AddressFound { origin, found })
        });
    }

    fn start(&mut self, now: Instant, permit: StartPermit) {
        match self.worker.start(now) {
            Some(Start::Robots { origin, url, request, record }) => {
                self.start_robots(RobotsRequest { origin, url, request, record }, permit);
            }
            Some(Start::Page(start)) => match self.clients.get(&start.origin).cloned() {
                Some(client) => self.start_page(client, start, permit),
                None => {
                    let ending = Ending::new(OutcomeKind::ConnectionFailed, "no client could be made");
                    let (page, at_ms) = (start.page, Clock::System.now_ms());
                    self.tasks.spawn(async move { Some(Event::Ended { page, ending, at_ms, is_kept: false }) });
                }
            },
            None => {}
        }
    }

    fn start_robots(&mut self, asked: RobotsRequest, permit: StartPermit) {
        let RobotsRequest { origin, url, request, record } = asked;
        let (timeout, keeps_answers) = (self.tools.request_timeout, self.tools.keeps_answers);
        let at_ms = Clock::System.now_ms();
        let known = self.clients.get(&*url.origin()).cloned();
        // Redirected to another origin, that has to be looked up first and is then done with.
        let (resolver, rules) = (self.resolver.clone(), self.rules.clone());
        let (http, wire) = (self.tools.http.clone(), self.wire.clone());
        let user_agent = self.user_agent();
        let keeper = self.keeper();
        let (connections, lease) = (self.connections.clone(), self.wire.clone());
        self.tasks.spawn(async move {
            let StartPermit { request: under_way, body } = permit;
            let ask = async {
                let client = match known {
                    Some(client) => Ok(client),
                    None => {
                        let (name, port) = name_and_port(&url);
                        match resolver.find(&name, port, &rules).await {
                            Found::Use { address, .. } => {
                                http.client(address, &user_agent, 1, wire).map_err(|e| e.to_string())
                            }
                            Found::Denied(address) => Err(format!("it redirects to {address}, which is not allowed")),
                            Found::Unknown(reason) => Err(reason),
                        }
                    }
                };
                match client {
                    Ok(client) => {
                        let reading = read_robots(&client, &url, request, timeout, keeps_answers).await;
                        (reading, client.address().to_string())
                    }
                    Err(reason) => (RobotsAnswer::Verdict(Verdict::Unavailable(reason)).into(), String::new()),
                }
            };
            let asked = connections.run_until_cancelled(ask).await;
            drop(under_way);
            let is_read =
                |reading: &RobotsReading| !matches!(reading.answer, RobotsAnswer::Verdict(Verdict::Unavailable(_)));
            let (reading, ip) = match asked {
                Some((reading, ip)) if is_read(&reading) || lease.check_lease().is_ok() => (reading, ip),
                _ => return Some(Event::RobotsCutOff { origin, url }),
            };
            let RobotsReading { answer, kept } = reading;
            let record = kept.as_ref().map(|_| record);
            let answered = Event::RobotsAnswered { origin, answer, at_ms, record };
            let (Some(kept), Some(record)) = (kept, record) else { return Some(answered) };
            keeper.keep(record, answered, kept, 0, ip, body).await
        });
    }

    /// What the archive needs to know of an answer beside the answer.
    fn keeper(&self) -> AnswerKeeper {
        AnswerKeeper {
            lease: self.lease_ref(),
            traceparent: self.worker.terms().traceparent.to_string(),
            mailbox: self.mailbox.clone(),
            delivery: self.tools.delivery.clone(),
        }
    }

    fn lease_ref(&self) -> LeaseRef {
        let terms = self.worker.terms();
        LeaseRef { epoch: terms.epoch, token: terms.token, crawl: terms.crawl.to_string() }
    }

    /// Tells the analyser, which tells the filesaver, that the page leaves the index.
    fn withdraw(&mut self, page: PageId, url: String) {
        let Terms { epoch, token, .. } = *self.worker.terms();
        let withdrawn = Withdrawn { url, at_ms: Clock::System.now_ms(), epoch, token };
        let (delivery, answers, gate) = (self.tools.delivery.clone(), self.mailbox.clone(), self.tools.gate.clone());
        self.tasks.spawn(async move {
            let StartPermit { body, .. } = gate.acquire().await;
            delivery.submit(Parcel { content: Content::Withdrawn(withdrawn), id: page, answers, body }).await;
            None
        });
    }

    fn start_page(&mut self, client: OriginClient, start: StartPage, permit: StartPermit) {
        let StartPage { page, url, depth, is_sitemap, known, request, .. } = start;
        let terms = self.worker.terms();
        let limits = FetchLimits {
            // Sitemaps are larger than pages, and of whatever type their server thinks.
            max_body_bytes: if is_sitemap { MAX_BODY_BYTES as u64 } else { terms.max_body_bytes },
            any_type: is_sitemap,
            keeps_answers: self.tools.keeps_answers,
            timeout: self.tools.request_timeout,
        };
        let fetch = FetchSpan::begin(terms, url.as_str());
        let keeper = AnswerKeeper { traceparent: fetch.traceparent(terms), ..self.keeper() };
        let lease = Some(self.lease_ref());
        let (keywords, robots_name) = (terms.keywords.clone(), terms.agent_token.to_string());
        let filters = terms.filters.clone();
        let (delivery, mailbox) = (self.tools.delivery.clone(), self.mailbox.clone());
        let (connections, wire) = (self.connections.clone(), self.wire.clone());
        self.tasks.spawn(async move {
            let StartPermit { request: under_way, mut body } = permit;
            let started_at_ms = Clock::System.now_ms();
            let fetching = client.fetch(&url, &known, request, limits, &mut body);
            let fetched = fetch.measure(connections.run_until_cancelled(fetching)).await;
            drop(under_way);
            let fetched = match fetched {
                Some(fetched) if fetched.is_ok() || wire.check_lease().is_ok() => fetched,
                _ => return Some(Event::CutOff { page }),
            };
            // The page may wait long for the analyser, and the connection is not to be kept open by that.
            let ip = client.address().to_string();
            drop(client);
            fetch.end(&fetched);
            let fetched = match fetched {
                Ok(fetched) => fetched,
                Err(NoPage { ending, answer }) => {
                    let ended = Event::Ended { page, ending, at_ms: started_at_ms, is_kept: answer.is_some() };
                    let Some(answer) = answer else { return Some(ended) };
                    return keeper.keep(page, ended, answer, depth, ip, body).await;
                }
            };
            let (status, bytes, at_ms) = (fetched.status, fetched.body.len() as u64, fetched.fetched_at_ms);
            // Through the mailbox, so that it stands before the analyser's answers.
            let freshness = fetched.freshness;
            mailbox.send(Event::Fetched { page, status, bytes, at_ms, freshness }).await.ok()?;
            let fetched = FetchedPage {
                lease,
                url: url.as_str().to_owned(),
                depth,
                fetched_at_ms: at_ms,
                ip,
                request_head: fetched.request_head,
                response_head: fetched.response_head,
                status: status.into(),
                headers: fetched.headers,
                body: fetched.body,
                keywords: keywords.to_vec(),
                robots_name,
                sitemap: is_sitemap,
                known: known.archive.filter(|_| status == NOT_MODIFIED),
                enumeration: filters.enumeration.clone(),
                generation: filters.generation.clone(),
                traceparent: keeper.traceparent,
                ..FetchedPage::default()
            };
            let content = Content::Page(Box::new(fetched));
            delivery.submit(Parcel { content, id: page, answers: mailbox, body }).await;
            None
        });
    }
}

/// A request for robots.txt that starts.
struct RobotsRequest {
    origin: Origin,
    url: CanonicalUrl,
    request: u64,
    record: PageId,
}

fn name_and_port(url: &CanonicalUrl) -> (String, u16) {
    let url = url.as_url();
    (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default().unwrap_or(0))
}
