//! Lines of a CDXJ index: where the copies of a URL stand in an archive file.
//!
//! A line is `KEY TIMESTAMP {JSON}`: the URL with its host turned round, so that pages of a domain stand together; fourteen
//! digits of UTC; and url, mime, status, digest, length, offset, filename as text. Sorted bytewise, as replay tools expect.
//! Not responsible for files; that is `archive_index`.

use data_encoding::BASE32;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::ArchivePosition;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::macros::format_description;

use super::known_contents::{Original, PayloadDigest};
use super::record::{self, Record};
use super::warc::SERVER_NOT_MODIFIED;

pub(crate) const REVISIT_MIME: &str = "warc/revisit";
const TIMESTAMP_DIGITS: usize = 14;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capture {
    pub url: String,
    pub mime: String,
    pub status: String,
    pub digest: String,
    pub length: String,
    pub offset: String,
    pub filename: String,
}

impl Capture {
    pub fn of(url: &str, mime: &str, status: u32, digest: &PayloadDigest) -> Self {
        Self {
            url: url.to_owned(),
            mime: if mime.is_empty() { "unk".to_owned() } else { mime.to_owned() },
            status: status.to_string(),
            digest: format!("sha1:{}", BASE32.encode(digest)),
            length: String::new(),
            offset: String::new(),
            filename: String::new(),
        }
    }

    /// Of the beginning of a record; `None` for records that no URL is looked up by.
    pub fn of_record(record: &Record<'_>) -> Option<(String, Self)> {
        let is_revisit = match record.kind() {
            "response" => false,
            // A visit that was answered 304 is no copy.
            "revisit" if record.field("WARC-Profile") == Some(SERVER_NOT_MODIFIED) => return None,
            "revisit" => true,
            _ => return None,
        };
        let url = record.field("WARC-Target-URI")?;
        let (head, _) = record.message();
        let mime = if is_revisit { REVISIT_MIME.to_owned() } else { record::content_type(head) };
        let mut capture = Self::of(url, &mime, record::status(head), &[0; 20]);
        capture.digest = record.field("WARC-Payload-Digest")?.to_owned();
        let date = record.field("WARC-Date")?;
        let timestamp: String = date.chars().filter(char::is_ascii_digit).take(TIMESTAMP_DIGITS).collect();
        (timestamp.len() == TIMESTAMP_DIGITS).then_some((timestamp, capture))
    }

    /// The whole line, with its end.
    pub fn line(&mut self, timestamp: &str, position: &ArchivePosition) -> String {
        self.length = position.length.to_string();
        self.offset = position.offset.to_string();
        self.filename.clone_from(&position.file);
        let json = serde_json::to_string(self).expect("a capture is nothing but text");
        format!("{} {timestamp} {json}\n", key(&self.url))
    }

    /// Timestamp and capture of a line.
    pub fn parse(line: &str) -> Option<(&str, Self)> {
        let (_, rest) = line.split_once(' ')?;
        let (timestamp, json) = rest.split_once(' ')?;
        Some((timestamp, serde_json::from_str(json).ok()?))
    }

    /// What was answered with a page; the others are redirects and errors.
    pub fn is_success(&self) -> bool {
        self.status.starts_with('2')
    }

    /// An answer that is no page: one without success, or robots.txt.
    pub fn is_answer(&self) -> bool {
        let path = || self.url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
        !self.is_success() || path() == Some("robots.txt")
    }

    pub fn is_revisit(&self) -> bool {
        self.mime == REVISIT_MIME
    }

    pub fn position(&self) -> Option<ArchivePosition> {
        let (offset, length) = (self.offset.parse().ok()?, self.length.parse().ok()?);
        Some(ArchivePosition { file: self.filename.clone(), offset, length, ..ArchivePosition::default() })
    }

    /// As the memory of contents keeps it.
    pub fn original(self, timestamp: &str, file: &std::sync::Arc<str>) -> Option<(PayloadDigest, Original)> {
        let digest = BASE32.decode(self.digest.strip_prefix("sha1:")?.as_bytes()).ok()?.try_into().ok()?;
        let original = Original {
            at_ms: timestamp_ms(timestamp)?,
            offset: self.offset.parse().ok()?,
            length: self.length.parse().ok()?,
            url: self.url.into(),
            content_type: self.mime.into(),
            file: std::sync::Arc::clone(file),
        };
        Some((digest, original))
    }
}

