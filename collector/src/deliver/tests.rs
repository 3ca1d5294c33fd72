//! Delivery to an analyser that the test scripts, over the real transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use seine_common::transport;
use seine_proto::analyser::v1::analyser_server::{Analyser, AnalyserServer};
use seine_proto::analyser::v1::{ParsedPage, SavedPage};
use tonic::{Request, Response, Status};

use super::*;
use crate::gate::Gate;

/// Breaks the stream instead of saving, as many times as it is told.
struct Scripted {
    breaks: AtomicU32,
    streams: AtomicU32,
}

#[tonic::async_trait]
impl Analyser for Scripted {
    type AnalyseStream = ReceiverStream<Result<AnalyseResponse, Status>>;

    async fn analyse(
        &self,
        request: Request<Streaming<AnalyseRequest>>,
    ) -> Result<Response<Self::AnalyseStream>, Status> {
        self.streams.fetch_add(1, Ordering::SeqCst);
        let breaks = self.breaks.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        let (answers, receiver) = mpsc::channel(16);
        let mut pages = request.into_inner();
        tokio::spawn(async move {
            while let Ok(Some(AnalyseRequest { page_id, page, .. })) = pages.message().await {
                let url = page.unwrap_or_default().url;
                let parsed = Answer::Parsed(ParsedPage { links: vec![url.clone()], ..ParsedPage::default() });
                let end = match url.as_str() {
                    "bad" => Answer::Failed("no room".into()),
                    _ => Answer::Saved(SavedPage::default()),
                };
                let _ = answers.send(Ok(AnalyseResponse { page_id, event: Some(parsed) })).await;
                if breaks {
                    let _ = answers.send(Err(Status::internal("gone"))).await;
                    return;
                }
                let _ = answers.send(Ok(AnalyseResponse { page_id, event: Some(end) })).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

struct Bench {
    delivery: Delivery,
    gate: Gate,
    scripted: Arc<Scripted>,
    answers: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
    stop: CancellationToken,
}

fn bench(breaks: u32) -> Bench {
    let scripted = Arc::new(Scripted { breaks: breaks.into(), streams: 0.into() });
    let (dialer, listener) = transport::in_memory();
    let stop = CancellationToken::new();
    let routes = tonic::service::Routes::new(AnalyserServer::from_arc(scripted.clone()));
    tokio::spawn(transport::serve(routes, None, listener, stop.clone()));
    let (delivery, courier) = delivery(dialer.channel());
    tokio::spawn(courier.run(stop.clone()));
    let (answers, events) = mpsc::channel(64);
    Bench { delivery, gate: Gate::new(8), scripted, answers, events, stop }
}

impl Bench {
    async fn submit(&self, id: PageId, url: &str) {
        let page = FetchedPage { url: url.into(), body: Bytes::from_static(b"body"), ..FetchedPage::default() };
        let body = self.gate.acquire().await.body;
        let content = Content::Page(Box::new(page));
        assert!(self.delivery.submit(Parcel { content, id, answers: self.answers.clone(), body }).await);
    }

    async fn next(&mut self) -> String {
        let event = tokio::time::timeout(Duration::from_secs(10), self.events.recv()).await.expect("an answer comes");
        match event.expect("the mailbox is open") {
            Event::Parsed { page, parsed } => format!("parsed {page} {}", parsed.links.join(" ")),
            Event::Saved { page, .. } => format!("saved {page}"),
            Event::Failed { page, .. } => format!("failed {page}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn every_page_is_answered_twice_under_the_id_of_its_lease() {
    let mut bench = bench(0);
    bench.submit(41, "a").await;
    bench.submit(7, "bad").await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(bench.next().await);
    }
    assert_eq!(answers, ["parsed 41 a", "saved 41", "parsed 7 bad", "failed 7"]);
    assert_eq!(bench.scripted.streams.load(Ordering::SeqCst), 1, "one long-lived stream");
    bench.stop.cancel();
}

#[tokio::test]
async fn a_broken_stream_costs_a_second_attempt_but_no_second_parse() {
    let mut bench = bench(1);
    bench.submit(1, "a").await;
    assert_eq!([bench.next().await, bench.next().await], ["parsed 1 a", "saved 1"]);
    bench.submit(2, "b").await;
    assert_eq!([bench.next().await, bench.next().await], ["parsed 2 b", "saved 2"]);
    bench.stop.cancel();
}

#[tokio::test]
async fn a_page_that_meets_two_broken_streams_has_failed() {
    let mut bench = bench(2);
    bench.submit(1, "a").await;
    assert_eq!([bench.next().await, bench.next().await], ["parsed 1 a", "failed 1"]);
    bench.stop.cancel();
}
