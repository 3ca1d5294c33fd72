//! The indexer on a real filesaver, over real connections: what is saved can be found, whatever goes away meanwhile.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use seine_analyser::filesaver::{Durability, Filesaver, FilesaverConfig};
use seine_indexer::{Indexer, IndexerConfig, IndexerError, publish};
use seine_node::membership::Filesavers;
use seine_node::transport;
use seine_node::transport::Channel;
use seine_node::transport::user_client::user_channel;
use seine_proto::common::v1::Withdrawn;
use seine_proto::common::v1::{Description, FetchedPage, LeaseRef};
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{LogEndRequest, SaveRequest};
use seine_proto::indexer::v1::indexer_server::Indexer as _;
use seine_proto::indexer::v1::{FlushRequest, RebuildRequest, StatusRequest, StatusResponse};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request};

#[path = "following/several_logs.rs"]
mod several_logs;

const DEADLINE: Duration = Duration::from_secs(60);

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("done in time")
}

/// A filesaver with its server, which can be taken away and brought back.
struct RunningFilesaver {
    filesaver: Filesaver,
    address: SocketAddr,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

impl RunningFilesaver {
    async fn start(dir: &Path, address: &str) -> Self {
        let config = FilesaverConfig { durability: Durability::Os, ..FilesaverConfig::default() };
        let filesaver = Filesaver::open(dir, config).unwrap();
        let listener = transport::listen(address.parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let serving = Server::builder()
            .add_routes(Routes::new(filesaver.service()))
            .serve_with_incoming_shutdown(TcpIncoming::from(listener), shutdown.clone().cancelled_owned());
        let serving = tokio::spawn(async move { serving.await.unwrap() });
        Self { filesaver, address, shutdown, serving }
    }

    async fn stop(self) {
        in_time(self.filesaver.close()).await.unwrap();
        self.shutdown.cancel();
        in_time(self.serving).await.unwrap();
    }

    fn known(&self) -> (String, Channel) {
        (self.filesaver.log_id().to_owned(), self.channel())
    }

    fn channel(&self) -> Channel {
        user_channel(&self.address.to_string(), None).unwrap()
    }

    async fn save(&self, pages: impl IntoIterator<Item = (u32, i64)>) {
        let requests: Vec<SaveRequest> = pages.into_iter().map(|(number, at)| save_request(number, at)).collect();
        let count = requests.len();
        let mut client = FilesaverClient::new(self.channel());
        let mut answers = client.save(tokio_stream::iter(requests)).await.unwrap().into_inner();
        for _ in 0..count {
            let answer = in_time(answers.message()).await.unwrap().expect("an answer per page");
            assert!(matches!(answer.result, Some(seine_proto::filesaver::v1::save_response::Result::Saved(_))));
        }
    }

    async fn log_end(&self) -> FlushRequest {
        let end = FilesaverClient::new(self.channel()).log_end(LogEndRequest {}).await.unwrap().into_inner();
        FlushRequest { log_id: end.log_id, until_offset: end.end_offset }
    }
}

fn url(number: u32) -> String {
    format!("http://example.org/{number}")
}

fn save_request(number: u32, fetched_at_ms: i64) -> SaveRequest {
    let page = FetchedPage {
        lease: Some(LeaseRef { token: 1, crawl: "test".into(), epoch: 1 }),
        url: url(number),
        fetched_at_ms,
        ip: "127.0.0.1".into(),
        request_head: "GET / HTTP/1.1\r\nhost: example.org\r\n\r\n".into(),
        response_head: "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".into(),
        status: 200,
        body: "<p>words</p>".into(),
        ..FetchedPage::default()
    };
    let description = Description {
        url: url(number),
        crawl: "test".into(),
        epoch: 1,
        token: 1,
        fetched_at_ms,
        status: 200,
        title: format!("Page {number}"),
        text: "words of a page".into(),
        generate: true,
        ..Description::default()
    };
    SaveRequest {
        page_id: u64::from(number),
        page: Some(page),
        description: Some(description),
        ..SaveRequest::default()
    }
}

/// An indexer that runs until stopped.
struct RunningIndexer {
    indexer: Indexer,
    shutdown: CancellationToken,
    running: JoinHandle<Result<(), IndexerError>>,
}

impl RunningIndexer {
    fn start(dir: &Path, filesaver: &RunningFilesaver) -> Self {
        Self::start_with(dir, Filesavers::of([filesaver.known()]))
    }

