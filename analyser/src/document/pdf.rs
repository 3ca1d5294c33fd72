//! PDF: the text of all pages in the order in which it is drawn, links with the text that they cover, and what the
//! document says about itself.
//!
//! [`content`] follows the drawing instructions as far as they concern text, [`layout`] makes lines and paragraphs of
//! glyphs and their places, and [`meaning`] knows what glyphs stand for. Pictures are not looked at.

mod content;
mod layout;
mod meaning;

use encoding_rs::{UTF_16BE, WINDOWS_1252};
use hayro_syntax::DecryptionError;
use hayro_syntax::object::dict::keys::{A, ANNOTS, LANG, RECT, S, SUBTYPE, URI};
use hayro_syntax::object::{Array, DateTime, Dict, Name, Rect, String as PdfString};
use hayro_syntax::page::Page;
use hayro_syntax::{LoadPdfError, Pdf as File};
use seine_proto::analyser::v1::ConvertedDocument;

use super::writer::DocumentWriter;
use super::{DocumentFormat, Unreadable};
use crate::dates::parse_date;
use crate::extract::metadata::{MAX_DESCRIPTION_BYTES, MAX_TITLE_BYTES};
use crate::extract::text::one_line;
use content::TextReader;
use layout::Layout;

/// Where the mark of a PDF may stand at the latest.
const HEADER_BYTES: usize = 1024;
/// Links of one page.
const MAX_PAGE_LINKS: usize = 500;

pub(super) struct Pdf;

impl DocumentFormat for Pdf {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn content_types(&self) -> &'static [&'static str] {
        &["application/pdf", "application/x-pdf"]
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &["pdf"]
    }

    fn is_recognised(&self, body: &[u8]) -> bool {
        body.starts_with(b"%PDF-")
    }

    fn convert(&self, body: &[u8]) -> Result<ConvertedDocument, Unreadable> {
        if memchr::memmem::find(&body[..body.len().min(HEADER_BYTES)], b"%PDF-").is_none() {
            return Err("does not begin as a PDF file does".to_owned());
        }
        let file = File::new(body.to_vec()).map_err(|error| match error {
            LoadPdfError::Decryption(DecryptionError::PasswordProtected) => "asks for a password".to_owned(),
            LoadPdfError::Decryption(_) => "is encrypted in a way that cannot be read".to_owned(),
            LoadPdfError::Invalid => "is broken".to_owned(),
        })?;
        let mut reader = TextReader::new(Layout::default());
        for page in file.pages().iter() {
            for (area, target) in page_links(page) {
                reader.layout.add_link(area, target);
            }
            reader.read_page(page);
            reader.layout.end_page();
            if reader.is_exhausted() {
                break;
            }
        }
        let mut writer = DocumentWriter::default();
        reader.layout.write(&mut writer);
        let properties = writer.titled(properties(&file));
        Ok(writer.finish(properties))
    }
}

fn page_links(page: &Page<'_>) -> Vec<(Rect, String)> {
    let Some(annotations) = page.raw().get::<Array<'_>>(ANNOTS) else { return Vec::new() };
    let links = annotations.iter::<Dict<'_>>().filter_map(|annotation| {
        let is_link = annotation.get::<Name<'_>>(SUBTYPE).is_some_and(|kind| &*kind == b"Link");
        let action = annotation.get::<Dict<'_>>(A).filter(|_| is_link)?;
        action.get::<Name<'_>>(S).filter(|kind| &**kind == b"URI")?;
        let target = action.get::<PdfString<'_>>(URI)?;
        Some((annotation.get::<Rect>(RECT)?, String::from_utf8_lossy(target.as_bytes()).into_owned()))
    });
    links.take(MAX_PAGE_LINKS).collect()
}

fn properties(file: &File) -> ConvertedDocument {
    let stated = file.metadata();
    let text = |value: &Option<Box<[u8]>>, limit| match value {
        Some(value) => one_line(text_string(value).as_bytes(), limit),
        None => String::new(),
    };
    let date = |value: Option<DateTime>| value.and_then(unix_ms).unwrap_or_default();
    let catalog = file.xref().get::<Dict<'_>>(file.xref().root_id());
    let lang = catalog.and_then(|catalog| catalog.get::<PdfString<'_>>(LANG));
    ConvertedDocument {
        title: sensible_title(&text(&stated.title, MAX_TITLE_BYTES)).to_owned(),
        description: text(&stated.subject, MAX_DESCRIPTION_BYTES),
        keywords: text(&stated.keywords, MAX_DESCRIPTION_BYTES),
        author: text(&stated.author, MAX_TITLE_BYTES),
        published_at_ms: date(stated.creation_date),
        modified_at_ms: date(stated.modification_date),
        lang: lang.map(|lang| one_line(text_string(lang.as_bytes()).as_bytes(), 64)).unwrap_or_default(),
        ..ConvertedDocument::default()
    }
}

/// UTF-16 or UTF-8 with their marks, or one byte a character.
fn text_string(bytes: &[u8]) -> String {
    if let Some(wide) = bytes.strip_prefix(b"\xfe\xff") {
        return UTF_16BE.decode_without_bom_handling(wide).0.into_owned();
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// Programs leave the name of the file they printed, or of nothing at all.
fn sensible_title(title: &str) -> &str {
    let title = title.strip_prefix("Microsoft Word - ").unwrap_or(title);
    let lower = title.to_ascii_lowercase();
    let is_file = [".doc", ".docx", ".odt", ".rtf", ".indd", ".tex", ".dvi", ".pdf", ".qxd", ".pub", ".ppt", ".xls"]
        .iter()
        .any(|suffix| lower.ends_with(suffix));
    let is_nothing = matches!(lower.as_str(), "untitled" | "(anonymous)" | "unknown" | "document" | "about:blank");
    if is_file || is_nothing { "" } else { title }
}

fn unix_ms(date: DateTime) -> Option<i64> {
    let sign = if date.utc_offset_hour < 0 { '-' } else { '+' };
    parse_date(&format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{sign}{:02}:{:02}",
        date.year,
        date.month,
        date.day,
        date.hour,
        date.minute,
        date.second,
        date.utc_offset_hour.unsigned_abs(),
        date.utc_offset_minute,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_strings_are_read_in_each_of_their_encodings() {
        assert_eq!(text_string(b"\xfe\xff\x01\x0d\x4f\x60"), "č你");
        assert_eq!(text_string("\u{feff}č".as_bytes()), "č");
        assert_eq!(text_string(b"caf\xe9"), "café");
    }

    #[test]
    fn titles_that_programs_leave_are_no_titles() {
        assert_eq!(sensible_title("Microsoft Word - Annual report"), "Annual report");
        for title in ["Microsoft Word - report.docx", "untitled", "paper.dvi", ""] {
            assert_eq!(sensible_title(title), "", "{title}");
        }
    }
}
