//! Word documents (DOCX): paragraphs, headings by their styles, tables, links, notes and properties.

use std::collections::HashMap;

use seine_proto::analyser::v1::ConvertedDocument;

use super::archive::{OfficeArchive, is_archive_with};
use super::writer::{DocumentWriter, Form};
use super::{DocumentFormat, Unreadable, properties};
use crate::charset;
use crate::format::markup::{self, MarkupAttributes, Reader};

const DOCUMENT: &str = "word/document.xml";

pub(super) struct Docx;

impl DocumentFormat for Docx {
    fn name(&self) -> &'static str {
        "docx"
    }

    fn content_types(&self) -> &'static [&'static str] {
        &[
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
            "application/vnd.ms-word.document.macroenabled.12",
        ]
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["docx", "docm", "dotx"]
    }

    fn is_recognised(&self, body: &[u8]) -> bool {
        is_archive_with(body, DOCUMENT.as_bytes())
    }

    fn convert(&self, body: &[u8]) -> Result<ConvertedDocument, Unreadable> {
        let mut archive = OfficeArchive::open(body)?;
        let Some(document) = archive.read(DOCUMENT)? else {
            return Err(format!("has no {DOCUMENT} in it"));
        };
        let styles = archive.read("word/styles.xml")?.map(|xml| heading_styles(&xml)).unwrap_or_default();
        let mut reader = DocumentReader { styles, ..DocumentReader::default() };
        reader.read_part(&document, archive.read("word/_rels/document.xml.rels")?);
        for notes in ["footnotes", "endnotes"] {
            if let Some(part) = archive.read(&format!("word/{notes}.xml"))? {
                reader.read_part(&part, archive.read(&format!("word/_rels/{notes}.xml.rels"))?);
            }
        }
        let properties = archive.read("docProps/core.xml")?.map(|xml| properties::read(&xml)).unwrap_or_default();
        let properties = reader.writer.titled(properties);
        Ok(reader.writer.finish(properties))
    }
}

/// More relations or styles are an attack.
const MAX_NAMES: usize = 50_000;

fn read_xml(xml: &[u8], reader: &mut impl Reader) {
    let decoded = charset::to_text(xml, None, markup::declared_charset);
    markup::read(decoded.text.as_bytes(), reader);
}

