//! Request and response heads: as the archive keeps them, and as the analyser reads them.
//!
//! The archive wants the bytes of HTTP/1.1. Header names come out in lower case, as the HTTP library hands them over,
//! and HTTP/2 answers get a status line. The transfer encoding has been undone when the body arrives, so its header is
//! renamed: readers of the archive would undo it again. Cookies and credentials are left out: they are for the one who was
//! asked, and an archive is shown to others.

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SET_COOKIE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, StatusCode};
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Header;

const ARCHIVED_TRANSFER_ENCODING: &[u8] = b"X-Archive-Orig-Transfer-Encoding";

/// Never archived.
const SECRET: [HeaderName; 4] = [COOKIE, SET_COOKIE, AUTHORIZATION, PROXY_AUTHORIZATION];

fn archived(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &http::HeaderValue)> {
    headers.iter().filter(|(name, _)| !SECRET.contains(name))
}

/// The head of a GET request with these headers, in the order in which they are sent.
pub fn request(url: &CanonicalUrl, headers: &HeaderMap) -> Bytes {
    let authority = &url.as_url()[url::Position::BeforeHost..url::Position::AfterPort];
    let mut head = BytesMut::with_capacity(64 + url.as_str().len() + heads_length(headers));
    head.extend_from_slice(b"GET ");
    head.extend_from_slice(url.path_and_query().as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in archived(headers) {
        line(&mut head, name.as_str().as_bytes(), value.as_bytes());
    }
    line(&mut head, b"host", authority.as_bytes());
    head.extend_from_slice(b"\r\n");
    head.freeze()
}

pub fn response(status: StatusCode, headers: &HeaderMap) -> Bytes {
    let mut head = BytesMut::with_capacity(64 + heads_length(headers));
    head.extend_from_slice(b"HTTP/1.1 ");
    head.extend_from_slice(status.as_str().as_bytes());
    head.extend_from_slice(b" ");
    head.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    head.extend_from_slice(b"\r\n");
    for (name, value) in archived(headers) {
        let name = if name == TRANSFER_ENCODING { ARCHIVED_TRANSFER_ENCODING } else { name.as_str().as_bytes() };
        line(&mut head, name, value.as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head.freeze()
}

/// The headers as text, for the analyser.
pub fn readable(headers: &HeaderMap) -> Vec<Header> {
    let text = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) if text.is_ascii() => text.to_owned(),
        _ => {
            value.iter().map(|&byte| if byte.is_ascii() { byte as char } else { char::REPLACEMENT_CHARACTER }).collect()
        }
    };
    headers
        .iter()
        .map(|(name, value)| Header { name: name.as_str().to_owned(), value: text(value.as_bytes()) })
        .collect()
}

fn line(head: &mut BytesMut, name: &[u8], value: &[u8]) {
    head.extend_from_slice(name);
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

fn heads_length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() + 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static [u8])]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), http::HeaderValue::from_bytes(value).unwrap()))
            .collect()
    }

    #[test]
    fn a_response_head_is_http_1_1_with_the_transfer_encoding_renamed() {
        let head = response(StatusCode::OK, &headers(&[("transfer-encoding", b"chunked"), ("server", b"x")]));
        assert_eq!(&*head, b"HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nserver: x\r\n\r\n");
    }

    #[test]
    fn a_request_head_names_the_host_with_its_port() {
        let url = CanonicalUrl::parse("http://example.org:8080/a?b").unwrap();
        assert_eq!(&*request(&url, &HeaderMap::new()), b"GET /a?b HTTP/1.1\r\nhost: example.org:8080\r\n\r\n");
    }

    #[test]
    fn cookies_and_credentials_are_in_no_head() {
        let secret: [(&str, &[u8]); 5] = [
            ("cookie", b"a=secret"),
            ("set-cookie", b"b=secret"),
            ("authorization", b"Basic secret"),
            ("proxy-authorization", b"secret"),
            ("accept", b"*/*"),
        ];
        let url = CanonicalUrl::parse("http://example.org/").unwrap();
        let heads = [request(&url, &headers(&secret)), response(StatusCode::FOUND, &headers(&secret))].concat();
        let heads = String::from_utf8(heads).unwrap();
        assert!(!heads.contains("secret") && heads.matches("accept: */*").count() == 2, "{heads}");
    }

    #[test]
    fn bytes_outside_ascii_are_replaced_for_the_analyser() {
        let readable = readable(&headers(&[("x-name", b"caf\xe9")]));
        assert_eq!(readable, [Header { name: "x-name".into(), value: "caf\u{fffd}".into() }]);
    }
}
