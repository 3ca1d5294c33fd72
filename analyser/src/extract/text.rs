//! Text as a reader sees it: white space collapsed, words and lines ended where the page ends them, length limited.
//!
//! Invariant: neither begins nor ends with white space, no two white spaces stand together, at most `limit` bytes.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Word,
    Line,
}

/// Whether one element ended and another began since the last word, with nothing between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seam {
    None,
    Ended,
    Crossed,
}

#[derive(Debug)]
pub(crate) struct TextBuffer {
    bytes: Vec<u8>,
    /// What must stand before the next word.
    gap: Gap,
    seam: Seam,
    keeps_lines: bool,
    limit: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    length: usize,
    gap: Gap,
}

/// Longer texts find their room as they grow.
const MOST_RESERVED: usize = 256 << 10;

/// Bytes at which [`separator`] must be asked: ASCII white space and controls, and what begins other white space.
const MAY_SEPARATE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte <= 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[0x7f] = true;
    table[0xc2] = true;
    table[0xe2] = true;
    table[0xe3] = true;
    table
};

/// The length of what stands at the beginning and is no part of a word, and whether it ends the word.
fn separator(bytes: &[u8]) -> Option<(usize, bool)> {
    match bytes {
        [0..=0x20 | 0x7f, ..] => Some((1, true)),
        // No-break space, next line.
        [0xc2, 0xa0 | 0x85, ..] => Some((2, true)),
        // A soft hyphen is not seen and parts no word.
        [0xc2, 0xad, ..] => Some((2, false)),
        // Typographic spaces, line and paragraph separators, narrow and ideographic space.
        [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => Some((3, true)),
        _ => None,
    }
}

impl TextBuffer {
    pub fn of_lines(limit: usize) -> Self {
        Self { bytes: Vec::new(), gap: Gap::None, seam: Seam::None, keeps_lines: true, limit }
    }

    /// Ends of lines become ends of words.
    pub fn of_one_line(limit: usize) -> Self {
        Self { keeps_lines: false, ..Self::of_lines(limit) }
    }

    /// Makes room for a text of about so many bytes at once.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes.min(MOST_RESERVED));
    }

    pub fn len(&self) -> usize {
        self.bytes.len().min(self.limit)
    }

    /// The state now, to come back to with [`TextBuffer::rewind`].
    pub fn mark(&self) -> Mark {
        Mark { length: self.bytes.len(), gap: self.gap }
    }

    /// Bytes added since the mark.
    pub fn since(&self, mark: Mark) -> usize {
        self.bytes.len() - mark.length
    }

    /// Forgets what was added since the mark.
    pub fn rewind(&mut self, mark: Mark) {
        self.bytes.truncate(mark.length);
        self.gap = mark.gap;
        self.seam = Seam::None;
    }

    /// Whether a word or a line ends at this byte.
    pub fn is_space_at(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), Some(b' ' | b'\n'))
    }

    pub fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if let Some((length, ends_word)) = separator(piece) {
                if ends_word {
                    self.end_word();
                }
                piece = &piece[length..];
                continue;
            }
            let length = words_length(piece);
            self.push_word(&piece[..length]);
            piece = &piece[length..];
        }
    }

    /// One word, or several with a space between them.
    fn push_word(&mut self, word: &[u8]) {
        if self.bytes.len() > self.limit {
            return;
        }
        if !self.bytes.is_empty() {
            match self.gap {
                Gap::None if self.seam == Seam::Crossed && begins_anew(&self.bytes, word) => self.bytes.push(b' '),
                Gap::None => {}
                Gap::Word => self.bytes.push(b' '),
                Gap::Line => self.bytes.push(b'\n'),
            }
        }
        self.gap = Gap::None;
        self.seam = Seam::None;
        // One byte beyond the limit tells `finish` that something was cut.
        let room = (self.limit + 1).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&word[..word.len().min(room)]);
    }

    pub fn end_word(&mut self) {
        self.gap = self.gap.max(Gap::Word);
    }

    pub fn end_line(&mut self) {
        self.gap = if self.keeps_lines { Gap::Line } else { self.gap.max(Gap::Word) };
    }

    /// An element within the line ended.
    pub fn element_ended(&mut self) {
        self.seam = Seam::Ended;
    }

    /// An element within the line begins.
    pub fn element_begins(&mut self) {
        if self.seam == Seam::Ended {
            self.seam = Seam::Crossed;
        }
    }

    pub fn finish(mut self) -> String {
        if self.bytes.len() > self.limit {
            let mut end = self.limit;
            while end > 0 && self.bytes[end] & 0xc0 == 0x80 {
                end -= 1;
            }
            self.bytes.truncate(end);
            self.bytes.truncate(self.bytes.trim_ascii_end().len());
        }
        // Parts of characters come only from bytes that were no UTF-8 to begin with; replacing them takes room.
        String::from_utf8(self.bytes).unwrap_or_else(|error| {
            let mut text = cut(&String::from_utf8_lossy(error.as_bytes()), self.limit);
            text.truncate(text.trim_ascii_end().len());
            text
        })
    }
}

