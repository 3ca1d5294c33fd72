//! Asks over one HTTP/1.1 connection that stays open, with as little work as that takes: the client runs on the cores it
//! measures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, ensure};

const PATIENCE: Duration = Duration::from_secs(30);

pub struct Client {
    stream: BufReader<TcpStream>,
    host: String,
    body: Vec<u8>,
}

impl Client {
    pub fn connect(address: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), host: address.to_owned(), body: Vec::new() })
    }

    /// The answer's bytes.
    pub fn search(&mut self, query: &str) -> anyhow::Result<&[u8]> {
        self.ask("search", query)
    }

    /// Likewise.
    pub fn suggest(&mut self, typed: &str) -> anyhow::Result<&[u8]> {
        self.ask("suggest", typed)
    }

    fn ask(&mut self, what: &str, query: &str) -> anyhow::Result<&[u8]> {
        let (query, host) = (query.replace(' ', "+"), &self.host);
        let request = format!("GET /api/v1/{what}?q={query} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        ensure!(line.starts_with("HTTP/1.1 200 "), "{what} for {query:?} was answered by {line:?}");
        let mut length = None;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        self.body.resize(length.context("the answer has no length")?, 0);
        self.stream.read_exact(&mut self.body)?;
        Ok(&self.body)
    }
}
