//! OpenDocument: texts (ODT), presentations and tables, which all hold the same kinds of paragraphs.

use seine_proto::analyser::v1::ConvertedDocument;

use super::archive::{OfficeArchive, stated_type};
use super::writer::{DocumentWriter, Form};
use super::{DocumentFormat, Unreadable, properties};
use crate::charset;
use crate::format::markup::{self, MarkupAttributes, Reader};

pub(super) struct OpenDocumentText;

impl DocumentFormat for OpenDocumentText {
    fn name(&self) -> &'static str {
        "odt"
    }

    fn content_types(&self) -> &'static [&'static str] {
        &[
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.text-template",
            "application/vnd.oasis.opendocument.presentation",
        ]
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["odt", "ott", "odp"]
    }

    fn is_recognised(&self, body: &[u8]) -> bool {
        is_one_of(body, self.content_types())
    }

    fn convert(&self, body: &[u8]) -> Result<ConvertedDocument, Unreadable> {
        convert(body)
    }
}

pub(super) struct OpenDocumentTables;

impl DocumentFormat for OpenDocumentTables {
    fn name(&self) -> &'static str {
        "ods"
    }

    fn content_types(&self) -> &'static [&'static str] {
        &["application/vnd.oasis.opendocument.spreadsheet"]
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["ods"]
    }

    fn is_recognised(&self, body: &[u8]) -> bool {
        is_one_of(body, self.content_types())
    }

    fn convert(&self, body: &[u8]) -> Result<ConvertedDocument, Unreadable> {
        convert(body)
    }
}

fn is_one_of(body: &[u8], content_types: &[&str]) -> bool {
    stated_type(body).is_some_and(|stated| content_types.iter().any(|known| known.as_bytes() == stated))
}

fn convert(body: &[u8]) -> Result<ConvertedDocument, Unreadable> {
    let mut archive = OfficeArchive::open(body)?;
    let manifest = archive.read("META-INF/manifest.xml")?.unwrap_or_default();
    if memchr::memmem::find(&manifest, b"manifest:encryption-data").is_some() {
        return Err("is encrypted".to_owned());
    }
    let Some(content) = archive.read("content.xml")? else {
        return Err("has no content.xml in it".to_owned());
    };
    let mut reader = ContentReader::default();
    let decoded = charset::to_text(&content, None, markup::declared_charset);
    markup::read(decoded.text.as_bytes(), &mut reader);
    let properties = archive.read("meta.xml")?.map(|xml| properties::read(&xml)).unwrap_or_default();
    // The name of a sheet is no title.
    let properties = if reader.has_sheets { properties } else { reader.writer.titled(properties) };
    Ok(reader.writer.finish(properties))
}

#[derive(Default)]
struct ContentReader {
    writer: DocumentWriter,
    in_body: bool,
    /// Its tables are sheets, whose names are shown.
    has_sheets: bool,
    /// Headings and paragraphs that are open; notes nest them.
    paragraph_depth: u32,
    level: Option<u32>,
    list_depth: u32,
    cell_depth: u32,
    /// Remarks of authors and what they took out, which a reader does not see.
    hidden_depth: u32,
}

fn is_hidden(name: &[u8]) -> bool {
    matches!(name, b"text:tracked-changes" | b"office:annotation" | b"text:note-citation")
}

impl Reader for ContentReader {
    fn start(&mut self, name: &[u8], attributes: &MarkupAttributes) {
        match name {
            b"office:body" => self.in_body = true,
            b"office:spreadsheet" => self.has_sheets = true,
            _ if is_hidden(name) => self.hidden_depth += 1,
            _ if self.hidden_depth > 0 || !self.in_body => {}
            b"text:p" | b"text:h" => {
                self.paragraph_depth += 1;
                let level = attributes.get(b"text:outline-level").and_then(|level| str::from_utf8(level).ok());
                self.level = (name == b"text:h").then(|| level.and_then(|level| level.parse().ok()).unwrap_or(1));
            }
            b"text:s" | b"text:tab" | b"text:line-break" => self.writer.end_word(),
            b"text:list-item" => self.list_depth += 1,
            b"table:table" if self.has_sheets => {
                if let Some(name) = attributes.get(b"table:name") {
                    self.writer.line(&String::from_utf8_lossy(name), Form::Heading(2));
                }
            }
            b"table:table-cell" | b"table:covered-table-cell" => self.cell_depth += 1,
            b"text:a" | b"draw:a" => {
                if let Some(target) = attributes.get(b"xlink:href") {
                    self.writer.open_link(&String::from_utf8_lossy(target));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"office:body" => self.in_body = false,
            _ if is_hidden(name) => self.hidden_depth = self.hidden_depth.saturating_sub(1),
            _ if self.hidden_depth > 0 || !self.in_body => {}
            b"text:p" | b"text:h" => self.end_paragraph(),
            b"text:list-item" => self.list_depth = self.list_depth.saturating_sub(1),
            b"table:table-cell" | b"table:covered-table-cell" => {
                self.cell_depth = self.cell_depth.saturating_sub(1);
                if self.cell_depth == 0 {
                    self.writer.end_cell();
                }
            }
            b"table:table-row" if self.cell_depth == 0 => self.writer.end_row(),
            b"text:a" | b"draw:a" => self.writer.close_link(),
            _ => {}
        }
    }

    fn text(&mut self, piece: &[u8]) {
        if self.paragraph_depth > 0 && self.hidden_depth == 0 {
            self.writer.push(piece);
        }
    }
}

impl ContentReader {
    fn end_paragraph(&mut self) {
        self.paragraph_depth = self.paragraph_depth.saturating_sub(1);
        let form = match self.level.take() {
            Some(level) => Form::Heading(level),
            None if self.list_depth > 0 => Form::ListItem,
            None => Form::Paragraph,
        };
        // A note within a paragraph does not end it.
        if self.cell_depth > 0 || self.paragraph_depth > 0 {
            self.writer.end_word();
        } else {
            self.writer.end_block(form);
        }
    }
}
