//! The outline of a page: its containers as a tree, and the units of text in them, by which the main text is told from
//! the rest.
//!
//! A light stand-in for a DOM, built while the page is read: only elements that hold blocks of text are nodes, and end
//! tags that are left out are supplied as far as this tree needs it. Text itself stays in the text buffer; a unit is a
//! range of it. Invariants: a parent stands before its children, units are in page order and do not overlap.

use crate::parse::{Attribute, Attributes, Block};

use super::hints::{self, Hints};

/// Elements nested deeper belong to the last one that fits.
const MAX_DEPTH: usize = 256;
/// Containers beyond this are not told apart.
const MAX_NODES: usize = 200_000;
/// Units beyond this join the last one.
const MAX_UNITS: usize = 200_000;

#[derive(Debug)]
pub(crate) struct Node {
    pub parent: u32,
    pub block: Block,
    pub depth: u16,
    /// Of its own names only.
    pub hints: Hints,
    /// Equal for containers that look the same: same element, same classes.
    pub signature: u32,
}

/// Text that stands together: within one container, without another container beginning or ending in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Where it stands in the full text, in bytes.
    pub start: u32,
    pub end: u32,
    pub node: u32,
    /// Of these bytes, how many stand in anchors, and how many are emphasised.
    pub link_bytes: u32,
    pub emphasis_bytes: u32,
    pub links: u16,
    pub lines: u16,
    /// Images since the unit before.
    pub images: u16,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    units: usize,
    unit_is_over: bool,
    depth: usize,
}

#[derive(Debug)]
pub(crate) struct Outline {
    pub nodes: Vec<Node>,
    pub units: Vec<Unit>,
    /// Open containers: name and node. The first is the page itself.
    open: Vec<(u32, Block, u32)>,
    open_of_kind: [u16; Block::COUNT],
    /// The next text begins a new unit.
    unit_is_over: bool,
    images: u16,
    /// What class names hint at, by their hash: most of them come again.
    known_classes: Vec<(u32, Hints)>,
}

/// Class names whose hints are remembered.
const KNOWN_CLASSES: usize = 256;

impl Default for Outline {
    fn default() -> Self {
        let root = Node { parent: 0, block: Block::Root, depth: 0, hints: Hints::default(), signature: 0 };
        Self {
            nodes: vec![root],
            units: Vec::new(),
            open: vec![(0, Block::Root, 0)],
            open_of_kind: [0; Block::COUNT],
            unit_is_over: true,
            images: 0,
            known_classes: vec![(0, Hints::default()); KNOWN_CLASSES],
        }
    }
}

impl Outline {
    /// What `<body>` says of itself concerns the whole page.
    pub fn page_hints(&mut self, attributes: &Attributes) {
        self.nodes[0].hints |= hints_of(&[], attributes);
        self.nodes[0].hints |= hints::of_names(attributes.get(Attribute::Class).unwrap_or_default());
    }

    pub fn is_open(&self, block: Block) -> bool {
        self.open_of_kind[block as usize] > 0
    }

    pub fn start(&mut self, block: Block, name: &[u8], attributes: &Attributes) {
        self.close_implied(block);
        self.unit_is_over = true;
        if self.open.len() == MAX_DEPTH || self.nodes.len() == MAX_NODES {
            return;
        }
        let parent = self.current();
        let class = attributes.get(Attribute::Class).unwrap_or_default();
        let named = if block == Block::Custom { name } else { &[] };
        let class_hash = hash(class);
        let node = Node {
            parent,
            block,
            depth: self.nodes[parent as usize].depth + 1,
            hints: hints_of(named, attributes) | self.class_hints(class, class_hash),
            signature: class_hash ^ hash(name).rotate_left(7),
        };
        let id = self.nodes.len() as u32;
        self.nodes.push(node);
        self.open.push((hash(name), block, id));
        self.open_of_kind[block as usize] += 1;
    }

