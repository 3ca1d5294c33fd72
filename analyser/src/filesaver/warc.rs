//! WARC/1.1 records, each as one gzip member.
//!
//! Responsible for the form of records: headers, digests, identifiers. Not responsible for where they are written.
//! Bodies go in as received; a transfer encoding that the HTTP client has undone is named `X-Archive-Orig-…`, because
//! readers would otherwise try to undo it again.

use std::borrow::Cow;
use std::io::Write;
use std::net::IpAddr;

use data_encoding::BASE32;
use seine_proto::common::v1::FetchedPage;
use sha1::{Digest, Sha1};
use time::OffsetDateTime;
use uuid::Uuid;

use super::gzip;
use crate::error::Error;

/// The two records of one page, compressed.
pub(crate) struct PageRecords {
    pub request: Vec<u8>,
    pub response: Vec<u8>,
}

/// Latest date that a WARC file can name: the end of the year 9999.
const LAST_DATE_MS: i64 = 253_402_300_799_999;

impl PageRecords {
    pub fn of(page: &FetchedPage) -> Result<Self, Error> {
        // A line break in a header would let a page write headers of its own.
        if page.url.is_empty() || page.url.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(Error::UnsafeUrl(page.url.clone()));
        }
        let date = date(page.fetched_at_ms);
        let response_id = Uuid::new_v4();
        let request_head = head(&page.request_head, || Cow::Borrowed("GET / HTTP/1.1"));
        let response_head = head(&page.response_head, || Cow::Owned(format!("HTTP/1.1 {}", page.status)));

        let mut request = Record::new("request", Uuid::new_v4(), &date, page.body.len().min(1 << 10));
        request.line("WARC-Concurrent-To", &format_args!("<{}>", response_id.urn()));
        request.line("WARC-Target-URI", &page.url);
        request.address(&page.ip);
        request.line("Content-Type", &"application/http;msgtype=request");

        let mut response = Record::new("response", response_id, &date, page.body.len() + response_head.len());
        response.line("WARC-Target-URI", &page.url);
        response.address(&page.ip);
        response.line("WARC-Payload-Digest", &digest(&[&page.body]));
        response.line("Content-Type", &"application/http;msgtype=response");
        Ok(Self { request: request.finish(&[&request_head]), response: response.finish(&[&response_head, &page.body]) })
    }
}

/// The record with which every file begins.
pub(crate) fn warcinfo(file_name: &str, software: &str, now_ms: i64) -> Vec<u8> {
    let software: String = software.chars().filter(|character| !character.is_control()).collect();
    let fields = format!(
        "software: {software}\r\nformat: WARC File Format 1.1\r\n\
         conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
    );
    let mut record = Record::new("warcinfo", Uuid::new_v4(), &date(now_ms), fields.len());
    record.line("WARC-Filename", &file_name);
    record.line("Content-Type", &"application/warc-fields");
    record.finish(&[fields.as_bytes()])
}

struct Record {
    bytes: Vec<u8>,
}

impl Record {
    /// `expected` is about the length of the block to come.
    fn new(kind: &str, id: Uuid, date: &str, expected: usize) -> Self {
        const HEADER_BYTES: usize = 1 << 10;
        let mut record = Self { bytes: Vec::with_capacity(expected + HEADER_BYTES) };
        record.bytes.extend_from_slice(b"WARC/1.1\r\n");
        record.line("WARC-Type", &kind);
        record.line("WARC-Record-ID", &format_args!("<{}>", id.urn()));
        record.line("WARC-Date", &date);
        record
    }

    fn line(&mut self, name: &str, value: &dyn std::fmt::Display) {
        write!(self.bytes, "{name}: {value}\r\n").expect("writing to memory does not fail");
    }

    fn address(&mut self, ip: &str) {
        if let Ok(ip) = ip.parse::<IpAddr>() {
            self.line("WARC-IP-Address", &ip);
        }
    }

    fn finish(mut self, block: &[&[u8]]) -> Vec<u8> {
        self.line("WARC-Block-Digest", &digest(block));
        self.line("Content-Length", &block.iter().map(|part| part.len()).sum::<usize>());
        self.bytes.extend_from_slice(b"\r\n");
        for part in block {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.extend_from_slice(b"\r\n\r\n");
        gzip::compress(&self.bytes)
    }
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha1::new();
    for part in parts {
        hasher.update(part);
    }
    format!("sha1:{}", BASE32.encode(&hasher.finalize()))
}

/// In UTC, with milliseconds.
fn date(ms: i64) -> String {
    let ms = ms.clamp(0, LAST_DATE_MS);
    let at =
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).expect("clamped to four-digit years");
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second, milli) = at.to_hms_milli();
    format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z", u8::from(month))
}

