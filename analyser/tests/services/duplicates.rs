//! The same content is kept once, and every page that had it can still be read.

use seine_proto::filesaver::v1::{Capture, ReadForm, ReadRequest, SaveRequest, SealRequest, read_request::Record};

use crate::support::*;

/// Long enough to be worth a reference.
fn text() -> String {
    "<p>The same long text on several pages.".repeat(40)
}

fn with_body(number: u64, body: &str) -> SaveRequest {
    let mut request = request(number);
    request.page.as_mut().unwrap().body = body.to_owned().into();
    request
}

fn kinds(dir: &std::path::Path) -> Vec<String> {
    let names = archive_files(dir);
    let records = names.iter().flat_map(|name| records(&archive_path(dir, name)));
    records.map(|record| record.lines().nth(1).unwrap().replace("WARC-Type: ", "")).collect()
}

async fn body_of(node: &Node, record: Record) -> (String, String) {
    let request = ReadRequest { record: Some(record), form: ReadForm::AsReceived.into() };
    let answer = node.client().read(request).await.unwrap().into_inner();
    (answer.url, String::from_utf8(answer.body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_body_that_was_saved_before_is_named_instead_and_can_still_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let first = node.save(vec![with_body(0, &text())]).await.remove(0).archive.unwrap();
    // The same page again, unchanged, and another page with the same content.
    for (number, at_ms) in [(0, 1_800_000_000_000), (1, 1_800_000_001_000)] {
        let mut request = with_body(number, &text());
        request.page.as_mut().unwrap().fetched_at_ms = at_ms;
        let saved = node.save(vec![request]).await.remove(0).archive.unwrap();
        assert_eq!(saved, first, "the position is where the body can be read");
    }
    assert_eq!(kinds(dir.path()), ["warcinfo", "response", "request", "revisit", "request", "revisit", "request"]);
    let (entries, _) = node.read_log(0).await;
    assert!(entries.iter().all(|entry| description(entry).archive.as_ref() == Some(&first)));
    assert_eq!(body_of(&node, Record::Position(first)).await, (url(0), text()));
    for number in [0, 1] {
        let capture = Capture { url: url(number), at_ms: 0 };
        assert_eq!(body_of(&node, Record::Capture(capture)).await, (url(0), text()), "page {number}");
    }
    node.close().await;
}

#[tokio::test]
async fn contents_are_known_after_a_restart_and_across_files() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let first = node.save(vec![with_body(0, &text())]).await.remove(0).archive.unwrap();
    node.client().seal(SealRequest {}).await.unwrap();
    assert_eq!(node.save(vec![with_body(1, &text())]).await.remove(0).archive.unwrap(), first);
    node.close().await;
    let node = Node::open(dir.path());
    assert_eq!(node.save(vec![with_body(2, &text())]).await.remove(0).archive.unwrap(), first);
    node.close().await;
    assert_eq!(kinds(dir.path()).iter().filter(|kind| *kind == "revisit").count(), 2);
}

#[tokio::test]
async fn short_bodies_and_the_same_bytes_of_another_type_are_kept_again() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut plain = with_body(3, &text());
    plain.page.as_mut().unwrap().response_head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".into();
    for request in [with_body(0, "short"), with_body(1, "short"), with_body(2, &text()), plain] {
        node.save(vec![request]).await;
    }
    node.close().await;
    assert!(!kinds(dir.path()).contains(&"revisit".to_owned()));
}
