//! WARC/1.1 records, each as one gzip member.
//!
//! Responsible for the form of records: headers, digests, identifiers. Not responsible for where they are written. A page
//! is a capture, with its request and what was found out about it behind it: the response, or where the archive holds the
//! same body already, a `revisit` record that names where. A visit that was answered 304 is a `revisit` record too.
//! Bodies go in as received; a transfer encoding that the HTTP client has undone is named `X-Archive-Orig-…`, because
//! readers would otherwise try to undo it again.

use std::borrow::Cow;
use std::io::Write;
use std::net::IpAddr;

use data_encoding::BASE32;
use seine_proto::common::v1::{Description, FetchedPage};
use sha1::{Digest, Sha1};
use time::OffsetDateTime;
use uuid::Uuid;

use super::earlier_record::EarlierRecord;
use super::gzip;
use super::known_contents::{Original, PayloadDigest};
use crate::error::Error;

/// The records of one page, compressed.
pub(crate) struct PageRecords {
    /// The response, or a revisit.
    pub capture: Vec<u8>,
    /// Request and metadata, which name the capture as theirs.
    pub companions: Vec<u8>,
}

const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
pub(crate) const SERVER_NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// What a revisit record says of the record that holds the body.
struct Reference<'r> {
    profile: &'static str,
    url: &'r str,
    date: Option<Cow<'r, str>>,
    record_id: Option<&'r str>,
}

/// Latest date that a WARC file can name: the end of the year 9999.
const LAST_DATE_MS: i64 = 253_402_300_799_999;

impl PageRecords {
    /// `original` is where the archive holds the body already.
    pub fn of(
        page: &FetchedPage,
        description: &Description,
        payload: &PayloadDigest,
        original: Option<&Original>,
    ) -> Result<Self, Error> {
        let reference = original.map(|original| Reference {
            profile: IDENTICAL_PAYLOAD,
            url: &original.url,
            date: Some(date_to_the_second(original.at_ms).into()),
            record_id: None,
        });
        let payload = format!("sha1:{}", BASE32.encode(payload));
        Self::with(page, description, Some(&payload), reference.as_ref())
    }

    /// Of a visit that was answered 304; `earlier` is the record that holds the body, as far as it can be read.
    pub fn of_visit(page: &FetchedPage, earlier: Option<&EarlierRecord>) -> Result<Self, Error> {
        let reference = Reference {
            profile: SERVER_NOT_MODIFIED,
            url: earlier.map_or(&page.url, |earlier| &earlier.url),
            date: earlier.map(|earlier| earlier.date.as_str().into()),
            record_id: earlier.map(|earlier| earlier.id.as_str()),
        };
        let crawl = page.lease.as_ref().map(|lease| lease.crawl.clone()).unwrap_or_default();
        let description = Description { crawl, ..Description::default() };
        Self::with(page, &description, earlier.map(|earlier| earlier.payload.as_str()), Some(&reference))
    }

    fn with(
        page: &FetchedPage,
        description: &Description,
        payload: Option<&str>,
        reference: Option<&Reference<'_>>,
    ) -> Result<Self, Error> {
        // A line break in a header would let a page write headers of its own.
        if page.url.is_empty() || page.url.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(Error::UnsafeUrl(page.url.clone()));
        }
        let date = date(page.fetched_at_ms);
        let id = Uuid::new_v4();
        let mut companions = request(page, &date, id);
        if let Some(metadata) = metadata(page, description, &date, id) {
            companions.extend_from_slice(&metadata);
        }
        Ok(Self { capture: capture(page, &date, id, payload, reference), companions })
    }
}

fn capture(
    page: &FetchedPage,
    date: &str,
    id: Uuid,
    payload: Option<&str>,
    reference: Option<&Reference<'_>>,
) -> Vec<u8> {
    let head = head(&page.response_head, || Cow::Owned(format!("HTTP/1.1 {}", page.status)));
    let kind = if reference.is_some() { "revisit" } else { "response" };
    let body: &[u8] = if reference.is_some() { &[] } else { &page.body };
    let mut record = Record::new(kind, id, date, body.len() + head.len());
    record.line("WARC-Target-URI", &page.url);
    record.address(&page.ip);
    if let Some(payload) = payload {
        record.line("WARC-Payload-Digest", &payload);
    }
    // No other word is one of the format's.
    if matches!(page.truncated.as_str(), "length" | "time" | "disconnect") {
        record.line("WARC-Truncated", &page.truncated);
    }
    if let Some(reference) = reference {
        record.line("WARC-Profile", &reference.profile);
        record.line("WARC-Refers-To-Target-URI", &reference.url);
        if let Some(date) = &reference.date {
            record.line("WARC-Refers-To-Date", date);
        }
        if let Some(id) = reference.record_id {
            record.line("WARC-Refers-To", &id);
        }
    }
    record.line("Content-Type", &"application/http;msgtype=response");
    if is_coded(page) && !body.is_empty() { record.finish_stored(&head, body) } else { record.finish(&[&head, body]) }
}

