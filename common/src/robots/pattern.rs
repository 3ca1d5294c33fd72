//! One path pattern of a robots.txt file, and the normal form in which paths and patterns are compared.
//!
//! Normal form (RFC 9309, 2.2.2): escapes of unreserved characters are undone, other escapes have upper-case digits,
//! and everything that cannot stand in a URL is escaped. A literal `*` or `$` is escaped as well, in paths and in
//! patterns, so that in a pattern only the special ones remain.
//!
//! Matching never goes back over a `*` that has been passed: the leftmost place of each part is as good as any other.
//! Each part is searched for in linear time, so the cost is at most the length of path and pattern together, whatever the
//! file says; patterns that need a byte which the path lacks, or more bytes than it has, cost next to nothing.

use memchr::memmem;

/// A rule's pattern, cut at its `*`s.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// First and last may be empty, those between are not.
    parts: Vec<Box<[u8]>>,
    anchored: bool,
    /// Of the normal form; the longest match wins.
    length: usize,
    /// Bytes that a path must have at least.
    shortest: usize,
    needs: Needs,
}

/// Which bytes occur. The normal form has nothing but ASCII.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs(u128);

impl Needs {
    pub fn of(text: &[u8]) -> Self {
        Self(text.iter().fold(0, |bits, byte| bits | 1 << (byte & 127)))
    }

    fn lacks(self, wanted: Self) -> bool {
        wanted.0 & !self.0 != 0
    }
}

impl Pattern {
    /// `text` is the value of a rule without surrounding white space.
    pub fn parse(text: &[u8]) -> Self {
        let (text, anchored) = match text.split_last() {
            Some((b'$', rest)) => (rest, true),
            _ => (text, false),
        };
        let mut parts: Vec<Box<[u8]>> =
            text.split(|&byte| byte == b'*').map(|part| normal_form(part).into_boxed_slice()).collect();
        let literal = parts.iter().map(|part| part.len()).sum::<usize>();
        let length = literal + parts.len() - 1 + usize::from(anchored);
        // Several `*` in a row match what one matches.
        let (mut number, last) = (0, parts.len() - 1);
        parts.retain(|part| {
            let at_an_end = number == 0 || number == last;
            number += 1;
            at_an_end || !part.is_empty()
        });
        let needs = parts.iter().fold(Needs::default(), |needs, part| Needs(needs.0 | Needs::of(part).0));
        Self { parts, anchored, length, shortest: literal, needs }
    }

    pub fn length(&self) -> usize {
        self.length
    }

    pub fn has_wildcard(&self) -> bool {
        self.parts.len() > 1
    }

    /// The pieces between its `*`s.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    pub fn is_anchored(&self) -> bool {
        self.anchored
    }

    /// What stands before the first `*`: a path that matches begins with it.
    pub fn prefix(&self) -> &[u8] {
        &self.parts[0]
    }

    /// The directory whose index page the pattern names, as a pattern for the directory itself.
    pub fn directory_of_index(text: &[u8]) -> Option<Self> {
        let file = text.iter().rposition(|&byte| byte == b'/')? + 1;
        text[file..].starts_with(b"index.htm").then(|| Self::parse(&[&text[..file], b"$"].concat()))
    }

    /// Whether a path in normal form may match, as far as its length and its bytes tell. No path that matches is excluded.
    #[inline]
    pub fn may_match(&self, path: &[u8], path_has: Needs) -> bool {
        path.len() >= self.shortest && !path_has.lacks(self.needs) && path.starts_with(&self.parts[0])
    }

    /// Whether a path in normal form matches.
    pub fn matches(&self, path: &[u8]) -> bool {
        let (first, rest) = self.parts.split_first().expect("splitting gives at least one part");
        let Some(mut left) = path.strip_prefix(&**first) else {
            return false;
        };
        let Some((last, middle)) = rest.split_last() else {
            return !self.anchored || left.is_empty();
        };
        if self.anchored {
            // The end is fixed, so it is looked at first and taken off.
            match left.strip_suffix(&**last) {
                Some(before) => left = before,
                None => return false,
            }
        }
        for part in middle {
            match find(left, part) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        self.anchored || find(left, last).is_some()
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    match part {
        [] => Some(0),
        [byte] => memchr::memchr(*byte, text),
        _ => memmem::find(text, part),
    }
}

/// The form in which paths and patterns are compared.
pub fn normal_form(text: &[u8]) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if text.iter().all(|byte| STANDS_FOR_ITSELF[usize::from(*byte)]) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let escaped = (byte == b'%').then(|| text.get(at + 1..at + 3).and_then(hex_pair)).flatten();
        let value = escaped.unwrap_or(byte);
        at += if escaped.is_some() { 3 } else { 1 };
        let plain = if escaped.is_some() { is_unreserved(value) } else { STANDS_FOR_ITSELF[usize::from(value)] };
        if plain {
            out.push(value);
        } else {
            out.extend([b'%', HEX[usize::from(value >> 4)], HEX[usize::from(value & 15)]]);
        }
    }
    out
}

