//! XML of any kind: the text of all elements, each on a line of its own.

use seine_common::limits::MAX_TEXT_BYTES;

use super::markup::{self, MarkupAttributes, Reader};
use super::{Content, Format, Source};
use crate::charset;
use crate::extract::links::LinkCollector;
use crate::extract::metadata::MAX_TITLE_BYTES;
use crate::extract::text::TextBuffer;

pub(crate) struct Xml;

impl Format for Xml {
    fn reads(&self, content_type: &str, _start: &[u8]) -> bool {
        matches!(content_type, "text/xml" | "application/xml") || content_type.ends_with("+xml")
    }

    fn read(&self, source: &Source<'_>, links: LinkCollector) -> Content {
        let decoded = charset::to_text(source.body, source.charset, markup::declared_charset);
        let mut reader = XmlReader {
            text: TextBuffer::of_lines(MAX_TEXT_BYTES),
            title: TextBuffer::of_one_line(MAX_TITLE_BYTES),
            title_state: TitleState::Before,
        };
        markup::read(decoded.text.as_bytes(), &mut reader);
        Content {
            charset: decoded.charset,
            title: reader.title.finish(),
            text: reader.text.finish(),
            links,
            ..Content::default()
        }
    }
}

struct XmlReader {
    text: TextBuffer,
    title: TextBuffer,
    title_state: TitleState,
}

/// The first element of that name is the title.
#[derive(PartialEq, Eq)]
enum TitleState {
    Before,
    Inside,
    Behind,
}

impl Reader for XmlReader {
    fn start(&mut self, name: &[u8], _: &MarkupAttributes) {
        self.text.end_line();
        if name == b"title" && self.title_state == TitleState::Before {
            self.title_state = TitleState::Inside;
        }
    }

    fn end(&mut self, name: &[u8]) {
        self.text.end_line();
        if name == b"title" && self.title_state == TitleState::Inside {
            self.title_state = TitleState::Behind;
        }
    }

    fn text(&mut self, piece: &[u8]) {
        self.text.push(piece);
        if self.title_state == TitleState::Inside {
            self.title.push(piece);
        }
    }
}