/// Whether a capital follows a small letter or a digit. Where the first ends one element and the second begins another,
/// as in `<b>Boats</b><i>Canoes and more</i>`, these are words that the page's style keeps apart.
fn begins_anew(before: &[u8], word: &[u8]) -> bool {
    let beginning = &word[..word.len().min(4)];
    let next = beginning.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    if !next.is_some_and(char::is_uppercase) {
        return false;
    }
    let end = before.len();
    let start = (end.saturating_sub(4)..end).rev().find(|&at| before[at] & 0xc0 != 0x80).unwrap_or(end);
    let last = std::str::from_utf8(&before[start..]).ok().and_then(|last| last.chars().next());
    last.is_some_and(|c| c.is_lowercase() || c.is_numeric())
}

/// The first word, and all that follow with one space between them, which is how they are to stand.
fn words_length(piece: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = piece[at..].iter().position(|&byte| MAY_SEPARATE[usize::from(byte)]) {
        at += next;
        if separator(&piece[at..]).is_some() {
            match piece[at..] {
                [b' ', after, ..] if !MAY_SEPARATE[usize::from(after)] => {}
                _ => return at,
            }
        }
        at += 1;
    }
    piece.len()
}

/// The longest beginning of at most `limit` bytes.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    text[..text.floor_char_boundary(limit)].to_owned()
}

/// A value such as that of an attribute, in one line.
pub(crate) fn one_line(value: &[u8], limit: usize) -> String {
    let mut buffer = TextBuffer::of_one_line(limit);
    buffer.push(value);
    buffer.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn white_space_of_all_kinds_is_collapsed() {
        assert_eq!(one_line(" a \t\r\n b\u{a0}\u{3000}c\u{2003}d\0 ".as_bytes(), 100), "a b c d");
        assert_eq!(one_line("auto\u{ad}matic".as_bytes(), 100), "automatic");
        assert_eq!(one_line("日本語、テスト“ok”".as_bytes(), 100), "日本語、テスト“ok”");
    }

    #[test]
    fn a_line_end_outweighs_a_word_end() {
        let mut buffer = TextBuffer::of_lines(100);
        buffer.end_line();
        buffer.push(b"one ");
        buffer.end_line();
        buffer.push(b"  two");
        buffer.end_word();
        buffer.end_line();
        buffer.end_line();
        assert_eq!(buffer.finish(), "one\ntwo");
    }

    #[test]
    fn the_limit_never_splits_a_character() {
        assert_eq!(one_line("ab你好".as_bytes(), 5), "ab你");
        assert_eq!(one_line("ab你好".as_bytes(), 6), "ab你");
        assert_eq!(one_line("ab cd".as_bytes(), 3), "ab");
        assert_eq!(one_line("abcd".as_bytes(), 4), "abcd");
    }

    proptest! {
        #[test]
        fn output_keeps_its_promises(pieces: Vec<Vec<u8>>, limit in 0usize..60) {
            let mut buffer = TextBuffer::of_lines(limit);
            for piece in &pieces {
                buffer.push(piece);
                if piece.len() % 3 == 0 { buffer.end_line() }
            }
            let text = buffer.finish();
            prop_assert!(text.len() <= limit);
            prop_assert_eq!(text.trim_matches([' ', '\n']), text.as_str());
            prop_assert!(!text.contains("  ") && !text.contains("\n\n") && !text.contains("\n "), "{:?}", text);
        }

        #[test]
        fn the_same_text_comes_out_however_it_was_cut_in_pieces(text in "[a-cé你 \n\u{a0}]{0,40}", at in 0usize..40) {
            let at = text.floor_char_boundary(at);
            let mut buffer = TextBuffer::of_one_line(1000);
            buffer.push(&text.as_bytes()[..at]);
            buffer.push(&text.as_bytes()[at..]);
            prop_assert_eq!(buffer.finish(), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}
