//! Links of a page: collected as written, completed and freed of repeats once the whole page is read, because `<base>`
//! holds for all of them wherever it stands.
//!
//! Invariant: resolved links are absolute, canonical, http or https, each URL once, in page order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

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
    /// What the references name, one after the other.
    targets: Vec<u8>,
    /// The anchor that still takes text.
    open_anchor: Option<usize>,
}

struct Reference {
    target: Range<usize>,
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
    /// Whether a crawl may go there: it is a page of its own, and not every place that links there says nofollow.
    pub follow: bool,
}

/// Whether what the link names is a page, and not a part of this one.
fn leads_to_a_page(kind: LinkKind) -> bool {
    matches!(
        kind,
        LinkKind::Anchor
            | LinkKind::Area
            | LinkKind::Frame
            | LinkKind::Refresh
            | LinkKind::Canonical
            | LinkKind::Alternate
            | LinkKind::Feed
            | LinkKind::Sequence
    )
}

impl LinkCollector {
    /// A start tag `<a>`; one within another ends it. Whether it is a link.
    pub fn open_anchor(&mut self, attributes: &Attributes, in_picture: bool) -> bool {
        self.close_anchor();
        let in_picture = if in_picture { attributes.get(Attribute::PictureHref) } else { None };
        let Some(target) = attributes.get(Attribute::Href).or(in_picture) else { return false };
        let before = self.references.len();
        self.push(LinkKind::Anchor, target, &[], !says_nofollow(attributes));
        self.open_anchor = (self.references.len() > before).then_some(before);
        true
    }

