//! Skips comments and doctypes, and reads CDATA sections.

use super::bytes::find;
use super::{Nul, Sink, Tokenizer};

impl<S: Sink> Tokenizer<'_, S> {
    /// Reads what begins with `<!`, from after it on.
    pub(super) fn declaration(&mut self) {
        let rest = &self.source[self.position..];
        if rest.starts_with(b"--") {
            self.position = end_of_comment(self.source, self.position + b"--".len());
        } else if rest.starts_with(b"[CDATA[") && self.sink.is_foreign() {
            self.position += b"[CDATA[".len();
            self.character_data();
        } else {
            // A doctype ends at the first `>` too, even within the quotes of an identifier.
            self.skip_to_greater_than();
        }
    }

    pub(super) fn skip_to_greater_than(&mut self) {
        self.position = find(b'>', self.source, self.position).map_or(self.source.len(), |found| found + 1);
    }

    fn character_data(&mut self) {
        let start = self.position;
        let end = memchr::memmem::find(&self.source[start..], b"]]>").map(|found| start + found);
        self.position = end.map_or(self.source.len(), |end| end + b"]]>".len());
        self.text(start..end.unwrap_or(self.source.len()), Nul::Kept);
    }
}

/// Where the comment ends whose content begins at `from`.
fn end_of_comment(source: &[u8], from: usize) -> usize {
    let mut position = from;
    // Each `>` is looked at in turn: a search for one of the ends would have to be repeated for the other.
    while let Some(found) = find(b'>', source, position) {
        position = found + 1;
        let content = &source[from..found];
        if content.ends_with(b"--") || content.ends_with(b"--!") || content.is_empty() || content == b"-" {
            return position;
        }
    }
    source.len()
}
