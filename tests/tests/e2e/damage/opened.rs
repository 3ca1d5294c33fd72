//! Opens the tiers on a damaged copy and looks at what they give.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use seine_analyser::filesaver::{Durability, Filesaver, FilesaverConfig};
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_indexer::{Indexer, IndexerConfig};
use seine_node::membership::Filesavers;
use seine_node::transport;
use seine_node::transport::Channel;
use seine_proto::common::v1::{ArchivePosition, Description};
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{FollowRequest, LogEndRequest, ReadForm, ReadRequest, log_entry::Entry, read_request};
use seine_proto::indexer::v1::indexer_server::Indexer as _;
use seine_proto::indexer::v1::{FlushRequest, RebuildRequest};
use seine_query::{QueryConfig, QueryService, SearchRequest};
use seine_tests::eventually;
use tokio_util::sync::CancellationToken;
use tonic::Request;
use tonic::service::Routes;

use super::crawled::Crawled;
use super::harm::{Harm, is_named};
use crate::killing::COMMON_WORD;

const DEADLINE: Duration = Duration::from_secs(60);

static LOGS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Where the tiers of this process write what they have to say.
struct Logs;

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGS.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn listen_to_logs() {
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::WARN);
    let _ = subscriber.with_writer(|| Logs).try_init();
}

/// Lines about files of a directory.
fn logged_about(directory: &Path) -> String {
    let logs = LOGS.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&logs);
    let name = directory.display().to_string();
    text.lines().filter(|line| line.contains(&name)).fold(String::new(), |all, line| all + line + "\n")
}

/// Everything that must hold whatever was done to the directory.
pub async fn examine(directory: &Crawled, harm: &Harm) {
    // In memory where there is such a place: syncing is not what is tested.
    let memory = Path::new("/dev/shm");
    let copy = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let copy = copy.expect("a directory can be made");
    let data = copy.path();
    directory.copy_to(data);
    harm.inflict(data);
    let (whole, logged) = (directory.whole(harm), directory.logged(harm));
    // As `seine search` would, before anybody has looked for damage: an answer or a refusal.
    let _ = search(data);

    let config = FilesaverConfig { durability: Durability::Os, segment_bytes: 1 << 16, ..FilesaverConfig::default() };
    let filesaver =
        Filesaver::open(&data.join("filesaver"), config).unwrap_or_else(|error| panic!("{harm:?}: {error}"));
    let (dialer, listener) = transport::in_memory();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(transport::serve(Routes::new(filesaver.service()), listener, stop.clone()));
    let config = IndexerConfig { commit_interval: Duration::from_secs(3600), ..IndexerConfig::default() };
    let indexer = Indexer::open(&data.join("index"), config).unwrap_or_else(|error| panic!("{harm:?}: {error}"));
    let filesavers = Filesavers::of([(filesaver.log_id().to_owned(), dialer.channel())]);
    let (runner, stopped) = (indexer.clone(), stop.clone());
    let running = tokio::spawn(async move { runner.run(filesavers, stopped).await });

    let mut client = FilesaverClient::new(dialer.channel()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let end = client.log_end(LogEndRequest {}).await.expect("the log has an end").into_inner();
    let flush = FlushRequest { log_id: end.log_id, until_offset: end.end_offset };
    let flushed = in_time(indexer.rpc().flush(Request::new(flush)), harm).await;
    let told = flushed.unwrap_or_else(|status| panic!("{harm:?}: {status}")).into_inner().damaged;
    eventually(DEADLINE, &format!("everything whole is found after {harm:?}"), async || {
        missing(&logged, &search(data))
    })
    .await;

    // It may be doing so by itself, and is asked again then.
    eventually(DEADLINE, &format!("the index is rebuilt after {harm:?}"), async || {
        indexer.rpc().rebuild(Request::new(RebuildRequest::default())).await.map_err(|status| status.to_string())
    })
    .await;
    missing(&logged, &search(data)).unwrap_or_else(|missing| panic!("{missing} not rebuilt after {harm:?}"));
    let exported = export(&mut client).await;
    let urls: BTreeSet<String> = exported.iter().map(|(url, _)| url.clone()).collect();
    missing(&logged, &Ok(urls.clone())).unwrap_or_else(|missing| panic!("{missing} not exported after {harm:?}"));
    for (url, position) in exported.iter().filter(|(url, _)| whole.contains(url)) {
        let record = Some(read_request::Record::Position(position.clone()));
        let read = client.read(ReadRequest { record, form: ReadForm::Decoded.into(), ..ReadRequest::default() }).await;
        assert!(read.is_ok(), "{url} cannot be read after {harm:?}: {read:?}");
    }
    let lost = directory.pages().difference(&urls).count();
    let logs = logged_about(data);
    let is_noticeable = lost > 0 && !directory.is_cut_at_its_end(harm);
    assert!(!is_noticeable || is_named(&logs), "{lost} pages lost without a word after {harm:?}: {logs} {told:?}");

    stop.cancel();
    in_time(running, harm).await.expect("the indexer ends").unwrap_or_else(|error| panic!("{harm:?}: {error}"));
    in_time(filesaver.close(), harm).await.unwrap_or_else(|error| panic!("{harm:?}: {error}"));
    let _ = in_time(serving, harm).await;
}

async fn in_time<T>(what: impl Future<Output = T>, harm: &Harm) -> T {
    tokio::time::timeout(DEADLINE, what).await.unwrap_or_else(|_| panic!("not in time after {harm:?}"))
}

fn missing(expected: &BTreeSet<String>, found: &Result<BTreeSet<String>, String>) -> Result<(), String> {
    let found = found.as_ref().map_err(String::clone)?;
    let missing: Vec<&String> = expected.difference(found).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{} pages, such as {}", missing.len(), missing[0])) }
}

/// URLs that the common word finds.
fn search(data: &Path) -> Result<BTreeSet<String>, String> {
    let query = QueryService::open(&data.join("index"), QueryConfig::default()).map_err(|error| error.to_string())?;
    let mut found = BTreeSet::new();
    for offset in (0..).step_by(100) {
        let request = SearchRequest { query: COMMON_WORD.to_owned(), limit: 100, offset, ..SearchRequest::default() };
        let answer = query.search(&request).map_err(|error| error.to_string())?;
        if answer.hits.is_empty() {
            break;
        }
        found.extend(answer.hits.into_iter().map(|hit| hit.url));
    }
    Ok(found)
}

async fn export(client: &mut FilesaverClient<Channel>) -> Vec<(String, ArchivePosition)> {
    let mut batches = client.follow(FollowRequest::default()).await.expect("the log is read").into_inner();
    let mut pages = Vec::new();
    loop {
        let batch = batches.message().await.expect("the log is read").expect("following goes on");
        for entry in batch.entries {
            if let Some(Entry::Description(Description { url, archive: Some(position), .. })) = entry.entry {
                pages.push((url, position));
            }
        }
        if batch.at_end {
            return pages;
        }
    }
}