/// A head that readers of the archive understand: it ends with an empty line and names no transfer encoding.
fn head(head: &[u8], first_line: impl FnOnce() -> Cow<'static, str>) -> Cow<'_, [u8]> {
    const UNDONE: &[u8] = b"transfer-encoding:";
    let is_undone = |line: &[u8]| line.get(..UNDONE.len()).is_some_and(|name| name.eq_ignore_ascii_case(UNDONE));
    let is_whole = head.ends_with(b"\r\n\r\n");
    if is_whole && !head.split(|&byte| byte == b'\n').any(is_undone) {
        return Cow::Borrowed(head);
    }
    let mut out = Vec::with_capacity(head.len() + 64);
    for line in head.trim_ascii_end().split(|&byte| byte == b'\n') {
        if is_undone(line) {
            out.extend_from_slice(b"X-Archive-Orig-");
        }
        out.extend_from_slice(line.trim_ascii_end());
        out.extend_from_slice(b"\r\n");
    }
    if head.trim_ascii().is_empty() {
        out = format!("{}\r\n", first_line()).into_bytes();
    }
    out.extend_from_slice(b"\r\n");
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> FetchedPage {
        FetchedPage {
            url: "http://example.org/a".into(),
            fetched_at_ms: 1_700_000_000_123,
            ip: "127.0.0.1".into(),
            request_head: "GET /a HTTP/1.1\r\nhost: example.org\r\n\r\n".into(),
            response_head: "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".into(),
            status: 200,
            body: "<p>hello".into(),
            ..FetchedPage::default()
        }
    }

    fn text(member: &[u8]) -> String {
        String::from_utf8(gzip::tests::decompress(member)).unwrap()
    }

    #[test]
    fn a_response_record_holds_the_head_and_the_body_as_received() {
        let record = text(&PageRecords::of(&page()).unwrap().response);
        let (header, block) = record.split_once("\r\n\r\n").unwrap();
        assert_eq!(block, "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>hello\r\n\r\n");
        assert!(header.starts_with("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:"), "{header}");
        for line in [
            "WARC-Date: 2023-11-14T22:13:20.123Z",
            "WARC-Target-URI: http://example.org/a",
            "WARC-IP-Address: 127.0.0.1",
            "Content-Type: application/http;msgtype=response",
            "Content-Length: 52",
            // printf '<p>hello' | sha1sum, in base 32.
            "WARC-Payload-Digest: sha1:6VMT7HTE2K745SIQUUYG3CKPEJVFD5GH",
        ] {
            assert!(header.lines().any(|found| found == line), "{line} in {header}");
        }
    }

    #[test]
    fn the_request_names_the_response_it_led_to() {
        let records = PageRecords::of(&page()).unwrap();
        let value = |record: &str, name: &str| {
            record.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned)).unwrap_or_default()
        };
        let (request, response) = (text(&records.request), text(&records.response));
        assert_eq!(value(&request, "WARC-Concurrent-To: "), value(&response, "WARC-Record-ID: "));
        assert!(request.ends_with("GET /a HTTP/1.1\r\nhost: example.org\r\n\r\n\r\n\r\n"), "{request}");
    }

    #[test]
    fn an_undone_transfer_encoding_is_renamed_once() {
        let written = head(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\na: b\r\n\r\n", || "".into());
        assert_eq!(&*written, b"HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\na: b\r\n\r\n");
        assert_eq!(head(&written, || "".into()), written);
    }

    #[test]
    fn a_head_that_is_missing_or_unfinished_is_completed() {
        assert_eq!(&*head(b"", || "HTTP/1.1 404".into()), b"HTTP/1.1 404\r\n\r\n");
        assert_eq!(&*head(b"HTTP/1.1 200 OK\na: b", || "".into()), b"HTTP/1.1 200 OK\r\na: b\r\n\r\n");
    }

    #[test]
    fn a_url_cannot_write_headers() {
        let mut page = page();
        page.url = "http://example.org/\r\nWARC-Type: warcinfo".into();
        assert!(matches!(PageRecords::of(&page), Err(Error::UnsafeUrl(_))));
    }

    #[test]
    fn impossible_dates_are_clamped() {
        assert_eq!(date(i64::MIN), "1970-01-01T00:00:00.000Z");
        assert_eq!(date(i64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
