//! Pages through the analyser to the filesaver.

use std::collections::HashMap;
use std::net::SocketAddr;

use futures::StreamExt;
use seine_analyser::AnalyserConfig;
use seine_analyser::filesaver::{Filesaver, FilesaverService};
use seine_analyser::rpc::AnalyserService;
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::membership::Filesavers;
use seine_node::transport::Channel;
use seine_node::transport::user_client::user_channel;
use seine_node::transport::{self, MemoryDialer};
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, analyse_response::Event};
use seine_proto::filesaver::v1::filesaver_server::FilesaverServer;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::support::*;

/// Serves an analyser in memory, with one filesaver behind it.
fn analyser(filesaver: Channel) -> AnalyserClient<Channel> {
    analyser_of(Filesavers::of([("log".to_owned(), filesaver)]))
}

pub fn analyser_of(filesavers: Filesavers) -> AnalyserClient<Channel> {
    let service = AnalyserService::new(filesavers, AnalyserConfig::default());
    let (dialer, listener): (MemoryDialer, _) = transport::in_memory();
    tokio::spawn(transport::serve(Routes::new(service.into_server()), listener, CancellationToken::new()));
    AnalyserClient::new(dialer.channel())
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

pub fn analyse_request(number: u64) -> AnalyseRequest {
    AnalyseRequest { page_id: number, page: Some(page(number)), withdrawn: None }
}

/// A stream of pages that the test feeds one by one.
pub async fn open(mut client: AnalyserClient<Channel>) -> (mpsc::Sender<AnalyseRequest>, Streaming<AnalyseResponse>) {
    let (sender, receiver) = mpsc::channel(16);
    let stream = client.analyse(ReceiverStream::new(receiver)).await.unwrap().into_inner();
    (sender, stream)
}

pub async fn next(stream: &mut Streaming<AnalyseResponse>) -> (u64, Event) {
    let response = soon(stream.message()).await.unwrap().expect("the stream goes on");
    (response.page_id, response.event.expect("an answer is something"))
}

#[tokio::test]
async fn every_page_is_answered_when_parsed_and_again_when_saved() {
    const PAGES: u64 = 500;
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut client = analyser(node.channel());
    let pages = futures::stream::iter((0..PAGES).map(analyse_request));
    let answers: Vec<_> = soon(client.analyse(pages).await.unwrap().into_inner().map(Result::unwrap).collect()).await;
    let mut parsed = HashMap::new();
    let mut saved = HashMap::new();
    for AnalyseResponse { page_id, event } in answers {
        match event.unwrap() {
            Event::Parsed(page) => {
                assert_eq!(page.links, [url(page_id + 1)]);
                assert_eq!(page.title, format!("Page {page_id}"));
                assert!(page.generate);
                assert!(parsed.insert(page_id, page.fingerprint).is_none());
            }
            Event::Saved(page) => {
                assert!(parsed.contains_key(&page_id), "{page_id} was saved before it was parsed");
                assert!(saved.insert(page_id, page).is_none());
            }
            Event::Failed(reason) | Event::Unavailable(reason) | Event::Again(reason) => panic!("{page_id}: {reason}"),
        }
    }
    assert_eq!((parsed.len(), saved.len()), (PAGES as usize, PAGES as usize));
    let (entries, _) = node.read_log(0).await;
    assert_eq!(entries.len(), PAGES as usize);
    for entry in &entries {
        let description = description(entry);
        let number: u64 = description.url.rsplit('/').next().unwrap().parse().unwrap();
        assert_eq!(description.archive, saved[&number].archive);
        assert_eq!(description.fingerprint, parsed[&number]);
        assert_eq!(description.text, format!("This is the text of page {number}.next"));
    }
    node.close().await;
}

#[tokio::test]
async fn a_page_without_sense_fails_and_the_stream_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let (sender, mut stream) = open(analyser(node.channel())).await;
    sender.send(AnalyseRequest { page_id: 1, ..AnalyseRequest::default() }).await.unwrap();
    assert!(matches!(next(&mut stream).await, (1, Event::Failed(reason)) if reason.contains("no page")));
    let mut nonsense = analyse_request(2);
    nonsense.page.as_mut().unwrap().url = "nonsense".into();
    sender.send(nonsense).await.unwrap();
    assert!(matches!(next(&mut stream).await, (2, Event::Failed(reason)) if reason.contains("URL")));
    sender.send(analyse_request(3)).await.unwrap();
    assert!(matches!(next(&mut stream).await, (3, Event::Parsed(_))));
    assert!(matches!(next(&mut stream).await, (3, Event::Saved(_))));
    drop(sender);
    assert!(soon(stream.message()).await.unwrap().is_none());
    node.close().await;
}

