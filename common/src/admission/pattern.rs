//! Globs and regular expressions, compiled into one automaton for each list.
//!
//! Time to match is linear in the text whatever the patterns are, and the memory of the automaton is limited.

use std::borrow::Cow;
use std::sync::Arc;

use regex::{RegexBuilder, RegexSet, RegexSetBuilder};

use super::verdict::{RuleName, WrongPattern};

const MAX_PATTERN_BYTES: usize = 2048;
/// Plain host names do not count: they are looked up in a table.
const MAX_PATTERNS: usize = 1000;
const MAX_COMPILED_BYTES_EACH: usize = 1 << 20;
const MAX_COMPILED_BYTES: usize = 16 << 20;
/// The cache of each thread that matches.
const MAX_CACHE_BYTES: usize = 4 << 20;

/// What the patterns of a list are matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Host,
    Url,
    Parameter,
}

#[derive(Clone, Debug)]
pub(super) struct PatternSet {
    set: RegexSet,
    /// As written, in the order of the set.
    texts: Vec<Arc<str>>,
    /// Which bytes a text may begin with to match at all; `None` when any may. Spares most texts the automaton.
    first_bytes: Option<Box<[bool; 256]>>,
}

impl PatternSet {
    pub fn compile<T: AsRef<str>>(
        rule: RuleName,
        subject: Subject,
        texts: &[T],
        wrong: &mut Vec<WrongPattern>,
    ) -> Self {
        let (mut expressions, mut kept) = (Vec::new(), Vec::<Arc<str>>::new());
        if texts.len() > MAX_PATTERNS {
            wrong.push(WrongPattern::TooMany { rule, count: texts.len(), most: MAX_PATTERNS });
        } else {
            for text in texts.iter().map(AsRef::as_ref) {
                match expression(rule, subject, text) {
                    Ok(expression) => {
                        expressions.push(expression);
                        kept.push(text.into());
                    }
                    Err(error) => wrong.push(error),
                }
            }
        }
        let set = RegexSetBuilder::new(&expressions)
            .case_insensitive(subject != Subject::Url)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(MAX_CACHE_BYTES)
            .build();
        let set = set.unwrap_or_else(|_| {
            wrong.push(WrongPattern::TooLargeTogether { rule });
            RegexSet::empty()
        });
        let first_bytes = first_bytes(&kept, subject);
        Self { set, texts: kept, first_bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub fn matches(&self, text: &str) -> bool {
        let may_begin = |table: &[bool; 256]| text.bytes().next().is_some_and(|byte| table[usize::from(byte)]);
        !self.texts.is_empty() && self.first_bytes.as_deref().is_none_or(may_begin) && self.set.is_match(text)
    }

    /// The first pattern of the list that matches. Asks for any match first: that is all that most texts need.
    pub fn find(&self, text: &str) -> Option<&Arc<str>> {
        if !self.matches(text) {
            return None;
        }
        self.set.matches(text).iter().next().and_then(|number| self.texts.get(number))
    }
}

/// Only worth it for names of parameters: all URLs begin alike.
fn first_bytes(texts: &[Arc<str>], subject: Subject) -> Option<Box<[bool; 256]>> {
    if subject != Subject::Parameter || texts.iter().any(|text| text.starts_with("re:")) {
        return None;
    }
    let mut table = Box::new([false; 256]);
    for text in texts {
        let first = text.bytes().next().filter(|byte| *byte != b'*' && byte.is_ascii())?;
        table[usize::from(first.to_ascii_lowercase())] = true;
        table[usize::from(first.to_ascii_uppercase())] = true;
    }
    Some(table)
}

fn expression(rule: RuleName, subject: Subject, text: &str) -> Result<String, WrongPattern> {
    if text.len() > MAX_PATTERN_BYTES {
        let start = text.chars().take(40).collect();
        return Err(WrongPattern::TooLong { rule, start, bytes: text.len(), most: MAX_PATTERN_BYTES });
    }
    let Some(regex) = text.strip_prefix("re:") else {
        if text.trim().is_empty() {
            return Err(WrongPattern::Empty { rule });
        }
        if subject == Subject::Url && !may_begin_a_url(text) {
            return Err(WrongPattern::MatchesNoUrl { rule, value: text.to_owned() });
        }
        let glob = if subject == Subject::Url { as_canonical(text) } else { Cow::Borrowed(text) };
        return Ok(glob_expression(&glob));
    };
    if regex.is_empty() {
        return Err(WrongPattern::Empty { rule });
    }
    // Alone first: the set would not say which of its patterns is wrong.
    let alone = RegexBuilder::new(regex).size_limit(MAX_COMPILED_BYTES_EACH).build();
    match alone {
        Ok(_) => Ok(regex.to_owned()),
        Err(regex::Error::CompiledTooBig(_)) => Err(WrongPattern::TooLarge { rule, value: text.to_owned() }),
        Err(error) => {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Err(WrongPattern::NotARegex { rule, value: text.to_owned(), reason })
        }
    }
}

/// The expression that matches what the glob matches. A `*` at either end becomes a missing anchor, so that the
/// automaton can look for the literal text between.
pub(super) fn glob_expression(glob: &str) -> String {
    // Canonical text is ASCII; this class is smaller than the one of all characters.
    const ANYTHING: &str = r"[\x00-\x7F]*";
    let pieces: Vec<&str> = glob.split('*').collect();
    let last = pieces.len() - 1;
    let mut expression = String::with_capacity(glob.len() + 16);
    if !pieces[0].is_empty() || last == 0 {
        expression.push_str(r"\A");
    }
    let mut written = false;
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        if written {
            expression.push_str(ANYTHING);
        }
        expression.push_str(&regex::escape(piece));
        written = true;
    }
    if !pieces[last].is_empty() || last == 0 {
        expression.push_str(r"\z");
    }
    expression
}

/// Whether the text before the first `*` can stand at the beginning of a canonical URL.
fn may_begin_a_url(glob: &str) -> bool {
    let start = glob.split('*').next().unwrap_or_default().to_ascii_lowercase();
    let whole = start.len() == glob.len();
    ["http://", "https://"].iter().any(|s| start.starts_with(s) || (!whole && s.starts_with(&start)))
}

/// Scheme and host in lower case and other alphabets percent-encoded, since canonical URLs have nothing else.
pub(crate) fn as_canonical(glob: &str) -> Cow<'_, str> {
    let host = glob.find("://").map_or(0, |at| at + 3);
    let path = glob[host..].find('/').map_or(glob.len(), |at| host + at);
    let (start, rest) = if host == 0 { ("", glob) } else { glob.split_at(path) };
    if glob.is_ascii() && !start.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(glob);
    }
    let mut out = start.to_ascii_lowercase();
    for character in rest.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            let mut bytes = [0; 4];
            character.encode_utf8(&mut bytes).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        }
    }
    Cow::Owned(out)
}
