//! Faults that are well-formed responses: statuses, redirects, robots directives, traps and odd bodies.

use super::charset::{Charset, Declared};
use super::coding::Coding;
use super::unique_word;
use crate::fake_web::page::Place;
use crate::fake_web::response::{HTML, reason, write_field, write_status, write_whole};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    Status(u16),
    /// A small good page.
    Plain,
    /// This many redirects, the last to `/fault/redirect/end.html`.
    RedirectChain(u32),
    RedirectTo(&'static str),
    RedirectToOtherHost,
    Coded(Coding),
    Chunked,
    Empty,
    Binary,
    /// A page without `Content-Type`.
    Untyped,
    Calendar {
        year: i64,
        month: u32,
    },
    Directive(Directive),
    /// A page whose relative link is right only with its `<base>`.
    Base,
    Charset(Charset, Declared),
}

/// A page that asks not to be indexed, not to be followed, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directive {
    pub content: &'static str,
    pub in_header: bool,
}

impl Directive {
    pub const ALL: [Self; 6] = [
        Self { content: "noindex", in_header: false },
        Self { content: "nofollow", in_header: false },
        Self { content: "none", in_header: false },
        Self { content: "noindex", in_header: true },
        Self { content: "nofollow", in_header: true },
        Self { content: "none", in_header: true },
    ];

    /// The page is `/fault/robots/<name>.html` and links to `/fault/robots/beyond-<name>.html`.
    pub fn name(self) -> String {
        format!("{}-{}", self.content, if self.in_header { "header" } else { "meta" })
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|directive| directive.name() == name)
    }
}

const REDIRECT_STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

impl Document {
    pub fn status(&self) -> u16 {
        match self {
            Self::Status(status) => *status,
            Self::RedirectChain(hops) => REDIRECT_STATUSES[*hops as usize % REDIRECT_STATUSES.len()],
            Self::RedirectTo(_) | Self::RedirectToOtherHost => 302,
            _ => 200,
        }
    }

    /// Appends the whole response.
    pub fn write(&self, place: Place<'_>, path: &str, retry_after: u64, out: &mut Vec<u8>, head_only: bool) {
        let status = self.status();
        match self {
            Self::Status(429 | 503) => {
                let seconds = retry_after.to_string();
                let body = status_page(status, path);
                write_whole(out, status, HTML, &[("Retry-After", &seconds)], body.as_bytes(), head_only);
            }
            Self::Status(_) => write_whole(out, status, HTML, &[], status_page(status, path).as_bytes(), head_only),
            Self::RedirectChain(_) | Self::RedirectTo(_) | Self::RedirectToOtherHost => {
                let location = self.location(place);
                let body = page("Moved", "", &format!("<p><a href=\"{location}\">Moved</a></p>"));
                write_whole(out, status, HTML, &[("Location", &location)], body.as_bytes(), head_only);
            }
            Self::Plain => write_whole(out, 200, HTML, &[], plain_page(path).as_bytes(), head_only),
            Self::Coded(coding) => coding.write(&plain_page(path), out, head_only),
            Self::Chunked => write_chunked(plain_page(path).as_bytes(), out, head_only),
            Self::Empty => write_whole(out, 200, HTML, &[], b"", head_only),
            Self::Binary => {
                write_whole(out, 200, "image/png", &[], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x01\xff", head_only)
            }
            Self::Untyped => write_whole(out, 200, "", &[], plain_page(path).as_bytes(), head_only),
            Self::Calendar { year, month } => {
                write_whole(out, 200, HTML, &[], calendar(*year, *month).as_bytes(), head_only);
            }
            Self::Directive(directive) => write_directive(*directive, path, out, head_only),
            Self::Base => {
                let body = page(
                    "Base",
                    "<base href=\"/fault/base/deep/er/\">",
                    &format!("<p>{}</p><p><a href=\"target.html\">Right with the base only</a></p>", unique_word(path)),
                );
                write_whole(out, 200, HTML, &[], body.as_bytes(), head_only);
            }
            Self::Charset(charset, declared) => charset.write(*declared, &unique_word(path), out, head_only),
        }
    }

    fn location(&self, place: Place<'_>) -> String {
        match self {
            Self::RedirectTo(path) => (*path).to_owned(),
            Self::RedirectToOtherHost => format!("http://{}/p/0.html", other_host(place)),
            Self::RedirectChain(1) => "../end.html".to_owned(),
            // Relative and from the root by turns, as both are met.
            Self::RedirectChain(hops) if hops % 2 == 0 => format!("/fault/redirect/chain/{}", hops - 1),
            Self::RedirectChain(hops) => format!("{}", hops - 1),
            _ => unreachable!("only redirects have a location"),
        }
    }
}

/// The next host of the web, or this one under another name when it is the only one.
fn other_host(place: Place<'_>) -> String {
    if place.authorities.len() > 1 {
        return place.authorities[(place.host + 1) % place.authorities.len()].clone();
    }
    let port = place.authorities[0].rsplit_once(':').map_or("", |(_, port)| port);
    format!("localhost:{port}")
}

pub fn page(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>{head}</head>\n<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )
}

pub fn plain_page(path: &str) -> String {
    let word = unique_word(path);
    page(
        &format!("A page at {path}"),
        "",
        &format!(
            "<p>This page is as good as any other, although the way to it is not. Its word is {word}.</p>\n\
             <p>The miller opened the gate, the water ran over the wheel, and by noon the flour was in the sacks.</p>"
        ),
    )
}

fn status_page(status: u16, path: &str) -> String {
    page(reason(status), "", &format!("<p>{}</p>", unique_word(path)))
}

fn calendar(year: i64, month: u32) -> String {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let (previous_year, previous) = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
    page(
        &format!("Events in {month}/{year}"),
        "",
        &format!(
            "<p>There are no events in month {month} of {year}.</p>\n\
             <p><a href=\"/fault/calendar/{previous_year}/{previous}\">Previous month</a>\n\
             <a href=\"/fault/calendar/{next_year}/{next}\">Next month</a></p>"
        ),
    )
}

fn write_directive(directive: Directive, path: &str, out: &mut Vec<u8>, head_only: bool) {
    let name = directive.name();
    let meta = format!("<meta name=\"robots\" content=\"{}\">", directive.content);
    let body = page(
        &format!("Directive {name}"),
        if directive.in_header { "" } else { &meta },
        &format!("<p>{}</p><p><a href=\"beyond-{name}.html\">Beyond</a></p>", unique_word(path)),
    );
    let fields: &[_] = if directive.in_header { &[("X-Robots-Tag", directive.content)] } else { &[] };
    write_whole(out, 200, HTML, fields, body.as_bytes(), head_only);
}

/// In pieces of odd sizes, with an extension on one of them, and a trailer.
fn write_chunked(body: &[u8], out: &mut Vec<u8>, head_only: bool) {
    write_status(out, 200);
    write_field(out, "Content-Type", HTML);
    write_field(out, "Transfer-Encoding", "chunked");
    out.extend_from_slice(b"\r\n");
    if head_only {
        return;
    }
    let (first, rest) = body.split_at(1);
    write_chunk(first, ";name=value", out);
    for piece in rest.chunks(97) {
        write_chunk(piece, "", out);
    }
    out.extend_from_slice(b"0\r\nX-Trailer: end\r\n\r\n");
}

pub fn write_chunk(piece: &[u8], extension: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{:x}{extension}\r\n", piece.len()).as_bytes());
    out.extend_from_slice(piece);
    out.extend_from_slice(b"\r\n");
}
