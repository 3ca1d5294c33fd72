//! From glyphs and their places to words, lines and paragraphs, and from sizes to headings.
//!
//! A PDF has no words or paragraphs, only marks on a page: a gap ends a word, a step down begins a line, and a larger
//! step or another size begins a paragraph. The order is that of drawing, which is nearly always that of reading.

use std::collections::HashMap;

use hayro_font::kurbo::{Point, Vec2};
use hayro_syntax::object::Rect;
use seine_common::limits::MAX_TEXT_BYTES;

use super::super::writer::{DocumentWriter, Form};
use super::meaning::{is_wide, shown};
use crate::extract::links::{MAX_ANCHOR_BYTES, MAX_LINKS};

/// Parts of the height of a line: a wider gap ends a word, a larger step a line, a still larger one a paragraph.
const WORD_GAP: f64 = 0.17;
const LINE_STEP: f64 = 0.5;
const PARAGRAPH_STEP: f64 = 1.65;
/// Times the size of most text, from which on a short paragraph is a heading.
const HEADING_SIZES: [(f64, u32); 3] = [(1.6, 1), (1.3, 2), (1.12, 3)];
const MAX_HEADING_BYTES: usize = 300;
/// Marks of the items of lists.
const BULLETS: [&str; 8] = ["•", "▪", "◦", "‣", "●", "■", "–", "\u{f0b7}"];

#[derive(Default)]
pub(super) struct Layout {
    paragraphs: Vec<Paragraph>,
    bytes: usize,
    open: Paragraph,
    /// Where the last glyph ended.
    last: Option<Last>,
    /// Links of the page that is being read: where they are, where they lead, what they cover.
    links: Vec<(Rect, String, String)>,
    done_links: Vec<(String, String)>,
    /// Bytes of text by size, in half points.
    sizes: HashMap<u32, usize>,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    size: f64,
    is_item: bool,
}

struct Last {
    end: Point,
    direction: Vec2,
    size: f64,
}

/// How a glyph follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Adjacent,
    Word,
    Line,
    Paragraph,
}

impl Last {
    fn step_to(&self, start: Point, direction: Vec2, size: f64) -> Step {
        let line = self.size.max(size);
        let by = start - self.end;
        let (along, down) = (by.dot(self.direction) / line, -self.direction.cross(by) / line);
        if !along.is_finite() || !down.is_finite() || direction.dot(self.direction) < 0.9 {
            Step::Paragraph
        } else if down.abs() < LINE_STEP {
            match along {
                _ if along > WORD_GAP => Step::Word,
                // Back on the same line: something else stands there.
                _ if along < -1.5 => Step::Line,
                _ => Step::Adjacent,
            }
        } else if (0.0..PARAGRAPH_STEP).contains(&down) && (0.87..1.15).contains(&(size / self.size)) {
            Step::Line
        } else {
            Step::Paragraph
        }
    }
}

impl Layout {
    pub fn is_full(&self) -> bool {
        self.bytes + self.open.text.len() >= MAX_TEXT_BYTES
    }

    pub fn add_link(&mut self, area: Rect, target: String) {
        if self.links.len() + self.done_links.len() < MAX_LINKS {
            self.links.push((area, target, String::new()));
        }
    }

    /// `direction` is that of the text, of any length; `size` is its height.
    pub fn glyph(&mut self, text: &str, start: Point, end: Point, direction: Vec2, size: f64) {
        let direction = direction / direction.hypot().max(f64::MIN_POSITIVE);
        let text = shown(text);
        if text.is_empty() || !size.is_finite() {
            return;
        }
        let is_space = text.chars().all(char::is_whitespace);
        // A space at the end of a line says nothing about where the next one is.
        let step = self.last.as_ref().map_or(Step::Paragraph, |last| last.step_to(start, direction, size));
        if is_space {
            if matches!(step, Step::Adjacent | Step::Word) {
                self.space();
                self.last = Some(Last { end, direction, size });
            }
            return;
        }
        match step {
            Step::Adjacent => {}
            Step::Word => self.space(),
            Step::Line if BULLETS.contains(&text) => self.end_paragraph(),
            Step::Line => self.join_line(text),
            Step::Paragraph => self.end_paragraph(),
        }
        if self.open.text.is_empty() {
            self.open.is_item = BULLETS.contains(&text);
            self.open.size = size;
        }
        self.open.text.push_str(text);
        *self.sizes.entry((size * 2.0).round() as u32).or_default() += text.len();
        self.link_text(text, start, step != Step::Adjacent);
        self.last = Some(Last { end, direction, size });
    }

