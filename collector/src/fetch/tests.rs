//! Fetching from a server that the test writes byte by byte, with the faults that servers have.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::http::Http;
use super::robots::{RobotsAnswer, read_robots};
use super::wire::Wire;
use super::*;
use crate::gate::Gate;
use crate::robots::{MAX_ROBOTS_BYTES, Verdict};

const LIMITS: FetchLimits =
    FetchLimits { max_body_bytes: 100_000, any_type: false, keeps_answers: false, timeout: Duration::from_secs(5) };
const HURRIED: FetchLimits = FetchLimits { timeout: Duration::from_millis(300), ..LIMITS };

/// How the server goes on after its bytes.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Close,
    KeepOpen,
    Reset,
    /// One more byte every few milliseconds, for ever.
    Drip,
}

/// Answers every request with the same bytes, and passes on what it was asked.
struct Server {
    address: SocketAddr,
    requests: mpsc::Receiver<Vec<u8>>,
}

async fn serve(answer: impl Into<Vec<u8>>, then: Then) -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, requests) = mpsc::channel(16);
    let answer: Arc<[u8]> = answer.into().into();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(speak(stream, answer.clone(), then, seen.clone()));
        }
    });
    Server { address, requests }
}

async fn speak(mut stream: TcpStream, answer: Arc<[u8]>, then: Then, seen: mpsc::Sender<Vec<u8>>) {
    let mut request = Vec::new();
    loop {
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => request.push(byte),
                Err(_) => return,
            }
        }
        let _ = seen.send(std::mem::take(&mut request)).await;
        if stream.write_all(&answer).await.is_err() {
            return;
        }
        match then {
            Then::KeepOpen => {}
            Then::Close => return,
            Then::Reset => return stream.set_zero_linger().unwrap(),
            Then::Drip => {
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                return;
            }
        }
    }
}

fn client(address: SocketAddr) -> OriginClient {
    let http = Http::new(Duration::from_secs(2)).unwrap();
    http.client(address.ip(), "Seine/0.1 (+https://example.org/)", 4, Arc::default()).unwrap()
}

async fn fetch_from(address: SocketAddr, limits: FetchLimits) -> Result<Page, Ending> {
    let url = CanonicalUrl::parse(&format!("http://www.example.org:{}/a?b=c", address.port())).unwrap();
    let mut permit = Gate::new(1, 1 << 20).acquire().await;
    client(address).fetch(&url, &Known::default(), 1, limits, &mut permit.body).await.map_err(|none| none.ending)
}

async fn fetch(answer: impl Into<Vec<u8>>, then: Then, limits: FetchLimits) -> Result<Page, Ending> {
    let server = serve(answer, then).await;
    fetch_from(server.address, limits).await
}

async fn outcome(answer: &str, then: Then) -> (OutcomeKind, u16) {
    let ending = fetch(answer, then, HURRIED).await.expect_err("there is no page");
    (ending.kind, ending.status)
}

#[tokio::test]
async fn a_page_arrives_as_it_was_sent() {
    let answer =
        "HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 5\r\n\r\nhello";
    let mut server = serve(answer, Then::KeepOpen).await;
    let page = fetch_from(server.address, LIMITS).await.unwrap();
    assert_eq!((page.status, &*page.body), (200, b"hello".as_slice()));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nx-two: 1\r\nx-two: 2\r\ncontent-length: 5\r\n\r\n";
    assert_eq!(std::str::from_utf8(&page.response_head).unwrap(), head);
    let sent = server.requests.recv().await.unwrap();
    assert_eq!(std::str::from_utf8(&page.request_head).unwrap(), std::str::from_utf8(&sent).unwrap());
    let sent = String::from_utf8(sent).unwrap();
    assert!(sent.starts_with("GET /a?b=c HTTP/1.1\r\n"));
    assert!(
        sent.contains("user-agent: Seine/0.1 (+https://example.org/)\r\n")
            && sent.contains("accept-encoding: gzip, br\r\n")
    );
}

