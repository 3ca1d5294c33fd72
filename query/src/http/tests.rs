//! Against a real server on a real port.

mod answers;
mod pages;
mod guarding;
mod holding;
mod description;

use std::net::SocketAddr;
use std::time::Duration;

use seine_common::config::WebConfig;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::search::QueryService;
use crate::testing::TestIndex;

const DEADLINE: Duration = Duration::from_secs(30);

struct Server {
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
    _index: TestIndex,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        lines
            .filter_map(|line| line.split_once(": "))
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

async fn serve(index: TestIndex) -> Server {
    serve_with(index, &WebConfig::default()).await
}

async fn serve_with(index: TestIndex, config: &WebConfig) -> Server {
    serve_service(&index.service(), index, config).await
}

async fn serve_service(service: &QueryService, index: TestIndex, config: &WebConfig) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (service, config) = (service.clone(), config.clone());
    let serving =
        tokio::spawn(async move { service.serve_http(listener, None, &config, CancellationToken::new()).await });
    Server { address, serving, _index: index }
}

impl Server {
    async fn ask(&self, method: &str, target: &str) -> Answer {
        self.ask_with(method, target, "").await
    }

    /// `headers` are whole lines, each with its end.
    async fn ask_with(&self, method: &str, target: &str, headers: &str) -> Answer {
        let host = self.address;
        let request = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
        self.exchange(&request).await
    }

    async fn exchange(&self, request: &str) -> Answer {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            String::from_utf8(answer).unwrap()
        };
        let answer = tokio::time::timeout(DEADLINE, exchange).await.expect("an answer in time");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target).await
    }
}

fn rivers() -> TestIndex {
    TestIndex::of(&[
        ("http://a.example/seine", "The <Seine> & more", "The river Seine flows through <b>Paris</b>."),
        ("http://b.example/vltava", "Vltava", "The river Vltava flows through Prague."),
        ("http://b.example:8080/none", "", "A river without a name."),
    ])
}
