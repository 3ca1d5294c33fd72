//! Pages on their way to the analyser, over one long-lived stream.
//!
//! A page is kept until the analyser has answered for good: *saved*, or *failed*. When the stream breaks, pages that
//! were under way are sent once more on the next one; a page that meets a second break counts as failed and is fetched
//! again some day. Answers go to the mailbox of the lease that fetched the page; when that is gone, to nobody.
//!
//! Not responsible for: what the answers mean (`host_worker`).

use std::collections::{HashMap, VecDeque};

use seine_common::limits::MAX_MESSAGE_BYTES;
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
use crate::gate::BodyPermit;
use crate::host_worker::events::{Event, PageId, Parsed};

/// Pages waiting to be written to the stream; their bytes are bounded by the gate.
const PAGES_WAITING: usize = 64;
/// How often a page is sent before it counts as failed.
const ATTEMPTS: u32 = 2;

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
    attempts: u32,
    parsed: bool,
}

/// Owns the stream.
pub struct Courier {
    client: AnalyserClient<Channel>,
    pages: mpsc::Receiver<Parcel>,
    under_way: HashMap<u64, UnderWay>,
    /// Those of `under_way` that are still to be sent on this stream.
    to_send: VecDeque<u64>,
    last_id: u64,
}

pub fn delivery(analyser: Channel) -> (Delivery, Courier) {
    let (sender, pages) = mpsc::channel(PAGES_WAITING);
    let client = AnalyserClient::new(analyser)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let courier = Courier { client, pages, under_way: HashMap::new(), to_send: VecDeque::new(), last_id: 0 };
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
            self.plan_second_attempts();
            tokio::select! {
                () = tokio::time::sleep(backoff.pause()) => {}
                () = shutdown.cancelled() => return,
            }
        }
    }

    /// One stream, until it ends.
    async fn deliver(&mut self, backoff: &mut Backoff) -> tonic::Status {
        let (requests, receiver) = mpsc::channel(PAGES_WAITING);
        let mut answers = match self.client.analyse(ReceiverStream::new(receiver)).await {
            Ok(response) => response.into_inner(),
            Err(status) => return status,
        };
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
            Some(parcel) = self.pages.recv(), if self.to_send.is_empty() => {
                self.last_id += 1;
                self.under_way.insert(self.last_id, UnderWay { parcel, attempts: 0, parsed: false });
                self.to_send.push_back(self.last_id);
            }
        }
        None
    }

    fn next_request(&mut self) -> Option<AnalyseRequest> {
        let page_id = self.to_send.pop_front()?;
        let under_way = self.under_way.get_mut(&page_id)?;
        under_way.attempts += 1;
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
            Some(Answer::Saved(saved)) => Event::Saved { page: id, archive: saved.archive },
            Some(Answer::Failed(reason)) => Event::Failed { page: id, reason },
            None => return,
        };
        let is_last = !matches!(event, Event::Parsed { .. });
        tell(&under_way.parcel, event);
        if is_last {
            self.under_way.remove(&answer.page_id);
        }
    }

    fn plan_second_attempts(&mut self) {
        self.under_way.retain(|_, under_way| {
            let again = under_way.attempts < ATTEMPTS;
            if !again {
                let reason = "the stream to the analyser broke twice".to_owned();
                tell(&under_way.parcel, Event::Failed { page: under_way.parcel.id, reason });
            }
            again
        });
        let mut ids: Vec<u64> = self.under_way.keys().copied().collect();
        ids.sort_unstable();
        self.to_send = ids.into();
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
