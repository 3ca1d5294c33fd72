//! Clients that hold connections: silent ones, slow ones, too many.

use std::time::Duration;

use seine_common::config::WebConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{DEADLINE, Server, rivers, serve_service, serve_with};
use crate::search::{QueryConfig, QueryService};

const ASKING: &str = "GET /api/v1/search?q=river HTTP/1.1\r\nhost: a\r\n\r\n";

fn impatient() -> WebConfig {
    WebConfig { idle_timeout: Duration::from_millis(200), ..WebConfig::default() }
}

/// At most so many connections, which may wait as long as the test does.
fn narrow(connections: usize) -> WebConfig {
    WebConfig { max_connections: Some(connections), idle_timeout: 2 * DEADLINE, ..WebConfig::default() }
}

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.address).await.unwrap()
}

/// Waits until the server closes the connection.
async fn closed(stream: &mut TcpStream) {
    let reading = async {
        let mut buffer = [0; 1024];
        // Closing with bytes unread is an error at this end.
        while stream.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {}
    };
    tokio::time::timeout(DEADLINE, reading).await.expect("the server closes it");
}

async fn ask(stream: &mut TcpStream) -> String {
    let mut answer = vec![0; 64 << 10];
    stream.write_all(ASKING.as_bytes()).await.unwrap();
    let read = tokio::time::timeout(DEADLINE, stream.read(&mut answer)).await.expect("an answer in time").unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test]
async fn a_client_that_sends_nothing_is_closed() {
    let server = serve_with(rivers(), &impatient()).await;
    closed(&mut connect(&server).await).await;
}

#[tokio::test]
async fn a_client_that_never_comes_to_the_end_of_its_request_is_closed() {
    let server = serve_with(rivers(), &impatient()).await;
    for begun in ["GET /api/v1/sear", "GET / HTTP/1.1\r\nx-slow: ", "PRI * HTTP/2.0\r\n"] {
        let mut stream = connect(&server).await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        let dripping = async {
            // A byte now and then must not buy it time.
            while stream.write_all(b"a").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(DEADLINE, dripping).await.unwrap_or_else(|_| panic!("{begun:?} is closed"));
    }
}

#[tokio::test]
async fn a_connection_that_was_answered_stays_for_the_next_request_and_not_for_ever() {
    let server = serve_with(rivers(), &impatient()).await;
    let mut stream = connect(&server).await;
    for _ in 0..2 {
        assert!(ask(&mut stream).await.starts_with("HTTP/1.1 200 "));
    }
    closed(&mut stream).await;
}

#[tokio::test]
async fn idle_connections_make_room_the_longest_idle_first() {
    let server = serve_with(rivers(), &narrow(3)).await;
    let mut oldest = connect(&server).await;
    assert!(ask(&mut oldest).await.starts_with("HTTP/1.1 200 "));
    let mut silent = connect(&server).await;
    let mut used = connect(&server).await;
    assert!(ask(&mut used).await.starts_with("HTTP/1.1 200 "));
    assert!(ask(&mut oldest).await.starts_with("HTTP/1.1 200 "), "now it is the youngest");
    assert_eq!(server.get("/api/v1/search?q=river").await.status, 200);
    closed(&mut silent).await;
    assert!(ask(&mut used).await.starts_with("HTTP/1.1 200 "));
    assert!(ask(&mut oldest).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn many_idle_and_slow_connections_keep_no_search_out() {
    let server = serve_with(rivers(), &narrow(20)).await;
    let mut held = Vec::new();
    for number in 0..350 {
        let mut stream = connect(&server).await;
        if number % 7 == 0 {
            stream.write_all(b"GET /api/v1/search?q=ri").await.unwrap();
        }
        held.push(stream);
        if number % 25 == 0 {
            assert_eq!(server.get("/api/v1/search?q=river").await.status, 200, "after {number} connections");
        }
    }
    assert_eq!(server.get("/api/v1/search?q=river").await.json()["total"], 3);
}

#[tokio::test]
async fn a_connection_whose_search_runs_is_not_closed_for_another() {
    let index = rivers();
    let one_at_a_time = QueryConfig { concurrent_searches: 1, ..QueryConfig::default() };
    let service = QueryService::open(&index.path(), one_at_a_time).unwrap();
    let config = WebConfig { deadline: DEADLINE, ..narrow(1) };
    let server = serve_service(&service, index, &config).await;
    let (started, has_started) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let busy = tokio::spawn(async move {
        let held = service.elsewhere(move |_| {
            let _ = started.send(());
            let _ = released.recv_timeout(DEADLINE);
            Ok(())
        });
        held.await
    });
    has_started.await.unwrap();
    let mut first = connect(&server).await;
    first.write_all(ASKING.as_bytes()).await.unwrap();
    // Accepted only after the first one has its answer, for which its search has to run.
    let second = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let asking = server.get("/api/v1/search?q=river");
        release.send(()).unwrap();
        asking.await.status
    };
    let mut answer = vec![0; 64 << 10];
    let (second, first) = tokio::join!(second, first.read(&mut answer));
    assert!(answer[..first.unwrap()].starts_with(b"HTTP/1.1 200 "));
    assert_eq!(second, 200);
    busy.await.unwrap().unwrap();
}
