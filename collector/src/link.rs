//! The collector's one stream to the Monitor: leases and answers come down, everything else goes up.
//!
//! Life of a stream: hello, with the leases that are held, and credit → those that the Monitor still has go on → each new
//! lease gets a worker of its own (`host_worker`), and its answers go to that worker's mailbox → heartbeats keep the leases
//! → a lease that ends gives its credit back → on shutdown the workers finish and return their leases, and the stream is
//! ended. When it breaks, or the Monitor says goodbye, the workers go on, each until the end of its lease at most, and are
//! shown on the next stream.
//!
//! Invariant: this task never waits for room to send without also listening, so the two sides cannot block each other.

pub mod uplink;
pub mod leases;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::transport::Channel;
use seine_proto::monitor::v1::collector_message::Message as Up;
use seine_proto::monitor::v1::monitor_message::Message as Down;
use seine_proto::monitor::v1::work_client::WorkClient;
use seine_proto::monitor::v1::{CollectorMessage, Credit, Hello, Lease, MonitorMessage, ReturnLease};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tracing::Instrument;

use self::leases::{Held, Leases};
use self::uplink::Uplink;
use crate::CollectorConfig;
use crate::host_worker::HostWorker;
use crate::host_worker::driver::{Driver, LeaseEnd, MAILBOX, Tools};
use crate::host_worker::events::Event;
use crate::host_worker::terms::{Terms, address_rules, fixed_addresses};

/// Messages of all workers waiting to be sent.
const OUTGOING: usize = 1_024;
/// How long the Monitor may take to accept a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long workers may take to finish when the collector is told to stop.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the Monitor may take to end the stream after its last message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum LinkEnd {
    #[error("the collector was told to stop")]
    Shutdown,
    #[error("the Monitor said goodbye")]
    Goodbye,
    #[error("the stream to the Monitor ended: {0}")]
    Broken(String),
}

/// The collector's side of its streams to the Monitor. Leases and their workers live on from one stream to the next.
pub struct Link<'a> {
    config: &'a CollectorConfig,
    tools: Arc<Tools>,
    /// Tells this process from others that use its id.
    instance: u64,
    leases: Leases,
    workers: JoinSet<(u64, LeaseEnd)>,
    uplink: Uplink,
    /// Messages of the link itself.
    waiting: VecDeque<Up>,
    /// How many hosts it may work on, and how many the Monitor knows of.
    limit: watch::Receiver<u32>,
    most: u32,
    /// Nothing more is taken on, for this reason.
    ending: Option<LinkEnd>,
}

impl<'a> Link<'a> {
    pub fn new(config: &'a CollectorConfig, tools: Arc<Tools>) -> Self {
        let (leases, uplink) = (Leases::new(Instant::now()), Uplink::new(mpsc::channel(1).0));
        let (workers, waiting) = (JoinSet::new(), VecDeque::new());
        config.hosts.set_used();
        let limit = config.hosts.changes();
        Self { config, tools, instance: drawn(), leases, workers, uplink, waiting, limit, most: 0, ending: None }
    }

    /// One stream: works for the Monitor until it ends. `heard` is called when the Monitor has answered.
    pub async fn attend(&mut self, monitor: Channel, shutdown: &CancellationToken, heard: impl FnOnce()) -> LinkEnd {
        let (outgoing, receiver) = mpsc::channel(OUTGOING);
        self.uplink = Uplink::new(outgoing);
        self.begin().await;
        let mut client = WorkClient::new(monitor)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let attaching = tokio::time::timeout(OPEN_TIMEOUT, client.attach(ReceiverStream::new(receiver)));
        let incoming = tokio::select! {
            answer = attaching => match answer {
                Ok(Ok(response)) => response.into_inner(),
                Ok(Err(status)) => return LinkEnd::Broken(status.to_string()),
                Err(_) => return LinkEnd::Broken(format!("no answer within {OPEN_TIMEOUT:?}")),
            },
            () = shutdown.cancelled() => return LinkEnd::Shutdown,
        };
        heard();
        let end = self.run(incoming, shutdown).await;
        self.uplink.close();
        self.leases.tell_all(|| Event::Detached);
        end
    }

    /// Says hello, with what is held.
    async fn begin(&mut self) {
        while let Some(ended) = self.workers.try_join_next() {
            match ended {
                Ok((token, _)) => drop(self.leases.remove(token)),
                Err(_) => self.give_up_all().await,
            }
        }
        // What the last stream settled may have been lost with it.
        self.tools.memory.clear();
        let tokens = self.leases.begin(Instant::now());
        let (leases, preparations) = self.leases.count();
        let (collector_id, embedded, instance) = (self.config.id.clone(), self.config.embedded, self.instance);
        self.most = *self.limit.borrow_and_update();
        let credit = Credit {
            preparations: self.config.max_preparations.saturating_sub(preparations),
            ..credit(leases, self.most)
        };
        self.tell_use();
        let hello = Hello { collector_id, embedded, instance, tokens };
        self.waiting = VecDeque::from([Up::Hello(hello), Up::Credit(credit)]);
        // The first messages go out with the call: the other side may want to see them before it answers.
        self.send_waiting();
    }

