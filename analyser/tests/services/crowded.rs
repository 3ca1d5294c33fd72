//! Many pages at once that are small on the wire and large in memory, beside ordinary ones.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use seine_analyser::convert::ConverterConfig;
use seine_analyser::rpc::AnalyserService;
use seine_analyser::{AnalyserConfig, HeldBytes};
use seine_node::limits::Limits;
use seine_node::membership::Filesavers;
use seine_node::transport::Channel;
use seine_node::transport::{self, MemoryDialer};
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::{AnalyseRequest, analyse_response::Event};
use seine_proto::common::v1::Header;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

use crate::analysing::{next, open};
use crate::support::*;

/// What a body is cut at when it is decoded.
const DECODED_BYTES: usize = 64 << 20;

/// Some 64 kB that open to so much, and begin like this.
fn bomb(beginning: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(beginning).unwrap();
    let piece = vec![b' '; 1 << 20];
    (0..DECODED_BYTES >> 20).for_each(|_| packed.write_all(&piece).unwrap());
    packed.finish().unwrap()
}

fn packed(number: u64, content_type: &str, body: &[u8]) -> AnalyseRequest {
    let mut page = page(number);
    let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
    page.headers = vec![header("content-type", content_type), header("content-encoding", "gzip")];
    page.body = body.to_vec().into();
    AnalyseRequest { page_id: number, page: Some(page), withdrawn: None }
}

fn ordinary(number: u64) -> AnalyseRequest {
    AnalyseRequest { page_id: number, page: Some(page(number)), withdrawn: None }
}

/// Its converters take documents and never answer.
fn analyser(filesaver: Channel, dir: &std::path::Path) -> (AnalyserClient<Channel>, Arc<HeldBytes>) {
    let program = dir.join("program");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let converter = ConverterConfig {
        program,
        workers: Limits::new(2).converters,
        timeout: Duration::from_secs(900),
        memory_bytes: 256 << 20,
    };
    let document_patience = Duration::from_secs(1);
    let config = AnalyserConfig { converter: Some(converter), document_patience, ..AnalyserConfig::default() };
    let service = AnalyserService::new(Filesavers::of([("log".to_owned(), filesaver)]), config);
    let held = service.held_bytes();
    let (dialer, listener): (MemoryDialer, _) = transport::in_memory();
    tokio::spawn(transport::serve(Routes::new(service.into_server()), listener, CancellationToken::new()));
    (AnalyserClient::new(dialer.channel()), held)
}

#[tokio::test]
async fn ordinary_pages_are_answered_while_packed_documents_are_stuck_and_little_is_held() {
    const DOCUMENTS: u64 = 300;
    const PAGES: u64 = 500;
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let (client, held) = analyser(node.channel(), dir.path());
    let (sender, mut stream) = open(client).await;
    let feeding = tokio::spawn(async move {
        let document = bomb(b"%PDF-1.7\n");
        for number in 0..DOCUMENTS {
            // Known by the header, or only by what is in it.
            let content_type = if number % 2 == 0 { "application/pdf" } else { "application/octet-stream" };
            sender.send(packed(number, content_type, &document)).await.unwrap();
        }
        for number in DOCUMENTS..DOCUMENTS + PAGES {
            sender.send(ordinary(number)).await.unwrap();
        }
        sender
    });
    let mut saved = 0;
    while saved < PAGES {
        let (number, event) = next(&mut stream).await;
        assert!(number >= DOCUMENTS, "{number} is stuck: {event:?}");
        saved += u64::from(matches!(event, Event::Saved(_)));
    }
    // None of them was decoded: all that is held is what came, and the beginning of those that had to be looked into.
    assert!(held.now() >= DOCUMENTS as usize * (48 << 10), "{} bytes are held", held.now());
    assert!(held.peak() < DECODED_BYTES + (32 << 20), "{} bytes were held", held.peak());

    drop((stream, soon(feeding).await.unwrap()));
    soon(async {
        while held.now() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    node.close().await;
}

#[tokio::test]
async fn documents_beyond_their_room_hold_pages_back_for_a_while_and_are_then_saved_without_text() {
    // More than may wait, and pages behind them.
    const DOCUMENTS: u64 = 45;
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let (client, held) = analyser(node.channel(), dir.path());
    let (sender, mut stream) = open(client).await;
    let feeding = tokio::spawn(async move {
        for number in 0..DOCUMENTS {
            let mut request = ordinary(number);
            let page = request.page.as_mut().unwrap();
            page.headers[0].value = "application/pdf".into();
            page.body = [b"%PDF-1.7\n".as_slice(), &noise(1 << 20)].concat().into();
            sender.send(request).await.unwrap();
        }
        sender.send(ordinary(DOCUMENTS)).await.unwrap();
        sender
    });
    let mut given_up = 0;
    loop {
        match next(&mut stream).await {
            (DOCUMENTS, Event::Saved(_)) => break,
            (DOCUMENTS, Event::Parsed(_)) => {}
            (_, Event::Parsed(parsed)) => {
                assert!(parsed.not_converted.contains("converters were busy"), "{}", parsed.not_converted);
                given_up += 1;
            }
            (_, Event::Saved(_)) => {}
            (number, event) => panic!("{number}: {event:?}"),
        }
    }
    assert!((1..DOCUMENTS).contains(&given_up), "{given_up} were given up");
    assert!(held.peak() < 48 << 20, "{} bytes were held", held.peak());
    drop((stream, soon(feeding).await.unwrap()));
    node.close().await;
}

#[tokio::test]
async fn pages_that_open_to_the_limit_are_read_one_at_a_time_and_others_go_on() {
    const BOMBS: u64 = 6;
    const PAGES: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let (client, held) = analyser(node.channel(), dir.path());
    let (sender, mut stream) = open(client).await;
    let feeding = tokio::spawn(async move {
        let page = bomb(b"<title>Wide</title><p>words");
        for number in 0..BOMBS {
            sender.send(packed(number, "text/html", &page)).await.unwrap();
        }
        for number in BOMBS..BOMBS + PAGES {
            sender.send(ordinary(number)).await.unwrap();
        }
    });
    let mut order = Vec::new();
    while order.len() < (BOMBS + PAGES) as usize {
        match next(&mut stream).await {
            (number, Event::Saved(_)) => order.push(number),
            (number, Event::Failed(reason)) => panic!("{number}: {reason}"),
            _ => {}
        }
    }
    soon(feeding).await.unwrap();
    assert!(order[PAGES as usize..].iter().any(|number| *number < BOMBS), "no ordinary page waits for a large one");
    assert!(held.peak() < 2 * DECODED_BYTES, "{} bytes were held", held.peak());
    let (entries, _) = node.read_log(0).await;
    let wide = entries.iter().filter(|entry| description(entry).title == "Wide").count();
    assert_eq!(wide, BOMBS as usize, "each is read, as far as it is read at all");
    node.close().await;
}
