//! Addresses in CSS: `url(…)`, and strings where CSS takes a string for an address, in `@import` and `image-set()`.
//!
//! A sheet is cut into tokens by the rules that browsers follow, in one pass; which brackets are open is a stack. Tokens
//! that hold no address are passed on as they stand, but for three things: comments are emptied, nothing looks like a
//! tag of HTML, and characters of which browsers disagree whether they are part of a name are escaped.

use cssparser::{Parser, ParserInput, Token, serialize_string};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Cancelled, LinkRewriter, References, Use};

/// `base` is the address of the style sheet. Ends early when `cancelled` is.
pub fn rewrite_css(
    css: &str,
    base: Url,
    link: &mut LinkRewriter<'_>,
    cancelled: &CancellationToken,
) -> Result<String, Cancelled> {
    rewrite(css, &mut References::of_sheet(base, css.len(), link, cancelled))
}

pub(super) fn rewrite(css: &str, references: &mut References<'_, '_>) -> Result<String, Cancelled> {
    let out = String::with_capacity(css.len());
    let mut rewriter = CssRewriter { out, open: Vec::new(), prelude: Prelude::Other, prelude_depth: 0 };
    let mut rest = css;
    loop {
        // The parser goes into a block by recursion or skips it, so a new one begins behind each bracket.
        let mut input = ParserInput::new(rest);
        let mut parser = Parser::new(&mut input);
        let behind = loop {
            let start = parser.position();
            let Ok(token) = parser.next_including_whitespace_and_comments().cloned() else {
                return Ok(rewriter.out);
            };
            references.step()?;
            let behind = parser.position().byte_index();
            rewriter.token(&token, parser.slice_from(start), &rest[behind..], references);
            if opens(&token) {
                break behind;
            }
        };
        rest = &rest[behind..];
    }
}

fn opens(token: &Token<'_>) -> bool {
    matches!(token, Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock | Token::CurlyBracketBlock)
}

struct CssRewriter {
    out: String,
    open: Vec<Bracket>,
    /// The at-rule whose beginning was read last, and how many brackets were open there.
    prelude: Prelude,
    prelude_depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// Of a function that takes strings for addresses.
    Addresses,
    Round,
    Square,
    Curly,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Prelude {
    Import,
    Charset,
    Other,
}

impl CssRewriter {
    /// `raw` is how the token is written, `next` what follows it.
    fn token(&mut self, token: &Token<'_>, raw: &str, next: &str, references: &mut References<'_, '_>) {
        match token {
            Token::UnquotedUrl(address) => self.url(references.resolve(address, Use::Part)),
            Token::BadUrl(_) => self.url(None),
            Token::QuotedString(text) => self.string(text, raw, references),
            // Up to the end of the line, which is the next token and ends what is left of it.
            Token::BadString(_) => self.out.push('"'),
            Token::Function(name) => self.function(name, raw),
            Token::AtKeyword(name) => {
                self.prelude = match name {
                    name if name.eq_ignore_ascii_case("import") => Prelude::Import,
                    name if name.eq_ignore_ascii_case("charset") => Prelude::Charset,
                    _ => Prelude::Other,
                };
                self.prelude_depth = self.open.len();
                self.name(raw);
            }
            Token::ParenthesisBlock => self.begin(Bracket::Round, raw),
            Token::SquareBracketBlock => self.begin(Bracket::Square, raw),
            Token::CurlyBracketBlock => self.begin(Bracket::Curly, raw),
            Token::CloseParenthesis => self.end(&[Bracket::Round, Bracket::Addresses], raw),
            Token::CloseSquareBracket => self.end(&[Bracket::Square], raw),
            Token::CloseCurlyBracket => self.end(&[Bracket::Curly], raw),
            Token::Semicolon => {
                self.end_prelude();
                self.out.push(';');
            }
            Token::Comment(_) => self.out.push_str("/**/"),
            // Marks that styles were once hidden behind mean nothing, but keep apart what stands around them.
            Token::CDO | Token::CDC => self.out.push(' '),
            Token::Delim('<') => {
                self.out.push('<');
                if !next.starts_with(|c: char| c == '=' || c.is_ascii_whitespace()) {
                    self.out.push(' ');
                }
            }
            _ => self.name(raw),
        }
    }