/// The URL as indexes sort it: `org,example)/path?query`, in lower case, without `www.`, with sorted parameters.
pub(crate) fn key(url: &str) -> String {
    let Ok(url) = CanonicalUrl::parse(url) else { return url.replace(' ', "%20").to_ascii_lowercase() };
    let url = url.as_url();
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
    let mut key = if host.contains(':') { host } else { without_www(&host).rsplit('.').collect::<Vec<_>>().join(",") };
    if let Some(port) = url.port() {
        key.push_str(&format!(":{port}"));
    }
    key.push(')');
    let path = url.path().to_ascii_lowercase();
    key.push_str(if path.len() > 1 { path.trim_end_matches('/') } else { &path });
    if key.ends_with(')') {
        key.push('/');
    }
    if let Some(query) = url.query() {
        let query = query.to_ascii_lowercase();
        let mut parameters: Vec<&str> = query.split('&').collect();
        parameters.sort_unstable();
        key.push('?');
        key.push_str(&parameters.join("&"));
    }
    key
}

/// Also without `www2.` and the like.
fn without_www(host: &str) -> &str {
    let rest = host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    match rest.and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) if rest.contains('.') => rest,
        _ => host,
    }
}

/// Fourteen digits of UTC.
pub(crate) fn timestamp(ms: i64) -> String {
    const FORMAT: &[time::format_description::BorrowedFormatItem<'_>] =
        format_description!("[year][month][day][hour][minute][second]");
    let at = OffsetDateTime::from_unix_timestamp(ms.max(0) / 1000).ok().filter(|at| at.year() < 10_000);
    at.and_then(|at| at.format(FORMAT).ok()).unwrap_or_else(|| "99991231235959".to_owned())
}

pub(crate) fn timestamp_ms(timestamp: &str) -> Option<i64> {
    const FORMAT: &[time::format_description::BorrowedFormatItem<'_>] =
        format_description!("[year][month][day][hour][minute][second]");
    let at = time::PrimitiveDateTime::parse(timestamp, FORMAT).ok()?;
    Some(at.assume_utc().unix_timestamp() * 1000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_those_of_other_tools() {
        // As the Python package surt makes them.
        for (url, expected) in [
            ("http://127.0.0.1:8080/A/b?z=1&a=2", "1,0,0,127:8080)/a/b?a=2&z=1"),
            ("https://www.Example.org/", "org,example)/"),
            ("http://example.org/a/", "org,example)/a"),
            ("http://example.org/a%20B", "org,example)/a%20b"),
            ("http://example.org:80/x?b&a", "org,example)/x?a&b"),
            ("http://[::1]:81/p", "::1:81)/p"),
            ("http://www2.x.co.uk/p?q=%C3%A9", "uk,co,x)/p?q=%c3%a9"),
        ] {
            assert_eq!(key(url), expected, "{url}");
        }
    }

    #[test]
    fn redirects_errors_and_robots_txt_are_answers_and_no_pages() {
        let is_answer = |url: &str, status| Capture::of(url, "text/html", status, &[0; 20]).is_answer();
        assert!(is_answer("http://a.example/x", 301) && is_answer("http://a.example/x", 404));
        assert!(is_answer("http://a.example:81/robots.txt", 200));
        assert!(!is_answer("http://a.example/x", 200) && !is_answer("http://a.example/x/robots.txt", 200));
    }

    #[test]
    fn times_have_fourteen_digits_and_come_back() {
        assert_eq!(timestamp(1_700_000_000_123), "20231114221320");
        assert_eq!(timestamp_ms("20231114221320"), Some(1_700_000_000_000));
        assert_eq!(timestamp(i64::MAX), "99991231235959");
    }

    proptest! {
        #[test]
        fn a_line_comes_back(path in "[a-zA-Z0-9/\"%é]{0,20}", offset: u64, digest: [u8; 20]) {
            let url = CanonicalUrl::parse(&format!("http://example.org/{path}")).unwrap();
            let mut capture = Capture::of(url.as_str(), "text/html", 200, &digest);
            let position = ArchivePosition { file: "seine-x.warc.gz".into(), offset, length: 9, ..ArchivePosition::default() };
            let line = capture.line("20231114221320", &position);
            prop_assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
            let (time, parsed) = Capture::parse(line.trim_end()).unwrap();
            prop_assert_eq!((time, parsed.position()), ("20231114221320", Some(position)));
            let (found, original) = parsed.original(time, &"seine-x.warc.gz".into()).unwrap();
            prop_assert_eq!((found, &*original.url, original.offset), (digest, url.as_str(), offset));
        }
    }
}
