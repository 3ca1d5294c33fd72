//! One connection: reads request heads, records them, answers.
//!
//! It keeps its buffers from request to request and sends each answer in one write. Dropping it closes the connection,
//! or resets it where a fault asked for that, so nothing here shuts the stream down first.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::Server;
use crate::fake_web::config::RobotsMode;
use crate::fake_web::fault::Fault;
use crate::fake_web::page::{Place, Scratch};
use crate::fake_web::request::{self, RequestFields};
use crate::fake_web::response::{HTML, OpenResponse, write_whole};
use crate::fake_web::route::Route;

const INBOX_BYTES: usize = 8 * 1024;
const OUTBOX_BYTES: usize = 64 * 1024;
/// Longest request body that is read and thrown away.
const LONGEST_REQUEST_BODY: u64 = 1 << 20;

pub struct Connection {
    server: Arc<Server>,
    stream: TcpStream,
    number: u64,
    listener_host: usize,
    last: Option<LastFields>,
    scratch: Scratch,
    outbox: Vec<u8>,
}

/// The header fields of the last request and what follows from them.
struct LastFields {
    fields: RequestFields,
    host: usize,
    authority: String,
}

/// What becomes of the connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    KeepAlive,
    Close,
}

impl Connection {
    pub fn new(server: Arc<Server>, stream: TcpStream, number: u64, listener_host: usize) -> Self {
        let outbox = Vec::with_capacity(OUTBOX_BYTES);
        Self { server, stream, number, listener_host, last: None, scratch: Scratch::default(), outbox }
    }

    /// Answers requests until either side ends the connection.
    pub async fn serve(&mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        let mut inbox: Vec<u8> = Vec::with_capacity(INBOX_BYTES);
        loop {
            let mut searched = 0;
            let head_end = loop {
                if let Some(end) = request::head_end(&inbox, searched) {
                    break end;
                }
                searched = inbox.len();
                if inbox.len() > request::LONGEST_HEAD {
                    return self.refuse(431).await;
                }
                if self.stream.read_buf(&mut inbox).await? == 0 {
                    return Ok(());
                }
            };
            if self.answer(&inbox[..head_end]).await? == After::Close {
                return Ok(());
            }
            let body = self.last.as_ref().map_or(0, |last| last.fields.content_length);
            if body > LONGEST_REQUEST_BODY {
                return Ok(());
            }
            let end = head_end + body as usize;
            while inbox.len() < end {
                if self.stream.read_buf(&mut inbox).await? == 0 {
                    return Ok(());
                }
            }
            inbox.drain(..end);
        }
    }

    async fn refuse(&mut self, status: u16) -> io::Result<()> {
        write_whole(&mut self.outbox, status, "text/plain", &[], b"", false);
        self.stream.write_all(&self.outbox).await
    }

    async fn answer(&mut self, head: &[u8]) -> io::Result<After> {
        let Some((line, raw_fields)) = request::split_head(head) else {
            self.refuse(400).await?;
            return Ok(After::Close);
        };
        let server = self.server.clone();
        let config = server.config();
        if !self.last.as_ref().is_some_and(|last| last.fields.is_from(raw_fields)) {
            let fields = RequestFields::parse(raw_fields);
            let host = server.host_named(&fields.authority).unwrap_or(self.listener_host);
            let authority = server.own_authority(host, &fields.authority);
            self.last = Some(LastFields { fields, host, authority });
        }
        let LastFields { fields, host, authority } = self.last.as_ref().expect("they were set above");
        let host = *host;
        let path = line.target.split_once('?').map_or(line.target, |(path, _)| path);
        let known_method = matches!(line.method, "GET" | "HEAD");
        let route = Route::of(path, config.pages, || server.visit(host, path));
        let status = if known_method { server.status(&route, host) } else { 405 };
        if config.record {
            server.log().record(self.number, line.method, line.target, &fields.authority, &fields.list, status);
        }
        let after = if fields.close || line.http_1_0 { After::Close } else { After::KeepAlive };
        if !config.latency.is_zero() {
            sleep(config.latency).await;
        }

        self.outbox.clear();
        let head_only = line.method == "HEAD";
        let place = Place { host, authority, authorities: server.authorities() };
        match route {
            _ if !known_method => write_whole(&mut self.outbox, status, "text/plain", &[], b"", false),
            Route::Fault(Fault::Wire(wire)) => {
                wire.play(&mut self.stream, path, config.huge_bytes).await?;
                return Ok(After::Close);
            }
            Route::Robots => match &config.hosts[host].robots {
                RobotsMode::Reset => {
                    self.stream.set_zero_linger()?;
                    return Ok(After::Close);
                }
                RobotsMode::Slow(wait) => {
                    sleep(*wait).await;
                    server.write_robots(host, status, &mut self.outbox, head_only);
                }
                _ => server.write_robots(host, status, &mut self.outbox, head_only),
            },
            Route::MovedRobots => server.write_robots(host, status, &mut self.outbox, head_only),
            Route::Fault(Fault::Document(document)) => {
                document.write(place, path, config.retry_after, &mut self.outbox, head_only);
            }
            Route::Root | Route::Page(_) | Route::Private(_) | Route::Missing => {
                let open = OpenResponse::start(&mut self.outbox, status, HTML, &[]);
                match route {
                    Route::Page(page) => server.pages().write_page(place, page, &mut self.scratch, &mut self.outbox),
                    Route::Root => server.pages().write_root(place, &mut self.outbox),
                    Route::Private(page) => server.pages().write_private(page, &mut self.outbox),
                    _ => self.outbox.extend_from_slice(b"<!DOCTYPE html><title>Not found</title><h1>Not found</h1>\n"),
                }
                open.finish(&mut self.outbox, head_only);
            }
        }
        self.stream.write_all(&self.outbox).await?;
        Ok(after)
    }
}
