//! Writes HTTP/1.1 responses into one buffer, so that each leaves in a single write.

use std::io::Write as _;

/// A response being written: the head is there, the body is appended by the caller, `finish` fills in its length.
#[derive(Debug)]
pub struct OpenResponse {
    length_at: usize,
    body_at: usize,
}

/// Room for the digits of a length. Leading spaces before a field's value are allowed and ignored.
const LENGTH_DIGITS: usize = 10;

pub const HTML: &str = "text/html; charset=utf-8";

pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

impl OpenResponse {
    /// Starts a response. An empty `content_type` leaves the field out.
    pub fn start(out: &mut Vec<u8>, status: u16, content_type: &str, fields: &[(&str, &str)]) -> Self {
        write_status(out, status);
        if !content_type.is_empty() {
            write_field(out, "Content-Type", content_type);
        }
        for (name, value) in fields {
            write_field(out, name, value);
        }
        out.extend_from_slice(b"Content-Length: ");
        let length_at = out.len();
        out.extend_from_slice(&[b' '; LENGTH_DIGITS]);
        out.extend_from_slice(b"\r\n\r\n");
        Self { length_at, body_at: out.len() }
    }

    /// Writes the length of what was appended since; for `HEAD` the body is taken away again.
    pub fn finish(self, out: &mut Vec<u8>, head_only: bool) {
        let length = out.len() - self.body_at;
        let mut room = &mut out[self.length_at..self.length_at + LENGTH_DIGITS];
        write!(room, "{length:>LENGTH_DIGITS$}").expect("a body has less than ten gigabytes");
        if head_only {
            out.truncate(self.body_at);
        }
    }
}

/// A whole response at once.
pub fn write_whole(
    out: &mut Vec<u8>,
    status: u16,
    content_type: &str,
    fields: &[(&str, &str)],
    body: &[u8],
    head_only: bool,
) {
    let open = OpenResponse::start(out, status, content_type, fields);
    out.extend_from_slice(body);
    open.finish(out, head_only);
}

/// Status line and server field; the caller writes the other fields and the empty line.
pub fn write_status(out: &mut Vec<u8>, status: u16) {
    // Nearly every answer is this one, and formatting shows in the profile.
    if status == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\nServer: fake-web\r\n");
    } else {
        write!(out, "HTTP/1.1 {status} {}\r\nServer: fake-web\r\n", reason(status)).expect("a vector takes any write");
    }
}

pub fn write_field(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
