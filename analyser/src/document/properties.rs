//! What office documents say about themselves: Dublin Core in both families, under slightly different names.

use seine_proto::analyser::v1::ConvertedDocument;

use crate::charset;
use crate::dates::parse_date;
use crate::extract::metadata::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES};
use crate::extract::text::one_line;
use crate::format::markup::{self, MarkupAttributes, Reader};

/// Reads `docProps/core.xml` or `meta.xml`.
pub(super) fn read(xml: &[u8]) -> ConvertedDocument {
    let decoded = charset::to_text(xml, None, markup::declared_charset);
    let mut reader = PropertyReader { found: ConvertedDocument::default(), field: Vec::new() };
    markup::read(decoded.text.as_bytes(), &mut reader);
    reader.found
}

struct PropertyReader {
    found: ConvertedDocument,
    /// The text of the element that is open.
    field: Vec<u8>,
}

impl Reader for PropertyReader {
    fn start(&mut self, _: &[u8], _: &MarkupAttributes) {
        self.field.clear();
    }

    fn end(&mut self, name: &[u8]) {
        let field = std::mem::take(&mut self.field);
        let text = |limit| one_line(&field, limit);
        let date = || parse_date(&String::from_utf8_lossy(&field)).unwrap_or_default();
        let found = &mut self.found;
        match name {
            b"dc:title" => found.title = text(MAX_TITLE_BYTES),
            // In OpenDocument the creator is who changed it last; the first one comes earlier in the file.
            b"dc:creator" | b"meta:initial-creator" if found.author.is_empty() || name.starts_with(b"meta") => {
                found.author = text(MAX_TITLE_BYTES);
            }
            b"dc:description" | b"dc:subject" if found.description.is_empty() || name == b"dc:description" => {
                found.description = text(MAX_DESCRIPTION_BYTES);
            }
            b"cp:keywords" | b"meta:keyword" => {
                let keyword = text(MAX_TITLE_BYTES);
                if !found.keywords.is_empty() && found.keywords.len() < MAX_DESCRIPTION_BYTES {
                    found.keywords.push_str(", ");
                }
                if found.keywords.len() < MAX_DESCRIPTION_BYTES {
                    found.keywords.push_str(&keyword);
                }
            }
            b"dcterms:created" | b"meta:creation-date" => found.published_at_ms = date(),
            b"dcterms:modified" | b"dc:date" => found.modified_at_ms = date(),
            b"dc:language" => found.lang = text(64),
            _ => {}
        }
    }

    fn text(&mut self, piece: &[u8]) {
        const MAX_FIELD_BYTES: usize = 64 << 10;
        if self.field.len() + piece.len() <= MAX_FIELD_BYTES {
            self.field.extend_from_slice(piece);
        }
    }
}
