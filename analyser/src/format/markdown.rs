//! Markdown: rendered to HTML, then read like it, so that headings, emphasis and links mean the same.

use super::{Content, Format, HtmlPage, Source};
use crate::charset;
use crate::extract::links::LinkCollector;
use crate::extract::text::cut;

/// Rendering takes up to a hundred times the room of the source; a longer one is a dump.
const MAX_SOURCE_BYTES: usize = 2 << 20;

pub(crate) struct Markdown;

impl Format for Markdown {
    fn reads(&self, content_type: &str, _start: &[u8]) -> bool {
        matches!(content_type, "text/markdown" | "text/x-markdown")
    }

    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content {
        let decoded = charset::to_text(source.body, source.charset, |_| None);
        let markdown = cut(&decoded.text, MAX_SOURCE_BYTES);
        let mut html = String::with_capacity(markdown.len() * 2);
        pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(&markdown));
        let page = HtmlPage::of_text(&html, source.product_token, links);
        // Such a file has no navigation around it.
        let is_main = vec![true; page.units()];
        let mut content = page.into_content(&is_main);
        content.charset = decoded.charset;
        if content.title.is_empty() {
            content.title = first_heading(&content);
        }
        content
    }
}

fn first_heading(content: &Content) -> String {
    let mut rest = content.text.as_str();
    for block in &content.blocks {
        let (text, behind) = rest.split_at(rest.floor_char_boundary(block.bytes as usize));
        if block.heading_level == 1 {
            return text.trim().to_owned();
        }
        rest = behind;
    }
    String::new()
}