    /// Ends all work at once: the Monitor is shown nothing of it.
    async fn give_up_all(&mut self) {
        self.workers.shutdown().await;
        self.leases = Leases::new(Instant::now());
    }

    async fn run(&mut self, mut incoming: Streaming<MonitorMessage>, shutdown: &CancellationToken) -> LinkEnd {
        let mut deadline: Option<tokio::time::Instant> = None;
        loop {
            if self.ending.is_some() && self.leases.is_empty() {
                break;
            }
            let stepped = tokio::select! {
                message = incoming.message() => match message {
                    Ok(Some(MonitorMessage { message: Some(Down::Goodbye(goodbye)) })) => {
                        tracing::info!(reason = goodbye.reason, "the monitor said goodbye");
                        return LinkEnd::Goodbye;
                    }
                    Ok(Some(MonitorMessage { message: Some(message) })) => {
                        self.take(message);
                        Ok(())
                    }
                    Ok(Some(MonitorMessage { message: None })) => Ok(()),
                    Ok(None) => Err("the other side closed it".to_owned()),
                    Err(status) => Err(status.to_string()),
                },
                Some(ended) = self.workers.join_next() => match ended {
                    Ok((token, end)) => {
                        self.lease_ended(token, end);
                        Ok(())
                    }
                    // Nobody knows which of its requests are still under way: better to give up all.
                    Err(error) => {
                        self.give_up_all().await;
                        Err(format!("a host worker failed: {error}"))
                    }
                },
                sent = send_first(&self.uplink, &mut self.waiting), if !self.waiting.is_empty() => sent,
                () = tokio::time::sleep_until(self.leases.next_heartbeat().into()) => self.beat(),
                Ok(()) = self.limit.changed(), if self.ending.is_none() => {
                    self.limit_changed();
                    Ok(())
                }
                () = shutdown.cancelled(), if self.ending.is_none() => {
                    // While no page can be saved, waiting for those under way is of no use.
                    let patience = if self.tools.gate.is_open() { FINISH_TIMEOUT } else { Duration::ZERO };
                    deadline = Some(tokio::time::Instant::now() + patience);
                    self.ending = Some(LinkEnd::Shutdown);
                    self.leases.tell_all(|| Event::Drain);
                    Ok(())
                }
                () = tokio::time::sleep_until(deadline.unwrap_or_else(tokio::time::Instant::now)), if deadline.is_some() => {
                    tracing::warn!("requests were still under way when time was up; their pages will be fetched again");
                    break;
                }
            };
            if let Err(reason) = stepped {
                return LinkEnd::Broken(reason);
            }
        }
        self.close(incoming).await
    }

    fn take(&mut self, message: Down) {
        match message {
            Down::Welcome(welcome) => {
                self.leases.welcomed(&welcome.tokens, &self.uplink);
                self.give_back_surplus();
            }
            Down::Lease(lease) => self.lease(lease),
            Down::Pinned(pinned) => {
                let request_allowance = Some(u64::from(pinned.request_allowance)).filter(|allowance| *allowance > 0);
                self.leases.tell(pinned.token, Event::Pinned { go: pinned.go, request_allowance });
            }
            Down::Urls(answer) => {
                let urls = answer.urls.into_iter().map(Into::into).collect();
                self.leases.tell(answer.token, Event::Urls { urls, exhausted: answer.exhausted });
            }
            Down::Discovered(answer) => {
                let urls = answer.urls.into_iter().map(Into::into).collect();
                self.leases.tell(answer.token, Event::Discovered { page: answer.request_id, urls });
            }
            Down::Settled(answer) => {
                let event = Event::Settled { page: answer.request_id, stale: answer.stale };
                self.leases.tell(answer.token, event);
            }
            Down::Revoke(revoke) => {
                tracing::info!(lease = revoke.token, reason = revoke.reason, "lease revoked");
                self.leases.tell(revoke.token, Event::Drain);
            }
            Down::Terms(terms) => {
                let Some(crawl) = terms.crawl.map(Box::new) else { return };
                tracing::debug!(lease = terms.token, crawl = crawl.name, "the terms of a lease changed");
                let event = Event::TermsChanged { crawl, pace: terms.pace, judge_again: terms.judge_again };
                self.leases.tell(terms.token, event);
            }
            Down::Renewed(renewed) => self.leases.renewed(&renewed.tokens),
            // It ends the stream.
            Down::Goodbye(_) => {}
        }
    }

