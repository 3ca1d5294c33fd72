//! Reads records of the archive back: the fields of a WARC header, the head and body of an HTTP message in it.
//!
//! Files of the archive were written by Seine, but what stands in their blocks came from the network.

use memchr::memmem;

/// A WARC record, or as much of its beginning as was read.
#[derive(Clone, Copy)]
pub(crate) struct Record<'r> {
    header: &'r [u8],
    pub block: &'r [u8],
}

impl<'r> Record<'r> {
    /// `None` when the header is not whole. The block is cut to its length where that is known.
    pub fn parse(bytes: &'r [u8]) -> Option<Self> {
        if !bytes.starts_with(b"WARC/1.") {
            return None;
        }
        let (header, rest) = split_head(bytes)?;
        let record = Self { header, block: rest };
        let length = record.field("Content-Length")?.parse::<usize>().ok()?;
        Some(Self { header, block: &rest[..length.min(rest.len())] })
    }

    pub fn field(&self, name: &str) -> Option<&'r str> {
        header(self.header, name)
    }

    pub fn kind(&self) -> &'r str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// The HTTP message of a response: head with its empty line, and body.
    pub fn message(&self) -> (&'r [u8], &'r [u8]) {
        match split_head(self.block) {
            Some((_, body)) => (&self.block[..self.block.len() - body.len()], body),
            None => (self.block, &[]),
        }
    }
}

fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memmem::find(bytes, b"\r\n\r\n")?;
    Some((&bytes[..end], &bytes[end + 4..]))
}

/// The first value of a header, without white space around it.
pub(crate) fn header<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    headers(head, name).next()
}

/// All values of a header, in order. Values that are not text are left out.
pub(crate) fn headers<'h>(head: &'h [u8], name: &str) -> impl Iterator<Item = &'h str> {
    head.split(|&byte| byte == b'\n').filter_map(move |line| {
        let (found, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        found.eq_ignore_ascii_case(name.as_bytes()).then(|| std::str::from_utf8(value.trim_ascii()).ok())?
    })
}

/// The type that a message claims, without parameters and in lower case; empty where it claims none.
pub(crate) fn content_type(head: &[u8]) -> String {
    let value = header(head, "content-type").unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Of `HTTP/1.1 200 OK`; 0 where there is none.
pub(crate) fn status(head: &[u8]) -> u32 {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let word = line.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    std::str::from_utf8(word.trim_ascii()).ok().and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_comes_apart_into_fields_head_and_body() {
        let record = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 49\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; a=b\r\n\r\n\r\n\r\n";
        let record = Record::parse(record).unwrap();
        assert_eq!((record.kind(), record.field("warc-type")), ("response", Some("response")));
        let (head, body) = record.message();
        assert_eq!((status(head), content_type(head).as_str(), body), (200, "text/html", &b""[..]));
        assert!(head.ends_with(b"\r\n\r\n"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic(bytes: Vec<u8>) {
            for bytes in [bytes.clone(), [b"WARC/1.1\r\nContent-Length: 9\r\n\r\nHTTP/1.1 ", bytes.as_slice()].concat()] {
                if let Some(record) = Record::parse(&bytes) {
                    let (head, _) = record.message();
                    let _ = (status(head), content_type(head), record.kind());
                }
            }
        }
    }
}
