//! A client for the tests of the test web: raw bytes over a socket, so that nothing is repaired on the way.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::FakeWeb;

const DEADLINE: Duration = Duration::from_secs(20);

/// An answer taken apart: status, fields with lower-case names, and all bytes after the head.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn declared_length(&self) -> usize {
        self.field("content-length").expect("a length is declared").parse().expect("it is a number")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }
}

/// Sends one request and reads until the server closes. Gives what came, and how it ended.
pub async fn exchange(addr: SocketAddr, request: &str) -> (Vec<u8>, io::Result<()>) {
    let mut bytes = Vec::new();
    let ended = timeout(DEADLINE, async {
        let mut stream = TcpStream::connect(addr).await?;
        stream.write_all(request.as_bytes()).await?;
        stream.read_to_end(&mut bytes).await.map(|_| ())
    })
    .await
    .expect("the server ends the connection in time");
    (bytes, ended)
}

pub fn request(host: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: probe/1\r\nConnection: close\r\n\r\n")
}

pub fn parse(bytes: &[u8]) -> Answer {
    let end = super::request::head_end(bytes, 0).expect("the head is complete");
    let head = std::str::from_utf8(&bytes[..end]).expect("the head is text");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
    let fields = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    Answer { status: status.parse().expect("a status"), fields, body: bytes[end..].to_vec() }
}

pub async fn get_as(addr: SocketAddr, host: &str, path: &str) -> Answer {
    let (bytes, ended) = exchange(addr, &request(host, path)).await;
    ended.expect("the connection ends well");
    parse(&bytes)
}

pub async fn get(web: &FakeWeb, path: &str) -> Answer {
    get_as(web.addr(), &web.addr().to_string(), path).await
}

/// The values of `href` in the links of a page, in document order.
pub fn hrefs(html: &str) -> Vec<&str> {
    html.split("<a ")
        .skip(1)
        .map(|rest| {
            let tag = &rest[..rest.find('>').expect("the tag ends")];
            let value = tag.split_once("href=\"").expect("a link has a target").1;
            &value[..value.find('"').expect("the value ends")]
        })
        .collect()
}

/// What a reader sees of a page's body: no tags, no script, no style.
pub fn visible_text(html: &str) -> String {
    let body = &html[html.find("<body").expect("a body")..];
    let mut text = String::new();
    let mut rest = body;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        let tag = &rest[open..];
        let end = ["script", "style"]
            .iter()
            .find(|name| tag[1..].starts_with(**name))
            .and_then(|name| tag.find(&format!("</{name}>")))
            .unwrap_or(0);
        rest = &tag[end..];
        rest = &rest[rest.find('>').expect("a tag ends") + 1..];
    }
    text.push_str(rest);
    text
}

pub fn title(html: &str) -> &str {
    let start = html.find("<title>").expect("a title") + "<title>".len();
    &html[start..start + html[start..].find("</title>").expect("the title ends")]
}
