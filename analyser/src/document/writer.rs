//! Puts a document together: paragraphs, headings and rows in their order, and links with their text.
//!
//! Invariant: text and links stay within the limits of a description, and the blocks cover the text without gaps.

use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::analyser::v1::{ConvertedDocument, DocumentLink};
use seine_proto::common::v1::{BlockForm, TextBlock};

use crate::extract::links::{MAX_ANCHOR_BYTES, MAX_LINK_BYTES, MAX_LINKS};
use crate::extract::metadata::MAX_TITLE_BYTES;
use crate::extract::text::{TextBuffer, one_line};

/// How a block looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Paragraph,
    Heading(u32),
    ListItem,
    TableRow,
}

pub(super) struct DocumentWriter {
    text: String,
    blocks: Vec<TextBlock>,
    /// The paragraph or cell that is being written.
    open: TextBuffer,
    /// Finished cells of the row that is being written.
    row: Vec<String>,
    row_bytes: usize,
    links: Vec<DocumentLink>,
    link_bytes: usize,
    open_link: Option<(String, TextBuffer)>,
}

impl Default for DocumentWriter {
    fn default() -> Self {
        Self {
            text: String::new(),
            blocks: Vec::new(),
            open: TextBuffer::of_one_line(MAX_TEXT_BYTES),
            row: Vec::new(),
            row_bytes: 0,
            links: Vec::new(),
            link_bytes: 0,
            open_link: None,
        }
    }
}

impl DocumentWriter {
    /// Whether more text would be thrown away.
    pub fn is_full(&self) -> bool {
        const ROOM_OF_A_CHARACTER: usize = 8;
        self.text.len() + self.row_bytes + self.open.len() + ROOM_OF_A_CHARACTER > MAX_TEXT_BYTES
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.open.push(piece);
        if let Some((_, text)) = &mut self.open_link {
            text.push(piece);
        }
    }

    pub fn end_word(&mut self) {
        self.open.end_word();
        if let Some((_, text)) = &mut self.open_link {
            text.end_word();
        }
    }

    /// Ends what was written since the last end; nothing becomes of an empty one.
    pub fn end_block(&mut self, form: Form) {
        let line = self.take_open();
        self.line(&line, form);
    }

    pub fn end_cell(&mut self) {
        let cell = self.take_open();
        if !self.is_full() {
            self.row_bytes += cell.len() + 1;
            self.row.push(cell);
        }
    }

    /// Cells stand apart by tabs.
    pub fn end_row(&mut self) {
        self.row_bytes = 0;
        let row = std::mem::take(&mut self.row).join("\t");
        self.line(row.trim_end(), Form::TableRow);
    }

    fn take_open(&mut self) -> String {
        std::mem::replace(&mut self.open, TextBuffer::of_one_line(MAX_TEXT_BYTES)).finish()
    }

