//! What other pages call a page: the texts of the links that point to it.
//!
//! The table is the term dictionary of one field. A page is indexed under a term for each of its links: target, host of
//! the page, text. So all that is said of a target stands together in every segment, once per host and text however many
//! pages repeat it; it is committed, replaced, withdrawn and rebuilt with the pages that say it.
//!
//! What is said of a page is *folded* into its document whenever that is written. Because others speak of it later too,
//! the [writer](crate::writer) goes through all pages again and again, a slice at a time, until each has what is said of it
//! ([`KnownPages::outdated`](crate::known_pages::KnownPages::outdated)). Nothing about that has to be remembered: after a
//! kill it begins anew.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use seine_common::document_id::DocumentId;

use crate::schema::fnv1a;

/// Links of one page that count; further ones are more likely lists.
pub const MAX_LINKS: usize = 100;
/// Characters of a text that say what the target is.
const MAX_CHARACTERS: usize = 80;
/// Texts that one document is found by, and how many of them one host may give.
const MAX_TEXTS: usize = 20;
const MAX_TEXTS_PER_HOST: usize = 5;

/// A link of a page to another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// [`number`] of the target.
    pub target: u64,
    pub text: String,
}

/// Hosts and what they say of one page.
pub type Said = BTreeSet<(u32, String)>;

/// What others say of a page, ready to be indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchors {
    pub texts: Vec<String>,
    /// Tells whether they are the same as before; 0 for none.
    pub digest: u64,
}

/// The beginning of a page's id, which is enough to speak of it.
pub fn number(id: &[u8]) -> u64 {
    id.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

impl Link {
    /// `None` where the text says nothing.
    pub fn new(target: &str, text: &str) -> Option<Self> {
        let text = shortened(text);
        let says_something = text.chars().any(char::is_alphanumeric);
        says_something.then(|| Self { target: number(DocumentId::of(target).as_bytes()), text })
    }

    /// The term that a page of this host is indexed under.
    pub fn term(&self, host_number: u64) -> Vec<u8> {
        let host = (host_number ^ (host_number >> 32)) as u32;
        let mut term = Vec::with_capacity(12 + self.text.len());
        term.extend_from_slice(&self.target.to_be_bytes());
        term.extend_from_slice(&host.to_be_bytes());
        term.extend_from_slice(self.text.as_bytes());
        term
    }

    /// The link, and the host of the page that has it.
    pub fn of_term(term: &[u8]) -> Option<(Self, u32)> {
        let (target, rest) = term.split_first_chunk::<8>()?;
        let (host, text) = rest.split_first_chunk::<4>()?;
        let text = std::str::from_utf8(text).ok()?.to_owned();
        Some((Self { target: u64::from_be_bytes(*target), text }, u32::from_be_bytes(*host)))
    }
}

/// With single spaces; a long text up to the last word that fits.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    let mut characters = 0;
    for word in text.split_whitespace() {
        let space = usize::from(!short.is_empty());
        let length = word.chars().count();
        if characters + space + length > MAX_CHARACTERS {
            // The first word has no other before it that could do, as in languages without spaces.
            if short.is_empty() {
                short.extend(word.chars().take(MAX_CHARACTERS));
            }
            break;
        }
        if space > 0 {
            short.push(' ');
        }
        short.push_str(word);
        characters += space + length;
    }
    short
}

/// Of all that is said, what is indexed: first what most hosts say.
pub fn chosen(said: &Said) -> Anchors {
    let mut of_host: HashMap<u32, usize> = HashMap::new();
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for (host, text) in said {
        let of_host = of_host.entry(*host).or_default();
        *of_host += 1;
        if *of_host <= MAX_TEXTS_PER_HOST {
            *hosts.entry(text).or_default() += 1;
        }
    }
    let mut texts: Vec<(&str, usize)> = hosts.into_iter().collect();
    texts.sort_by(|(a_text, a), (b_text, b)| b.cmp(a).then_with(|| a_text.cmp(b_text)));
    texts.truncate(MAX_TEXTS);
    let digest = match texts.as_slice() {
        [] => 0,
        texts => fnv1a(texts.iter().flat_map(|(text, _)| text.bytes().chain([0]))).max(1),
    };
    Anchors { texts: texts.into_iter().map(|(text, _)| text.to_owned()).collect(), digest }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(pairs: &[(u32, &str)]) -> Vec<String> {
        chosen(&pairs.iter().map(|(host, text)| (*host, (*text).to_owned())).collect()).texts
    }

    #[test]
    fn what_most_hosts_say_comes_first_and_a_text_counts_once() {
        let pairs = [(1, "Home"), (2, "The Seine"), (3, "The Seine"), (1, "A river")];
        assert_eq!(texts(&pairs), ["The Seine", "A river", "Home"]);
    }

    #[test]
    fn one_host_gives_few_texts_and_all_together_not_many() {
        let many: Vec<String> = (0..50).map(|number| format!("text {number:02}")).collect();
        let of_one: Vec<(u32, &str)> = many.iter().map(|text| (7, text.as_str())).collect();
        assert_eq!(texts(&of_one).len(), MAX_TEXTS_PER_HOST);
        let of_all: Vec<(u32, &str)> = (0..).zip(many.iter().map(String::as_str)).collect();
        assert_eq!(texts(&of_all).len(), MAX_TEXTS);
    }

    #[test]
    fn texts_are_shortened_and_those_that_say_nothing_are_left_out() {
        let text = |text: &str| Link::new("http://example.org/", text).map(|link| link.text);
        assert_eq!(text("  Řeka \n Seine  ").as_deref(), Some("Řeka Seine"));
        assert_eq!(text(" » "), None);
        assert_eq!(text(&"word ".repeat(100)).unwrap().len(), 79);
        assert_eq!(text(&"河".repeat(100)).unwrap().chars().count(), MAX_CHARACTERS);
    }

    proptest! {
        #[test]
        fn a_term_is_read_back_and_stands_with_all_others_of_its_target(target: String, text: String, host: u64) {
            if let Some(link) = Link::new(&target, &text) {
                let term = link.term(host);
                prop_assert_eq!(number(&term), number(DocumentId::of(&target).as_bytes()));
                prop_assert_eq!(Link::of_term(&term).unwrap().0, link);
            }
        }

        #[test]
        fn any_bytes_are_read_as_a_term_or_not(bytes: Vec<u8>) {
            let _ = Link::of_term(&bytes);
        }
    }
}
