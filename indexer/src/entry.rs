//! What an entry of the description log means for the index.
//!
//! Every entry speaks about one URL at one [`Version`]. Of two entries about a URL the later version counts, in whatever
//! order they arrive; that a page is gone is a version like any other.

use std::collections::HashSet;

use seine_proto::common::v1::{ArchivePosition, BlockForm, Description, LinkKind};
use seine_proto::filesaver::v1::LogEntry;
use seine_proto::filesaver::v1::log_entry::Entry as Logged;

use crate::anchors::{Link, MAX_LINKS};
use crate::version::Version;

#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// The page as it must be found.
    Page(Box<Page>),
    /// The page must not be found.
    Gone { url: String, version: Version },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub url: String,
    pub crawl: String,
    pub title: String,
    /// One a line.
    pub headings: String,
    /// How the page describes itself.
    pub description: String,
    /// What the page is about; all its text where that is not told apart.
    pub text: String,
    /// Menus, footers and the like, where they are told apart.
    pub rest: String,
    /// ISO 639-1; empty when unknown.
    pub lang: String,
    /// Media type without parameters; empty when unknown.
    pub content_type: String,
    /// Of all the text; 0 when unknown.
    pub fingerprint: u64,
    /// Of the main text; 0 when unknown.
    pub simhash: u64,
    /// The page says that its address is another one.
    pub is_canonical_elsewhere: bool,
    /// What it calls other pages.
    pub links: Vec<Link>,
    /// Length of the body as received.
    pub bytes: u64,
    /// As [`stored_position`] writes it; empty when unknown, and where the page asked not to be shown from there.
    pub archive: String,
    /// The page's own date; 0 when unknown.
    pub date_ms: i64,
    pub fetched_at_ms: i64,
    pub epoch: u64,
    pub token: u64,
}

/// Filesaver, file, offset and length: `FILESAVER/FILE OFFSET LENGTH`. Earlier versions had no filesaver, and no slash.
pub fn stored_position(at: &ArchivePosition) -> String {
    let ArchivePosition { filesaver, file, offset, length } = at;
    match filesaver.is_empty() {
        true => format!("{file} {offset} {length}"),
        false => format!("{filesaver}/{file} {offset} {length}"),
    }
}

/// What [`stored_position`] wrote.
pub fn read_position(stored: &str) -> Option<ArchivePosition> {
    let mut parts = stored.rsplitn(3, ' ');
    let (length, offset, file) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
    let (filesaver, file) = file.split_once('/').unwrap_or(("", file));
    Some(ArchivePosition { file: file.to_owned(), offset, length, filesaver: filesaver.to_owned() })
}

impl Entry {
    /// `None` for an entry of a kind this version does not know.
    pub fn from_log(logged: LogEntry) -> Option<Self> {
        match logged.entry? {
            Logged::Description(description) => Some(Self::from_description(description)),
            Logged::Withdrawn(withdrawn) => {
                let version = Version::of_withdrawal(&withdrawn);
                Some(Self::Gone { url: withdrawn.url, version })
            }
        }
    }

    fn from_description(description: Description) -> Self {
        let version = Version::of_page(&description);
        if version.gone {
            return Self::Gone { url: description.url, version };
        }
        let kept_back = description.robots.iter().any(|directive| directive == "noarchive");
        let archive = description.archive.as_ref().filter(|_| !kept_back);
        let archive = archive.map(stored_position);
        let headings = headings(&description);
        let links = links(&description);
        let date_ms = [description.published_at_ms, description.modified_at_ms].into_iter().find(|date| *date > 0);
        let (text, rest) = match description.main_text() {
            // A page of nothing but menus is about them.
            main if main.is_empty() => (description.text, String::new()),
            main => (main, description.remainder()),
        };
        let is_canonical_elsewhere =
            !description.canonical_url.is_empty() && description.canonical_url != description.url;
        Self::Page(Box::new(Page {
            url: description.url,
            crawl: description.crawl,
            title: description.title,
            headings,
            description: description.description,
            text,
            rest,
            lang: description.lang,
            content_type: description.content_type,
            fingerprint: description.fingerprint,
            simhash: description.simhash,
            is_canonical_elsewhere,
            links,
            bytes: description.bytes,
            archive: archive.unwrap_or_default(),
            date_ms: date_ms.unwrap_or(0),
            fetched_at_ms: version.fetched_at_ms,
            epoch: version.epoch,
            token: version.token,
        }))
    }

    pub fn url(&self) -> &str {
        match self {
            Self::Page(page) => &page.url,
            Self::Gone { url, .. } => url,
        }
    }

    /// Bytes of text that indexing it takes.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Page(page) => {
                let texts =
                    [&page.url, &page.title, &page.headings, &page.description, &page.text, &page.rest, &page.archive];
                let links = page.links.iter().map(|link| link.text.len() + size_of::<Link>());
                texts.into_iter().map(String::len).chain(links).sum()
            }
            Self::Gone { url, .. } => url.len(),
        }
    }

    pub fn version(&self) -> Version {
        match self {
            Self::Page(page) => {
                let Page { epoch, token, fetched_at_ms, .. } = **page;
                Version { epoch, token, fetched_at_ms, gone: false }
            }
            Self::Gone { version, .. } => *version,
        }
    }
}

/// What the page calls other pages, each text once.
fn links(description: &Description) -> Vec<Link> {
    let mut met = HashSet::new();
    let pages = description
        .links
        .iter()
        .filter(|link| matches!(link.kind(), LinkKind::Anchor | LinkKind::Area) && link.url != description.url);
    let links = pages.filter_map(|link| Link::new(&link.url, &link.text));
    links.filter(|link| met.insert(link.clone())).take(MAX_LINKS).collect()
}

/// Headings of the main text, one a line.
fn headings(description: &Description) -> String {
    let mut headings = String::new();
    for (_, text) in description.parts().filter(|(block, _)| block.main && block.form() == BlockForm::Heading) {
        headings.push_str(text.trim());
        headings.push('\n');
    }
    headings
}
