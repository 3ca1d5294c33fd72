//! What the names that people give to elements hint at: `class="site-footer"` is a footer whatever element it is.
//!
//! Words are looked for inside class names, ids, roles and item properties. A hint is no decision; the main text is
//! chosen by many of them together.

use std::ops::{BitOr, BitOrAssign};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};

/// A set of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints(pub u64);

impl Hints {
    /// Said by attributes and not by a word.
    pub const HIDDEN: Self = Self(1 << (GROUPS.len()));
    pub const COUNT: usize = GROUPS.len() + 1;

    pub fn has(self, number: usize) -> bool {
        self.0 >> number & 1 == 1
    }
}

impl BitOr for Hints {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Hints {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Each line is one hint. Words of up to four letters must begin where a word begins, up to three also end there.
pub(crate) const GROUPS: [&[&str]; 57] = [
    &["nav", "navbar", "navigation", "topnav", "subnav"],
    &["menu", "dropdown", "hamburger", "drawer"],
    &["header", "masthead", "topbar", "banner"],
    &["footer", "colophon", "copyright", "contentinfo"],
    &["sidebar", "aside", "rail", "complementary"],
    &["breadcrumb"],
    &["content"],
    &["article", "story"],
    &["post", "entry", "blog"],
    &["body", "text", "prose", "richtext", "rte", "markdown", "wysiwyg"],
    &["main"],
    &["title", "heading", "headline", "hero", "name"],
    &["comment", "disqus", "respond", "reply", "replies"],
    &["thread", "topic", "message", "forum", "discussion", "answer", "qa"],
    &["share", "sharing", "social", "facebook", "twitter", "follow"],
    &["related", "recommend", "similar", "suggest", "also", "upsell", "cross", "more"],
    &["promo", "sponsor", "advert", "ad", "ads", "adslot", "dfp", "offer"],
    &["newsletter", "subscri", "signup", "optin", "mailchimp"],
    &["cookie", "consent", "gdpr", "onetrust", "privacy"],
    &["modal", "popup", "overlay", "dialog", "lightbox", "tooltip", "toast", "flyout", "popover"],
    &["login", "signin", "account", "register", "auth"],
    &["search", "filter", "facet", "refine", "sort"],
    &["form", "input", "field"],
    &["pagina", "pager", "paging", "prev", "next", "loadmore"],
    &["meta", "byline", "author", "timestamp", "date", "time", "published"],
    &["tag", "tags", "category", "categories", "label", "badge"],
    &["product", "sku", "pdp"],
    &["price", "pricing", "cost"],
    &["cart", "basket", "checkout", "wishlist", "buybox", "addtocart"],
    &["review", "rating", "stars", "testimonial"],
    &["descr", "detail", "summary", "overview", "excerpt", "intro"],
    &["spec", "feature", "attribute", "ingredient", "benefit"],
    &["card", "tile", "teaser"],
    &["item"],
    &["grid", "collection", "listing", "result", "catalog"],
    &["carousel", "slider", "swiper", "slick", "slide", "gallery"],
    &["tab", "tabs", "accordion", "collaps", "panel", "toggle"],
    &["faq", "question"],
    &["toc", "tableofcontents", "table-of-contents", "onthispage", "on-this-page"],
    &["widget", "module"],
    &["skip", "sr-only", "visually-hidden", "visuallyhidden", "screen-reader", "hidden", "offscreen"],
    &["caption", "figure", "image", "photo", "media", "video"],
    &["quote"],
    &["code", "highlight", "snippet"],
    &["user", "avatar", "profile", "member", "signature", "bio"],
    &["button", "btn", "cta", "action", "toolbar", "control", "vote"],
    &["logo", "brand"],
    &["shipping", "delivery", "return", "warranty", "store", "locator"],
    &["language", "locale", "currency", "country"],
    &["trending", "popular", "latest", "recent", "featured"],
    &["notice", "alert", "warning", "announcement", "note"],
    &["docs", "documentation", "guide", "doc"],
    &["list"],
    &["table"],
    &["link"],
    &["contact", "address", "phone"],
    &["noprint", "no-print"],
];

struct Words {
    finder: AhoCorasick,
    /// For each word its hint and its length.
    words: Vec<(u8, u8)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let words = || GROUPS.iter().enumerate().flat_map(|(group, words)| words.iter().map(move |word| (group, *word)));
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words().map(|(_, word)| word))
        .expect("a few short words");
    Words { finder, words: words().map(|(group, word)| (group as u8, word.len() as u8)).collect() }
});

/// Longer lists of names are looked at in part.
const MAX_NAMES_BYTES: usize = 512;

pub(crate) fn of_names(names: &[u8]) -> Hints {
    let names = &names[..names.len().min(MAX_NAMES_BYTES)];
    let mut found = 0;
    if names.len() < 2 {
        return Hints(0);
    }
    let words = &*WORDS;
    for hit in words.finder.find_overlapping_iter(Input::new(names)) {
        let (group, length) = words.words[hit.pattern().as_usize()];
        let begins = length > 4 || begins_word(names, hit.start());
        let ends = length > 3 || ends_word(names, hit.end());
        if begins && ends {
            found |= 1 << group;
        }
    }
    Hints(found)
}

fn begins_word(names: &[u8], at: usize) -> bool {
    at == 0
        || !names[at - 1].is_ascii_alphabetic()
        || (names[at].is_ascii_uppercase() && names[at - 1].is_ascii_lowercase())
}

fn ends_word(names: &[u8], at: usize) -> bool {
    names.get(at).is_none_or(|next| !next.is_ascii_lowercase())
}

/// Whether a style keeps its element from being shown.
pub(crate) fn is_hiding(style: &[u8]) -> bool {
    let value_of = |declaration: &[u8], name: &[u8]| {
        let (found, value) = declaration.split_at(declaration.iter().position(|byte| *byte == b':')?);
        found.trim_ascii().eq_ignore_ascii_case(name).then(|| value[1..].trim_ascii().to_ascii_lowercase())
    };
    style.split(|byte| *byte == b';').any(|declaration| {
        value_of(declaration, b"display").is_some_and(|value| value.starts_with(b"none"))
            || value_of(declaration, b"visibility").is_some_and(|value| value.starts_with(b"hidden"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(names: &str, word: &str) -> bool {
        let group = GROUPS.iter().position(|words| words.contains(&word)).unwrap();
        of_names(names.as_bytes()).has(group)
    }

    #[test]
    fn words_are_found_inside_names_whatever_their_case() {
        assert!(has("site-Footer dark", "footer"));
        assert!(has("articleBody", "article") && has("articleBody", "body"));
        assert!(has("productdescription", "descr"));
        assert!(has("nav", "nav") && has("main-nav", "nav") && has("mainNav", "nav") && has("nav_1", "nav"));
    }

    #[test]
    fn short_words_count_only_as_words() {
        assert!(!has("unavailable", "nav"));
        assert!(!has("loading shadow", "ad"));
        assert!(has("top-ad", "ad"));
        assert!(!has("domain", "main"));
    }

    #[test]
    fn styles_that_hide_are_known() {
        assert!(is_hiding(b"color: red; display : NONE !important"));
        assert!(is_hiding(b"visibility:hidden"));
        assert!(!is_hiding(b"display:block;content:none"));
    }
}
