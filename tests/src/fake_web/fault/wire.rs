//! Faults below HTTP or against it. Each plays itself out on the connection and ends it.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::document::{plain_page, write_chunk};
use crate::fake_web::dice::Dice;
use crate::fake_web::response::{HTML, write_field, write_status};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wire {
    /// A body that comes one byte at a time.
    Drip {
        interval: Duration,
        bytes: u32,
    },
    /// No answer, but no end either.
    Never,
    /// A body of `huge_bytes` with its length declared.
    HugeDeclared,
    /// The same in chunks, so that its length is known only at the end.
    HugeEndless,
    /// The body ends before its declared length.
    LengthShort,
    /// The body goes on after its declared length.
    LengthLong,
    ResetBefore,
    ResetInBody,
    /// Bytes that are no HTTP.
    Garbage,
    /// One header field of a megabyte.
    HugeHeader,
    /// Thousands of header fields.
    ManyHeaders,
}

const GARBAGE_BYTES: usize = 2_000;
const HUGE_PIECE: usize = 64 * 1024;
const HUGE_HEADER_BYTES: usize = 1 << 20;
const MANY_HEADERS: usize = 5_000;
/// Lets what was sent arrive before the reset overtakes it.
const BEFORE_RESET: Duration = Duration::from_millis(20);

impl Wire {
    pub fn status(&self) -> u16 {
        match self {
            Self::Never | Self::ResetBefore | Self::Garbage => 0,
            _ => 200,
        }
    }

    /// Plays the fault. The caller closes the connection afterwards.
    pub async fn play(&self, stream: &mut TcpStream, path: &str, huge_bytes: u64) -> io::Result<()> {
        let page = plain_page(path);
        match self {
            Self::Drip { interval, bytes } => drip(stream, *interval, u64::from(*bytes), &page).await,
            Self::Never => until_closed(stream).await,
            Self::HugeDeclared => huge_declared(stream, huge_bytes).await,
            Self::HugeEndless => huge_endless(stream, huge_bytes).await,
            Self::LengthShort => send(stream, page.len() + 500, &[], page.as_bytes()).await,
            Self::LengthLong => send(stream, page.len() / 2, &[], page.as_bytes()).await,
            Self::ResetBefore => stream.set_zero_linger(),
            Self::ResetInBody => {
                send(stream, page.len(), &[], &page.as_bytes()[..page.len() / 2]).await?;
                sleep(BEFORE_RESET).await;
                stream.set_zero_linger()
            }
            Self::Garbage => {
                let mut dice = Dice::new(0x9a5b);
                let bytes: Vec<u8> = (0..GARBAGE_BYTES).map(|_| dice.next() as u8).collect();
                stream.write_all(&bytes).await
            }
            Self::HugeHeader => {
                let value = "x".repeat(HUGE_HEADER_BYTES);
                send(stream, page.len(), &[("X-Huge".to_owned(), value)], page.as_bytes()).await
            }
            Self::ManyHeaders => {
                let fields: Vec<_> = (0..MANY_HEADERS).map(|n| (format!("X-Field-{n}"), n.to_string())).collect();
                send(stream, page.len(), &fields, page.as_bytes()).await
            }
        }
    }
}

fn head(length: Option<u64>, fields: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    write_status(&mut out, 200);
    write_field(&mut out, "Content-Type", HTML);
    for (name, value) in fields {
        write_field(&mut out, name, value);
    }
    match length {
        Some(length) => write_field(&mut out, "Content-Length", &length.to_string()),
        None => write_field(&mut out, "Transfer-Encoding", "chunked"),
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// Head with the given length, then the body, whatever its length is.
async fn send(stream: &mut TcpStream, length: usize, fields: &[(String, String)], body: &[u8]) -> io::Result<()> {
    let mut out = head(Some(length as u64), fields);
    out.extend_from_slice(body);
    stream.write_all(&out).await
}

async fn drip(stream: &mut TcpStream, interval: Duration, bytes: u64, page: &str) -> io::Result<()> {
    stream.write_all(&head(Some(bytes), &[])).await?;
    for byte in page.bytes().chain(std::iter::repeat(b' ')).take(bytes as usize) {
        stream.write_all(&[byte]).await?;
        sleep(interval).await;
    }
    Ok(())
}

async fn until_closed(stream: &mut TcpStream) -> io::Result<()> {
    let mut sink = [0; 1024];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}

async fn huge_declared(stream: &mut TcpStream, bytes: u64) -> io::Result<()> {
    stream.write_all(&head(Some(bytes), &[])).await?;
    let piece = huge_piece();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len() as u64);
        stream.write_all(&piece[..now as usize]).await?;
        left -= now;
    }
    Ok(())
}

async fn huge_endless(stream: &mut TcpStream, bytes: u64) -> io::Result<()> {
    stream.write_all(&head(None, &[])).await?;
    let mut chunk = Vec::new();
    write_chunk(&huge_piece(), "", &mut chunk);
    for _ in 0..bytes.div_ceil(HUGE_PIECE as u64) {
        stream.write_all(&chunk).await?;
    }
    stream.write_all(b"0\r\n\r\n").await
}

fn huge_piece() -> Vec<u8> {
    b"<p>There is always more.</p>\n".iter().copied().cycle().take(HUGE_PIECE).collect()
}