    pub fn end(&mut self, block: Block, name: &[u8]) {
        self.unit_is_over = true;
        if !self.is_open(block) {
            return;
        }
        let wanted = hash(name);
        for place in (1..self.open.len()).rev() {
            let (name, open, _) = self.open[place];
            if name == wanted {
                self.close_down_to(place);
                return;
            }
            // What is open outside a table is not closed from inside it.
            if matches!(open, Block::Data | Block::Caption) && !is_table_part(block) {
                return;
            }
        }
    }

    /// The state now, to come back to with [`Outline::leave`]; the next text begins a unit.
    pub fn mark(&mut self) -> Mark {
        let mark = Mark { units: self.units.len(), unit_is_over: self.unit_is_over, depth: self.open.len() };
        self.unit_is_over = true;
        mark
    }

    /// Closes what was opened since the mark, and forgets its units if they are not kept.
    pub fn leave(&mut self, mark: Mark, is_kept: bool) {
        self.close_down_to(mark.depth.min(self.open.len()));
        if is_kept {
            self.unit_is_over = true;
        } else {
            self.units.truncate(mark.units);
            self.unit_is_over = mark.unit_is_over;
        }
    }

    pub fn image(&mut self) {
        self.images = self.images.saturating_add(1);
    }

    pub fn end_line(&mut self) {
        if let Some(unit) = self.units.last_mut()
            && !self.unit_is_over
        {
            unit.lines = unit.lines.saturating_add(1);
        }
    }

    /// Text was added to the page: the bytes from `start` (the white space before not counted) to `end`.
    #[inline]
    pub fn text(&mut self, start: usize, end: usize, in_link: bool, emphasised: bool) {
        if (self.unit_is_over && self.units.len() < MAX_UNITS) || self.units.is_empty() {
            let images = std::mem::take(&mut self.images);
            let node = self.current();
            self.units.push(Unit { start: start as u32, node, lines: 1, images, ..Unit::default() });
            self.unit_is_over = false;
        }
        let Some(unit) = self.units.last_mut() else { return };
        unit.end = end as u32;
        let bytes = (end - start) as u32;
        if in_link {
            unit.link_bytes += bytes;
        }
        if emphasised {
            unit.emphasis_bytes += bytes;
        }
    }

    pub fn link(&mut self) {
        if let Some(unit) = self.units.last_mut()
            && !self.unit_is_over
        {
            unit.links = unit.links.saturating_add(1);
        }
    }

    /// Drops what stands behind the end of a text that was cut.
    pub fn fit(&mut self, text: &str) {
        let length = text.len() as u32;
        self.units.retain(|unit| unit.start < length);
        if let Some(last) = self.units.last_mut() {
            last.end = last.end.min(length);
        }
        // Text that had to be repaired stands elsewhere.
        let fits = |unit: &Unit| text.is_char_boundary(unit.start as usize) && text.is_char_boundary(unit.end as usize);
        if !self.units.iter().all(fits) {
            self.units.clear();
        }
    }

    fn class_hints(&mut self, class: &[u8], hash: u32) -> Hints {
        if class.is_empty() {
            return Hints::default();
        }
        let known = &mut self.known_classes[hash as usize % KNOWN_CLASSES];
        if known.0 != hash {
            *known = (hash, hints::of_names(class));
        }
        known.1
    }

    fn current(&self) -> u32 {
        self.open.last().map_or(0, |(_, _, node)| *node)
    }

    /// Closes what the start of such an element ends by itself.
    fn close_implied(&mut self, block: Block) {
        match block {
            Block::Item => self.close_nearest(&[Block::Item], &[Block::List, Block::Data, Block::Table]),
            Block::Term => self.close_nearest(&[Block::Term], &[Block::Definitions, Block::Data, Block::Table]),
            Block::Row => self.close_nearest(&[Block::Row], &[Block::Table]),
            Block::RowGroup => self.close_nearest(&[Block::RowGroup], &[Block::Table]),
            Block::Data => self.close_nearest(&[Block::Data], &[Block::Row, Block::Table]),
            Block::Option => self.close_nearest(&[Block::Option], &[Block::Select]),
            _ => {}
        }
        // A paragraph holds no other block.
        if !matches!(block, Block::Button | Block::Label | Block::Select | Block::Custom | Block::Option)
            && let Some((_, Block::P, _)) = self.open.last()
        {
            self.close_down_to(self.open.len() - 1);
        }
    }