    /// A whole block at once. Lines in it become one.
    pub fn line(&mut self, line: &str, form: Form) {
        let room = MAX_TEXT_BYTES.saturating_sub(self.text.len() + 1);
        let line = &line[..line.floor_char_boundary(room)];
        if line.trim().is_empty() {
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        let (form, heading_level) = match form {
            Form::Paragraph => (BlockForm::Paragraph, 0),
            Form::Heading(level) => (BlockForm::Heading, level.clamp(1, 6)),
            Form::ListItem => (BlockForm::ListItem, 0),
            Form::TableRow => (BlockForm::TableRow, 0),
        };
        let bytes = line.len() as u32 + 1;
        let block = TextBlock { bytes, main: true, form: form.into(), heading_level, ..TextBlock::default() };
        match self.blocks.last_mut() {
            // Headings stay apart: their weight is that of one line.
            Some(last) if form != BlockForm::Heading && TextBlock { bytes, ..*last } == block => last.bytes += bytes,
            _ => self.blocks.push(block),
        }
    }

    /// The text up to [`DocumentWriter::close_link`] is that of the link.
    pub fn open_link(&mut self, target: &str) {
        self.close_link();
        self.open_link = Some((target.to_owned(), TextBuffer::of_one_line(MAX_ANCHOR_BYTES)));
    }

    pub fn close_link(&mut self) {
        if let Some((target, text)) = self.open_link.take() {
            self.link(&target, &text.finish());
        }
    }

    pub fn link(&mut self, target: &str, text: &str) {
        let target = target.trim();
        let text = one_line(text.as_bytes(), MAX_ANCHOR_BYTES);
        let bytes = target.len() + text.len();
        if target.is_empty() || self.links.len() == MAX_LINKS || self.link_bytes + bytes > MAX_LINK_BYTES {
            return;
        }
        self.link_bytes += bytes;
        self.links.push(DocumentLink { target: target.to_owned(), text });
    }

    /// Where the document states no title, its first heading of the highest rank is one.
    pub fn titled(&self, mut properties: ConvertedDocument) -> ConvertedDocument {
        if properties.title.is_empty() {
            properties.title = one_line(self.first_heading().as_bytes(), MAX_TITLE_BYTES);
        }
        properties
    }

    fn first_heading(&self) -> &str {
        let mut best: Option<(u32, &str)> = None;
        let mut rest = self.text.as_str();
        for block in &self.blocks {
            let (text, behind) = rest.split_at(rest.floor_char_boundary(block.bytes as usize));
            rest = behind;
            if block.heading_level > 0 && best.is_none_or(|(level, _)| block.heading_level < level) {
                best = Some((block.heading_level, text));
            }
        }
        best.map_or("", |(_, text)| text)
    }

    /// `properties` is the document without text and links.
    pub fn finish(mut self, properties: ConvertedDocument) -> ConvertedDocument {
        self.end_block(Form::Paragraph);
        self.close_link();
        // The last line needs no end.
        if self.text.pop().is_some()
            && let Some(last) = self.blocks.last_mut()
        {
            last.bytes -= 1;
        }
        ConvertedDocument { text: self.text, blocks: self.blocks, links: self.links, ..properties }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_text_and_rows_are_parted_by_tabs() {
        let mut writer = DocumentWriter::default();
        writer.push(b"The  title");
        writer.end_block(Form::Heading(1));
        writer.push(b"One ");
        writer.open_link("/x");
        writer.push(b" link");
        writer.close_link();
        writer.end_block(Form::Paragraph);
        writer.end_block(Form::Paragraph);
        for cell in ["a", "b c", ""] {
            writer.push(cell.as_bytes());
            writer.end_cell();
        }
        writer.end_row();
        let properties = writer.titled(ConvertedDocument::default());
        let document = writer.finish(properties);
        assert_eq!((document.title.as_str(), document.text.as_str()), ("The title", "The title\nOne link\na\tb c"));
        let blocks: Vec<_> = document.blocks.iter().map(|block| (block.bytes, block.form())).collect();
        assert_eq!(blocks, [(10, BlockForm::Heading), (9, BlockForm::Paragraph), (5, BlockForm::TableRow)]);
        assert_eq!((document.links[0].target.as_str(), document.links[0].text.as_str()), ("/x", "link"));
    }

    #[test]
    fn text_and_links_stay_within_their_limits() {
        let mut writer = DocumentWriter::default();
        for _ in 0..MAX_LINKS + 5 {
            writer.link("/a", "b");
        }
        while !writer.is_full() {
            writer.line(&"é".repeat(100_000), Form::Paragraph);
        }
        writer.line("more", Form::Paragraph);
        let document = writer.finish(ConvertedDocument::default());
        assert!(document.text.len() <= MAX_TEXT_BYTES && document.links.len() == MAX_LINKS);
        assert_eq!(document.blocks.iter().map(|block| block.bytes as usize).sum::<usize>(), document.text.len());
    }
}
