//! Finds the pieces of a text that become words: words, compounds of code, numbers, and runs without spaces.
//!
//! A word is a run of letters and digits; marks and soft hyphens inside it do not end it. A *compound* is something
//! that people look for whole and in parts: `snake_case`, `HttpClient`, `C++`, `3.14`. A *run* is text of a script that
//! puts no spaces between words. Not responsible for what becomes of them.
//!
//! Invariant: pieces lie on character boundaries, are not empty, do not overlap and come in order.

use std::ops::Range;

use super::cjk::{self, Script};
use super::fold;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Word { range: Range<usize>, ascii: bool },
    Compound(Range<usize>),
    Run { range: Range<usize>, script: Script },
}

pub struct Scanner<'a> {
    text: &'a str,
    /// Everything before this byte is done.
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    pub fn next(&mut self) -> Option<Piece> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            while at < bytes.len() && CLASS[usize::from(bytes[at])] == SEPARATOR {
                at += 1;
            }
            if at == bytes.len() {
                self.at = at;
                return None;
            }
            let start = at;
            let mut humped = false;
            // The classes of the last four characters.
            let mut last = 0u16;
            while at < bytes.len() {
                let class = CLASS[usize::from(bytes[at])];
                if class & (SMALL | CAPITAL | DIGIT) == 0 {
                    break;
                }
                last = last << 4 | u16::from(class);
                humped |= last & 0xff == SMALL_CAPITAL || last == CAPITALS_SMALLS;
                at += 1;
            }
            // Most words of most texts end here: nothing but ASCII in them.
            if at > start && !goes_on(self.text, at) {
                let (end, compound) = compound_end(self.text, start, at);
                self.at = end;
                let range = start..end;
                return Some(if compound || humped {
                    Piece::Compound(range)
                } else {
                    Piece::Word { range, ascii: true }
                });
            }
            match self.beyond_ascii(start) {
                Ok(piece) => {
                    self.at = match &piece {
                        Piece::Word { range, .. } | Piece::Compound(range) | Piece::Run { range, .. } => range.end,
                    };
                    return Some(piece);
                }
                Err(separator_end) => at = separator_end,
            }
        }
    }

    /// What stands at a place where the ASCII rules do not suffice, or the end of the separator there.
    fn beyond_ascii(&self, start: usize) -> Result<Piece, usize> {
        let rest = &self.text[start..];
        let first = rest.chars().next().expect("the text does not end here");
        if let Some(script) = cjk::script(first) {
            let length = rest.find(|c| cjk::script(c) != Some(script)).unwrap_or(rest.len());
            return Ok(Piece::Run { range: start..start + length, script });
        }
        if !first.is_alphanumeric() || fold::joins(first) {
            return Err(start + first.len_utf8());
        }
        let length = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
        Ok(Piece::Word { range: start..start + length, ascii: false })
    }
}

fn is_in_word(c: char) -> bool {
    fold::joins(c) || (c.is_alphanumeric() && cjk::script(c).is_none())
}

/// Whether what stands here belongs to a word that stands before it.
fn goes_on(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at) {
        None => false,
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
        Some(_) => text[at..].chars().next().is_some_and(is_in_word),
    }
}

/// Where the word that ends at `end` ends as a compound, and whether it is one.
fn compound_end(text: &str, start: usize, end: usize) -> (usize, bool) {
    let bytes = text.as_bytes();
    let is = |at: usize, classes: u8| bytes.get(at).is_some_and(|&byte| CLASS[usize::from(byte)] & classes != 0);
    let word = SMALL | CAPITAL | DIGIT;
    match bytes.get(end) {
        Some(b'_') if is(end + 1, word) || bytes.get(end + 1) == Some(&b'_') => {
            let mut at = end;
            let mut last = end;
            while at < bytes.len() && at - end <= MAX_COMPOUND_BYTES && (bytes[at] == b'_' || is(at, word)) {
                at += 1;
                if bytes[at - 1] != b'_' {
                    last = at;
                }
            }
            // Letters beyond ASCII would be cut off from their word.
            let is_no_compound = at - end > MAX_COMPOUND_BYTES || goes_on(text, at);
            if is_no_compound { (end, false) } else { (last, last > end) }
        }
        Some(b'.' | b',') if is(end + 1, DIGIT) && bytes[start..end].iter().all(u8::is_ascii_digit) => {
            let mut last = end;
            while matches!(bytes.get(last), Some(b'.' | b',')) && is(last + 1, DIGIT) {
                let mut at = last + 1;
                while is(at, DIGIT) {
                    at += 1;
                }
                if goes_on(text, at) {
                    break;
                }
                last = at;
            }
            (last, last > end)
        }
        Some(b'+') if bytes.get(end + 1) == Some(&b'+') && !goes_on(text, end + 2) => (end + 2, true),
        Some(b'#') if end - start <= 2 && is(start, SMALL | CAPITAL) && !goes_on(text, end + 1) => (end + 1, true),
        _ => (end, false),
    }
}

