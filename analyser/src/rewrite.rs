//! Sanitises and rewrites HTML and CSS for display elsewhere: without anything that runs, posts or fetches by itself, and
//! with links changed as the caller says.
//!
//! Everything is tokenized and written again, so nothing passes that was not understood: tags and attributes by their
//! names, values and text escaped. Scripts, frames, plug-ins, forms, event handlers and refreshes are left out, and foreign
//! elements lose their tags, because inside them other rules of parsing hold. Whoever shows the result must still forbid
//! scripts and fetching; this is the second wall, not the first. Not responsible for finding out the charset.
//!
//! Invariant: one pass over the tokens without recursion, so that time and memory grow with the page and not with what
//! it nests or repeats; and what is written of addresses is bounded.

mod css;
mod references;
mod srcset;

use html5gum::{DefaultEmitter, HtmlString, Spanned, StartTag, State, Token, Tokenizer, naive_next_state};
use tokio_util::sync::CancellationToken;
use url::Url;

pub use css::rewrite_css;
use references::References;

/// What a page wants with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A reader may go there.
    Link,
    /// The browser fetches it by itself, to show the page as it is meant: a style sheet of its own.
    Style,
    /// The browser fetches it by itself, to show it as a part of the page: an image, what a style refers to.
    Part,
}

/// Gives the address to write for one that the page names, or `None` to leave it out.
pub type LinkRewriter<'l> = dyn FnMut(&Url, Use) -> Option<String> + 'l;

/// Nobody waits for the result any more.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("cancelled: nobody waits for the page any more")]
pub struct Cancelled;

/// `base` is the page's own address. Ends early when `cancelled` is.
pub fn rewrite_html(
    html: &str,
    base: Url,
    link: &mut LinkRewriter<'_>,
    cancelled: &CancellationToken,
) -> Result<String, Cancelled> {
    let mut rewriter = Rewriter {
        out: String::with_capacity(html.len() + html.len() / 8),
        references: References::of_page(base, html.len(), link, cancelled),
        inside: Inside::Page,
        open_text: None,
    };
    rewriter.read(html)?;
    Ok(rewriter.out)
}

/// How text is to be taken.
#[derive(PartialEq, Eq)]
enum Inside {
    Page,
    Style,
    /// Left out.
    Unwanted,
}

struct Rewriter<'l, 'f> {
    out: String,
    references: References<'l, 'f>,
    inside: Inside,
    /// An element that was written and whose text has no tags.
    open_text: Option<&'static str>,
}

/// Elements whose text a browser reads without looking for tags.
const OF_TEXT: [&str; 3] = ["style", "textarea", "title"];

/// The tags go, what they hold stays.
const LEFT_OUT: [&str; 18] = [
    "applet",
    "base",
    "embed",
    "fencedframe",
    "form",
    "frame",
    "frameset",
    "iframe",
    "math",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "param",
    "portal",
    "script",
    "svg",
    "template",
];