#[tokio::test]
async fn chunks_are_joined_and_compression_is_left_alone() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let page = fetch(answer, Then::KeepOpen, LIMITS).await.unwrap();
    assert_eq!(&*page.body, b"abcde");
    assert!(page.response_head.windows(41).any(|line| line == b"X-Archive-Orig-Transfer-Encoding: chunked"));
    assert!(page.headers.iter().any(|header| header.name == "content-encoding" && header.value == "gzip"));
}

#[tokio::test]
async fn a_body_over_the_limit_is_given_up_whatever_it_declares() {
    let declared = "HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n";
    assert_eq!(outcome(declared, Then::KeepOpen).await, (OutcomeKind::TooLarge, 200));
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.resize(200_000, b'x');
    let ending = fetch(endless, Then::KeepOpen, LIMITS).await.unwrap_err();
    assert_eq!(ending.kind, OutcomeKind::TooLarge);
    let mut exact = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec();
    exact.resize(exact.len() + 100_000, b'x');
    assert_eq!(fetch(exact, Then::KeepOpen, LIMITS).await.unwrap().body.len(), 100_000);
}

#[tokio::test]
async fn broken_answers_are_connection_failures() {
    use OutcomeKind::ConnectionFailed;
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    assert_eq!(outcome(short, Then::Close).await, (ConnectionFailed, 200));
    assert_eq!(outcome(short, Then::Reset).await.0, ConnectionFailed);
    let cut_chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc";
    assert_eq!(outcome(cut_chunk, Then::Close).await.0, ConnectionFailed);
    assert_eq!(outcome("", Then::Close).await, (ConnectionFailed, 0));
    assert_eq!(outcome("", Then::Reset).await, (ConnectionFailed, 0));
    assert_eq!(outcome("SMTP ready\r\n\r\n", Then::KeepOpen).await, (ConnectionFailed, 0));
    let too_many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-A: b\r\n".repeat(5000));
    assert_eq!(outcome(&too_many, Then::KeepOpen).await, (ConnectionFailed, 0));
    let endless_head = format!("HTTP/1.1 200 OK\r\nX-A: {}", "b".repeat(3 << 20));
    assert_eq!(outcome(&endless_head, Then::KeepOpen).await, (ConnectionFailed, 0));
}

#[tokio::test]
async fn a_refused_connection_is_a_connection_failure() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(fetch_from(address, LIMITS).await.unwrap_err().kind, OutcomeKind::ConnectionFailed);
}