    pub fn close_anchor(&mut self) {
        self.open_anchor = None;
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

    pub fn element_ended(&mut self) {
        if let Some(text) = self.open_text() {
            text.element_ended();
        }
    }

    pub fn element_begins(&mut self) {
        if let Some(text) = self.open_text() {
            text.element_begins();
        }
    }

    /// What an image shows instead of itself is text of the anchor around it.
    pub fn image(&mut self, attributes: &Attributes) {
        if let (Some(text), Some(alt)) = (self.open_text(), attributes.get(Attribute::Alt)) {
            text.end_word();
            text.push(alt);
            text.end_word();
        }
        self.add(LinkKind::Image, attributes);
    }

    /// `<link>`, whose `rel` says what it is.
    pub fn link_element(&mut self, attributes: &Attributes) {
        let rel = attributes.get(Attribute::Rel).unwrap_or_default();
        let kind = kind_of_rel(
            &String::from_utf8_lossy(rel),
            attributes.text(Attribute::Type).as_deref(),
            attributes.get(Attribute::Hreflang).is_some(),
        );
        self.add(kind, attributes);
    }

    /// `<object>` and `<applet>`. The classes of an applet stand where its codebase says.
    pub fn object(&mut self, attributes: &Attributes) {
        self.add(LinkKind::Media, attributes);
        let codebase = attributes.get(Attribute::Codebase).unwrap_or_default();
        let text = attributes.get(Attribute::Alt).unwrap_or_default();
        if let Some(code) = attributes.get(Attribute::Code) {
            self.push(LinkKind::Media, &below(codebase, &class_file(code.trim_ascii())), text, false);
        }
        let archives = attributes.get(Attribute::Archive).unwrap_or_default();
        for archive in archives.split(|byte| *byte == b',' || byte.is_ascii_whitespace()) {
            if !archive.is_empty() {
                self.push(LinkKind::Media, &below(codebase, archive), &[], false);
            }
        }
    }

    /// All that a tag refers to, with its text in an attribute if anywhere.
    pub fn add(&mut self, kind: LinkKind, attributes: &Attributes) {
        let mut follow = None;
        for (attribute, value) in attributes.iter() {
            let kind = match attribute {
                Attribute::Href | Attribute::PictureHref | Attribute::Src | Attribute::Data => kind,
                Attribute::Action => LinkKind::Form,
                Attribute::Cite | Attribute::LongDescription | Attribute::Manifest => LinkKind::Other,
                Attribute::Background | Attribute::Poster => LinkKind::Image,
                Attribute::Srcset => {
                    for candidate in srcset_targets(value) {
                        self.push(LinkKind::Image, candidate, &[], false);
                    }
                    continue;
                }
                _ => continue,
            };
            let follow = *follow.get_or_insert_with(|| !says_nofollow(attributes));
            // A text without a link has nothing to stand at; only `<area>` has both in one tag.
            let text = if kind == LinkKind::Area { attributes.get(Attribute::Alt).unwrap_or_default() } else { &[] };
            self.push(kind, value, text, follow);
        }
    }

    pub fn add_reference(&mut self, kind: LinkKind, target: &[u8]) {
        self.push(kind, target, &[], true);
    }

    pub fn add_described(&mut self, kind: LinkKind, target: &[u8], text: &[u8]) {
        self.push(kind, target, text, true);
    }

    /// A link of a header, to which `<base>` does not apply.
    pub fn add_absolute(&mut self, kind: LinkKind, page: &CanonicalUrl, target: &str) {
        if let Ok(url) = page.as_url().join(target.trim()) {
            self.push(kind, url.as_str().as_bytes(), &[], true);
        }
    }

    /// The address that the page states for itself.
    pub fn canonical(&self, page: &CanonicalUrl, base: Option<&str>) -> Option<String> {
        let stated = self.references.iter().find(|reference| reference.kind == LinkKind::Canonical)?;
        resolve_one(page, &complete_base(page, base), &self.targets[stated.target.clone()])
    }

    fn push(&mut self, kind: LinkKind, target: &[u8], initial_text: &[u8], follow: bool) {
        let target = target.trim_ascii();
        if self.references.len() == MAX_REFERENCES || target.get(..5).is_some_and(|s| s.eq_ignore_ascii_case(b"data:"))
        {
            return;
        }
        let start = self.targets.len();
        self.targets.extend_from_slice(target);
        let mut text = TextBuffer::of_one_line(MAX_ANCHOR_BYTES);
        text.push(initial_text);
        let follow = follow && leads_to_a_page(kind);
        self.references.push(Reference { target: start..self.targets.len(), text, kind, follow });
    }

    #[inline]
    fn open_text(&mut self) -> Option<&mut TextBuffer> {
        self.open_anchor.map(|place| &mut self.references[place].text)
    }

    /// `base` is what `<base>` says, as written.
    pub fn resolve(self, page: &CanonicalUrl, base: Option<&str>) -> Vec<Link> {
        let base = &complete_base(page, base);
        let mut links: Vec<Link> = Vec::with_capacity(self.references.len().min(MAX_LINKS));
        let mut places: HashMap<String, usize> = HashMap::with_capacity(links.capacity());
        let mut bytes = 0;
        for reference in self.references {
            let Some(url) = resolve_one(page, base, &self.targets[reference.target]) else { continue };
            let text = reference.text.finish();
            match places.entry(url) {
                Entry::Occupied(place) => {
                    let known = &mut links[*place.get()];
                    // A page is more than the picture or style that bears the same name.
                    if reference.follow && !known.follow {
                        known.follow = true;
                        if !leads_to_a_page(known.kind) {
                            known.kind = reference.kind;
                        }
                    }
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

/// The file in which a class of an applet is: `code` names one or the other.
fn class_file(code: &[u8]) -> Vec<u8> {
    const SUFFIX: &[u8] = b".class";
    if code.ends_with(SUFFIX) || code.contains(&b'/') {
        return code.to_vec();
    }
    let path: Vec<u8> = code.iter().map(|byte| if *byte == b'.' { b'/' } else { *byte }).collect();
    [&path, SUFFIX].concat()
}

/// A reference within a directory, as one reference.
fn below(directory: &[u8], reference: &[u8]) -> Vec<u8> {
    let directory = directory.trim_ascii();
    let is_complete = reference.starts_with(b"/") || reference.windows(3).any(|window| window == b"://");
    if directory.is_empty() || is_complete {
        return reference.to_vec();
    }
    let slash: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
    [directory, slash, reference].concat()
}

/// What incomplete links are completed from. `base` is what `<base>` says, as written.
fn complete_base(page: &CanonicalUrl, base: Option<&str>) -> Url {
    let base = base.and_then(|base| page.as_url().join(base).ok()).filter(|base| !base.cannot_be_a_base());
    base.unwrap_or_else(|| page.as_url().clone())
}

fn resolve_one(page: &CanonicalUrl, base: &Url, target: &[u8]) -> Option<String> {
    let target = String::from_utf8_lossy(target.trim_ascii());
    let url = CanonicalUrl::join(base, &target).ok()?;
    // A place on the same page is no link to another resource.
    let is_same_page = (target.is_empty() || target.starts_with('#')) && url == *page;
    (!is_same_page).then(|| url.as_str().to_owned())
}

fn says_nofollow(attributes: &Attributes) -> bool {
    let rel = attributes.get(Attribute::Rel).unwrap_or_default();
    rel.split(u8::is_ascii_whitespace).any(|word| word.eq_ignore_ascii_case(b"nofollow"))
}

/// What a relation makes of a link, of a `<link>` or a `Link` header alike.
pub(crate) fn kind_of_rel(rel: &str, content_type: Option<&str>, has_language: bool) -> LinkKind {
    let has = |name: &str| rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(name));
    let content_type = content_type.unwrap_or_default().trim();
    let is_type = |name: &str| content_type.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    if has("canonical") {
        LinkKind::Canonical
    } else if has("stylesheet") {
        LinkKind::Style
    } else if has("alternate") && (is_type("application/rss+xml") || is_type("application/atom+xml")) || has("feed") {
        LinkKind::Feed
    } else if has("alternate") && (has_language || content_type.is_empty() || is_type("text/html")) {
        LinkKind::Alternate
    } else if has("next") || has("prev") || has("previous") {
        LinkKind::Sequence
    } else if has("icon") || has("apple-touch-icon") || has("mask-icon") || has("image_src") {
        LinkKind::Image
    } else {
        LinkKind::Other
    }
}

/// The URLs of a `srcset`, as browsers take it apart: a URL ends at white space, and a comma at its end ends the
/// candidate; what follows up to the next comma outside brackets describes it.
pub(crate) fn srcset_targets(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = list;
    std::iter::from_fn(move || {
        while let [b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0c, tail @ ..] = rest {
            rest = tail;
        }
        if rest.is_empty() {
            return None;
        }
        let (url, tail) = rest.split_at(rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len()));
        let without_commas = url.iter().rposition(|byte| *byte != b',').map_or(0, |last| last + 1);
        rest = tail;
        if without_commas == url.len() {
            let mut depth = 0u32;
            let end = tail.iter().position(|byte| {
                match byte {
                    b'(' => depth += 1,
                    b')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                *byte == b',' && depth == 0
            });
            rest = &tail[end.unwrap_or(tail.len())..];
        }
        Some(&url[..without_commas])
    })
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
