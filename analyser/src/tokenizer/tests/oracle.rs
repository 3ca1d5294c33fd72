//! What a source consists of, by the tokenizer and by html5gum.

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

use crate::tokenizer::{Content, MAX_NAME_BYTES, Sink};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Text(Vec<u8>),
    StartTag { name: Vec<u8>, attributes: Vec<(Vec<u8>, Vec<u8>)>, self_closing: bool },
    EndTag { name: Vec<u8>, attributes: Vec<(Vec<u8>, Vec<u8>)>, self_closing: bool },
}

/// Keeps everything it is told.
#[derive(Default)]
pub(super) struct Recorder {
    pub events: Vec<Event>,
    name: Vec<u8>,
    is_end_tag: bool,
    self_closing: bool,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    svg_depth: usize,
    raw_name: Vec<u8>,
}

impl Recorder {
    fn begin(&mut self, is_end_tag: bool) {
        self.name.clear();
        self.attributes.clear();
        self.is_end_tag = is_end_tag;
        self.self_closing = false;
    }

    fn push_text(&mut self, piece: &[u8]) {
        match self.events.last_mut() {
            _ if piece.is_empty() => {}
            Some(Event::Text(text)) => text.extend_from_slice(piece),
            _ => self.events.push(Event::Text(piece.to_vec())),
        }
    }

    fn finish(&mut self) -> Option<Content> {
        let mut attributes: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, value) in self.attributes.drain(..) {
            if !attributes.iter().any(|(known, _)| *known == name) {
                attributes.push((name, value));
            }
        }
        let (name, self_closing) = (self.name.clone(), self.self_closing);
        if self.is_end_tag {
            self.svg_depth -= usize::from(name == b"svg" && self.svg_depth > 0);
            self.events.push(Event::EndTag { name, attributes, self_closing });
            return None;
        }
        self.svg_depth += usize::from(name == b"svg" && !self_closing);
        let content = content(&name);
        if content.is_some() {
            self.raw_name.clone_from(&name);
        }
        self.events.push(Event::StartTag { name, attributes, self_closing });
        content
    }
}

/// As `parse::Tag::content_state` has it.
fn content(name: &[u8]) -> Option<Content> {
    match name {
        b"title" | b"textarea" => Some(Content::RcData),
        b"script" => Some(Content::ScriptData),
        b"style" | b"noembed" | b"xmp" | b"iframe" | b"noscript" | b"noframes" => Some(Content::RawText),
        b"plaintext" => Some(Content::PlainText),
        _ => None,
    }
}

impl Sink for Recorder {
    fn text(&mut self, piece: &[u8]) {
        assert!(!piece.is_empty());
        self.push_text(piece);
    }

    fn begin_tag(&mut self, name: &[u8], is_end_tag: bool) -> bool {
        self.begin(is_end_tag);
        push(&mut self.name, name);
        true
    }

    fn attribute(&mut self, name: &[u8]) -> bool {
        self.attributes.push((name.to_vec(), Vec::new()));
        true
    }

    fn value(&mut self, piece: &[u8]) {
        assert!(!piece.is_empty());
        self.attributes.last_mut().expect("an attribute is begun").1.extend_from_slice(piece);
    }

    fn finish_tag(&mut self, self_closing: bool) -> Option<Content> {
        self.self_closing = self_closing;
        self.finish()
    }

    fn is_foreign(&mut self) -> bool {
        self.svg_depth > 0
    }
}

/// Asks for every value and keeps nothing.
#[derive(Default)]
pub(super) struct Counter {
    bytes: usize,
    content: Option<Content>,
    is_foreign: bool,
}

impl Sink for Counter {
    fn text(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
    }

    fn begin_tag(&mut self, name: &[u8], is_end_tag: bool) -> bool {
        self.content = content(name).filter(|_| !is_end_tag);
        self.is_foreign |= name == b"svg";
        true
    }

    fn attribute(&mut self, _: &[u8]) -> bool {
        true
    }

    fn value(&mut self, piece: &[u8]) {
        self.bytes += piece.len();
    }

    fn finish_tag(&mut self, _: bool) -> Option<Content> {
        self.content
    }

    fn is_foreign(&mut self) -> bool {
        self.is_foreign
    }
}

pub(super) fn read_with_html5gum(source: &[u8]) -> Vec<Event> {
    let mut recorder = Recorder::default();
    let Ok(()) = Tokenizer::new_with_emitter(source, Recording(&mut recorder)).finish();
    recorder.events
}

struct Recording<'x>(&'x mut Recorder);

fn push(buffer: &mut Vec<u8>, part: &[u8]) {
    let room = (MAX_NAME_BYTES + 1).saturating_sub(buffer.len());
    buffer.extend_from_slice(&part[..part.len().min(room)]);
}

impl Emitter for Recording<'_> {
    type Token = Infallible;

    fn emit_string(&mut self, text: &[u8]) {
        self.0.push_text(text);
    }

    fn init_start_tag(&mut self) {
        self.0.begin(false);
    }

    fn init_end_tag(&mut self) {
        self.0.begin(true);
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        push(&mut self.0.name, part);
    }

    fn init_attribute(&mut self) {
        self.0.attributes.push(Default::default());
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        push(&mut self.0.attributes.last_mut().expect("an attribute is begun").0, part);
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        self.0.attributes.last_mut().expect("an attribute is begun").1.extend_from_slice(part);
    }

    fn set_self_closing(&mut self) {
        self.0.self_closing = true;
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.0.finish().map(|content| match content {
            Content::RcData => State::RcData,
            Content::RawText => State::RawText,
            Content::ScriptData => State::ScriptData,
            Content::PlainText => State::PlainText,
        })
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.0.is_end_tag && self.0.name == self.0.raw_name
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.0.svg_depth > 0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
