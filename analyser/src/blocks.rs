//! The blocks of a description's text: its form, and which of it is main text.
//!
//! Invariant: the blocks cover the text without gaps, so that main text and the rest together are the full text.

use seine_proto::common::v1::{BlockForm, TextBlock};

use crate::extract::outline::{Outline, Unit};
use crate::main_text::heading_level;
use crate::parse::Block;

/// Percentages are kept in steps of this, so that neighbours of like form become one block.
const PERCENT_STEP: u32 = 10;

pub(crate) fn blocks(text: &str, title: &str, outline: &Outline, is_main: &[bool]) -> Vec<TextBlock> {
    let mut blocks: Vec<TextBlock> = Vec::new();
    for (place, unit) in outline.units.iter().enumerate() {
        let end = outline.units.get(place + 1).map_or(text.len(), |next| next.start as usize);
        let bytes = end.saturating_sub(unit.start as usize) as u32;
        if bytes == 0 {
            continue;
        }
        let block = TextBlock {
            bytes,
            main: is_main.get(place).copied().unwrap_or(false),
            ..form_of(&text[unit.start as usize..end], title, outline, unit)
        };
        match blocks.last_mut() {
            Some(last) if merges(last, &block) => last.bytes += block.bytes,
            _ => blocks.push(block),
        }
    }
    blocks
}

/// Headings stay apart: their weight is that of one line.
fn merges(before: &TextBlock, next: &TextBlock) -> bool {
    let is_apart = matches!(next.form(), BlockForm::Heading | BlockForm::Title);
    !is_apart && TextBlock { bytes: next.bytes, ..*before } == *next
}

fn form_of(text: &str, title: &str, outline: &Outline, unit: &Unit) -> TextBlock {
    let bytes = (unit.end - unit.start).max(1);
    let percent = |part: u32| (100 * u64::from(part) / u64::from(bytes)) as u32 / PERCENT_STEP * PERCENT_STEP;
    let level = heading_level(outline, unit);
    let text = text.trim_ascii_end();
    let is_title = level > 0 && (text == title || (text.len() >= 8 && title.contains(text)));
    let form = match level {
        _ if is_title => BlockForm::Title,
        1..=6 => BlockForm::Heading,
        _ => container_form(outline, unit.node),
    };
    TextBlock {
        bytes: 0,
        main: false,
        form: form.into(),
        heading_level: u32::from(level),
        link_percent: percent(unit.link_bytes),
        emphasis_percent: percent(unit.emphasis_bytes),
    }
}

/// The form that the nearest telling container gives.
fn container_form(outline: &Outline, node: u32) -> BlockForm {
    let mut node = &outline.nodes[node as usize];
    for _ in 0..4 {
        let form = match node.block {
            Block::Item | Block::Term => BlockForm::ListItem,
            Block::Row | Block::Data => BlockForm::TableRow,
            Block::Pre => BlockForm::Code,
            Block::Quote => BlockForm::Quote,
            Block::FigCaption | Block::Caption => BlockForm::Caption,
            Block::Button | Block::Label | Block::Select | Block::Option => BlockForm::Control,
            Block::P | Block::Root => BlockForm::Paragraph,
            _ => {
                node = &outline.nodes[node.parent as usize];
                continue;
            }
        };
        return form;
    }
    BlockForm::Paragraph
}
