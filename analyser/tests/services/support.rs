//! A filesaver served in memory, pages to feed it, and eyes for what it wrote.

use std::fs;
use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::bufread::GzDecoder;
use futures::StreamExt;
use seine_analyser::filesaver::{Durability, Filesaver, FilesaverConfig};
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::transport::Channel;
use seine_node::transport::{self, MemoryDialer};
use seine_proto::common::v1::{ArchivePosition, Description, FetchedPage, Header, LeaseRef};
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{
    FollowRequest, LogEntry, SaveRequest, SaveResponse, SavedRecord, log_entry::Entry, save_response,
};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

/// Everything here is done in well under a second; a machine under load may take longer.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Fails the test instead of waiting for ever.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("done before the deadline")
}

pub fn config() -> FilesaverConfig {
    FilesaverConfig { durability: Durability::Os, ..FilesaverConfig::default() }
}

/// A filesaver with its server.
pub struct Node {
    pub filesaver: Filesaver,
    dialer: MemoryDialer,
    stop: CancellationToken,
}

impl Node {
    pub fn open(dir: &Path) -> Self {
        Self::open_with(dir, config())
    }

    pub fn open_with(dir: &Path, config: FilesaverConfig) -> Self {
        let filesaver = Filesaver::open(dir, config).unwrap();
        let (dialer, listener) = transport::in_memory();
        let stop = CancellationToken::new();
        tokio::spawn(transport::serve(Routes::new(filesaver.service()), listener, stop.clone()));
        Self { filesaver, dialer, stop }
    }

    pub fn channel(&self) -> Channel {
        self.dialer.channel()
    }

    pub fn client(&self) -> FilesaverClient<Channel> {
        FilesaverClient::new(self.channel())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// Saves pages over one stream and returns where each stands, in the order given.
    pub async fn save(&self, pages: Vec<SaveRequest>) -> Vec<SavedRecord> {
        let answers = self.try_save(pages).await;
        answers.into_iter().map(|answer| answer.unwrap_or_else(|reason| panic!("not saved: {reason}"))).collect()
    }

    pub async fn try_save(&self, pages: Vec<SaveRequest>) -> Vec<Result<SavedRecord, String>> {
        let ids: Vec<u64> = pages.iter().map(|page| page.page_id).collect();
        let stream = self.client().save(futures::stream::iter(pages)).await.unwrap().into_inner();
        let answers: Vec<SaveResponse> = soon(stream.map(Result::unwrap).collect()).await;
        assert_eq!(answers.len(), ids.len());
        ids.iter().map(|id| result(answers.iter().find(|answer| answer.page_id == *id).unwrap())).collect()
    }

    /// All entries from an offset on, and the offset behind them.
    pub async fn read_log(&self, from_offset: u64) -> (Vec<LogEntry>, u64) {
        let mut stream =
            self.client().follow(FollowRequest { from_offset, ..FollowRequest::default() }).await.unwrap().into_inner();
        let mut entries = Vec::new();
        loop {
            let batch = soon(stream.message()).await.unwrap().expect("a follower is not sent away");
            assert_eq!(batch.log_id, self.filesaver.log_id());
            entries.extend(batch.entries);
            if batch.at_end {
                return (entries, batch.end_offset);
            }
        }
    }

    pub async fn close(self) {
        soon(self.filesaver.close()).await.unwrap();
        self.stop.cancel();
    }
}

pub fn result(answer: &SaveResponse) -> Result<SavedRecord, String> {
    match answer.result.clone().expect("an answer has a result") {
        save_response::Result::Saved(saved) => Ok(saved),
        save_response::Result::Failed(reason) | save_response::Result::Unavailable(reason) => Err(reason),
    }
}

pub fn page(number: u64) -> FetchedPage {
    FetchedPage {
        lease: Some(LeaseRef { token: 1, crawl: "test".into(), epoch: 1 }),
        url: format!("http://example.org/{number}"),
        fetched_at_ms: 1_700_000_000_000 + number as i64,
        ip: "127.0.0.1".into(),
        request_head: format!("GET /{number} HTTP/1.1\r\nhost: example.org\r\n\r\n").into(),
        response_head: "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".into(),
        status: 200,
        headers: vec![Header { name: "content-type".into(), value: "text/html".into() }],
        body: body(number).into(),
        ..FetchedPage::default()
    }
}

pub fn body(number: u64) -> String {
    format!("<title>Page {number}</title><p>This is the text of page {number}.<a href=/{}>next</a>", number + 1)
}

pub fn request(number: u64) -> SaveRequest {
    let description =
        Description { url: format!("http://example.org/{number}"), text: body(number), ..Description::default() };
    SaveRequest { page_id: number, page: Some(page(number)), description: Some(description), ..SaveRequest::default() }
}

pub fn requests(numbers: std::ops::Range<u64>) -> Vec<SaveRequest> {
    numbers.map(request).collect()
}

pub fn description(entry: &LogEntry) -> &Description {
    match entry.entry.as_ref().expect("an entry is something") {
        Entry::Description(description) => description,
        Entry::Withdrawn(withdrawn) => panic!("{withdrawn:?} is no description"),
    }
}

pub fn described_urls(entries: &[LogEntry]) -> Vec<String> {
    entries.iter().map(|entry| description(entry).url.clone()).collect()
}

pub fn url(number: u64) -> String {
    format!("http://example.org/{number}")
}

/// Names of WARC files in the archive directory, sealed and open, in order.
pub fn archive_files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join("archive")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.contains(".warc.gz"));
    names.sort();
    names
}

pub fn archive_path(dir: &Path, name: &str) -> PathBuf {
    dir.join("archive").join(name)
}

/// Every record of a file, decompressed; panics unless the file is nothing but whole gzip members.
pub fn records(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap();
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while !rest.is_empty() {
        let mut member = GzDecoder::new(rest);
        let mut record = Vec::new();
        member.read_to_end(&mut record).unwrap_or_else(|error| panic!("{} is damaged: {error}", path.display()));
        rest = member.into_inner();
        records.push(String::from_utf8_lossy(&record).into_owned());
    }
    assert!(records[0].contains("WARC-Type: warcinfo"));
    records
}

/// The record at a position.
pub fn record_at(dir: &Path, position: &ArchivePosition) -> String {
    let path = archive_path(dir, &position.file);
    let path = if path.exists() { path } else { archive_path(dir, &format!("{}.open", position.file)) };
    let bytes = fs::read(path).unwrap();
    let (start, length) = (position.offset as usize, position.length as usize);
    let mut record = String::new();
    GzDecoder::new(&bytes[start..start + length]).read_to_string(&mut record).unwrap();
    record
}

/// What a killed process would leave: the directory as it is at this moment.
pub fn snapshot(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for part in ["log", "archive"] {
        fs::create_dir(copy.path().join(part)).unwrap();
        for entry in fs::read_dir(dir.join(part)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.path().join(part).join(path.file_name().unwrap())).unwrap();
        }
    }
    copy
}

/// Bytes that do not compress.
pub fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}
