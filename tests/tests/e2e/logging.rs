//! What is written to standard error besides answers: logs in files, a line per URL, and sentences that say something.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use seine_tests::sandbox::{Running, Seine, binary};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};

async fn ask_through_a_proxy(server: &Running) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = format!("http://{}/api/v1/search?q=a", server.http());
    let asked = reqwest::Client::new().get(url).header("x-forwarded-for", "192.0.2.1").send().await;
    assert!(asked.expect("the server answers").status().is_success());
}

#[tokio::test]
async fn a_log_in_a_file_has_no_colours_and_tells_once_of_an_unknown_proxy() {
    let seine = Seine::new();
    let log = seine.data().join("log");
    let server = seine.start_logging(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"], &log);
    for _ in 0..3 {
        ask_through_a_proxy(&server).await;
    }
    let text = eventually(Duration::from_secs(30), "the proxy is in the log", async || {
        let text = std::fs::read_to_string(&log).unwrap();
        if text.contains("trusted_proxies") { Ok(text) } else { Err(text) }
    })
    .await;
    assert_eq!(text.matches("trusted_proxies").count(), 1, "{text}");
    assert!(text.contains("WARN") && text.contains("proxy=127.0.0.1"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn at_debug_every_url_is_named_with_its_outcome() {
    let web = FakeWeb::start(FakeWebConfig::small(5));
    let seine = Seine::new();
    let output = seine.crawl_command(&web.url("/"), &["--delay", "0"]).env("SEINE_LOG", "debug").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let asked = web.requests();
    let pages = asked.iter().filter(|request| &*request.path != "/robots.txt");
    for url in pages.map(|request| web.url(&request.path)) {
        let line = format!(" settled url={url} outcome=\"saved\" status=200");
        assert_eq!(text.lines().filter(|found| found.contains(&line)).count(), 1, "{line} in {text}");
    }
    assert!(asked.len() > 5 && !text.contains('\u{1b}'), "{text:?}");
    let quiet = seine.crawl_command(&web.url("/"), &["--delay", "0", "--again"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&quiet.stderr).contains("settled"), "only at debug");
}

/// What a server may do instead of answering.
fn odd_server(answer: &'static [u8]) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(answer);
            let _ = stream.read(&mut [0; 1024]);
        }
    });
    address
}

#[test]
fn whatever_a_server_does_instead_of_answering_is_told_in_a_sentence() {
    // A frame of HTTP/2 that ends everything without a reason: GOAWAY of stream 0 after empty SETTINGS.
    const GOAWAY: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
    for (what, answer) in
        [("nothing", &b""[..]), ("http/1", b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"), ("goaway", GOAWAY)]
    {
        let address = odd_server(answer).to_string();
        for words in [vec!["crawls", "list"], vec!["export", "urls"], vec!["explain", "http://a.example/"]] {
            let output = std::process::Command::new(binary("seine"))
                .args(&words)
                .args(["--server", &address, "--token", "x"])
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            let said = text.trim().strip_prefix("seine:").unwrap_or_default().trim();
            assert!(output.status.code() == Some(1) && said.len() > 20, "{what} to {words:?}: {text:?}");
        }
    }
}
