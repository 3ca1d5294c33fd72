//! Pages on their way to the analyser, over one long-lived stream.
//!
//! A page is kept until the analyser has answered for good: *saved*, or *failed* for a reason of its own. When the stream
//! breaks, pages that were under way are sent once more on the next one; a page that meets a second break counts as failed:
//! it may be what breaks it. While nothing can be saved at all (the [`outage`]), the gate is closed, so that nothing is
//! fetched that could not be kept, and the pages that are here wait. Answers go to the mailbox of the lease that fetched
//! the page; when that is gone, to nobody.
//!
//! Not responsible for: what the answers mean (`host_worker`).

mod outage;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::health::Reporter;
use seine_proto::analyser::v1::analyse_response::Event as Answer;
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse};
use seine_proto::common::v1::{FetchedPage, Withdrawn};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::Channel;

use crate::backoff::Backoff;
use crate::gate::{BodyPermit, Gate};
use crate::host_worker::events::{Event, PageId, Parsed};
use outage::Outage;

/// Pages waiting to be written to the stream; their bytes are bounded by the gate.
const PAGES_WAITING: usize = 64;
/// Broken streams that a page meets before it counts as failed.
const BREAKS: u32 = 2;
/// A page that was refused so often, while others were saved, counts as failed too.
const REFUSALS: u32 = 5;
/// How long the analyser may take to accept a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Hands pages to the task that owns the stream.
#[derive(Clone, Debug)]
pub struct Delivery {
    pages: mpsc::Sender<Parcel>,
}

#[derive(Clone, Debug)]
pub enum Content {
    Page(Box<FetchedPage>),
    /// A page that leaves the index.
    Withdrawn(Withdrawn),
}

/// A page with what is needed to answer for it.
#[derive(Debug)]
pub struct Parcel {
    pub content: Content,
    pub id: PageId,
    pub answers: mpsc::Sender<Event>,
    pub body: BodyPermit,
}

/// A page that the analyser has not answered for.
struct UnderWay {
    parcel: Parcel,
    /// On the stream that is open.
    sent: bool,
    breaks: u32,
    refusals: u32,
    /// Pages saved before its first refusal.
    saved_before: u64,
    parsed: bool,
}

impl UnderWay {
    fn new(parcel: Parcel) -> Self {
        Self { parcel, sent: false, breaks: 0, refusals: 0, saved_before: 0, parsed: false }
    }
}

/// Owns the stream.
pub struct Courier {
    client: AnalyserClient<Channel>,
    pages: mpsc::Receiver<Parcel>,
    under_way: HashMap<u64, UnderWay>,
    /// Those of `under_way` that are still to be sent on this stream.
    to_send: VecDeque<u64>,
    last_id: u64,
    saved: u64,
    outage: Option<Outage>,
    gate: Gate,
    health: Reporter,
}

/// The gate is closed, and the reporter told, while nothing can be saved.
pub fn delivery(analyser: Channel, gate: Gate, health: Reporter) -> (Delivery, Courier) {
    let (sender, pages) = mpsc::channel(PAGES_WAITING);
    let client = AnalyserClient::new(analyser)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let (under_way, to_send) = Default::default();
    let courier = Courier { client, pages, under_way, to_send, last_id: 0, saved: 0, outage: None, gate, health };
    (Delivery { pages: sender }, courier)
}

impl Delivery {
    /// Waits while the analyser is behind. False when the collector is ending.
    pub async fn submit(&self, parcel: Parcel) -> bool {
        self.pages.send(parcel).await.is_ok()
    }
}

