//! Writes HTML and CSS anew for showing it elsewhere: without anything that runs, posts or fetches by itself, and with
//! links changed as the caller says.
//!
//! Everything is tokenized and written again, so nothing passes that was not understood: tags and attributes by their
//! names, values and text escaped. Scripts, frames, plug-ins, forms, event handlers and refreshes are left out, and foreign
//! elements lose their tags, because inside them other rules of parsing hold. Whoever shows the result must still forbid
//! scripts and fetching; this is the second wall, not the first. Not responsible for finding out the charset.

mod css;
mod srcset;

use html5gum::{DefaultEmitter, HtmlString, Spanned, StartTag, Token, Tokenizer};
use url::Url;

pub use css::rewrite_css;

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

/// `base` is the page's own address.
pub fn rewrite_html(html: &str, base: Url, link: &mut LinkRewriter<'_>) -> String {
    let mut rewriter = Rewriter {
        out: String::with_capacity(html.len() + html.len() / 8),
        references: References { base, base_is_stated: false, link },
        inside: Inside::Page,
        open_text: None,
    };
    rewriter.read(html);
    rewriter.out
}

/// Resolves what a page names as an address.
pub(crate) struct References<'l, 'f> {
    base: Url,
    base_is_stated: bool,
    link: &'l mut LinkRewriter<'f>,
}

impl References<'_, '_> {
    /// What to write for a reference; `None` where it must not be followed.
    fn resolve(&mut self, reference: &str, wanted_as: Use) -> Option<String> {
        let reference = reference.trim();
        let is_image_data = reference.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
        if is_image_data || (reference.starts_with('#') && !self.base_is_stated) {
            return Some(reference.to_owned());
        }
        let target = self.base.join(reference).ok()?;
        match target.scheme() {
            "http" | "https" => (self.link)(&target, wanted_as),
            "mailto" | "tel" => Some(target.into()),
            _ => None,
        }
    }
}

/// How text is to be taken.
#[derive(PartialEq, Eq)]
enum Inside {
    Page,
    Style,
    /// Read as text by a browser with scripts; for all others it is part of the page.
    Noscript,
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
    fn read(&mut self, html: &str) {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(html, emitter) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) => self.start_tag(&tag),
                Token::EndTag(tag) => self.end_tag(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) => self.text(&String::from_utf8_lossy(&text)),
                Token::Doctype(_) if self.out.is_empty() => self.out.push_str("<!doctype html>"),
                Token::Doctype(_) | Token::Comment(_) | Token::Error(_) => {}
            }
        }
        // What follows must not be swallowed by an element that never ended.
        if let Some(name) = self.open_text {
            self.end_tag(name);
        }
    }

    fn start_tag(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        self.inside = match &*name {
            "style" => Inside::Style,
            "noscript" => Inside::Noscript,
            "script" | "iframe" | "noembed" => Inside::Unwanted,
            _ => Inside::Page,
        };
        if name == "base" && !self.references.base_is_stated {
            let stated = attribute(tag, "href").and_then(|href| self.references.base.join(&href).ok());
            if let Some(base) = stated.filter(|base| matches!(base.scheme(), "http" | "https")) {
                self.references.base = base;
                self.references.base_is_stated = true;
            }
        }
        if !is_name(&name) || LEFT_OUT.contains(&&*name) || !is_wanted(&name, tag) {
            return;
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
            if let Some(value) = self.attribute(&attribute, &String::from_utf8_lossy(value), href_is) {
                self.out.push(' ');
                self.out.push_str(&attribute);
                self.out.push_str("=\"");
                escape(&value, &mut self.out);
                self.out.push('"');
            }
        }
        self.out.push('>');
    }

    /// The value to write, or `None` to leave the attribute out.
    fn attribute(&mut self, name: &str, value: &str, href_is: Use) -> Option<String> {
        match name {
            _ if !is_name(name) || name.starts_with("on") => None,
            "href" => self.references.resolve(value, href_is),
            "cite" | "longdesc" => self.references.resolve(value, Use::Link),
            "src" | "poster" | "background" => self.references.resolve(value, Use::Part),
            "srcset" | "imagesrcset" => {
                Some(srcset::rewrite(value, &mut self.references)).filter(|candidates| !candidates.is_empty())
            }
            "style" => Some(css::rewrite(value, &mut self.references)),
            "action" | "formaction" | "srcdoc" | "ping" | "http-equiv" | "integrity" | "crossorigin" | "nonce"
            | "data" | "codebase" | "classid" | "archive" | "manifest" | "is" | "target" => None,
            _ => Some(value.to_owned()),
        }
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

    fn text(&mut self, text: &str) {
        match self.inside {
            Inside::Page => escape(text, &mut self.out),
            Inside::Style => {
                // Marks of comments, which styles were once hidden in, mean nothing; any other bracket is written as CSS
                // writes it, so that nothing in a style looks like a tag.
                let style = css::rewrite(text, &mut self.references).replace("<!--", "").replace("-->", "");
                self.out.push_str(&style.replace('<', "\\3c "));
            }
            Inside::Noscript => {
                self.inside = Inside::Page;
                self.read(text);
            }
            Inside::Unwanted => {}
        }
    }
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