/// A filesaver's server as a process of its own: everything in it ends at once when it is dropped.
pub struct Process(Option<tokio::runtime::Runtime>);

impl Process {
    pub fn start(address: SocketAddr, service: FilesaverServer<FilesaverService>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listening = std::net::TcpListener::bind(address).unwrap();
        listening.set_nonblocking(true).unwrap();
        runtime.spawn(async move {
            let tcp = TcpListener::from_std(listening).unwrap();
            Server::builder().add_routes(Routes::new(service)).serve_with_incoming(TcpIncoming::from(tcp)).await
        });
        Self(Some(runtime))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.take().unwrap().shutdown_background();
    }
}

#[tokio::test]
async fn a_broken_filesaver_stream_fails_its_pages_and_the_next_page_opens_another() {
    let dir = tempfile::tempdir().unwrap();
    let filesaver = Filesaver::open(dir.path(), config()).unwrap();
    // An address that nobody else's connections begin at: its port must still be free for the second process.
    let address = std::net::TcpListener::bind("127.77.0.1:0").unwrap().local_addr().unwrap();
    let process = Process::start(address, filesaver.service());
    let (sender, mut stream) = open(analyser(user_channel(&address.to_string(), None).unwrap())).await;
    sender.send(analyse_request(1)).await.unwrap();
    assert!(matches!(next(&mut stream).await, (1, Event::Parsed(_))));
    assert!(matches!(next(&mut stream).await, (1, Event::Saved(_))));

    drop(process);
    sender.send(analyse_request(2)).await.unwrap();
    assert!(matches!(next(&mut stream).await, (2, Event::Parsed(_))));
    let (page_id, event) = next(&mut stream).await;
    assert!(matches!((page_id, &event), (2, Event::Unavailable(_))), "{event:?}");

    let process = Process::start(address, filesaver.service());
    sender.send(analyse_request(3)).await.unwrap();
    assert!(matches!(next(&mut stream).await, (3, Event::Parsed(_))));
    let (page_id, event) = next(&mut stream).await;
    assert!(matches!((page_id, &event), (3, Event::Saved(_))), "{event:?}");
    drop(process);
    soon(filesaver.close()).await.unwrap();
}

#[tokio::test]
async fn a_collector_that_takes_no_answers_is_not_read_from_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let (sender, mut stream) = open(analyser(node.channel())).await;
    // Answers so large that no buffer on the way holds many of them.
    let page = |number| {
        let mut request = analyse_request(number);
        let links: String = (0..500).map(|i| format!("<a href=/{number}/{i}{}>x</a>", "y".repeat(200))).collect();
        request.page.as_mut().unwrap().body = links.into();
        request
    };
    let mut sent = 0u64;
    while tokio::time::timeout(std::time::Duration::from_secs(2), sender.send(page(sent))).await.is_ok() {
        sent += 1;
        assert!(sent < 5000, "nothing holds the collector back");
    }
    // Once answers are taken, everything goes on, and no page is lost.
    let feeding = tokio::spawn(async move { sender.send(page(sent)).await.unwrap() });
    let mut saved = 0;
    while saved < sent + 1 {
        if let (_, Event::Saved(_)) = next(&mut stream).await {
            saved += 1;
        }
    }
    soon(feeding).await.unwrap();
    node.close().await;
}
