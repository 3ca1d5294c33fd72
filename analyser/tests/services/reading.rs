//! What was archived comes back: by position, by URL and time, as received, decoded, made safe, and as records.

use std::fs;
use std::path::Path;

use seine_proto::common::v1::ArchivePosition;
use seine_proto::filesaver::v1::{
    Capture, CopyKind, ReadForm, ReadRequest, ReadResponse, SaveRequest, SealRequest, read_request::Record,
};
use tonic::Code;

use crate::support::*;

async fn try_read(node: &Node, record: Record, form: ReadForm) -> Result<ReadResponse, tonic::Status> {
    let request = ReadRequest { record: Some(record), form: form.into(), document: None };
    soon(node.client().read(request)).await.map(tonic::Response::into_inner)
}

async fn read(node: &Node, record: Record, form: ReadForm) -> ReadResponse {
    try_read(node, record, form).await.unwrap()
}

fn version(number: u64, at_ms: i64, body: &str) -> SaveRequest {
    let mut request = request(number);
    let page = request.page.as_mut().unwrap();
    page.fetched_at_ms = at_ms;
    page.body = body.to_owned().into();
    request
}

fn index(dir: &Path) -> Option<String> {
    let name = archive_files(dir).into_iter().find(|name| name.ends_with(".warc.gz"))?;
    fs::read_to_string(archive_path(dir, &name.replace(".warc.gz", ".cdxj"))).ok()
}

async fn eventually_indexed(dir: &Path) -> String {
    soon(async {
        loop {
            if let Some(index) = index(dir) {
                return index;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_page_is_read_back_by_url_and_time_while_its_file_is_open_and_when_it_is_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    const FIRST: i64 = 1_700_000_000_000;
    const SECOND: i64 = 1_700_100_000_000;
    for request in [version(1, SECOND, "new"), version(1, FIRST, "old"), version(2, FIRST, "other")] {
        node.save(vec![request]).await;
    }
    for sealed in [false, true] {
        for (at_ms, expected) in
            [(0, "new"), (SECOND, "new"), (SECOND - 5000, "old"), (FIRST, "old"), (FIRST - 5000, "old")]
        {
            let found = read(&node, Record::Capture(Capture { url: url(1), at_ms }), ReadForm::AsReceived).await;
            assert_eq!((&found.body[..], found.url), (expected.as_bytes(), url(1)), "at {at_ms}, sealed {sealed}");
            assert_eq!(found.at_ms, if expected == "new" { SECOND } else { FIRST });
        }
        let absent = Record::Capture(Capture { url: url(9), at_ms: 0 });
        assert_eq!(try_read(&node, absent, ReadForm::Safe).await.unwrap_err().code(), Code::NotFound);
        node.client().seal(SealRequest {}).await.unwrap();
    }
    node.close().await;
}

#[tokio::test]
async fn a_sealed_file_has_a_sorted_index_and_a_missing_one_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    node.save((0..30).rev().map(request).collect()).await;
    node.close().await;
    let made = index(dir.path()).expect("an index stands beside the sealed file");
    assert!(made.lines().is_sorted() && made.lines().count() == 30, "{made}");
    assert!(made.starts_with("org,example)/0 20231114221320 {\"url\":\"http://example.org/0\",\"mime\":\"text/html\""));
    let name = archive_files(dir.path()).remove(0);
    fs::remove_file(archive_path(dir.path(), &name.replace(".warc.gz", ".cdxj"))).unwrap();
    let node = Node::open(dir.path());
    assert_eq!(eventually_indexed(dir.path()).await, made);
    node.close().await;
}

#[tokio::test]
async fn the_file_of_a_killed_process_is_indexed_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    node.save(requests(0..10)).await;
    let copy = snapshot(dir.path());
    node.close().await;
    let node = Node::open(copy.path());
    assert_eq!(eventually_indexed(copy.path()).await.lines().count(), 10);
    let names: Vec<_> =
        fs::read_dir(copy.path().join("archive")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "nothing but file, index and checksum is left: {names:?}");
    let found = read(&node, Record::Capture(Capture { url: url(7), at_ms: 0 }), ReadForm::AsReceived).await;
    assert_eq!(&found.body[..], body(7).as_bytes());
    node.close().await;
}

#[tokio::test]
async fn a_copy_is_decoded_and_made_safe() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut request = version(1, 1_700_000_000_000, "");
    let page = request.page.as_mut().unwrap();
    page.response_head = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=windows-1250\r\n\r\n".into();
    page.body = b"<p onclick=x()>\xe8esky<script>x()</script><a href=/a>a</a>".to_vec().into();
    let position = node.save(vec![request]).await.remove(0).archive.unwrap();
    let copy = read(&node, Record::Position(position.clone()), ReadForm::Decoded).await;
    assert_eq!((copy.kind(), copy.status, copy.content_type.as_str()), (CopyKind::Html, 200, "text/html"));
    assert_eq!(&copy.body[..], "<p onclick=x()>česky<script>x()</script><a href=/a>a</a>".as_bytes());
    let copy = read(&node, Record::Position(position), ReadForm::Safe).await;
    assert_eq!(&copy.body[..], "<p>česky<a href=\"http://example.org/a\">a</a>".as_bytes());
    node.close().await;
}

#[tokio::test]
async fn records_come_with_those_that_belong_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut request = request(1);
    request.description.as_mut().unwrap().lang = "en".into();
    let saved = node.save(vec![request]).await.remove(0).archive.unwrap();
    node.save(requests(2..4)).await;
    let found = read(&node, Record::Position(saved), ReadForm::Records).await;
    let path = dir.path().join("records");
    // As a file of its own, behind a record such as every file begins with.
    let info = seine_analyser::filesaver::warcinfo("records", "test", 0);
    fs::write(&path, [&info[..], &found.body].concat()).unwrap();
    let kinds: Vec<_> = records(&path).iter().map(|record| record.lines().nth(1).unwrap().to_owned()).collect();
    assert_eq!(kinds, ["WARC-Type: warcinfo", "WARC-Type: response", "WARC-Type: request", "WARC-Type: metadata"]);
    node.close().await;
}

#[tokio::test]
async fn positions_that_name_no_record_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let good = node.save(requests(1..2)).await.remove(0).archive.unwrap();
    fs::write(dir.path().join("secret.warc.gz"), "secret").unwrap();
    for (position, code) in [
        (ArchivePosition { file: "../secret.warc.gz".into(), offset: 0, length: 6, ..good.clone() }, Code::NotFound),
        (ArchivePosition { file: "../log/ID".into(), offset: 0, length: 6, ..good.clone() }, Code::NotFound),
        (ArchivePosition { file: "absent.warc.gz".into(), ..good.clone() }, Code::NotFound),
        (ArchivePosition { offset: good.offset + 1, ..good.clone() }, Code::DataLoss),
        (ArchivePosition { offset: 0, length: good.offset, ..good.clone() }, Code::DataLoss),
        (ArchivePosition { length: u64::MAX, ..good.clone() }, Code::DataLoss),
        (ArchivePosition { offset: u64::MAX, ..good.clone() }, Code::DataLoss),
    ] {
        let refused = try_read(&node, Record::Position(position.clone()), ReadForm::Safe).await.unwrap_err();
        assert_eq!(refused.code(), code, "{position:?}: {}", refused.message());
    }
    node.close().await;
}
