//! The same content is kept once, and every page that had it can still be read. Visits to unchanged pages are noted.

use seine_proto::common::v1::{ArchivePosition, FetchedPage};
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
    let request = ReadRequest { record: Some(record), form: ReadForm::AsReceived.into(), document: None };
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
        assert_eq!(body_of(&node, Record::Capture(capture)).await, (url(number), text()), "page {number}");
    }
    node.close().await;
}

#[tokio::test]
async fn a_copy_is_that_of_its_document_although_another_host_had_the_body_first() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let body = format!("{}<p>caf\u{e9}<a href=/pay>pay</a>", text());
    let page_of = |number: u64, host: &str, charset: &str| {
        let mut request = with_body(number, &body);
        let page = request.page.as_mut().unwrap();
        page.url = format!("http://{host}/login");
        page.response_head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/html; charset={charset}\r\n\r\n").into();
        request
    };
    let (phishing, bank) = (page_of(0, "phishing.test", "windows-1251"), page_of(1, "bank.test", "utf-8"));
    let first = node.save(vec![phishing]).await.remove(0).archive.unwrap();
    let second = node.save(vec![bank]).await.remove(0).archive.unwrap();
    assert_eq!(first, second, "the body is kept once");
    let document = Capture { url: "http://bank.test/login".to_owned(), at_ms: 0 };
    for (record, document) in [
        (Record::Position(second.clone()), Some(document.clone())),
        (Record::Capture(document.clone()), None),
        (Record::Capture(document.clone()), Some(document.clone())),
    ] {
        let request = ReadRequest { record: Some(record), form: ReadForm::Safe.into(), document };
        let copy = node.client().read(request).await.unwrap().into_inner();
        let body = String::from_utf8(copy.body.to_vec()).unwrap();
        assert_eq!(copy.url, "http://bank.test/login");
        assert!(body.ends_with("<p>caf\u{e9}<a href=\"http://bank.test/pay\">pay</a>"), "{body}");
    }
    let request = ReadRequest { record: Some(Record::Position(first)), form: ReadForm::Safe.into(), document: None };
    let copy = node.client().read(request).await.unwrap().into_inner();
    let body = String::from_utf8(copy.body.to_vec()).unwrap();
    assert!(body.ends_with("<a href=\"http://phishing.test/pay\">pay</a>"), "{body}");
    node.close().await;
}

fn visit(number: u64, known: Option<ArchivePosition>) -> SaveRequest {
    let page = FetchedPage {
        status: 304,
        response_head: "HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n".into(),
        fetched_at_ms: 1_800_000_000_000,
        body: Default::default(),
        known,
        ..page(number)
    };
    SaveRequest { page_id: number, page: Some(page), ..SaveRequest::default() }
}

#[tokio::test]
async fn a_visit_to_an_unchanged_page_is_a_record_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let first = node.save(vec![request(0)]).await.remove(0);
    let visited = node.save(vec![visit(0, first.archive.clone())]).await.remove(0);
    assert_eq!(visited.log_offset, first.log_offset, "nothing new is known of the page");
    let record = record_at(dir.path(), &visited.archive.unwrap());
    let original = record_at(dir.path(), &first.archive.clone().unwrap());
    let field = |record: &str, name: &str| {
        let name = format!("{name}: ");
        record.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned)
    };
    assert!(
        record.contains("WARC-Type: revisit\r\n") && record.contains("revisit/server-not-modified\r\n"),
        "{record}"
    );
    assert!(record.ends_with("\r\n\r\nHTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n\r\n\r\n"), "{record}");
    for (ours, theirs) in [
        ("WARC-Refers-To", "WARC-Record-ID"),
        ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
        ("WARC-Refers-To-Date", "WARC-Date"),
        ("WARC-Payload-Digest", "WARC-Payload-Digest"),
    ] {
        assert_eq!(field(&record, ours), field(&original, theirs), "{ours} in {record}");
    }
    let newest = Record::Capture(Capture { url: url(0), at_ms: 0 });
    assert_eq!(body_of(&node, newest).await, (url(0), body(0)), "the newest copy is the page itself");
    // A position that leads nowhere costs the reference, not the visit.
    let elsewhere = ArchivePosition { file: "gone.warc.gz".into(), offset: 0, length: 9, ..ArchivePosition::default() };
    for known in [None, Some(elsewhere)] {
        let saved = node.save(vec![visit(0, known)]).await.remove(0);
        let record = record_at(dir.path(), &saved.archive.unwrap());
        assert!(record.contains(&format!("WARC-Refers-To-Target-URI: {}\r\n", url(0))), "{record}");
        assert!(!record.contains("WARC-Refers-To-Date"), "{record}");
    }
    node.close().await;
}

#[tokio::test]
async fn visits_survive_a_kill_and_stay_out_of_an_index_that_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let first = node.save(vec![request(0)]).await.remove(0).archive;
    node.client().seal(SealRequest {}).await.unwrap();
    // A file with nothing but visits.
    node.save(vec![visit(0, first.clone())]).await;
    let killed = snapshot(dir.path());
    node.close().await;
    for dir in [dir, killed] {
        for index in std::fs::read_dir(dir.path().join("archive")).unwrap().map(|entry| entry.unwrap().path()) {
            if index.extension().is_some_and(|suffix| suffix == "cdxj") {
                std::fs::remove_file(index).unwrap();
            }
        }
        let node = Node::open(dir.path());
        let kept = kinds(dir.path());
        assert_eq!(kept.iter().filter(|kind| *kind == "revisit").count(), 1, "{kept:?}");
        let newest = Record::Capture(Capture { url: url(0), at_ms: 0 });
        let indexed = async || {
            let request =
                ReadRequest { record: Some(newest.clone()), form: ReadForm::AsReceived.into(), document: None };
            node.client().read(request).await
        };
        let found = soon(async {
            loop {
                // The index is made in the background.
                if let Ok(found) = indexed().await {
                    return found.into_inner();
                }
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(found.await.body, body(0).into_bytes());
        node.close().await;
        let lines: String = archive_indexes(dir.path());
        assert_eq!(lines.lines().count(), 1, "{lines}");
    }
}

fn archive_indexes(dir: &std::path::Path) -> String {
    let paths = std::fs::read_dir(dir.join("archive")).unwrap().map(|entry| entry.unwrap().path());
    let indexes = paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "cdxj"));
    indexes.map(|path| std::fs::read_to_string(path).unwrap()).collect()
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
