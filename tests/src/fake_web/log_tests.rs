//! The promises of the request log, of connections and of the end.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::client::{exchange, get, get_as, parse};
use super::log::{LogLine, write_lines};
use super::{FakeWeb, FakeWebConfig};

fn http_client() -> reqwest::Client {
    // An error says that another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().user_agent("probe/2").build().expect("a client needs nothing else")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_complete_and_ordered_under_parallel_requests() {
    let web = FakeWeb::start(FakeWebConfig { threads: 2, ..FakeWebConfig::small(400) });
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let client = http_client();
    let mut requests = JoinSet::new();
    for worker in 0..8 {
        let (client, url) = (client.clone(), web.url(""));
        requests.spawn(async move {
            for page in (worker..400).step_by(8) {
                let answer = client.get(format!("{url}/p/{page}.html?worker={worker}")).send().await.unwrap();
                assert_eq!(answer.status(), 200);
                assert_eq!(answer.content_length(), Some(answer.bytes().await.unwrap().len() as u64));
            }
        });
    }
    while let Some(ended) = requests.join_next().await {
        ended.unwrap();
    }
    let log = web.requests();
    let seen: BTreeSet<String> = log.iter().map(|request| request.path.to_string()).collect();
    let sent: BTreeSet<String> = (0..400).map(|page| format!("/p/{page}.html?worker={}", page % 8)).collect();
    assert_eq!((log.len(), seen), (400, sent));
    assert!(log.is_sorted_by_key(|request| request.at) && log.is_sorted_by_key(|request| request.unix_micros));
    let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    assert!(log.iter().all(|request| (before..=after).contains(&request.unix_micros)));
    let connections: HashSet<u64> = log.iter().map(|request| request.connection).collect();
    // A client that is kept waiting may open another one; without keeping any it would open one for each request.
    assert!(connections.len() <= 40, "connections are kept: {}", connections.len());
}

#[tokio::test]
async fn a_record_tells_who_asked_for_what_and_how_it_was_answered() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let client = http_client();
    client.get(web.url("/p/1.html")).header("If-None-Match", "\"x\"").send().await.unwrap().bytes().await.unwrap();
    client.head(web.url("/p/77.html?a=b")).send().await.unwrap();
    get_as(web.addr(), "Some.Test", "/fault/status/410").await;
    let log = web.requests();
    let told: Vec<_> = log.iter().map(|one| (&*one.method, &*one.path, one.status, one.user_agent())).collect();
    assert_eq!(
        told,
        [
            ("GET", "/p/1.html", 200, "probe/2"),
            ("HEAD", "/p/77.html?a=b", 404, "probe/2"),
            ("GET", "/fault/status/410", 410, "probe/1")
        ]
    );
    assert_eq!(log[0].header("if-none-match"), Some("\"x\""));
    assert_eq!(log[1].header("if-none-match"), None);
    assert_eq!((&*log[0].host, &*log[2].host), (web.addr().to_string().as_str(), "some.test"));
    assert_eq!(log[0].connection, log[1].connection);
    assert_ne!(log[0].connection, log[2].connection);

    let mut file = Vec::new();
    write_lines(&log, &mut file).unwrap();
    let lines: Vec<LogLine<'_>> =
        std::str::from_utf8(&file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, log.iter().map(|request| request.log_line()).collect::<Vec<_>>());

    web.clear();
    assert!(web.requests().is_empty());
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_on_one_connection() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let requests = "GET /p/1.html HTTP/1.1\r\nHost: a\r\n\r\n\
                    POST /p/2.html HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
                    HEAD /p/3.html HTTP/1.1\r\nHost: a\r\n\r\n\
                    GET /p/4.html HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (bytes, ended) = exchange(web.addr(), requests).await;
    ended.unwrap();
    let mut statuses = BTreeMap::new();
    let mut rest = &bytes[..];
    for number in 1..=4 {
        let answer = parse(rest);
        statuses.insert(number, answer.status);
        let head = rest.len() - answer.body.len();
        rest = &rest[head + if number == 3 { 0 } else { answer.declared_length() }..];
    }
    assert!(rest.is_empty());
    assert_eq!(statuses.into_values().collect::<Vec<_>>(), [200, 405, 200, 200]);
    assert_eq!(web.requests().len(), 4);
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let (bytes, _) = exchange(web.addr(), "hello\r\n\r\n").await;
    assert_eq!(parse(&bytes).status, 400);
    let (bytes, _) = exchange(web.addr(), "GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(parse(&bytes).status, 200);
}

#[tokio::test]
async fn shutdown_closes_the_port_and_the_connections_at_once() {
    let web = FakeWeb::start(FakeWebConfig { threads: 2, ..FakeWebConfig::small(10) });
    let addr = web.addr();
    get(&web, "/p/1.html").await;
    let hanging = tokio::spawn(async move { exchange(addr, "GET /fault/never HTTP/1.1\r\nHost: a\r\n\r\n").await });
    crate::eventually(Duration::from_secs(5), "the hanging request is seen", async || web.requests().len() == 2).await;
    let start = Instant::now();
    web.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(TcpStream::connect(addr).await.is_err());
    assert!(hanging.await.unwrap().0.is_empty());
}

#[tokio::test]
async fn a_taken_port_is_an_error_that_names_it() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let error = FakeWeb::try_start(FakeWebConfig { port: web.addr().port(), ..FakeWebConfig::small(10) }).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen on {}", web.addr()));
}
