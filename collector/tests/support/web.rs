//! A small web site on loopback that writes down when it was asked for what.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the site answers for a path: status, headers, and a body whose lines are links.
pub type Answers = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Bytes,
}

impl Answer {
    pub fn page(links: &[String]) -> Self {
        Self { status: 200, headers: "Content-Type: text/html\r\n".into(), body: links.join("\n").into() }
    }

    pub fn status(status: u16) -> Self {
        Self { status, headers: String::new(), body: Bytes::new() }
    }
}

#[derive(Clone)]
pub struct Web {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Web {
    pub async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let web = Self { address, asked: Arc::default() };
        let serving = web.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (web, answers) = (serving.clone(), answers.clone());
                tokio::spawn(async move {
                    let _ = web.converse(stream, answers).await;
                });
            }
        });
        web
    }

    /// A site of pages and their links; everything else is not there.
    pub async fn of_pages(pages: &[(&str, &[&str])], robots: &str) -> Self {
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        for (page, links) in pages {
            known.insert((*page).to_owned(), links.iter().map(|&link| link.to_owned()).collect());
        }
        let robots = Bytes::from(robots.to_owned());
        Self::start(Arc::new(move |path| match known.get(path) {
            Some(links) => Answer::page(links),
            None if path == "/robots.txt" && !robots.is_empty() => {
                Answer { body: robots.clone(), ..Answer::status(200) }
            }
            None => Answer::status(404),
        }))
        .await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Paths in the order in which they were asked for.
    pub fn paths(&self) -> Vec<String> {
        self.lock().iter().map(|(_, path)| path.clone()).collect()
    }

    pub fn times(&self) -> Vec<Instant> {
        self.lock().iter().map(|(at, _)| *at).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, String)>> {
        self.asked.lock().expect("no test panics here")
    }

    async fn converse(&self, mut stream: TcpStream, answers: Answers) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut received = BytesMut::with_capacity(4096);
        loop {
            while !received.ends_with(b"\r\n\r\n") {
                if stream.read_buf(&mut received).await? == 0 {
                    return Ok(());
                }
            }
            let at = Instant::now();
            let head = String::from_utf8_lossy(&received);
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            received.clear();
            self.lock().push((at, path.clone()));
            let Answer { status, headers, body } = answers(&path);
            let head = format!("HTTP/1.1 {status} Status\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).await?;
        }
    }
}
