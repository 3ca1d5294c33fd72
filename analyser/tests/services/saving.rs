//! Pages in, acknowledgements out.

use seine_analyser::filesaver::{Durability, Filesaver, FilesaverConfig};
use seine_common::limits::MAX_BODY_BYTES;
use seine_proto::filesaver::v1::{LogEndRequest, SaveRequest, SealRequest};

use crate::support::*;

#[tokio::test]
async fn a_saved_page_stands_where_its_acknowledgement_says() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open_with(dir.path(), FilesaverConfig { durability: Durability::Sync, ..config() });
    let saved = node.save(requests(0..50)).await;
    for (number, saved) in saved.iter().enumerate() {
        let record = record_at(dir.path(), saved.archive.as_ref().unwrap());
        assert!(record.contains("WARC-Type: response") && record.contains(&body(number as u64)), "{record}");
    }
    let end = node.client().log_end(LogEndRequest {}).await.unwrap().into_inner();
    assert_eq!(end.end_offset, saved.iter().map(|saved| saved.log_offset).max().unwrap());
    assert_eq!(end.log_id, node.filesaver.log_id());
    node.close().await;
}

#[tokio::test]
async fn a_file_is_a_warcinfo_and_then_response_and_request_of_each_page() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    node.save(requests(0..3)).await;
    node.close().await;
    let names = archive_files(dir.path());
    assert_eq!(names.len(), 1);
    assert!(names[0].ends_with(".warc.gz"), "{names:?}");
    let kinds: Vec<String> = records(&archive_path(dir.path(), &names[0]))
        .iter()
        .map(|record| record.lines().nth(1).unwrap().replace("WARC-Type: ", ""))
        .collect();
    assert_eq!(kinds, ["warcinfo", "response", "request", "response", "request", "response", "request"]);
}

#[tokio::test]
async fn sealing_closes_the_open_file_and_the_next_page_opens_another() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut client = node.client();
    assert!(client.seal(SealRequest {}).await.unwrap().into_inner().files.is_empty());
    let first = node.save(requests(0..2)).await;
    let sealed = client.seal(SealRequest {}).await.unwrap().into_inner().files;
    assert_eq!(sealed, [first[0].archive.clone().unwrap().file]);
    assert_eq!(archive_files(dir.path()), sealed);
    let second = node.save(requests(2..3)).await;
    assert_ne!(second[0].archive.clone().unwrap().file, sealed[0]);
    node.close().await;
    assert_eq!(archive_files(dir.path()).len(), 2);
}

#[tokio::test]
async fn full_files_are_sealed_while_pages_come_in() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open_with(dir.path(), FilesaverConfig { segment_bytes: 2000, ..config() });
    for number in 0..20 {
        node.save(requests(number..number + 1)).await;
    }
    let (entries, _) = node.read_log(0).await;
    node.close().await;
    let names = archive_files(dir.path());
    assert!(names.len() > 3 && names.iter().all(|name| name.ends_with(".warc.gz")), "{names:?}");
    for entry in &entries {
        let record = record_at(dir.path(), description(entry).archive.as_ref().unwrap());
        assert!(record.contains(&format!("WARC-Target-URI: {}\r\n", description(entry).url)));
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_saved_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut pages = requests(0..4);
    pages[1].page = None;
    pages[2].page.as_mut().unwrap().url = "http://example.org/\r\nx".into();
    let answers = node.try_save(pages).await;
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
    assert_eq!(node.read_log(0).await.0.len(), 2);
    node.close().await;
}

#[tokio::test]
async fn the_largest_page_passes() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let large = noise(MAX_BODY_BYTES);
    let mut pages = requests(0..3);
    for page in &mut pages {
        page.page.as_mut().unwrap().body = large.clone().into();
    }
    let saved = node.save(pages).await;
    assert!(saved.iter().all(|saved| saved.archive.as_ref().unwrap().length > 1000));
    node.close().await;
}

#[tokio::test]
async fn a_closed_filesaver_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut client = node.client();
    node.save(requests(0..1)).await;
    let (sender, receiver) = tokio::sync::mpsc::channel::<SaveRequest>(1);
    let mut stream = client.save(tokio_stream::wrappers::ReceiverStream::new(receiver)).await.unwrap().into_inner();
    soon(node.filesaver.close()).await.unwrap();
    sender.send(request(1)).await.unwrap();
    let answer = soon(stream.message()).await.unwrap().unwrap();
    assert!(result(&answer).unwrap_err().contains("closed"));
    // And the directory is free for the next one.
    let again = Filesaver::open(dir.path(), config()).unwrap();
    soon(again.close()).await.unwrap();
}
