//! The document formats, one file each: bytes in, title, text and links out.
//!
//! Documents are read in worker processes (see `convert`), because what reads them is large and a broken file must cost
//! its worker and nothing else. A new format is a file here and a line in [`DOCUMENTS`]. Not responsible for limits on
//! time and memory, which hold for the worker as a whole.

mod pdf;
mod docx;
mod odf;
mod xlsx;
mod archive;
mod properties;
mod writer;

use seine_proto::analyser::v1::ConvertedDocument;

/// What is wrong with a document, in words that complete "the document …".
pub(crate) type Unreadable = String;

pub(crate) trait DocumentFormat: Sync {
    /// Of the format, in messages and between processes.
    fn name(&self) -> &'static str;

    /// The first is what its documents are called.
    fn content_types(&self) -> &'static [&'static str];

    /// File name suffixes in lower case.
    fn suffixes(&self) -> &'static [&'static str];

    /// By the bytes alone.
    fn is_recognised(&self, body: &[u8]) -> bool;

    /// A document that is partly broken gives what can be read.
    fn convert(&self, body: &[u8]) -> Result<ConvertedDocument, Unreadable>;
}

static DOCUMENTS: [&dyn DocumentFormat; 5] =
    [&pdf::Pdf, &docx::Docx, &odf::OpenDocumentText, &odf::OpenDocumentTables, &xlsx::Xlsx];

pub(crate) fn of_content_type(content_type: &str) -> Option<&'static dyn DocumentFormat> {
    DOCUMENTS.iter().find(|format| format.content_types().contains(&content_type)).copied()
}

pub(crate) fn of_name(name: &str) -> Option<&'static dyn DocumentFormat> {
    DOCUMENTS.iter().find(|format| format.name() == name).copied()
}

/// The content type of a document by its first bytes.
pub(crate) fn type_of_bytes(body: &[u8]) -> Option<&'static str> {
    DOCUMENTS.iter().find(|format| format.is_recognised(body)).map(|format| format.content_types()[0])
}

/// `suffix` in lower case, without a dot.
pub(crate) fn type_of_suffix(suffix: &str) -> Option<&'static str> {
    DOCUMENTS.iter().find(|format| format.suffixes().contains(&suffix)).map(|format| format.content_types()[0])
}

#[cfg(test)]
mod tests;