fn text_of(attributes: &MarkupAttributes, name: &[u8]) -> Option<String> {
    attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Where the links of a part lead, by the names that it uses for them.
#[derive(Default)]
struct Relations(HashMap<String, String>);

impl Reader for Relations {
    fn start(&mut self, name: &[u8], attributes: &MarkupAttributes) {
        let is_link = attributes.get(b"type").is_some_and(|kind| kind.ends_with(b"/hyperlink"));
        if name == b"relationship"
            && is_link
            && self.0.len() < MAX_NAMES
            && let (Some(id), Some(target)) = (text_of(attributes, b"id"), text_of(attributes, b"target"))
        {
            self.0.insert(id, target);
        }
    }

    fn end(&mut self, _: &[u8]) {}
    fn text(&mut self, _: &[u8]) {}
}

/// Styles by their identifiers, which are in the language of whoever wrote the document; their names are not.
#[derive(Default)]
struct HeadingStyles {
    levels: HashMap<String, u32>,
    open: Option<String>,
}

fn heading_styles(xml: &[u8]) -> HashMap<String, u32> {
    let mut styles = HeadingStyles::default();
    read_xml(xml, &mut styles);
    styles.levels
}

impl Reader for HeadingStyles {
    fn start(&mut self, name: &[u8], attributes: &MarkupAttributes) {
        match name {
            b"w:style" => self.open = text_of(attributes, b"w:styleid"),
            b"w:name" => {
                let level = text_of(attributes, b"w:val").and_then(|name| heading_level(&name));
                if let (Some(id), Some(level)) = (&self.open, level)
                    && self.levels.len() < MAX_NAMES
                {
                    self.levels.insert(id.clone(), level);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, _: &[u8]) {}
    fn text(&mut self, _: &[u8]) {}
}

/// `heading 2` as styles are named, and the title.
fn heading_level(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    if name == "title" {
        return Some(1);
    }
    name.strip_prefix("heading")?.trim().parse().ok().filter(|level| (1..=9).contains(level))
}

#[derive(Default)]
struct DocumentReader {
    writer: DocumentWriter,
    styles: HashMap<String, u32>,
    relations: Relations,
    is_text: bool,
    /// The code of a field, where links may stand too.
    field: Option<Vec<u8>>,
    level: Option<u32>,
    is_item: bool,
    cell_depth: u32,
    /// What is shown to old programs only, and says the same once more.
    fallback_depth: u32,
}

impl DocumentReader {
    fn read_part(&mut self, xml: &[u8], relations: Option<Vec<u8>>) {
        self.relations = Relations::default();
        if let Some(xml) = relations {
            read_xml(&xml, &mut self.relations);
        }
        read_xml(xml, self);
    }

    fn end_paragraph(&mut self) {
        let form = match self.level.take() {
            Some(level) => Form::Heading(level),
            None if self.is_item => Form::ListItem,
            None => Form::Paragraph,
        };
        self.is_item = false;
        if self.cell_depth > 0 {
            self.writer.end_word();
        } else {
            self.writer.end_block(form);
        }
    }

    /// `HYPERLINK "http://…" \o "tip"`.
    fn end_field_code(&mut self) {
        let Some(code) = self.field.take() else { return };
        let code = String::from_utf8_lossy(&code);
        let target = code.trim().strip_prefix("HYPERLINK").map(str::trim_start);
        if let Some(target) = target.and_then(|rest| rest.strip_prefix('"')).and_then(|rest| rest.split('"').next()) {
            self.writer.open_link(target);
        }
    }
}

impl Reader for DocumentReader {
    fn start(&mut self, name: &[u8], attributes: &MarkupAttributes) {
        match name {
            b"mc:fallback" => self.fallback_depth += 1,
            _ if self.fallback_depth > 0 => {}
            b"w:t" => self.is_text = true,
            b"w:tab" | b"w:br" | b"w:cr" | b"w:ptab" => self.writer.end_word(),
            b"w:nobreakhyphen" => self.writer.push(b"-"),
            b"w:pstyle" => {
                self.level = text_of(attributes, b"w:val")
                    .and_then(|style| self.styles.get(&style).copied().or_else(|| heading_level(&style)));
            }
            b"w:numpr" => self.is_item = true,
            b"w:tc" => self.cell_depth += 1,
            b"w:hyperlink" => {
                let target = text_of(attributes, b"r:id").and_then(|id| self.relations.0.get(&id).cloned());
                if let Some(target) = target {
                    self.writer.open_link(&target);
                }
            }
            b"w:instrtext" => self.field = self.field.take().or(Some(Vec::new())),
            b"w:fldchar" => match attributes.get(b"w:fldchartype") {
                Some(b"separate") => self.end_field_code(),
                Some(b"end") => self.writer.close_link(),
                _ => {}
            },
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"mc:fallback" => self.fallback_depth = self.fallback_depth.saturating_sub(1),
            _ if self.fallback_depth > 0 => {}
            b"w:t" => self.is_text = false,
            b"w:p" => self.end_paragraph(),
            b"w:hyperlink" => self.writer.close_link(),
            b"w:tc" => {
                self.cell_depth = self.cell_depth.saturating_sub(1);
                if self.cell_depth == 0 {
                    self.writer.end_cell();
                }
            }
            b"w:tr" if self.cell_depth == 0 => self.writer.end_row(),
            _ => {}
        }
    }

    fn text(&mut self, piece: &[u8]) {
        const MAX_CODE_BYTES: usize = 8 << 10;
        if self.fallback_depth > 0 {
            return;
        }
        if self.is_text {
            self.writer.push(piece);
        } else if let Some(code) = &mut self.field
            && code.len() + piece.len() <= MAX_CODE_BYTES
        {
            code.extend_from_slice(piece);
        }
    }
}