impl Rewriter<'_, '_> {
    fn read(&mut self, html: &str) -> Result<(), Cancelled> {
        let mut tokenizer = Tokenizer::new_with_emitter(html, DefaultEmitter::default());
        while let Some(Ok(token)) = tokenizer.next() {
            self.references.step()?;
            match token {
                Token::StartTag(tag) => {
                    if let Some(state) = content_state(&tag.name) {
                        tokenizer.set_state(state);
                    }
                    self.start_tag(&tag)?;
                }
                Token::EndTag(tag) => self.end_tag(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text))?,
                Token::Doctype(_) if self.out.is_empty() => self.out.push_str("<!doctype html>"),
                Token::Doctype(_) | Token::Comment(_) | Token::Error(_) => {}
            }
        }
        // What follows must not be swallowed by an element that never ended.
        if let Some(name) = self.open_text {
            self.end_tag(name);
        }
        Ok(())
    }

    fn start_tag(&mut self, tag: &StartTag<()>) -> Result<(), Cancelled> {
        let name = String::from_utf8_lossy(&tag.name);
        self.inside = match &*name {
            "style" => Inside::Style,
            "script" | "iframe" | "noembed" => Inside::Unwanted,
            _ => Inside::Page,
        };
        if name == "base"
            && let Some(href) = attribute(tag, "href")
        {
            self.references.state_base(&href);
        }
        if !is_name(&name) || LEFT_OUT.contains(&&*name) || !is_wanted(&name, tag) {
            return Ok(());
        }
        self.open_text = OF_TEXT.into_iter().find(|of_text| *of_text == name);
        self.out.push('<');
        self.out.push_str(shown_name(&name));
        let href_is = match &*name {
            "link" if has_rel(tag, "stylesheet") => Use::Style,
            "link" => Use::Part,
            _ => Use::Link,
        };
        for (attribute, value) in &tag.attributes {
            let attribute = String::from_utf8_lossy(attribute);
            if let Some(value) = self.attribute(&attribute, &String::from_utf8_lossy(value), href_is)? {
                self.out.push(' ');
                self.out.push_str(&attribute);
                self.out.push_str("=\"");
                escape(&value, &mut self.out);
                self.out.push('"');
            }
        }
        self.out.push('>');
        Ok(())
    }

    /// The value to write, or `None` to leave the attribute out.
    fn attribute(&mut self, name: &str, value: &str, href_is: Use) -> Result<Option<String>, Cancelled> {
        Ok(match name {
            _ if !is_name(name) || name.starts_with("on") => None,
            "href" => self.references.resolve(value, href_is),
            "cite" | "longdesc" => self.references.resolve(value, Use::Link),
            "src" | "poster" | "background" => self.references.resolve(value, Use::Part),
            "srcset" | "imagesrcset" => {
                Some(srcset::rewrite(value, &mut self.references)).filter(|candidates| !candidates.is_empty())
            }
            "style" => Some(css::rewrite(value, &mut self.references)?),
            "action" | "attributionsrc" | "formaction" | "srcdoc" | "ping" | "http-equiv" | "integrity"
            | "crossorigin" | "nonce" | "data" | "codebase" | "classid" | "archive" | "manifest" | "is" | "target" => {
                None
            }
            _ => Some(value.to_owned()),
        })
    }

    fn end_tag(&mut self, name: &str) {
        self.inside = Inside::Page;
        self.open_text = None;
        if is_name(name) && !LEFT_OUT.contains(&name) {
            self.out.push_str("</");
            self.out.push_str(shown_name(name));
            self.out.push('>');
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Cancelled> {
        match self.inside {
            Inside::Page => escape(text, &mut self.out),
            Inside::Style => self.out.push_str(&css::rewrite(text, &mut self.references)?),
            Inside::Unwanted => {}
        }
        Ok(())
    }
}

/// How the tokenizer must read what follows a start tag, where not as usual. What is said to browsers without scripts is
/// read as they read it, as a part of the page: where this is shown, no script runs.
fn content_state(name: &[u8]) -> Option<State> {
    naive_next_state(name).filter(|_| name != b"noscript")
}

/// Names without any character that could end them.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'))
}

/// Elements whose text is shown as it stands; escaped, it needs an ordinary one.
fn shown_name(name: &str) -> &str {
    match name {
        "xmp" | "plaintext" | "listing" => "pre",
        name => name,
    }
}

/// `<meta>` may refresh or set cookies, and `<link>` may fetch ahead of time.
fn is_wanted(name: &str, tag: &StartTag<()>) -> bool {
    match name {
        "meta" => attribute(tag, "http-equiv").is_none() && attribute(tag, "charset").is_none(),
        "link" => has_rel(tag, "stylesheet") || has_rel(tag, "icon"),
        _ => true,
    }
}

fn has_rel(tag: &StartTag<()>, wanted: &str) -> bool {
    let rel = attribute(tag, "rel").unwrap_or_default();
    rel.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case(wanted))
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value: &Spanned<HtmlString, ()> = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests;