    fn string(&mut self, text: &str, raw: &str, references: &mut References<'_, '_>) {
        let in_prelude = |of: Prelude| self.prelude == of && self.prelude_depth == self.open.len();
        if self.open.last() == Some(&Bracket::Addresses) || in_prelude(Prelude::Import) {
            let address = references.resolve(text, Use::Part).unwrap_or_default();
            self.quoted(&address);
        } else if in_prelude(Prelude::Charset) {
            self.quoted("utf-8");
        } else if raw.contains('<') {
            self.quoted(text);
        } else {
            self.out.push_str(raw);
        }
    }

    fn function(&mut self, name: &str, raw: &str) {
        // A variable could hold an address as a string, which is none where it is set.
        let is_dropped = self.open.last() == Some(&Bracket::Addresses) && !may_stand_beside_addresses(name);
        let takes_addresses = is_one_of(name, &["url", "src", "image-set", "-webkit-image-set", "image"]);
        let raw = if is_dropped { "unknown(" } else { raw };
        self.begin(if takes_addresses { Bracket::Addresses } else { Bracket::Round }, raw);
    }

    fn begin(&mut self, bracket: Bracket, raw: &str) {
        if bracket == Bracket::Curly {
            self.end_prelude();
        }
        self.open.push(bracket);
        self.name(raw);
    }

    /// A bracket that does not fit the one that is open closes nothing.
    fn end(&mut self, closed: &[Bracket], raw: &str) {
        if self.open.last().is_some_and(|open| closed.contains(open)) {
            self.open.pop();
        }
        if self.open.len() < self.prelude_depth {
            self.prelude = Prelude::Other;
        }
        self.out.push_str(raw);
    }

    fn end_prelude(&mut self) {
        if self.open.len() <= self.prelude_depth {
            self.prelude = Prelude::Other;
        }
    }

    fn url(&mut self, address: Option<String>) {
        self.out.push_str("url(");
        self.quoted(&address.unwrap_or_default());
        self.out.push(')');
    }

    fn quoted(&mut self, text: &str) {
        if !text.contains('<') {
            let written = serialize_string(text, &mut self.out);
            return written.expect("writing to a string does not fail");
        }
        let mut quoted = String::with_capacity(text.len() + 16);
        serialize_string(text, &mut quoted).expect("writing to a string does not fail");
        self.out.push_str(&quoted.replace('<', "\\3c "));
    }

    /// A token that may hold a name. A `<` in a name stands behind a backslash.
    fn name(&mut self, raw: &str) {
        if raw.is_ascii() && !raw.contains('<') {
            return self.out.push_str(raw);
        }
        let mut is_escaped = false;
        for character in raw.chars() {
            if character == '<' || !(character.is_ascii() || is_part_of_names(character)) {
                let backslash = if is_escaped { "" } else { "\\" };
                self.out.push_str(&format!("{backslash}{:x} ", u32::from(character)));
            } else {
                self.out.push(character);
            }
            is_escaped = character == '\\' && !is_escaped;
        }
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Functions that bring no strings of their own, or strings that are no addresses.
fn may_stand_beside_addresses(name: &str) -> bool {
    const KNOWN: [&str; 13] = [
        "url",
        "src",
        "image",
        "image-set",
        "-webkit-image-set",
        "type",
        "calc",
        "cross-fade",
        "-webkit-cross-fade",
        "element",
        "crossorigin",
        "integrity",
        "referrerpolicy",
    ];
    is_one_of(name, &KNOWN) || name.to_ascii_lowercase().ends_with("-gradient")
}

/// Characters beyond ASCII that are part of a name by the newer rule of CSS Syntax too; the older one takes them all.
fn is_part_of_names(character: char) -> bool {
    matches!(
        character,
        '\u{b7}'
            | '\u{c0}'..='\u{d6}'
            | '\u{d8}'..='\u{f6}'
            | '\u{f8}'..='\u{37d}'
            | '\u{37f}'..='\u{1fff}'
            | '\u{200c}'
            | '\u{200d}'
            | '\u{203f}'
            | '\u{2040}'
            | '\u{2070}'..='\u{218f}'
            | '\u{2c00}'..='\u{2fef}'
            | '\u{3001}'..='\u{d7ff}'
            | '\u{f900}'..='\u{fdcf}'
            | '\u{fdf0}'..='\u{fffd}'
            | '\u{10000}'..
    )
}
