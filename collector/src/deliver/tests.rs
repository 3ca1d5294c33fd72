//! Delivery to analysers that the test scripts, over the real transport.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use seine_node::health::{Condition, HealthBoard};
use seine_node::transport;
use seine_proto::analyser::v1::analyse_response::Event as Answer;
use seine_proto::analyser::v1::analyser_server::{Analyser, AnalyserServer};
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, ParsedPage, SavedPage};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::*;
use crate::gate::Gate;

/// Breaks the stream instead of saving, as many times as it is told.
struct Scripted {
    breaks: AtomicU32,
    streams: AtomicU32,
    /// Nothing is saved.
    full: Arc<AtomicBool>,
    /// In the order in which they came.
    pages: Arc<Mutex<Vec<String>>>,
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
        let (full, seen) = (Arc::clone(&self.full), Arc::clone(&self.pages));
        tokio::spawn(async move {
            while let Ok(Some(AnalyseRequest { page_id, page, .. })) = pages.message().await {
                let url = page.unwrap_or_default().url;
                let parsed = Answer::Parsed(ParsedPage { links: vec![url.clone()], ..ParsedPage::default() });
                seen.lock().unwrap().push(url.clone());
                if url == "poison" {
                    let _ = answers.send(Err(Status::internal("gone"))).await;
                    return;
                }
                if url == "stays" {
                    continue;
                }
                let end = match url.as_str() {
                    "bad" => Answer::Failed("it cannot be read".into()),
                    "large" => Answer::Unavailable("no room".into()),
                    // The filesaver that has it dies.
                    "moves" if seen.lock().unwrap().iter().filter(|page| *page == "moves").count() == 1 => {
                        Answer::Again("it went away".into())
                    }
                    _ if full.load(Ordering::SeqCst) => Answer::Unavailable("no room".into()),
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
    board: HealthBoard,
    analysers: Analysers,
    scripted: Arc<Scripted>,
    answers: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
    stop: CancellationToken,
}

fn bench(breaks: u32) -> Bench {
    let analysers = Analysers::default();
    let stop = CancellationToken::new();
    let scripted = analyser(&analysers, "only", breaks, &stop);
    let (gate, board) = (Gate::new(8, 1 << 20), HealthBoard::default());
    let (delivery, courier) = delivery(analysers.clone(), gate.clone(), board.reporter("collector", "delivery"));
    tokio::spawn(courier.run(stop.clone()));
    let (answers, events) = mpsc::channel(64);
    Bench { delivery, gate, board, analysers, scripted, answers, events, stop }
}

/// Another one, which joins them.
fn analyser(analysers: &Analysers, name: &str, breaks: u32, stop: &CancellationToken) -> Arc<Scripted> {
    let (full, pages) = Default::default();
    let scripted = Arc::new(Scripted { breaks: breaks.into(), streams: 0.into(), full, pages });
    let (dialer, listener) = transport::in_memory();
    let routes = tonic::service::Routes::new(AnalyserServer::from_arc(scripted.clone()));
    tokio::spawn(transport::serve(routes, listener, stop.clone()));
    analysers.insert(name.to_owned(), dialer.channel());
    scripted
}

impl Scripted {
    fn seen(&self) -> usize {
        self.pages.lock().unwrap().len()
    }
}

impl Bench {
    async fn submit(&self, id: PageId, url: &str) {
        let page = FetchedPage { url: url.into(), body: Bytes::from_static(b"body"), ..FetchedPage::default() };
        // From another gate: the page was fetched before anybody knew that it could not be saved.
        let body = Gate::new(1, 1 << 20).acquire().await.body;
        let content = Content::Page(Box::new(page));
        assert!(self.delivery.submit(Parcel { content, id, answers: self.answers.clone(), body }).await);
    }

    async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), waiting).await.expect(what);
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

#[tokio::test]
async fn a_page_whose_filesaver_died_is_sent_again_at_once_and_fetching_goes_on() {
    let mut bench = bench(0);
    bench.submit(1, "moves").await;
    assert_eq!([bench.next().await, bench.next().await], ["parsed 1 moves", "saved 1"]);
    assert!(bench.gate.is_open());
    assert_eq!(bench.board.tier("collector"), Condition::Well);
    assert_eq!(*bench.scripted.pages.lock().unwrap(), ["moves", "moves"]);
    bench.stop.cancel();
}

#[tokio::test]
async fn while_nothing_can_be_saved_the_gate_is_closed_and_pages_wait_until_one_is_saved() {
    let mut bench = bench(0);
    bench.scripted.full.store(true, Ordering::SeqCst);
    bench.submit(1, "a").await;
    bench.submit(2, "b").await;
    assert_eq!([bench.next().await, bench.next().await], ["parsed 1 a", "parsed 2 b"]);
    bench.until("each is tried again", |bench| bench.scripted.seen() >= 4).await;
    assert!(!bench.gate.is_open() && bench.gate.try_acquire().is_none());
    assert_eq!(bench.board.tier("collector"), Condition::Unwell("pages cannot be saved: no room".into()));
    bench.scripted.full.store(false, Ordering::SeqCst);
    let mut saved = [bench.next().await, bench.next().await];
    saved.sort();
    assert_eq!(saved, ["saved 1", "saved 2"]);
    assert!(bench.gate.is_open());
    assert_eq!(bench.board.tier("collector"), Condition::Well);
    bench.stop.cancel();
}

#[tokio::test]
async fn a_page_that_is_refused_while_others_are_saved_fails_at_last() {
    let mut bench = bench(0);
    bench.submit(1, "large").await;
    assert_eq!(bench.next().await, "parsed 1 large");
    let (mut id, mut events) = (1, Vec::new());
    while !events.contains(&"failed 1".to_owned()) {
        id += 1;
        bench.submit(id, "small").await;
        events.clear();
        // Its answers, and perhaps that of the large one.
        while !events.contains(&format!("saved {id}")) {
            events.push(bench.next().await);
        }
    }
    assert!(id < 20, "after {id} others");
    bench.stop.cancel();
}

#[tokio::test]
async fn pages_of_lost_leases_do_not_keep_the_gate_closed() {
    let Bench { delivery, gate, scripted, answers, events, stop, board: _board, analysers: _analysers } = bench(0);
    scripted.full.store(true, Ordering::SeqCst);
    let page = Content::Page(Box::new(FetchedPage { url: "a".into(), ..FetchedPage::default() }));
    let body = gate.acquire().await.body;
    assert!(delivery.submit(Parcel { content: page, id: 1, answers, body }).await);
    let closed = async |wanted: bool| {
        tokio::time::timeout(Duration::from_secs(30), async {
            while gate.is_open() == wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .expect("the gate changes");
    };
    closed(true).await;
    drop(events);
    closed(false).await;
    stop.cancel();
}

#[tokio::test]
async fn whoever_joins_is_used_beside_the_others_and_whoever_leaves_answers_what_it_has() {
    let mut bench = bench(0);
    bench.submit(1, "stays").await;
    bench.until("it is under way", |bench| bench.scripted.seen() == 1).await;
    let other = analyser(&bench.analysers, "other", 0, &bench.stop);
    bench.until("there is a stream to it", |_| other.streams.load(Ordering::SeqCst) == 1).await;
    for id in 2..10 {
        bench.submit(id, "a").await;
        assert_eq!([bench.next().await, bench.next().await], [format!("parsed {id} a"), format!("saved {id}")]);
    }
    let with_first = bench.scripted.seen();
    assert!(other.seen() >= 4, "{} pages, {with_first} with the first", other.seen());
    bench.analysers.remove("only");
    for id in 10..20 {
        bench.submit(id, "b").await;
        assert_eq!([bench.next().await, bench.next().await], [format!("parsed {id} b"), format!("saved {id}")]);
    }
    let first: Vec<String> = bench.scripted.pages.lock().unwrap().clone();
    // The list may be taken in a moment later than the first page that comes after it.
    assert!(first.iter().filter(|url| *url == "b").count() <= 1, "{first:?}");
    assert!(bench.gate.is_open());
    bench.stop.cancel();
}

#[tokio::test]
async fn pages_of_a_broken_stream_go_to_another_and_the_page_that_breaks_both_fails() {
    let mut bench = bench(0);
    let other = analyser(&bench.analysers, "other", 0, &bench.stop);
    let both = |bench: &Bench| [&bench.scripted, &other].iter().all(|one| one.streams.load(Ordering::SeqCst) == 1);
    bench.until("there are streams to both", both).await;
    bench.submit(1, "poison").await;
    assert_eq!(bench.next().await, "failed 1");
    for id in 2..6 {
        bench.submit(id, "a").await;
        assert_eq!([bench.next().await, bench.next().await], [format!("parsed {id} a"), format!("saved {id}")]);
    }
    let count = |one: &Scripted| one.pages.lock().unwrap().iter().filter(|url| *url == "poison").count();
    assert_eq!((count(&bench.scripted), count(&other)), (1, 1));
    bench.stop.cancel();
}