    fn start_with(dir: &Path, filesavers: Filesavers) -> Self {
        // So that only a flush commits.
        let config = IndexerConfig { commit_interval: Duration::from_secs(3600), ..IndexerConfig::default() };
        let indexer = Indexer::open(dir, config).unwrap();
        let shutdown = CancellationToken::new();
        let (runner, until) = (indexer.clone(), shutdown.clone());
        let running = tokio::spawn(async move { runner.run(filesavers, until).await });
        Self { indexer, shutdown, running }
    }

    async fn flush(&self, until: FlushRequest) {
        in_time(self.indexer.rpc().flush(Request::new(until))).await.unwrap();
    }

    async fn status(&self) -> StatusResponse {
        let request = StatusRequest { crawl: "test".into() };
        in_time(self.indexer.rpc().status(Request::new(request))).await.unwrap().into_inner()
    }

    async fn documents(&self) -> u64 {
        let status = self.status().await;
        assert_eq!(status.documents, status.crawl_documents);
        status.documents
    }

    async fn stop(self) {
        self.shutdown.cancel();
        in_time(self.running).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_saved_before_a_flush_can_be_found_after_it() {
    let root = tempfile::tempdir().unwrap();
    let filesaver = RunningFilesaver::start(&root.path().join("pages"), "127.0.0.1:0").await;
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    filesaver.save((0..500).map(|number| (number, 1))).await;
    let end = filesaver.log_end().await;
    indexer.flush(end.clone()).await;
    assert_eq!(indexer.documents().await, 500);
    assert_eq!(indexer.status().await.committed[&end.log_id], end.until_offset);
    indexer.flush(end).await;
    indexer.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_indexer_goes_on_from_its_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let filesaver = RunningFilesaver::start(&root.path().join("pages"), "127.0.0.1:0").await;
    let index = root.path().join("index");
    let first = RunningIndexer::start(&index, &filesaver);
    filesaver.save((0..10).map(|number| (number, 1))).await;
    first.flush(filesaver.log_end().await).await;
    first.stop().await;
    filesaver.save((5..20).map(|number| (number, 2))).await;
    let second = RunningIndexer::start(&index, &filesaver);
    assert_eq!(second.documents().await, 10, "what is committed is known before anything is followed");
    second.flush(filesaver.log_end().await).await;
    assert_eq!(second.documents().await, 20);
    second.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filesaver_that_goes_away_is_followed_again_when_it_is_back() {
    let root = tempfile::tempdir().unwrap();
    let pages = root.path().join("pages");
    let filesaver = RunningFilesaver::start(&pages, "127.0.0.1:0").await;
    let address = filesaver.address.to_string();
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    filesaver.save([(1, 1)]).await;
    indexer.flush(filesaver.log_end().await).await;
    filesaver.stop().await;
    let filesaver = RunningFilesaver::start(&pages, &address).await;
    filesaver.save([(2, 1), (1, 2)]).await;
    indexer.flush(filesaver.log_end().await).await;
    assert_eq!(indexer.documents().await, 2);
    indexer.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_gives_the_same_documents_in_a_new_index_and_indexing_goes_on_in_it() {
    let root = tempfile::tempdir().unwrap();
    let filesaver = RunningFilesaver::start(&root.path().join("pages"), "127.0.0.1:0").await;
    let index = root.path().join("index");
    let indexer = RunningIndexer::start(&index, &filesaver);
    filesaver.save((0..300).map(|number| (number, 1))).await;
    filesaver.save((0..300).map(|number| (number, 2))).await;
    for number in 0..100 {
        filesaver.filesaver.withdraw(Withdrawn { url: url(number), at_ms: 3, token: 1, epoch: 1 }).await.unwrap();
    }
    indexer.flush(filesaver.log_end().await).await;
    let before = publish::current(&index).unwrap().unwrap();
    assert_eq!(indexer.documents().await, 200);

    let rebuilt =
        in_time(indexer.indexer.rpc().rebuild(Request::new(RebuildRequest::default()))).await.unwrap().into_inner();
    assert_eq!(rebuilt.documents, 200);
    let after = publish::current(&index).unwrap().unwrap();
    assert_ne!(before, after);
    assert!(!before.exists());
    filesaver.save((1000..1010).map(|number| (number, 1))).await;
    indexer.flush(filesaver.log_end().await).await;
    assert_eq!(indexer.documents().await, 210);
    indexer.stop().await;

    let again = RunningIndexer::start(&index, &filesaver);
    assert_eq!(again.documents().await, 210);
    assert_eq!(publish::current(&index).unwrap().unwrap(), after);
    again.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_an_indexer_that_stops_is_told_so() {
    let root = tempfile::tempdir().unwrap();
    let filesaver = RunningFilesaver::start(&root.path().join("pages"), "127.0.0.1:0").await;
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    let rpc = indexer.indexer.rpc();
    let end = filesaver.log_end().await;
    let beyond = FlushRequest { until_offset: end.until_offset + 1_000_000, ..end };
    let waiting = tokio::spawn(async move { rpc.flush(Request::new(beyond)).await });
    tokio::task::yield_now().await;
    let asked_later = indexer.indexer.rpc();
    indexer.stop().await;
    assert_eq!(in_time(waiting).await.unwrap().unwrap_err().code(), Code::Unavailable);
    let rebuild = in_time(asked_later.rebuild(Request::new(RebuildRequest::default()))).await;
    assert_eq!(rebuild.unwrap_err().code(), Code::Unavailable);
    filesaver.stop().await;
}

/// Flips a bit in the largest segment of an index, and gives the index's directory.
fn damage(index: &Path) -> PathBuf {
    let current = publish::current(index).unwrap().unwrap();
    let files = std::fs::read_dir(&current).unwrap().map(|entry| entry.unwrap().path());
    let stores = files.filter(|file| file.extension().is_some_and(|extension| extension == "store"));
    let store = stores.max_by_key(|file| file.metadata().unwrap().len()).unwrap();
    let mut bytes = std::fs::read(&store).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&store, bytes).unwrap();
    current
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_segment_is_found_at_start_and_the_index_rebuilt_from_the_log() {
    let root = tempfile::tempdir().unwrap();
    let filesaver = RunningFilesaver::start(&root.path().join("pages"), "127.0.0.1:0").await;
    let index = root.path().join("index");
    let indexer = RunningIndexer::start(&index, &filesaver);
    filesaver.save((0..50).map(|number| (number, 1))).await;
    indexer.flush(filesaver.log_end().await).await;
    filesaver.save((50..60).map(|number| (number, 1))).await;
    indexer.flush(filesaver.log_end().await).await;
    indexer.stop().await;

    let damaged = damage(&index);

    let indexer = RunningIndexer::start(&index, &filesaver);
    let healed = async {
        while indexer.documents().await != 60 || publish::current(&index).unwrap().unwrap() == damaged {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(healed).await;
    indexer.stop().await;
    filesaver.stop().await;
}

fn log_file(pages: &Path) -> std::path::PathBuf {
    pages.join("log").join(format!("{:020}.log", 0))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_cut_is_read_again_and_a_flush_waits_for_that() {
    let root = tempfile::tempdir().unwrap();
    let pages = root.path().join("pages");
    let filesaver = RunningFilesaver::start(&pages, "127.0.0.1:0").await;
    let address = filesaver.address.to_string();
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    filesaver.save((0..5).map(|number| (number, 1))).await;
    let kept = filesaver.log_end().await.until_offset;
    filesaver.save((5..10).map(|number| (number, 1))).await;
    indexer.flush(filesaver.log_end().await).await;
    filesaver.stop().await;
    std::fs::OpenOptions::new().write(true).open(log_file(&pages)).unwrap().set_len(kept).unwrap();

    let filesaver = RunningFilesaver::start(&pages, &address).await;
    filesaver.save((20..23).map(|number| (number, 1))).await;
    indexer.flush(filesaver.log_end().await).await;
    // What the log has lost, the index still has.
    assert_eq!(indexer.documents().await, 13);
    let end = filesaver.log_end().await;
    assert_eq!(indexer.status().await.committed[&end.log_id], end.until_offset);
    indexer.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_stretch_is_passed_over_and_whoever_flushes_is_told() {
    let root = tempfile::tempdir().unwrap();
    let pages = root.path().join("pages");
    let filesaver = RunningFilesaver::start(&pages, "127.0.0.1:0").await;
    let mut ends = Vec::new();
    for number in 0..4 {
        filesaver.save([(number, 1)]).await;
        ends.push(filesaver.log_end().await.until_offset);
    }
    let mut bytes = std::fs::read(log_file(&pages)).unwrap();
    bytes[ends[0] as usize + 30] ^= 1;
    std::fs::write(log_file(&pages), bytes).unwrap();
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    let flushed = in_time(indexer.indexer.rpc().flush(Request::new(filesaver.log_end().await))).await.unwrap();
    let damaged = flushed.into_inner().damaged;
    assert_eq!(damaged.iter().map(|lost| (lost.start, lost.end)).collect::<Vec<_>>(), [(ends[0], ends[1])]);
    assert_eq!(indexer.documents().await, 3);
    let trouble = indexer.status().await.trouble;
    assert!(trouble.contains(&format!("offset {}", ends[0])), "{trouble}");
    indexer.stop().await;

    let again = RunningIndexer::start(&root.path().join("index"), &filesaver);
    assert!(!again.status().await.trouble.is_empty(), "it is not forgotten");
    again.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_read_is_a_reason_and_no_success() {
    let root = tempfile::tempdir().unwrap();
    let pages = root.path().join("pages");
    let filesaver = RunningFilesaver::start(&pages, "127.0.0.1:0").await;
    filesaver.save([(1, 1)]).await;
    // Opens, and cannot be read, whoever asks.
    std::fs::remove_file(log_file(&pages)).unwrap();
    std::fs::create_dir(log_file(&pages)).unwrap();
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    let flushed = in_time(indexer.indexer.rpc().flush(Request::new(filesaver.log_end().await))).await;
    assert_eq!(flushed.unwrap_err().code(), Code::DataLoss);
    let trouble = indexer.status().await.trouble;
    assert!(trouble.contains("does not grow") && trouble.contains(".log"), "{trouble}");
    indexer.stop().await;
    filesaver.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_was_fetched_in_the_future_can_be_withdrawn_and_replaced() {
    const NEXT_YEAR: i64 = 1_800_000_000_000;
    const NOW: i64 = 1_770_000_000_000;
    let root = tempfile::tempdir().unwrap();
    let filesaver = RunningFilesaver::start(&root.path().join("pages"), "127.0.0.1:0").await;
    let indexer = RunningIndexer::start(&root.path().join("index"), &filesaver);
    filesaver.save([(1, NEXT_YEAR), (2, NEXT_YEAR)]).await;
    for number in [1, 2] {
        let withdrawn = Withdrawn { url: url(number), at_ms: NOW, token: 2, epoch: 1 };
        filesaver.filesaver.withdraw(withdrawn).await.unwrap();
    }
    indexer.flush(filesaver.log_end().await).await;
    assert_eq!(indexer.documents().await, 0);
    let mut later = save_request(1, NOW);
    later.description.as_mut().unwrap().epoch = 2;
    let mut client = FilesaverClient::new(filesaver.channel());
    let mut answers = client.save(tokio_stream::iter([later])).await.unwrap().into_inner();
    in_time(answers.message()).await.unwrap().expect("an answer");
    indexer.flush(filesaver.log_end().await).await;
    assert_eq!(indexer.documents().await, 1);
    assert_eq!(filesaver.filesaver.highest_epoch(), 2);
    indexer.stop().await;
    filesaver.stop().await;
}