/// Whether the body is compressed as it came.
fn is_coded(page: &FetchedPage) -> bool {
    let mut codings = page.headers.iter().filter(|header| header.name == "content-encoding");
    codings.any(|header| !matches!(header.value.trim(), "" | "identity"))
}

fn request(page: &FetchedPage, date: &str, capture: Uuid) -> Vec<u8> {
    let head = head(&page.request_head, || Cow::Borrowed("GET / HTTP/1.1"));
    let mut record = Record::new("request", Uuid::new_v4(), date, head.len());
    record.line("WARC-Concurrent-To", &format_args!("<{}>", capture.urn()));
    record.line("WARC-Target-URI", &page.url);
    record.address(&page.ip);
    record.line("Content-Type", &"application/http;msgtype=request");
    record.finish(&[&head])
}

/// What cannot be read from the response: whose crawl it was, how far from its start, and what was found out about the
/// text. Links are left out; they stand in the page.
fn metadata(page: &FetchedPage, description: &Description, date: &str, capture: Uuid) -> Option<Vec<u8>> {
    let mut fields = String::new();
    for (name, value) in
        [("crawl", &description.crawl), ("charset", &description.charset), ("language", &description.lang)]
    {
        // A line break would begin another field.
        let value: String = value.chars().filter(|character| !character.is_control()).collect();
        if !value.is_empty() {
            fields.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    if fields.is_empty() {
        return None;
    }
    fields.push_str(&format!("depth: {}\r\n", page.depth));
    let mut record = Record::new("metadata", Uuid::new_v4(), date, fields.len());
    record.line("WARC-Concurrent-To", &format_args!("<{}>", capture.urn()));
    record.line("WARC-Target-URI", &page.url);
    record.line("Content-Type", &"application/warc-fields");
    Some(record.finish(&[fields.as_bytes()]))
}

/// The record with which every file begins.
pub fn warcinfo(file_name: &str, software: &str, now_ms: i64) -> Vec<u8> {
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
        self.end_header(block);
        for part in block {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.extend_from_slice(RECORD_END);
        gzip::compress(&self.bytes)
    }

    /// For a body that is compressed already.
    fn finish_stored(mut self, head: &[u8], body: &[u8]) -> Vec<u8> {
        self.end_header(&[head, body]);
        self.bytes.extend_from_slice(head);
        gzip::store(&self.bytes, body, RECORD_END)
    }

    fn end_header(&mut self, block: &[&[u8]]) {
        self.line("WARC-Block-Digest", &digest(block));
        self.line("Content-Length", &block.iter().map(|part| part.len()).sum::<usize>());
        self.bytes.extend_from_slice(b"\r\n");
    }
}

const RECORD_END: &[u8] = b"\r\n\r\n";

fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha1::new();
    for part in parts {
        hasher.update(part);
    }
    format!("sha1:{}", BASE32.encode(&hasher.finalize()))
}

/// SHA-1 of a body.
pub(crate) fn payload_digest(body: &[u8]) -> PayloadDigest {
    Sha1::digest(body).into()
}

/// In UTC: what an index knows of a record's date.
fn date_to_the_second(ms: i64) -> String {
    let date = date(ms);
    format!("{}Z", &date[.."0000-00-00T00:00:00".len()])
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
    use seine_proto::common::v1::Header;

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

    fn records(page: &FetchedPage) -> Result<PageRecords, Error> {
        PageRecords::of(page, &Description::default(), &payload_digest(&page.body), None)
    }

    #[test]
    fn a_response_record_holds_the_head_and_the_body_as_received() {
        let record = text(&records(&page()).unwrap().capture);
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
    fn a_body_that_came_compressed_is_kept_as_it_came() {
        let body: Vec<u8> = (0..200_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let header = |value: &str| Header { name: "content-encoding".into(), value: value.into() };
        let page = FetchedPage { body: body.clone().into(), headers: vec![header("gzip")], ..page() };
        let capture = records(&page).unwrap().capture;
        assert!(memchr::memmem::find(&capture, &body[..60_000]).is_some(), "stored, in blocks of 64 KiB");
        let record = gzip::tests::decompress(&capture);
        assert!(record.ends_with(&[&body[..], RECORD_END].concat()));
        assert!(!is_coded(&FetchedPage { headers: vec![header("identity")], ..page }));
    }

    #[test]
    fn a_body_that_is_not_whole_says_why() {
        let truncated = |why: &str| text(&records(&FetchedPage { truncated: why.into(), ..page() }).unwrap().capture);
        assert!(truncated("length").contains("\r\nWARC-Truncated: length\r\n"));
        for why in ["", "length\r\nWARC-Type: warcinfo"] {
            assert!(!truncated(why).contains("WARC-Truncated"), "{why:?}");
        }
    }

    #[test]
    fn the_request_names_the_response_it_led_to() {
        let records = records(&page()).unwrap();
        let value = |record: &str, name: &str| {
            record.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned)).unwrap_or_default()
        };
        let (request, response) = (text(&records.companions), text(&records.capture));
        assert_eq!(value(&request, "WARC-Concurrent-To: "), value(&response, "WARC-Record-ID: "));
        assert!(request.ends_with("GET /a HTTP/1.1\r\nhost: example.org\r\n\r\n\r\n\r\n"), "{request}");
    }

    #[test]
    fn a_body_that_is_known_is_named_instead_of_kept() {
        let original = Original {
            url: "http://example.org/first".into(),
            at_ms: 1_600_000_000_999,
            content_type: "text/html".into(),
            file: "a.warc.gz".into(),
            offset: 7,
            length: 9,
        };
        let page = page();
        let digest = payload_digest(&page.body);
        let records = PageRecords::of(&page, &Description::default(), &digest, Some(&original)).unwrap();
        let record = text(&records.capture);
        let (header, block) = record.split_once("\r\n\r\n").unwrap();
        assert_eq!(block, "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n\r\n\r\n");
        for line in [
            "WARC-Type: revisit",
            "WARC-Target-URI: http://example.org/a",
            "WARC-Refers-To-Target-URI: http://example.org/first",
            "WARC-Refers-To-Date: 2020-09-13T12:26:40Z",
            "WARC-Payload-Digest: sha1:6VMT7HTE2K745SIQUUYG3CKPEJVFD5GH",
        ] {
            assert!(header.lines().any(|found| found == line), "{line} in {header}");
        }
    }

    #[test]
    fn a_visit_to_an_unchanged_page_names_the_record_that_has_it() {
        let head = "HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n";
        let page = FetchedPage { status: 304, response_head: head.into(), body: Default::default(), ..page() };
        let earlier = EarlierRecord {
            id: "<urn:uuid:1>".into(),
            url: "http://example.org/first".into(),
            date: "2020-09-13T12:26:40.999Z".into(),
            payload: "sha1:6VMT7HTE2K745SIQUUYG3CKPEJVFD5GH".into(),
        };
        let record = text(&PageRecords::of_visit(&page, Some(&earlier)).unwrap().capture);
        let (header, block) = record.split_once("\r\n\r\n").unwrap();
        assert_eq!(block, format!("{head}\r\n\r\n"));
        for line in [
            "WARC-Type: revisit",
            "WARC-Target-URI: http://example.org/a",
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified",
            "WARC-Refers-To-Target-URI: http://example.org/first",
            "WARC-Refers-To-Date: 2020-09-13T12:26:40.999Z",
            "WARC-Refers-To: <urn:uuid:1>",
            "WARC-Payload-Digest: sha1:6VMT7HTE2K745SIQUUYG3CKPEJVFD5GH",
        ] {
            assert!(header.lines().any(|found| found == line), "{line} in {header}");
        }
        let alone = text(&PageRecords::of_visit(&page, None).unwrap().capture);
        assert!(alone.contains("WARC-Refers-To-Target-URI: http://example.org/a\r\n"), "{alone}");
        assert!(!alone.contains("WARC-Refers-To-Date") && !alone.contains("WARC-Payload-Digest"), "{alone}");
    }

    #[test]
    fn metadata_tells_what_the_response_does_not() {
        let page = FetchedPage { depth: 3, ..page() };
        let description = Description { crawl: "a\r\nb: c".into(), lang: "en".into(), ..Description::default() };
        let metadata = text(&metadata(&page, &description, "2023-11-14T22:13:20.123Z", Uuid::nil()).unwrap());
        assert!(metadata.contains("\r\n\r\ncrawl: ab: c\r\nlanguage: en\r\ndepth: 3\r\n"), "{metadata}");
        assert!(super::metadata(&page, &Description::default(), "", Uuid::nil()).is_none());
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
        assert!(matches!(records(&page), Err(Error::UnsafeUrl(_))));
    }

    #[test]
    fn impossible_dates_are_clamped() {
        assert_eq!(date(i64::MIN), "1970-01-01T00:00:00.000Z");
        assert_eq!(date(i64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