fn hex_pair(pair: &[u8]) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Bytes that are unreserved, or reserved without a meaning in patterns.
const STANDS_FOR_ITSELF: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let reserved = matches!(
            byte as u8,
            b':' | b'/'
                | b'?'
                | b'#'
                | b'['
                | b']'
                | b'@'
                | b'!'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'+'
                | b','
                | b';'
                | b'='
        );
        table[byte] = reserved || is_unreserved(byte as u8);
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern.as_bytes()).matches(&normal_form(path.as_bytes()))
    }

    #[test]
    fn stars_match_anything_and_a_final_dollar_the_end() {
        assert!(matches("/fish", "/fish.html") && !matches("/fish", "/Fish"));
        assert!(matches("/*.php", "/folder/any.php.file?x") && !matches("/*.php", "/windows.PHP"));
        assert!(matches("/*.php$", "/a.php") && !matches("/*.php$", "/a.php?x") && !matches("/a$", "/ab"));
        assert!(matches("*", "/") && matches("/a**b", "/axxb") && matches("/$", "/") && !matches("/$", "/a"));
        assert!(matches("/a*b*c$", "/abbcbc") && !matches("/ab*ba", "/aba"));
    }

    #[test]
    fn escapes_are_compared_in_normal_form() {
        assert!(matches("/%62%61z", "/baz") && matches("/ツ", "/%e3%83%84") && matches("/a%3cd", "/a<d"));
        assert!(!matches("/a%2fb", "/a/b") && matches("/a%2fb", "/a%2Fb"));
        assert!(matches("/%2A/", "/*/") && !matches("/%2A/", "/x/") && matches("/x$/y", "/x%24/y"));
    }

    #[test]
    fn an_index_page_stands_for_its_directory() {
        let directory = Pattern::directory_of_index(b"/docs/index.html").unwrap();
        assert!(directory.matches(b"/docs/") && !directory.matches(b"/docs/a"));
        assert!(Pattern::directory_of_index(b"/docs/page.html").is_none());
    }

    /// The definition: a `*` takes any number of bytes, every choice is tried.
    fn by_definition(pattern: &[u8], anchored: bool, path: &[u8]) -> bool {
        match pattern.split_first() {
            None => !anchored || path.is_empty(),
            Some((b'*', rest)) => (0..=path.len()).any(|taken| by_definition(rest, anchored, &path[taken..])),
            Some((byte, rest)) => path.first() == Some(byte) && by_definition(rest, anchored, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn matching_without_going_back_loses_nothing(pattern in "[ab*]{0,8}", anchored: bool, path in "[ab]{0,10}") {
            let text = if anchored { format!("{pattern}$") } else { pattern.clone() };
            prop_assert_eq!(
                Pattern::parse(text.as_bytes()).matches(path.as_bytes()),
                by_definition(pattern.as_bytes(), anchored, path.as_bytes())
            );
        }

        #[test]
        fn a_quick_look_excludes_nothing_that_matches(pattern in "[ab*]{0,8}\\$?", path in "[ab]{0,10}") {
            let whole = Pattern::parse(pattern.as_bytes());
            if whole.matches(path.as_bytes()) {
                prop_assert!(path.as_bytes().starts_with(whole.prefix()));
                prop_assert!(whole.may_match(path.as_bytes(), Needs::of(path.as_bytes())));
            }
        }

        #[test]
        fn normal_form_is_a_fixed_point(text: Vec<u8>) {
            let once = normal_form(&text);
            prop_assert_eq!(normal_form(&once), once);
        }
    }
}