/// The parts of a compound, as ranges of the text.
pub fn parts(text: &str, compound: &Range<usize>, parts: &mut Vec<Range<usize>>) {
    parts.clear();
    let bytes = text.as_bytes();
    let class = |at: usize| CLASS[usize::from(bytes[at])];
    let mut start = None;
    for at in compound.clone() {
        let is_word = class(at) & (SMALL | CAPITAL | DIGIT) != 0;
        let hump = start.is_some_and(|start| at > start)
            && class(at) == CAPITAL
            && (class(at - 1) == SMALL
                || (class(at - 1) == CAPITAL
                    && at + 2 < compound.end
                    && class(at + 1) == SMALL
                    && class(at + 2) == SMALL));
        if (!is_word || hump)
            && let Some(from) = start.take()
        {
            parts.push(from..at);
        }
        if is_word && start.is_none() {
            start = Some(at);
        }
    }
    parts.extend(start.map(|from| from..compound.end));
    parts.truncate(MAX_PARTS);
}

/// Further parts of a compound are found in the whole only.
const MAX_PARTS: usize = 16;
/// Longer ones are words in a row. Looking for the end of a compound must not cost more than that: each of its words may
/// have to look for it.
const MAX_COMPOUND_BYTES: usize = 256;

/// What a byte is, one bit each.
const SEPARATOR: u8 = 0;
const SMALL: u8 = 1;
const CAPITAL: u8 = 2;
const DIGIT: u8 = 4;
const BEYOND_ASCII: u8 = 8;

/// A hump of `HttpClient` and of `HTTPServer`, but not of `URLs`.
const SMALL_CAPITAL: u16 = (SMALL as u16) << 4 | CAPITAL as u16;
const CAPITALS_SMALLS: u16 = (CAPITAL as u16) << 12 | (CAPITAL as u16) << 8 | (SMALL as u16) << 4 | SMALL as u16;

const CLASS: [u8; 256] = {
    let mut class = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' => SMALL,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' => DIGIT,
            0x80.. => BEYOND_ASCII,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    class
};

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let mut scanner = Scanner::new(text, 0);
        let mut found = Vec::new();
        while let Some(piece) = scanner.next() {
            found.push(match piece {
                Piece::Word { range, .. } => text[range].to_owned(),
                Piece::Compound(range) => {
                    let mut ranges = Vec::new();
                    parts(text, &range, &mut ranges);
                    let inner: Vec<&str> = ranges.into_iter().map(|part| &text[part]).collect();
                    format!("{}={}", &text[range], inner.join("|"))
                }
                Piece::Run { range, .. } => format!("~{}", &text[range]),
            });
        }
        found
    }

    #[test]
    fn compounds_of_code_are_seen_whole_and_in_parts() {
        assert_eq!(shown("call snake_case()"), ["call", "snake_case=snake|case"]);
        assert_eq!(
            shown("new HttpClient(HTTPServer) of URLs"),
            ["new", "HttpClient=Http|Client", "HTTPServer=HTTP|Server", "of", "URLs"]
        );
        assert_eq!(shown("C++, C# and F#."), ["C++=C", "C#=C", "and", "F#=F"]);
        assert_eq!(shown("__init__ MAX_SIZE_2 _x"), ["init", "MAX_SIZE_2=MAX|SIZE|2", "x"]);
        assert_eq!(shown("1+1 a++b issue#5 abc#"), ["1", "1", "a", "b", "issue", "5", "abc"]);
    }

    #[test]
    fn numbers_are_seen_whole_and_in_parts() {
        assert_eq!(shown("3.14, 1,000,000. v1.2.3rc"), ["3.14=3|14", "1,000,000=1|000|000", "v1", "2", "3rc"]);
        assert_eq!(shown("8080. 5,x"), ["8080", "5", "x"]);
    }

    #[test]
    fn scripts_without_spaces_are_runs() {
        assert_eq!(shown("我们iPhone手机"), ["~我们", "iPhone=i|Phone", "~手机"]);
        assert_eq!(shown("東京タワーへ 한국어를"), ["~東京タワーへ", "~한국어를"]);
    }
}
