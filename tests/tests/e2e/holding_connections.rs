//! Clients that hold connections and do nothing with them harm nobody else, not even where descriptors are scarce.

use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const SERVE: [&str; 5] = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];

/// Matches of a search on a connection of its own.
async fn found(server: &Running) -> u64 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("http://{}/api/v1/search?q=fake", server.http());
    let answer = reqwest::get(url).await.expect("the server answers").text().await.expect("the body is text");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
    answer["total"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn idle_and_slow_clients_keep_neither_searches_out_nor_files_from_being_opened() {
    let web = FakeWeb::start(FakeWebConfig::small(40));
    let seine = Seine::new();
    let server = seine.start_limited(&SERVE, "-n 256");
    let mut held = Vec::new();
    for number in 0..410 {
        // 300 idle and 50 slow ones over HTTP, and 60 over gRPC.
        let address = if number < 350 { server.http() } else { server.grpc() };
        let mut stream = TcpStream::connect(address).await.expect("the kernel takes it");
        if number % 7 == 0 {
            stream.write_all(b"GET /api/v1/search?q=fa").await.expect("the kernel takes it");
        }
        held.push(stream);
        if number % 50 == 0 {
            assert_eq!(found(&server).await, 0, "after {number} connections");
        }
    }
    let url = web.url("/");
    let add = [&["crawls", "add", &url, "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
    let added = seine.run(&add);
    assert!(added.status.success(), "{added:?}");
    eventually(Duration::from_secs(60), "all pages are found", async || match found(&server).await {
        41 => Ok(()),
        others => Err(others),
    })
    .await;
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    assert!(open < 256, "{open} descriptors are open");
    assert_eq!(server.interrupt(), 130, "held connections do not hold up its end");
}

#[test]
fn as_many_files_may_be_opened_as_the_system_lets_a_process_choose() {
    let seine = Seine::new();
    let server = seine.start_limited(&SERVE, "-S -n 64");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers[0], numbers[1].min(1 << 16), "{line}");
}
