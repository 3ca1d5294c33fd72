//! The collector's one stream to the Monitor: leases and answers come down, everything else goes up.
//!
//! Life of a stream: hello and credit → each lease gets a worker of its own (`host_worker`), and its answers go to that
//! worker's mailbox → heartbeats keep the leases → a lease that ends gives its credit back → on goodbye or shutdown the
//! workers finish and return their leases, and the stream is ended. When it breaks instead, all leases are lost.
//!
//! Invariant: this task never waits for room to send without also listening, so the two sides cannot block each other.

pub mod leases;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::monitor::v1::collector_message::Message as Up;
use seine_proto::monitor::v1::monitor_message::Message as Down;
use seine_proto::monitor::v1::work_client::WorkClient;
use seine_proto::monitor::v1::{CollectorMessage, Credit, Hello, Lease, MonitorMessage, ReturnLease};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::Channel;

use self::leases::{Held, Leases, MailboxFull};
use crate::CollectorConfig;
use crate::host_worker::HostWorker;
use crate::host_worker::driver::{Driver, LeaseEnd, MAILBOX, Tools};
use crate::host_worker::events::Event;
use crate::host_worker::terms::{Terms, address_rules, fixed_addresses};

/// Messages of all workers waiting to be sent.
const OUTGOING: usize = 1_024;
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

/// One stream, from hello to end.
pub struct Link<'a> {
    config: &'a CollectorConfig,
    tools: Arc<Tools>,
    leases: Leases,
    workers: JoinSet<(u64, LeaseEnd)>,
    outgoing: mpsc::Sender<CollectorMessage>,
    /// Messages of the link itself.
    waiting: VecDeque<Up>,
    /// Nothing more is taken on, for this reason.
    ending: Option<LinkEnd>,
}

/// Works for the Monitor until the stream ends. `heard` is called when it has answered.
pub async fn attend(
    config: &CollectorConfig,
    monitor: Channel,
    tools: Arc<Tools>,
    shutdown: &CancellationToken,
    heard: impl FnOnce(),
) -> LinkEnd {
    let (outgoing, receiver) = mpsc::channel(OUTGOING);
    let hello = Hello { collector_id: config.id.clone(), embedded: config.embedded };
    let credit = Credit { leases: config.max_leases, preparations: config.max_preparations };
    let waiting = VecDeque::from([Up::Hello(hello), Up::Credit(credit)]);
    let leases = Leases::new(Instant::now());
    let mut link = Link { config, tools, leases, workers: JoinSet::new(), outgoing, waiting, ending: None };
    // What the last stream settled may have been lost with it.
    link.tools.memory.clear();
    // The first messages go out with the call: the other side may want to see them before it answers.
    link.send_waiting();
    let mut client = WorkClient::new(monitor)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let incoming = tokio::select! {
        answer = client.attach(ReceiverStream::new(receiver)) => match answer {
            Ok(response) => response.into_inner(),
            Err(status) => return LinkEnd::Broken(status.to_string()),
        },
        () = shutdown.cancelled() => return LinkEnd::Shutdown,
    };
    heard();
    link.run(incoming, shutdown).await
}