#[tokio::test]
async fn slow_servers_run_out_of_time() {
    let started = Instant::now();
    assert_eq!(outcome("", Then::KeepOpen).await.0, OutcomeKind::Timeout);
    let dripping = "HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n";
    assert_eq!(outcome(dripping, Then::Drip).await.0, OutcomeKind::Timeout);
    assert_eq!(outcome("HTTP/1.1 200 OK\r\nX-Long: ", Then::Drip).await.0, OutcomeKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn answers_outside_2xx_are_outcomes() {
    assert_eq!(
        outcome("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", Then::KeepOpen).await,
        (OutcomeKind::NotFound, 404)
    );
    assert_eq!(outcome("HTTP/1.1 500 Oh\r\n\r\nbroken", Then::Close).await, (OutcomeKind::ServerError, 500));
    let moved = fetch("HTTP/1.1 302 Found\r\nLocation: //x.org/y\r\n\r\n", Then::Close, LIMITS).await.unwrap_err();
    assert_eq!((moved.kind, moved.detail.as_str()), (OutcomeKind::Redirected, "http://x.org/y"));
    // A body that never ends does not hold up an outcome that is known.
    assert_eq!(outcome("HTTP/1.1 410 Gone\r\n\r\n", Then::Drip).await.0, OutcomeKind::Timeout);
    let dripping = fetch("HTTP/1.1 410 Gone\r\n\r\n", Then::Drip, LIMITS).await.unwrap_err();
    assert_eq!(dripping.kind, OutcomeKind::NotFound);
}

#[tokio::test]
async fn an_unchanged_page_that_the_archive_has_is_a_visit_with_its_head() {
    let server =
        serve("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Type: image/png\r\n\r\n", Then::KeepOpen).await;
    let url = CanonicalUrl::parse(&format!("http://www.example.org:{}/", server.address.port())).unwrap();
    let known = Known { etag: "\"a\"".into(), archive: Some(ArchivePosition::default()), ..Known::default() };
    let mut permit = Gate::new(1, 1 << 20).acquire().await;
    let visit = client(server.address).fetch(&url, &known, 1, LIMITS, &mut permit.body).await.unwrap();
    assert_eq!((visit.status, visit.body.len(), visit.freshness.etag.as_str()), (304, 0, "\"a\""));
    assert!(
        visit.response_head.starts_with(b"HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n"),
        "{:?}",
        visit.response_head
    );
    assert!(String::from_utf8_lossy(&visit.request_head).contains("if-none-match: \"a\"\r\n"));
    // Of what the archive does not have, there is nothing to note.
    assert_eq!(outcome("HTTP/1.1 304 Not Modified\r\n\r\n", Then::Close).await, (OutcomeKind::NotModified, 304));
}

#[tokio::test]
async fn unwanted_types_are_refused_before_their_body() {
    let picture = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 99999\r\n\r\n";
    assert_eq!(outcome(picture, Then::KeepOpen).await, (OutcomeKind::UnwantedType, 200));
}

#[tokio::test]
async fn one_connection_serves_many_requests_also_after_errors() {
    let mut server =
        serve("HTTP/1.1 404 No\r\nContent-Length: 3000\r\n\r\n".to_owned() + &"x".repeat(3000), Then::KeepOpen).await;
    let wire: Arc<Wire> = Arc::default();
    let http = Http::new(Duration::from_secs(2)).unwrap();
    let client = http.client(server.address.ip(), "Seine", 1, wire.clone()).unwrap();
    let url = CanonicalUrl::parse(&format!("http://{}/", server.address)).unwrap();
    let mut permit = Gate::new(1, 1 << 20).acquire().await;
    client.fetch(&url, &Known::default(), 1, LIMITS, &mut permit.body).await.unwrap_err();
    let first_connection = wire.marks().connected_at.expect("a connection was opened");
    for request in 2..5 {
        client.fetch(&url, &Known::default(), request, LIMITS, &mut permit.body).await.unwrap_err();
    }
    let marks = wire.marks();
    assert_eq!((marks.connected_at, marks.connecting), (Some(first_connection), 0));
    assert!(marks.answered.is_some_and(|(request, at)| request == 4 && at > first_connection));
    for _ in 1..5 {
        server.requests.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_that_fails_is_seen_as_no_longer_being_opened() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = CanonicalUrl::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let wire: Arc<Wire> = Arc::default();
    let http = Http::new(Duration::from_secs(2)).unwrap();
    let client = http.client(Ipv4Addr::LOCALHOST.into(), "Seine", 1, wire.clone()).unwrap();
    let mut permit = Gate::new(1, 1 << 20).acquire().await;
    client.fetch(&url, &Known::default(), 1, LIMITS, &mut permit.body).await.unwrap_err();
    tokio::time::timeout(Duration::from_secs(5), wire.connected()).await.expect("the end of the attempt is told");
    assert_eq!((wire.marks().connecting, wire.marks().connected_at.is_some()), (0, true));
}

async fn robots(answer: impl Into<Vec<u8>>, then: Then) -> RobotsAnswer {
    let server = serve(answer, then).await;
    let url = CanonicalUrl::parse(&format!("http://{}/robots.txt", server.address)).unwrap();
    read_robots(&client(server.address), &url, 1, Duration::from_millis(300), false).await.answer
}

#[tokio::test]
async fn robots_files_are_read_cut_and_judged() {
    let rules = robots("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nUser-agent: *", Then::KeepOpen).await;
    assert_eq!(rules, RobotsAnswer::Verdict(Verdict::Rules(Bytes::from_static(b"User-agent: *"))));
    let mut huge = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n".to_vec();
    huge.resize(2 * MAX_ROBOTS_BYTES, b'#');
    match robots(huge, Then::KeepOpen).await {
        RobotsAnswer::Verdict(Verdict::Rules(file)) => assert_eq!(file.len(), MAX_ROBOTS_BYTES),
        other => panic!("{other:?}"),
    }
    assert_eq!(robots("HTTP/1.1 404 No\r\n\r\n", Then::Close).await, RobotsAnswer::Verdict(Verdict::AllowAll));
    let elsewhere = CanonicalUrl::parse("http://other.org/robots.txt").unwrap();
    let moved = robots("HTTP/1.1 301 M\r\nLocation: http://other.org/robots.txt\r\n\r\n", Then::Close).await;
    assert_eq!(moved, RobotsAnswer::Redirect(elsewhere));
}

#[tokio::test]
async fn robots_files_that_cannot_be_read_forbid() {
    let failures = [
        ("HTTP/1.1 502 No\r\n\r\n", Then::Close),
        ("", Then::Close),
        ("", Then::KeepOpen),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser-agent: *", Then::Close),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx", Then::KeepOpen),
    ];
    for (answer, then) in failures {
        let answered = robots(answer, then).await;
        assert!(matches!(answered, RobotsAnswer::Verdict(Verdict::Unavailable(_))), "{answer:?}: {answered:?}");
    }
}

#[tokio::test]
async fn clients_are_cheap_to_make() {
    let http = Http::new(Duration::from_secs(2)).unwrap();
    let started = Instant::now();
    for _ in 0..1000 {
        http.client(Ipv4Addr::LOCALHOST.into(), "Seine", 1, Arc::default()).unwrap();
    }
    println!("a client takes {:?}", started.elapsed() / 1000);
    // Far more than it takes; a TLS configuration of its own would take longer.
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_answer_that_is_no_page_is_kept_with_both_heads_and_the_beginning_of_its_body() {
    let url = |port| CanonicalUrl::parse(&format!("http://example.org:{port}/old")).unwrap();
    let limits = FetchLimits { keeps_answers: true, ..LIMITS };
    let long = "x".repeat(70_000);
    for (answer, then, status, length, truncated) in [
        (
            "HTTP/1.1 302 Found\r\nLocation: /new\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\nover",
            Then::KeepOpen,
            302,
            4,
            "",
        ),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Then::KeepOpen, 404, 0, ""),
        (&format!("HTTP/1.1 500 Broken\r\n\r\n{long}"), Then::Close, 500, 64 << 10, "length"),
        ("HTTP/1.1 500 Error\r\nContent-Length: 9\r\n\r\nnow", Then::Close, 500, 3, "disconnect"),
        ("HTTP/1.1 410 Gone\r\nContent-Length: 9\r\n\r\nnow", Then::KeepOpen, 410, 3, "time"),
    ] {
        let server = serve(answer, then).await;
        let url = url(server.address.port());
        let mut permit = Gate::new(1, 1 << 20).acquire().await;
        let none = client(server.address).fetch(&url, &Known::default(), 1, limits, &mut permit.body).await;
        let NoPage { ending, answer } = none.expect_err("there is no page");
        let answer = answer.expect("it is kept");
        assert_eq!((ending.status, answer.status, answer.url), (status, status, url));
        assert_eq!((answer.body.len(), answer.truncated), (length, truncated), "{status}");
        assert!(answer.request_head.starts_with(b"GET /old HTTP/1.1\r\n"));
        let head = String::from_utf8(answer.response_head.to_vec()).unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")) && !head.contains("cookie"), "{head}");
    }
}

#[tokio::test]
async fn robots_txt_is_kept_as_it_came() {
    for (answer, body, is_rules) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nUser-agent: *", "User-agent: *", true),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "no", false),
    ] {
        let server = serve(answer, Then::KeepOpen).await;
        let url = CanonicalUrl::parse(&format!("http://example.org:{}/robots.txt", server.address.port())).unwrap();
        let reading = read_robots(&client(server.address), &url, 1, Duration::from_secs(5), true).await;
        let kept = reading.kept.expect("it is kept");
        assert_eq!((&*kept.body, kept.truncated), (body.as_bytes(), ""));
        assert_eq!(matches!(reading.answer, RobotsAnswer::Verdict(Verdict::Rules(_))), is_rules);
        assert!(String::from_utf8_lossy(&kept.request_head).contains("accept-encoding: identity\r\n"));
    }
}