    fn link_text(&mut self, text: &str, at: Point, begins_word: bool) {
        for (area, _, covered) in &mut self.links {
            let is_inside = (area.x0 - 1.0..=area.x1 + 1.0).contains(&at.x) && (area.y0..=area.y1).contains(&at.y);
            if is_inside && covered.len() < MAX_ANCHOR_BYTES {
                if begins_word && !covered.is_empty() {
                    covered.push(' ');
                }
                covered.push_str(text);
            }
        }
    }

    fn space(&mut self) {
        if !self.open.text.is_empty() && !self.open.text.ends_with(' ') {
            self.open.text.push(' ');
        }
        for (_, _, covered) in &mut self.links {
            if !covered.is_empty() && !covered.ends_with(' ') {
                covered.push(' ');
            }
        }
    }

    /// The next line of the same paragraph begins with `next`.
    fn join_line(&mut self, next: &str) {
        let line = &mut self.open.text;
        line.truncate(line.trim_end().len());
        let mut ends = line.chars().rev();
        let (last, before) = (ends.next(), ends.next());
        let first = next.chars().next();
        let is_parted = last == Some('\u{ad}')
            || (last == Some('-') && before.is_some_and(char::is_alphabetic) && first.is_some_and(char::is_lowercase));
        if is_parted {
            line.pop();
        } else if !(last.is_some_and(is_wide) && first.is_some_and(is_wide)) {
            self.space();
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.open);
        if !paragraph.text.trim().is_empty() {
            self.bytes += paragraph.text.len() + 1;
            self.paragraphs.push(paragraph);
        }
    }

    pub fn end_page(&mut self) {
        self.end_paragraph();
        self.last = None;
        for (_, target, text) in self.links.drain(..) {
            self.done_links.push((target, text));
        }
    }

    pub fn write(mut self, writer: &mut DocumentWriter) {
        self.end_page();
        let body = self.sizes.iter().max_by_key(|(size, bytes)| (**bytes, u32::MAX - **size));
        let body = body.map_or(1.0, |(size, _)| f64::from(*size) / 2.0).max(0.5);
        for paragraph in &self.paragraphs {
            let rank = HEADING_SIZES.iter().find(|(times, _)| paragraph.size >= body * times);
            let form = match rank {
                Some((_, level)) if paragraph.text.len() <= MAX_HEADING_BYTES => Form::Heading(*level),
                _ if paragraph.is_item => Form::ListItem,
                _ => Form::Paragraph,
            };
            writer.push(paragraph.text.as_bytes());
            writer.end_block(form);
        }
        for (target, text) in &self.done_links {
            writer.link(target, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes each letter half as wide as high, from left to right.
    fn write(layout: &mut Layout, text: &str, x: f64, y: f64, size: f64) {
        for (place, letter) in text.chars().enumerate() {
            let at = |place: usize| Point::new(x + place as f64 * size / 2.0, y);
            layout.glyph(&letter.to_string(), at(place), at(place + 1), Vec2::new(1.0, 0.0), size);
        }
    }

    fn text_of(layout: Layout) -> String {
        let mut writer = DocumentWriter::default();
        layout.write(&mut writer);
        writer.finish(Default::default()).text
    }

    #[test]
    fn lines_become_paragraphs_and_parted_words_whole() {
        let mut layout = Layout::default();
        write(&mut layout, "Heading", 0.0, 100.0, 20.0);
        write(&mut layout, "One exam-", 0.0, 60.0, 10.0);
        write(&mut layout, "ple of a long", 0.0, 48.0, 10.0);
        write(&mut layout, "line.", 0.0, 36.0, 10.0);
        write(&mut layout, "Two", 0.0, 10.0, 10.0);
        write(&mut layout, "words", 20.0, 10.0, 10.0);
        assert_eq!(text_of(layout), "Heading\nOne example of a long line.\nTwo words");
    }

    #[test]
    fn chinese_lines_join_without_a_space() {
        let mut layout = Layout::default();
        write(&mut layout, "这条河发源", 0.0, 24.0, 10.0);
        write(&mut layout, "于山区", 0.0, 12.0, 10.0);
        assert_eq!(text_of(layout), "这条河发源于山区");
    }
}