    fn close_nearest(&mut self, closed: &[Block], boundaries: &[Block]) {
        if !closed.iter().any(|block| self.is_open(*block)) {
            return;
        }
        for place in (1..self.open.len()).rev() {
            let (_, block, _) = self.open[place];
            if closed.contains(&block) {
                self.close_down_to(place);
                return;
            }
            if boundaries.contains(&block) {
                return;
            }
        }
    }

    fn close_down_to(&mut self, place: usize) {
        for (_, block, _) in self.open.drain(place..) {
            self.open_of_kind[block as usize] -= 1;
        }
    }
}

fn is_table_part(block: Block) -> bool {
    matches!(block, Block::Table | Block::Row | Block::RowGroup | Block::Data | Block::Caption)
}

fn hints_of(name: &[u8], attributes: &Attributes) -> Hints {
    let mut found = hints::of_names(name);
    for (attribute, value) in attributes.iter() {
        match attribute {
            Attribute::Id | Attribute::Role | Attribute::ItemProperty => {
                found |= hints::of_names(value);
            }
            Attribute::Hidden => found |= Hints::HIDDEN,
            Attribute::AriaHidden if value.eq_ignore_ascii_case(b"true") => found |= Hints::HIDDEN,
            Attribute::Style if hints::is_hiding(value) => found |= Hints::HIDDEN,
            _ => {}
        }
    }
    found
}

/// FNV-1a; good enough to tell names of one page apart.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use crate::extract::Extraction;
    use crate::parse::{Block, parse};

    /// For each unit its text and the containers around it, the innermost first.
    fn units(html: &str) -> Vec<(String, Vec<Block>)> {
        let mut extraction = Extraction::new("seine");
        parse(html.as_bytes(), &mut extraction);
        let (text, outline) = (extraction.text.finish(), extraction.outline);
        let around = |mut node: u32| {
            let mut blocks = Vec::new();
            while node > 0 {
                blocks.push(outline.nodes[node as usize].block);
                node = outline.nodes[node as usize].parent;
            }
            blocks
        };
        let units = outline.units.iter();
        units.map(|unit| (text[unit.start as usize..unit.end as usize].to_owned(), around(unit.node))).collect()
    }

    #[test]
    fn end_tags_that_are_left_out_are_supplied() {
        use Block::{Data, Div, Item, List, P, Row, Table};
        let found =
            units("<ul><li>a<li>b<ul><li>c</ul></ul><p>d<p>e<div>f</div><table><tr><td>g<td>h<tr><td>i</table>j");
        let expected = [
            ("a", vec![Item, List]),
            ("b", vec![Item, List]),
            ("c", vec![Item, List, Item, List]),
            ("d", vec![P]),
            ("e", vec![P]),
            ("f", vec![Div]),
            ("g", vec![Data, Row, Table]),
            ("h", vec![Data, Row, Table]),
            ("i", vec![Data, Row, Table]),
            ("j", vec![]),
        ];
        assert_eq!(found, expected.map(|(text, blocks)| (text.to_owned(), blocks)));
    }

    #[test]
    fn a_table_is_not_closed_from_inside_and_inline_elements_part_no_unit() {
        use Block::{Data, Div, Row, Table};
        let found = units("<div>a<table><tr><td>b</div><i>c</i> <b>d</b><br>e</table>f</div>g");
        let expected = [
            ("a", vec![Div]),
            ("b", vec![Data, Row, Table, Div]),
            ("c d\ne", vec![Data, Row, Table, Div]),
            ("f", vec![Div]),
            ("g", vec![]),
        ];
        assert_eq!(found, expected.map(|(text, blocks)| (text.to_owned(), blocks)));
    }
}
