//! Follows the instructions of a page as far as they say where which text stands.
//!
//! Bounded: forms nest to a certain depth, and a document has a budget of instructions, so that forms that show each
//! other many times end.

use std::sync::Arc;

use hayro_font::hayro_cmap::BfString;
use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontQuery, FontResolverFn, GlyphId, UNITS_PER_EM};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::dict::keys::{MATRIX, RESOURCES, SUBTYPE};
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Stream};
use hayro_syntax::page::{Page, Resources};

use super::layout::Layout;

/// Instructions and glyphs of one document.
const MAX_STEPS: u64 = 50_000_000;
const MAX_FORM_DEPTH: u32 = 16;
const MAX_SAVED_STATES: usize = 512;

pub(super) struct TextReader<'a> {
    pub layout: Layout,
    fonts: FontCache<'a>,
    font_resolver: FontResolverFn,
    cmap_resolver: CMapResolverFn,
    state: State<'a>,
    saved: Vec<State<'a>>,
    text_matrix: Affine,
    line_matrix: Affine,
    steps: u64,
}

#[derive(Clone)]
struct State<'a> {
    matrix: Affine,
    font: Option<Font<'a>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    scaling: f64,
    leading: f64,
    rise: f64,
}

impl State<'_> {
    fn of_page() -> Self {
        Self {
            matrix: Affine::IDENTITY,
            font: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            scaling: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

impl<'a> TextReader<'a> {
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            fonts: FontCache::new(),
            font_resolver: Arc::new(|query| match query {
                FontQuery::Standard(font) => Some(font.get_font_data()),
                FontQuery::Fallback(font) => Some(font.pick_standard_font().get_font_data()),
            }),
            cmap_resolver: Arc::new(hayro_cmap::load_embedded),
            state: State::of_page(),
            saved: Vec::new(),
            text_matrix: Affine::IDENTITY,
            line_matrix: Affine::IDENTITY,
            steps: 0,
        }
    }

    pub fn is_exhausted(&self) -> bool {
        self.steps >= MAX_STEPS || self.layout.is_full()
    }

    pub fn read_page(&mut self, page: &Page<'a>) {
        self.state = State::of_page();
        self.saved.clear();
        self.run(page.typed_operations(), page.resources(), 0);
    }

    fn run(&mut self, mut instructions: TypedIter<'_>, resources: &Resources<'a>, depth: u32) {
        while let Some(instruction) = instructions.next() {
            self.steps += 1;
            if self.is_exhausted() {
                return;
            }
            self.step(&instruction, resources, depth);
        }
    }

    fn step(&mut self, instruction: &TypedInstruction<'_, '_>, resources: &Resources<'a>, depth: u32) {
        use TypedInstruction as Do;
        match instruction {
            Do::SaveState(_) if self.saved.len() < MAX_SAVED_STATES => self.saved.push(self.state.clone()),
            Do::RestoreState(_) => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            Do::Transform(to) => self.state.matrix *= matrix([to.0, to.1, to.2, to.3, to.4, to.5]),
            Do::XObject(form) => {
                if let Some(form) = resources.get_x_object(form.0).filter(|_| depth < MAX_FORM_DEPTH) {
                    self.form(&form, resources, depth + 1);
                }
            }
            Do::BeginText(_) => self.set_line(Affine::IDENTITY),
            Do::TextFont(font) => {
                let found = resources.get_font(font.0);
                self.state.font =
                    found.and_then(|font| self.fonts.font(&font, &self.font_resolver, &self.cmap_resolver));
                self.state.size = font.1.as_f64();
            }
            Do::CharacterSpacing(space) => self.state.char_space = space.0.as_f64(),
            Do::WordSpacing(space) => self.state.word_space = space.0.as_f64(),
            Do::HorizontalScaling(percent) => self.state.scaling = percent.0.as_f64() / 100.0,
            Do::TextLeading(leading) => self.state.leading = leading.0.as_f64(),
            Do::TextRise(rise) => self.state.rise = rise.0.as_f64(),
            Do::SetTextMatrix(to) => self.set_line(matrix([to.0, to.1, to.2, to.3, to.4, to.5])),
            Do::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Do::NextLineAndSetLeading(by) => {
                self.state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Do::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            Do::ShowText(text) => self.show(text.0.as_bytes()),
            Do::NextLineAndShowText(text) => {
                self.next_line(0.0, -self.state.leading);
                self.show(text.0.as_bytes());
            }
            Do::ShowTextWithParameters(text) => {
                (self.state.word_space, self.state.char_space) = (text.0.as_f64(), text.1.as_f64());
                self.next_line(0.0, -self.state.leading);
                self.show(text.2.as_bytes());
            }
            Do::ShowTexts(parts) => self.show_parts(parts.0),
            _ => {}
        }
    }

    /// A form is a page within the page.
    fn form(&mut self, form: &Stream<'a>, resources: &Resources<'a>, depth: u32) {
        let dict = form.dict();
        if dict.get::<Name<'_>>(SUBTYPE).is_none_or(|kind| &*kind != b"Form") {
            return;
        }
        let Ok(content) = form.decoded_data() else { return };
        let own = dict.get::<Dict<'a>>(RESOURCES).map(Resources::new);
        let outside = (self.state.clone(), std::mem::take(&mut self.saved), self.text_matrix, self.line_matrix);
        if let Some(by) = dict.get::<[f64; 6]>(MATRIX) {
            self.state.matrix *= Affine::new(by);
        }
        self.run(TypedIter::new(&content), own.as_ref().unwrap_or(resources), depth);
        (self.state, self.saved, self.text_matrix, self.line_matrix) = outside;
    }

    fn set_line(&mut self, matrix: Affine) {
        (self.text_matrix, self.line_matrix) = (matrix, matrix);
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.set_line(self.line_matrix * Affine::translate((x, y)));
    }

    /// Strings with movements between them, in thousandths of the font's size, backwards.
    fn show_parts(&mut self, parts: &Array<'_>) {
        for part in parts.iter::<Object<'_>>() {
            match part {
                Object::String(text) => self.show(text.as_bytes()),
                Object::Number(back) => {
                    let by = -back.as_f64() / f64::from(UNITS_PER_EM) * self.state.size;
                    let is_horizontal = self.state.font.as_ref().is_none_or(Font::is_horizontal);
                    let by = if is_horizontal { (by * self.state.scaling, 0.0) } else { (0.0, by) };
                    self.text_matrix *= Affine::translate(by);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, codes: &[u8]) {
        let Some(font) = self.state.font.clone() else { return };
        let is_horizontal = font.is_horizontal();
        let mut at = 0;
        while at < codes.len() && !self.is_exhausted() {
            self.steps += 1;
            let (code, length) = font.read_code(codes, at);
            at += length.max(1);
            let state = &self.state;
            let advance = font.code_advance(code) / f64::from(UNITS_PER_EM) * state.size;
            let word_space = if code == 32 && length == 1 { state.word_space } else { 0.0 };
            let spaces = state.char_space + word_space;
            let (advance, spaces) = if is_horizontal {
                (Vec2::new(advance.x * state.scaling, 0.0), Vec2::new(spaces * state.scaling, 0.0))
            } else {
                (Vec2::new(0.0, advance.y), Vec2::new(0.0, spaces))
            };
            let placed = state.matrix * self.text_matrix * Affine::translate((0.0, state.rise));
            let height = (placed * Point::new(0.0, state.size) - placed * Point::ZERO).hypot();
            if let Some(text) = unicode(&font, code) {
                let direction = if is_horizontal { Vec2::new(1.0, 0.0) } else { Vec2::new(0.0, -1.0) };
                let direction = placed * direction.to_point() - placed * Point::ZERO;
                self.layout.glyph(&text, placed * Point::ZERO, placed * advance.to_point(), direction, height);
            }
            self.text_matrix *= Affine::translate(advance + spaces);
        }
    }
}

fn matrix(numbers: [Number; 6]) -> Affine {
    Affine::new(numbers.map(|number| number.as_f64()))
}

/// What a code of a font means, if the font tells.
fn unicode(font: &Font<'_>, code: u32) -> Option<String> {
    // The code alone decides; which glyph is drawn does not matter.
    let text = match font.glyph(GlyphId::NOTDEF, code) {
        FontGlyph::Outline(glyph) => glyph.as_unicode(),
        FontGlyph::Type3(glyph) => glyph.as_unicode(),
    };
    text.map(|text| match text {
        BfString::Char(character) => character.to_string(),
        BfString::String(text) => text,
    })
}