impl Courier {
    /// Delivers until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut backoff = Backoff::default();
        while !shutdown.is_cancelled() {
            let ended = tokio::select! {
                ended = self.deliver(&mut backoff) => ended,
                () = shutdown.cancelled() => return,
            };
            tracing::debug!(error = %ended, "stream to the analyser ended");
            self.stream_broke();
            tokio::select! {
                () = tokio::time::sleep(backoff.pause()) => {}
                () = shutdown.cancelled() => return,
            }
        }
    }

    /// One stream, until it ends.
    async fn deliver(&mut self, backoff: &mut Backoff) -> tonic::Status {
        let (requests, receiver) = mpsc::channel(PAGES_WAITING);
        let opening = tokio::time::timeout(OPEN_TIMEOUT, self.client.analyse(ReceiverStream::new(receiver))).await;
        let mut answers = match opening.unwrap_or_else(|_| Err(tonic::Status::unavailable("no analyser answers"))) {
            Ok(response) => response.into_inner(),
            Err(status) => {
                self.begin_outage(&format!("the analyser cannot be reached: {}", status.message()));
                return status;
            }
        };
        self.analyser_answers();
        loop {
            if let Some(status) = self.step(&requests, &mut answers, backoff).await {
                return status;
            }
        }
    }

    /// Sends one page or takes one answer. Never waits for room in the stream without listening to it.
    async fn step(
        &mut self,
        requests: &mpsc::Sender<AnalyseRequest>,
        answers: &mut Streaming<AnalyseResponse>,
        backoff: &mut Backoff,
    ) -> Option<tonic::Status> {
        let try_at = self.outage.as_ref().and_then(Outage::try_at);
        tokio::select! {
            answer = answers.message() => match answer {
                Ok(Some(answer)) => {
                    backoff.succeeded();
                    self.answered(answer);
                }
                Ok(None) => return Some(tonic::Status::unavailable("the analyser ended the stream")),
                Err(status) => return Some(status),
            },
            room = requests.reserve(), if !self.to_send.is_empty() => match room {
                Ok(room) => {
                    if let Some(request) = self.next_request() {
                        room.send(request);
                    }
                }
                Err(_) => return Some(tonic::Status::unavailable("the stream to the analyser is closed")),
            },
            Some(parcel) = self.pages.recv(), if self.to_send.is_empty() => self.take(parcel),
            () = tokio::time::sleep_until(try_at.unwrap_or_else(Instant::now).into()), if try_at.is_some() => {
                self.try_one();
            }
        }
        None
    }

    fn take(&mut self, parcel: Parcel) {
        self.last_id += 1;
        self.under_way.insert(self.last_id, UnderWay::new(parcel));
        match &mut self.outage {
            // It was fetched before the gate was closed.
            Some(outage) => outage.add(self.last_id, Instant::now()),
            None => self.to_send.push_back(self.last_id),
        }
    }

    fn next_request(&mut self) -> Option<AnalyseRequest> {
        let page_id = self.to_send.pop_front()?;
        let under_way = self.under_way.get_mut(&page_id)?;
        under_way.sent = true;
        Some(match under_way.parcel.content.clone() {
            Content::Page(page) => AnalyseRequest { page_id, page: Some(*page), withdrawn: None },
            Content::Withdrawn(withdrawn) => AnalyseRequest { page_id, page: None, withdrawn: Some(withdrawn) },
        })
    }

    fn answered(&mut self, answer: AnalyseResponse) {
        let Some(under_way) = self.under_way.get_mut(&answer.page_id) else {
            return;
        };
        let id = under_way.parcel.id;
        let event = match answer.event {
            Some(Answer::Parsed(page)) => {
                if std::mem::replace(&mut under_way.parsed, true) {
                    // Second attempt: its links are known.
                    return;
                }
                let parsed = Parsed {
                    links: page.links,
                    link_hashes: Vec::new(),
                    generate: page.generate,
                    fingerprint: page.fingerprint,
                    title: page.title,
                    value: page.value,
                    usability: page.usability,
                    lastmod_ms: page.lastmod_ms,
                    sitemaps: page.sitemaps,
                    generation_rule: page.generation_rule,
                    enumeration_rule: page.enumeration_rule,
                    not_converted: page.not_converted,
                };
                Event::Parsed { page: id, parsed }
            }
            Some(Answer::Saved(saved)) => {
                self.saved += 1;
                Event::Saved { page: id, archive: saved.archive }
            }
            Some(Answer::Failed(reason)) => Event::Failed { page: id, reason },
            Some(Answer::Unavailable(reason)) => return self.refused(answer.page_id, reason, false),
            Some(Answer::Again(reason)) => return self.refused(answer.page_id, reason, true),
            None => return,
        };
        let is_last = !matches!(event, Event::Parsed { .. });
        let is_saved = matches!(event, Event::Saved { .. });
        tell(&under_way.parcel, event);
        if is_last {
            self.forget(answer.page_id);
        }
        if is_saved {
            self.end_outage();
        }
    }

    /// Nothing can be saved now, or not where the page was. Where others are saved all the same, and it is refused again and
    /// again, it is this page that cannot be.
    fn refused(&mut self, page: u64, reason: String, elsewhere: bool) {
        let Some(under_way) = self.under_way.get_mut(&page) else { return };
        under_way.sent = false;
        under_way.refusals += 1;
        if under_way.refusals == 1 {
            under_way.saved_before = self.saved;
        }
        if under_way.refusals >= REFUSALS && self.saved > under_way.saved_before {
            tell(&under_way.parcel, Event::Failed { page: under_way.parcel.id, reason });
            return self.forget(page);
        }
        if !elsewhere {
            self.begin_outage(&reason);
        }
        match &mut self.outage {
            Some(outage) => outage.add(page, Instant::now()),
            None => self.to_send.push_back(page),
        }
    }

    fn begin_outage(&mut self, reason: &str) {
        self.gate.close();
        self.health.unwell(format!("pages cannot be saved: {reason}"));
        let now = Instant::now();
        let outage = self.outage.get_or_insert_with(|| {
            tracing::warn!(reason, "no page can be saved; fetching rests");
            Outage::new(now)
        });
        for page in self.to_send.drain(..) {
            outage.add(page, now);
        }
    }

    fn end_outage(&mut self) {
        let Some(outage) = self.outage.take() else { return };
        tracing::info!("pages can be saved again; fetching goes on");
        self.to_send.extend(outage.end());
        self.health.well();
        self.gate.open();
    }

    /// Whether it can save is seen by the next page, if there is one.
    fn analyser_answers(&mut self) {
        if self.under_way.is_empty() {
            self.end_outage();
        }
    }

    fn try_one(&mut self) {
        // Nobody waits any more for pages whose leases are lost.
        let lost: Vec<u64> = self
            .under_way
            .iter()
            .filter(|(_, under_way)| !under_way.sent && under_way.parcel.answers.is_closed())
            .map(|(page, _)| *page)
            .collect();
        lost.into_iter().for_each(|page| self.forget(page));
        let Some(outage) = &mut self.outage else { return };
        match outage.next() {
            Some(page) => self.to_send.push_back(page),
            // What comes next will tell.
            None => self.end_outage(),
        }
    }

    fn forget(&mut self, page: u64) {
        self.under_way.remove(&page);
        if let Some(outage) = &mut self.outage {
            outage.remove(page, Instant::now());
        }
    }

    fn stream_broke(&mut self) {
        let mut failed = Vec::new();
        for (page, under_way) in &mut self.under_way {
            under_way.breaks += u32::from(std::mem::take(&mut under_way.sent));
            if under_way.breaks >= BREAKS {
                let reason = "the stream to the analyser broke twice while it was under way".to_owned();
                tell(&under_way.parcel, Event::Failed { page: under_way.parcel.id, reason });
                failed.push(*page);
            }
        }
        failed.into_iter().for_each(|page| self.forget(page));
        self.to_send.clear();
        let mut pages: Vec<u64> = self.under_way.keys().copied().collect();
        pages.sort_unstable();
        match &mut self.outage {
            Some(outage) => pages.into_iter().for_each(|page| outage.add(page, Instant::now())),
            None => self.to_send = pages.into(),
        }
    }
}

/// A mailbox has room for all that can be under way; one that is closed belongs to a lease that has ended.
fn tell(parcel: &Parcel, event: Event) {
    if let Err(mpsc::error::TrySendError::Full(event)) = parcel.answers.try_send(event) {
        tracing::error!(?event, "mailbox of a lease is full; its page will be fetched again");
    }
}

#[cfg(test)]
mod tests;
