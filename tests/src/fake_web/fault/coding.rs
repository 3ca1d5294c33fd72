//! Content codings, right and wrong. They are sent whatever the client said it accepts.

use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::fake_web::response::{HTML, write_whole};

/// What the bomb unpacks to.
pub const BOMB_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Gzip,
    /// Begins well, then its bits are wrong.
    BrokenGzip,
    /// Ends in the middle.
    TruncatedGzip,
    /// A few kilobytes that unpack to [`BOMB_BYTES`].
    GzipBomb,
    Deflate,
}

impl Coding {
    pub fn write(self, page: &str, out: &mut Vec<u8>, head_only: bool) {
        let (name, body) = match self {
            Self::Gzip => ("gzip", gzip(page.as_bytes())),
            Self::BrokenGzip => ("gzip", broken(gzip(page.as_bytes()))),
            Self::TruncatedGzip => ("gzip", truncated(gzip(page.as_bytes()))),
            Self::GzipBomb => ("gzip", bomb().to_vec()),
            Self::Deflate => ("deflate", zlib(page.as_bytes())),
        };
        write_whole(out, 200, HTML, &[("Content-Encoding", name)], &body, head_only);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("a vector takes any write")
}

/// What HTTP calls deflate is the zlib format.
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("a vector takes any write")
}

fn broken(mut bytes: Vec<u8>) -> Vec<u8> {
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..] {
        *byte ^= 0x5a;
    }
    bytes
}

fn truncated(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() / 2);
    bytes
}

fn bomb() -> &'static [u8] {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    BOMB.get_or_init(|| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let spaces = vec![b' '; 1 << 20];
        for _ in 0..BOMB_BYTES / spaces.len() {
            encoder.write_all(&spaces).expect("a vector takes any write");
        }
        encoder.finish().expect("a vector takes any write")
    })
}