impl Link<'_> {
    async fn run(mut self, mut incoming: Streaming<MonitorMessage>, shutdown: &CancellationToken) -> LinkEnd {
        let mut deadline: Option<tokio::time::Instant> = None;
        loop {
            if self.ending.is_some() && self.leases.is_empty() {
                break;
            }
            let stepped = tokio::select! {
                message = incoming.message() => match message {
                    Ok(Some(MonitorMessage { message: Some(message) })) => self.take(message),
                    Ok(Some(MonitorMessage { message: None })) => Ok(()),
                    Ok(None) => Err("the other side closed it".to_owned()),
                    Err(status) => Err(status.to_string()),
                },
                Some(ended) = self.workers.join_next() => match ended {
                    Ok((token, end)) => self.lease_ended(token, end),
                    // Nobody knows which of its requests are still under way: better to give up all.
                    Err(error) => Err(format!("a host worker failed: {error}")),
                },
                sent = send_first(&self.outgoing, &mut self.waiting), if !self.waiting.is_empty() => sent,
                () = tokio::time::sleep_until(self.leases.next_heartbeat().into()) => self.beat(),
                () = shutdown.cancelled(), if !matches!(self.ending, Some(LinkEnd::Shutdown)) => {
                    // While no page can be saved, waiting for those under way is of no use.
                    let patience = if self.tools.gate.is_open() { FINISH_TIMEOUT } else { Duration::ZERO };
                    deadline = Some(tokio::time::Instant::now() + patience);
                    self.end(LinkEnd::Shutdown)
                }
                () = tokio::time::sleep_until(deadline.unwrap_or_else(tokio::time::Instant::now)), if deadline.is_some() => {
                    tracing::warn!("requests were still under way when time was up; their pages will be fetched again");
                    break;
                }
            };
            if let Err(reason) = stepped {
                // Before anyone else may be given the hosts, and before we are.
                self.workers.shutdown().await;
                return LinkEnd::Broken(reason);
            }
        }
        self.close(incoming).await
    }

    fn take(&mut self, message: Down) -> Result<(), String> {
        let full = |error: MailboxFull| error.to_string();
        match message {
            Down::Lease(lease) => self.lease(lease),
            Down::Pinned(pinned) => {
                let request_allowance = Some(u64::from(pinned.request_allowance)).filter(|allowance| *allowance > 0);
                self.leases.tell(pinned.token, Event::Pinned { go: pinned.go, request_allowance }).map_err(full)?;
            }
            Down::Urls(answer) => {
                let urls = answer.urls.into_iter().map(Into::into).collect();
                self.leases.tell(answer.token, Event::Urls { urls, exhausted: answer.exhausted }).map_err(full)?;
            }
            Down::Discovered(answer) => {
                let urls = answer.urls.into_iter().map(Into::into).collect();
                self.leases.tell(answer.token, Event::Discovered { page: answer.request_id, urls }).map_err(full)?;
            }
            Down::Settled(answer) => {
                let event = Event::Settled { page: answer.request_id, stale: answer.stale };
                self.leases.tell(answer.token, event).map_err(full)?;
            }
            Down::Revoke(revoke) => {
                tracing::info!(lease = revoke.token, reason = revoke.reason, "lease revoked");
                self.leases.tell(revoke.token, Event::Drain).map_err(full)?;
            }
            Down::Terms(terms) => {
                let Some(crawl) = terms.crawl.map(Box::new) else { return Ok(()) };
                tracing::debug!(lease = terms.token, crawl = crawl.name, "the terms of a lease changed");
                let event = Event::TermsChanged { crawl, pace: terms.pace, judge_again: terms.judge_again };
                self.leases.tell(terms.token, event).map_err(full)?;
            }
            Down::Renewed(renewed) => self.leases.renewed(&renewed.tokens).map_err(full)?,
            Down::Goodbye(goodbye) => {
                tracing::info!(reason = goodbye.reason, "the monitor said goodbye");
                self.end(LinkEnd::Goodbye)?;
            }
        }
        Ok(())
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
        let worker = HostWorker::new(terms, queued, urls.exhausted, &lease.robots, now);
        let (mailbox, events) = mpsc::channel(MAILBOX);
        let lost = CancellationToken::new();
        let duration = Duration::from_millis(lease.duration_ms.into());
        let held = Held { mailbox: mailbox.clone(), lost: lost.clone(), duration, prepares: lease.prepare };
        self.leases.add(lease.token, held);
        let driver =
            Driver::new(worker, self.tools.clone(), rules, resolver, crawl_key, mailbox, self.outgoing.clone());
        self.workers.spawn(async move {
            let end = lost.run_until_cancelled(driver.run(events)).await;
            (lease.token, end.unwrap_or(LeaseEnd::Lost))
        });
    }

    fn lease_ended(&mut self, token: u64, end: LeaseEnd) -> Result<(), String> {
        tracing::debug!(lease = token, ?end, "lease ended");
        let prepared = self.leases.remove(token).is_some_and(|held| held.prepares);
        if self.ending.is_none() {
            let credit = Credit { leases: u32::from(!prepared), preparations: u32::from(prepared) };
            self.waiting.push_back(Up::Credit(credit));
        }
        Ok(())
    }

    fn beat(&mut self) -> Result<(), String> {
        let heartbeat = self.leases.heartbeat(self.tools.gate.in_flight(), Instant::now());
        self.waiting.push_back(Up::Heartbeat(heartbeat.ok_or("a heartbeat was not answered")?));
        Ok(())
    }

    fn end(&mut self, reason: LinkEnd) -> Result<(), String> {
        self.ending = Some(reason);
        self.leases.tell_all(|| Event::Drain).map_err(|full| full.to_string())
    }

    /// Sends as much as there is room for.
    fn send_waiting(&mut self) {
        while let Some(message) = self.waiting.pop_front() {
            if let Err(error) = self.outgoing.try_send(CollectorMessage { message: Some(message) }) {
                self.waiting.extend(error.into_inner().message);
                return;
            }
        }
    }

    /// Ends the stream from our side and lets the Monitor read to its end.
    async fn close(mut self, mut incoming: Streaming<MonitorMessage>) -> LinkEnd {
        tracing::debug!(id = self.config.id, "closing the stream");
        self.send_waiting();
        self.workers.shutdown().await;
        drop(self.outgoing);
        let rest = async { while let Ok(Some(_)) = incoming.message().await {} };
        // The Monitor has all it needs either way: what was not settled is still queued there.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
        self.ending.unwrap_or(LinkEnd::Shutdown)
    }
}

async fn send_first(outgoing: &mpsc::Sender<CollectorMessage>, waiting: &mut VecDeque<Up>) -> Result<(), String> {
    let room = outgoing.reserve().await.map_err(|_| "it cannot be written to".to_owned())?;
    if let Some(message) = waiting.pop_front() {
        room.send(CollectorMessage { message: Some(message) });
    }
    Ok(())
}
