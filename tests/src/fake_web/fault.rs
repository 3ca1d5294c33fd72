//! Everything that goes wrong on the web, each under a path of its own below `/fault/`.
//!
//! The path alone says what happens (`/fault/recover/…` also counts its visits). Two kinds: a [`Document`] is a
//! well-formed response with trouble inside; a [`Wire`] fault breaks the connection or HTTP itself and always ends the
//! connection. Pages among them hold [`unique_word`], so that a search can tell whether they were indexed.

pub mod charset;
pub mod coding;
pub mod document;
pub mod wire;

use std::time::Duration;

use self::charset::{Charset, Declared};
use self::coding::Coding;
use self::document::{Directive, Document};
use self::wire::Wire;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Document(Document),
    Wire(Wire),
}

impl Fault {
    /// Understands a path without its query. `visit` counts a visit to the path and tells how many there were before.
    pub fn parse(path: &str, visit: impl FnOnce() -> u32) -> Option<Self> {
        let segments: Vec<&str> = path.strip_prefix("/fault/")?.split('/').collect();
        Self::parse_wire(&segments)
            .map(Self::Wire)
            .or_else(|| Self::parse_document(&segments, visit).map(Self::Document))
    }

    fn parse_wire(segments: &[&str]) -> Option<Wire> {
        Some(match segments {
            ["drip", millis, bytes] => {
                Wire::Drip { interval: Duration::from_millis(millis.parse().ok()?), bytes: bytes.parse().ok()? }
            }
            ["never"] => Wire::Never,
            ["huge", "declared"] => Wire::HugeDeclared,
            ["huge", "endless"] => Wire::HugeEndless,
            ["length", "short"] => Wire::LengthShort,
            ["length", "long"] => Wire::LengthLong,
            ["reset", "before"] => Wire::ResetBefore,
            ["reset", "body"] => Wire::ResetInBody,
            ["garbage"] => Wire::Garbage,
            ["headers", "huge"] => Wire::HugeHeader,
            ["headers", "many"] => Wire::ManyHeaders,
            _ => return None,
        })
    }

    fn parse_document(segments: &[&str], visit: impl FnOnce() -> u32) -> Option<Document> {
        Some(match segments {
            ["status", status] => Document::Status(status.parse().ok().filter(|status| (400..600).contains(status))?),
            ["recover", failures] => {
                let failures: u32 = failures.parse().ok()?;
                if visit() < failures { Document::Status(503) } else { Document::Plain }
            }
            ["redirect", "chain", hops] => Document::RedirectChain(hops.parse().ok().filter(|&hops: &u32| hops > 0)?),
            ["redirect", "end.html"] => Document::Plain,
            ["redirect", "loop", "a"] => Document::RedirectTo("/fault/redirect/loop/b"),
            ["redirect", "loop", "b"] => Document::RedirectTo("/fault/redirect/loop/a"),
            ["redirect", "self"] => Document::RedirectTo("/fault/redirect/self"),
            ["redirect", "host"] => Document::RedirectToOtherHost,
            ["gzip", "valid"] => Document::Coded(Coding::Gzip),
            ["gzip", "broken"] => Document::Coded(Coding::BrokenGzip),
            ["gzip", "truncated"] => Document::Coded(Coding::TruncatedGzip),
            ["gzip", "bomb"] => Document::Coded(Coding::GzipBomb),
            ["deflate", "valid"] => Document::Coded(Coding::Deflate),
            ["chunked"] => Document::Chunked,
            ["empty"] => Document::Empty,
            ["binary"] => Document::Binary,
            ["untyped"] => Document::Untyped,
            ["calendar", year, month] => Document::Calendar {
                year: year.parse().ok()?,
                month: month.parse().ok().filter(|month| (1..=12).contains(month))?,
            },
            ["robots", file] => match file.strip_suffix(".html")? {
                beyond if beyond.starts_with("beyond-") => Document::Plain,
                directive => Document::Directive(Directive::from_name(directive)?),
            },
            ["base", "page.html"] => Document::Base,
            ["base", "deep", "er", "target.html"] => Document::Plain,
            ["charset", charset, declared] => {
                let charset = Charset::from_name(charset)?;
                let declared = Declared::from_name(declared.strip_suffix(".html")?)?;
                Document::Charset(charset, declared)
            }
            _ => return None,
        })
    }

    /// The status of the answer; 0 where it is none.
    pub fn status(&self) -> u16 {
        match self {
            Self::Document(document) => document.status(),
            Self::Wire(wire) => wire.status(),
        }
    }
}

/// Links without end: a crawl that follows this one never finishes by itself.
pub const ENDLESS_PATH: &str = "/fault/calendar/2020/1";
/// Answers that last until the client gives up.
pub const SLOW_PATHS: [&str; 2] = ["/fault/never", "/fault/drip/100/6000"];

/// A path to every fault.
pub fn all_paths() -> Vec<String> {
    let mut paths = quick_paths();
    paths.extend(SLOW_PATHS.map(str::to_owned));
    paths.push(ENDLESS_PATH.to_owned());
    paths
}

/// A path to every fault that a crawler is done with soon.
pub fn quick_paths() -> Vec<String> {
    const SINGLE: [&str; 31] = [
        "status/404",
        "status/410",
        "status/403",
        "status/500",
        "status/503",
        "status/429",
        "recover/1",
        "redirect/chain/3",
        "redirect/chain/12",
        "redirect/loop/a",
        "redirect/self",
        "redirect/host",
        "huge/declared",
        "huge/endless",
        "length/short",
        "length/long",
        "gzip/valid",
        "gzip/broken",
        "gzip/truncated",
        "gzip/bomb",
        "deflate/valid",
        "chunked",
        "empty",
        "binary",
        "untyped",
        "reset/before",
        "reset/body",
        "garbage",
        "headers/huge",
        "headers/many",
        "base/page.html",
    ];
    let single = SINGLE.iter().map(|&path| path.to_owned());
    let directives = Directive::ALL.iter().map(|directive| format!("robots/{}.html", directive.name()));
    let charsets = Charset::ALL.iter().flat_map(|charset| {
        charset.ways().iter().map(|declared| format!("charset/{}/{}.html", charset.name(), declared.name()))
    });
    single.chain(directives).chain(charsets).map(|path| format!("/fault/{path}")).collect()
}

/// The word that only the page at this fault path has.
pub fn unique_word(path: &str) -> String {
    path.chars().filter(char::is_ascii_alphanumeric).collect()
}