    /// A host to work on: gives it a worker.
    fn lease(&mut self, lease: Lease) {
        let (Some(crawl), None) = (&lease.crawl, &self.ending) else {
            let back = ReturnLease { token: lease.token, ..ReturnLease::default() };
            self.waiting.push_back(Up::ReturnLease(back));
            return;
        };
        let now = Instant::now();
        let terms = Terms::of(&lease, crawl);
        let rules = Arc::new(address_rules(crawl));
        let resolver = self.tools.resolver.with_fixed(fixed_addresses(crawl));
        let crawl_key = self.tools.memory.crawl_key(crawl);
        let urls = lease.urls.unwrap_or_default();
        tracing::debug!(host = lease.host, lease = lease.token, crawl = crawl.name, urls = urls.urls.len(), "lease");
        let queued = urls.urls.into_iter().map(Into::into);
        let worker = HostWorker::new(terms, queued, urls.exhausted, &lease.robots, self.leases.granted_since(), now);
        let (mailbox, events) = mpsc::channel(MAILBOX);
        let lost = CancellationToken::new();
        let duration = Duration::from_millis(lease.duration_ms.into());
        let held =
            Held { mailbox: mailbox.clone(), lost: lost.clone(), duration, prepares: lease.prepare, ends: false };
        self.leases.add(lease.token, held);
        self.tell_use();
        let driver = Driver::new(worker, self.tools.clone(), rules, resolver, crawl_key, mailbox, self.uplink.clone());
        // At debug, what is told of the lease is told with it.
        let span =
            tracing::debug_span!(parent: None, "host", crawl = crawl.name, host = lease.host, lease = lease.token);
        let work = async move {
            let end = lost.run_until_cancelled(driver.run(events)).await;
            (lease.token, end.unwrap_or(LeaseEnd::Lost))
        };
        self.workers.spawn(work.instrument(span));
        // The limit may have fallen while it was on its way.
        self.give_back_surplus();
    }

    fn lease_ended(&mut self, token: u64, end: LeaseEnd) {
        tracing::debug!(lease = token, ?end, "lease ended");
        let prepared = self.leases.remove(token).is_some_and(|held| held.prepares);
        self.tell_use();
        if self.ending.is_none() {
            let (leases, preparations) = (u32::from(!prepared), u32::from(prepared));
            let credit = Credit { leases, preparations, ..Credit::default() };
            self.waiting.push_back(Up::Credit(credit));
        }
    }

    fn tell_use(&self) {
        // Bodies that nobody takes: what fetches more would only wait.
        self.config.hosts.uses(self.leases.count().0, self.tools.gate.is_full());
    }

    /// The Monitor hears of it; hosts beyond it are given back once what is under way there is done.
    fn limit_changed(&mut self) {
        let most = *self.limit.borrow_and_update();
        self.waiting.push_back(Up::Credit(credit(self.most, most)));
        self.most = most;
        self.give_back_surplus();
    }

    fn give_back_surplus(&mut self) {
        for token in self.leases.beyond(self.most) {
            self.leases.tell(token, Event::Drain);
        }
    }

    fn beat(&mut self) -> Result<(), String> {
        let heartbeat = self.leases.heartbeat(self.tools.gate.in_flight(), Instant::now());
        self.tell_use();
        self.waiting.push_back(Up::Heartbeat(heartbeat.ok_or("a heartbeat was not answered")?));
        Ok(())
    }

    /// Sends as much as there is room for.
    fn send_waiting(&mut self) {
        while let Some(message) = self.waiting.pop_front() {
            if let Some(message) = self.uplink.try_send(message) {
                return self.waiting.push_back(message);
            }
        }
    }

    /// Ends the stream from our side and lets the Monitor read to its end.
    async fn close(&mut self, mut incoming: Streaming<MonitorMessage>) -> LinkEnd {
        tracing::debug!(id = self.config.id, "closing the stream");
        self.send_waiting();
        self.workers.shutdown().await;
        // The last handle to the stream, now that no worker has one.
        self.uplink = Uplink::new(mpsc::channel(1).0);
        let rest = async { while let Ok(Some(_)) = incoming.message().await {} };
        // The Monitor has all it needs either way: what was not settled is still queued there.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
        LinkEnd::Shutdown
    }
}

async fn send_first(uplink: &Uplink, waiting: &mut VecDeque<Up>) -> Result<(), String> {
    let room = uplink.reserve().await.map_err(|_| "it cannot be written to".to_owned())?;
    if let Some(message) = waiting.pop_front() {
        room.send(CollectorMessage { message: Some(message) });
    }
    Ok(())
}

/// What changes when so many are possible where so many were.
fn credit(before: u32, now: u32) -> Credit {
    let (leases, fewer_leases) = (now.saturating_sub(before), before.saturating_sub(now));
    Credit { leases, fewer_leases, ..Credit::default() }
}

/// A number that no other process has drawn.
fn drawn() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
