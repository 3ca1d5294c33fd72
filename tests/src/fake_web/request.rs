//! Reads HTTP/1.1 request heads, as little of them as the test web needs.
//!
//! A crawler sends the same header fields with every request, so a connection keeps the last fields it understood and
//! compares bytes before it parses again.

use std::sync::Arc;

/// Longest request head that is read; more is answered with 431.
pub const LONGEST_HEAD: usize = 64 * 1024;

/// The header fields of a request and what they mean to the server.
#[derive(Debug)]
pub struct RequestFields {
    raw: Vec<u8>,
    /// Names in lower case.
    pub list: Arc<[(String, String)]>,
    /// `Host` as sent, in lower case; empty when it is missing or no host.
    pub authority: Arc<str>,
    pub close: bool,
    pub content_length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLine<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub http_1_0: bool,
}

/// Where the head ends, with its empty line, if it is complete. `searched` bytes were looked at before.
pub fn head_end(bytes: &[u8], searched: usize) -> Option<usize> {
    let from = searched.saturating_sub(3);
    bytes[from..].windows(4).position(|window| window == b"\r\n\r\n").map(|position| from + position + 4)
}

/// Splits a complete head into its request line and the bytes of its fields.
pub fn split_head(head: &[u8]) -> Option<(RequestLine<'_>, &[u8])> {
    let end = head.iter().position(|&byte| byte == b'\r')?;
    let line = std::str::from_utf8(&head[..end]).ok()?;
    let (method, rest) = line.split_once(' ')?;
    let (target, version) = rest.split_once(' ')?;
    if method.is_empty() || !target.starts_with('/') || !version.starts_with("HTTP/1.") {
        return None;
    }
    Some((RequestLine { method, target, http_1_0: version == "HTTP/1.0" }, head.get(end + 2..)?))
}

impl RequestFields {
    pub fn is_from(&self, raw: &[u8]) -> bool {
        self.raw == raw
    }

    pub fn parse(raw: &[u8]) -> Self {
        let text = String::from_utf8_lossy(raw);
        let list: Arc<[(String, String)]> = text
            .split("\r\n")
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let value = |name: &str| list.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let connection = value("connection").unwrap_or_default().to_ascii_lowercase();
        let authority = value("host").unwrap_or_default().to_ascii_lowercase();
        Self {
            authority: if is_authority(&authority) { authority.into() } else { "".into() },
            close: connection.contains("close"),
            content_length: value("content-length").and_then(|length| length.parse().ok()).unwrap_or(0),
            raw: raw.to_vec(),
            list,
        }
    }
}

/// The authority is written into pages: nothing that would end an attribute may come through.
fn is_authority(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_complete_at_its_empty_line_however_it_arrives() {
        let head = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\nrest";
        assert_eq!(head_end(head, 0), Some(head.len() - 4));
        for cut in 0..head.len() - 4 {
            assert_eq!(head_end(&head[..cut], 0), None);
            assert_eq!(head_end(head, cut), Some(head.len() - 4), "searched {cut} bytes before");
        }
    }

    #[test]
    fn line_and_fields_are_understood() {
        let head = b"GET /p/1.html?x=1 HTTP/1.1\r\nhost: A.Test:80\r\nConnection: Close\r\nContent-Length: 12\r\n\r\n";
        let (line, raw) = split_head(head).unwrap();
        assert_eq!(line, RequestLine { method: "GET", target: "/p/1.html?x=1", http_1_0: false });
        let fields = RequestFields::parse(raw);
        assert_eq!(&*fields.authority, "a.test:80");
        assert!(fields.close);
        assert_eq!(fields.content_length, 12);
        assert!(fields.is_from(raw));
    }

    #[test]
    fn what_is_no_http_is_refused() {
        for head in ["\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET x HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n"] {
            assert_eq!(split_head(head.as_bytes()), None, "{head:?}");
        }
    }

    #[test]
    fn a_host_that_could_break_out_of_an_attribute_is_dropped() {
        assert_eq!(&*RequestFields::parse(b"Host: a\"><script>\r\n\r\n").authority, "");
    }
}
