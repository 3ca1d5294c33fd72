//! Links of a page: collected as written, completed and freed of repeats once the whole page is read, because `<base>`
//! holds for all of them wherever it stands.
//!
//! Invariant: resolved links are absolute, canonical, http or https, each URL once, in page order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::LinkKind;
use url::Url;

use super::text::{TextBuffer, one_line};
use crate::parse::{Attribute, Attributes};

/// Links of one page that are kept; more is a trap or a dump.
pub(crate) const MAX_LINKS: usize = 10_000;
/// URLs and anchor texts of one page together, so that a description always fits in a message.
pub(crate) const MAX_LINK_BYTES: usize = 4 << 20;
/// References read, repeats included.
const MAX_REFERENCES: usize = 50_000;
/// Anchor text that is kept.
pub(crate) const MAX_ANCHOR_BYTES: usize = 256;

#[derive(Default)]
pub(crate) struct LinkCollector {
    references: Vec<Reference>,
    /// The last reference is an anchor that still takes text.
    anchor_is_open: bool,
}

struct Reference {
    target: Vec<u8>,
    text: TextBuffer,
    kind: LinkKind,
    follow: bool,
}

/// A link with everything that is known of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub url: String,
    pub text: String,
    pub kind: LinkKind,
    /// False when every place that links there says nofollow.
    pub follow: bool,
}

impl LinkCollector {
    /// A start tag `<a>`; one within another ends it.
    pub fn open_anchor(&mut self, attributes: &Attributes) {
        self.close_anchor();
        let before = self.references.len();
        self.add(LinkKind::Anchor, attributes);
        self.anchor_is_open = self.references.len() > before;
    }

    pub fn close_anchor(&mut self) {
        self.anchor_is_open = false;
    }

    /// Text of the page; counts where an anchor is open.
    #[inline]
    pub fn text(&mut self, piece: &[u8]) {
        if let Some(text) = self.open_text() {
            text.push(piece);
        }
    }

    pub fn end_word(&mut self) {
        if let Some(text) = self.open_text() {
            text.end_word();
        }
    }

    /// What an image shows instead of itself is text of the anchor around it.
    pub fn image(&mut self, attributes: &Attributes) {
        if let (Some(text), Some(alt)) = (self.open_text(), attributes.get(Attribute::Alt)) {
            text.end_word();
            text.push(alt);
            text.end_word();
        }
    }

    /// A link that is a tag of its own, with its text in an attribute if anywhere.
    pub fn add(&mut self, kind: LinkKind, attributes: &Attributes) {
        let Some(target) = attributes.get(Attribute::Reference) else { return };
        let rel = attributes.get(Attribute::Rel).unwrap_or_default();
        let nofollow = rel.split(u8::is_ascii_whitespace).any(|word| word.eq_ignore_ascii_case(b"nofollow"));
        // A text without a link has nothing to stand at; only `<area>` has both in one tag.
        let text = attributes.get(Attribute::Alt).unwrap_or_default();
        self.push(kind, target.to_vec(), text, !nofollow);
    }

    pub fn add_reference(&mut self, kind: LinkKind, target: Vec<u8>) {
        self.push(kind, target, &[], true);
    }

    fn push(&mut self, kind: LinkKind, target: Vec<u8>, initial_text: &[u8], follow: bool) {
        // A link inside an anchor would take its text.
        self.anchor_is_open = false;
        if self.references.len() == MAX_REFERENCES {
            return;
        }
        let mut text = TextBuffer::of_one_line(MAX_ANCHOR_BYTES);
        text.push(initial_text);
        self.references.push(Reference { target, text, kind, follow });
    }

    fn open_text(&mut self) -> Option<&mut TextBuffer> {
        if !self.anchor_is_open {
            return None;
        }
        self.references.last_mut().map(|reference| &mut reference.text)
    }

    /// `base` is what `<base>` says, as written.
    pub fn resolve(self, page: &CanonicalUrl, base: Option<&str>) -> Vec<Link> {
        let base = base.and_then(|base| page.as_url().join(base).ok()).filter(|base| !base.cannot_be_a_base());
        let base: &Url = base.as_ref().unwrap_or(page.as_url());
        let mut links: Vec<Link> = Vec::with_capacity(self.references.len().min(MAX_LINKS));
        let mut places: HashMap<String, usize> = HashMap::with_capacity(links.capacity());
        let mut bytes = 0;
        for reference in self.references {
            let Some(url) = resolve_one(page, base, &reference.target) else { continue };
            let text = reference.text.finish();
            match places.entry(url) {
                Entry::Occupied(place) => {
                    let known = &mut links[*place.get()];
                    known.follow |= reference.follow;
                    if known.text.is_empty() && bytes + text.len() <= MAX_LINK_BYTES {
                        bytes += text.len();
                        known.text = text;
                    }
                }
                Entry::Vacant(place) => {
                    bytes += place.key().len() + text.len();
                    if links.len() == MAX_LINKS || bytes > MAX_LINK_BYTES {
                        break;
                    }
                    links.push(Link { url: place.key().clone(), text, kind: reference.kind, follow: reference.follow });
                    place.insert(links.len() - 1);
                }
            }
        }
        links
    }
}

fn resolve_one(page: &CanonicalUrl, base: &Url, target: &[u8]) -> Option<String> {
    let target = String::from_utf8_lossy(target.trim_ascii());
    let url = CanonicalUrl::join(base, &target).ok()?;
    // A place on the same page is no link to another resource.
    let is_same_page = (target.is_empty() || target.starts_with('#')) && url == *page;
    (!is_same_page).then(|| url.as_str().to_owned())
}

/// The URL in `<meta http-equiv=refresh content="5; url='…'">`, as browsers read it.
pub(crate) fn refresh_target(content: &str) -> Option<Vec<u8>> {
    let content = content.trim_ascii_start();
    let rest = content.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if rest.len() == content.len() {
        return None;
    }
    let rest = rest.strip_prefix(|c: char| c.is_ascii_whitespace() || c == ';' || c == ',')?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ';' || c == ',');
    let without_name = rest
        .get(..3)
        .filter(|name| name.eq_ignore_ascii_case("url"))
        .and_then(|_| rest[3..].trim_ascii_start().strip_prefix('=').map(str::trim_ascii_start));
    let target = without_name.unwrap_or(rest);
    let target = match target.chars().next() {
        Some(quote @ ('"' | '\'')) => target[1..].split(quote).next().unwrap_or_default(),
        _ => target,
    };
    let target = one_line(target.as_bytes(), usize::MAX - 1);
    (!target.is_empty()).then(|| target.into_bytes())
}
