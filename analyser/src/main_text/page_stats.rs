//! Counts over a page's outline that the features of single units are made from: what each unit's characters are, and
//! how much of what each container holds.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::extract::hints::Hints;
use crate::extract::outline::{Outline, Unit};

/// What the characters of one unit are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct UnitStats {
    /// In characters; an ideograph counts as two, which makes lengths of all languages comparable.
    pub length: f32,
    pub link_length: f32,
    pub words: f32,
    pub upper: f32,
    pub digits: f32,
    pub commas: f32,
    pub currency: f32,
    /// Ends of sentences, the last one included.
    pub sentences: f32,
    pub ends_sentence: bool,
    pub ends_with_colon: bool,
    pub begins_upper: bool,
    pub has_copyright: bool,
    /// Equal texts of a page are equal here.
    pub hash: u64,
}

impl UnitStats {
    /// Length, if this is what sentences look like: some length, not all links, an end.
    pub fn prose(&self) -> f32 {
        let free = self.length - self.link_length;
        if free >= 40.0 && (self.sentences >= 1.0 || self.commas >= 1.0) { free } else { 0.0 }
    }
}

/// What a container holds, everything inside it counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeStats {
    pub length: f32,
    pub link_length: f32,
    pub prose: f32,
    pub units: f32,
    pub images: f32,
    pub controls: f32,
    /// Children of its parent that look the same, itself included.
    pub alike: f32,
    /// As readability measures do: how much its paragraphs speak for it.
    pub score: f32,
}

pub(crate) struct PageStats {
    pub units: Vec<UnitStats>,
    pub nodes: Vec<NodeStats>,
    /// The container that its paragraphs speak for most.
    pub best: u32,
    /// The smallest container that holds most of the page's prose.
    pub core: u32,
}

impl PageStats {
    pub fn of(text: &str, outline: &Outline) -> Self {
        let units: Vec<UnitStats> = outline.units.iter().map(|unit| unit_stats(text, unit)).collect();
        let mut nodes = vec![NodeStats::default(); outline.nodes.len()];
        for (unit, stats) in outline.units.iter().zip(&units) {
            let node = &mut nodes[unit.node as usize];
            node.length += stats.length;
            node.link_length += stats.link_length;
            node.prose += stats.prose();
            node.units += 1.0;
            node.images += f32::from(unit.images);
            add_score(outline, &mut nodes, unit.node, stats);
        }
        for place in (1..nodes.len()).rev() {
            let child = nodes[place];
            let node = &outline.nodes[place];
            let parent = &mut nodes[node.parent as usize];
            parent.length += child.length;
            parent.link_length += child.link_length;
            parent.prose += child.prose;
            parent.units += child.units;
            parent.images += child.images;
            parent.controls += child.controls + f32::from(u8::from(is_control(node.block)));
        }
        count_alike(outline, &mut nodes);
        let best = (0..nodes.len()).max_by(|a, b| {
            let weighed =
                |place: usize| nodes[place].score * (1.0 - share(nodes[place].link_length, nodes[place].length));
            weighed(*a).total_cmp(&weighed(*b))
        });
        let core = core(outline, &nodes);
        Self { units, nodes, best: best.unwrap_or_default() as u32, core }
    }
}

fn is_control(block: crate::parse::Block) -> bool {
    use crate::parse::Block;
    matches!(block, Block::Button | Block::Select | Block::Label | Block::Option)
}

fn add_score(outline: &Outline, nodes: &mut [NodeStats], node: u32, stats: &UnitStats) {
    let free = stats.length - stats.link_length;
    if free < 25.0 {
        return;
    }
    let points = 1.0 + stats.commas + (free / 100.0).min(3.0);
    let parent = outline.nodes[node as usize].parent;
    nodes[parent as usize].score += points;
    let above = outline.nodes[parent as usize].parent;
    nodes[above as usize].score += points / 2.0;
}

/// Counts siblings with equal signatures.
fn count_alike(outline: &Outline, nodes: &mut [NodeStats]) {
    let key = |place: u32| {
        let node = &outline.nodes[place as usize];
        (u64::from(node.parent) << 32) | u64::from(node.signature)
    };
    let mut order: Vec<(u64, u32)> = (1..outline.nodes.len() as u32).map(|place| (key(place), place)).collect();
    order.sort_unstable();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        for (_, place) in group {
            nodes[*place as usize].alike = group.len() as f32;
        }
    }
}

fn core(outline: &Outline, nodes: &[NodeStats]) -> u32 {
    // Children stand behind their parents, so the last container that holds enough is among the innermost.
    let enough = nodes[0].prose * 0.6;
    let mut core = 0;
    for (place, node) in nodes.iter().enumerate().skip(1) {
        if outline.nodes[place].parent == core && node.prose >= enough && enough > 0.0 {
            core = place as u32;
        }
    }
    core
}

pub(crate) fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Distances upwards to the nearest container that hints at something, for every container and every hint.
pub(crate) struct Distances {
    of_nodes: Vec<[u8; Hints::COUNT]>,
}

/// There is no such container.
pub(crate) const FAR: u8 = 30;

impl Distances {
    /// Containers that hold nearly everything say nothing about their parts.
    pub fn of(outline: &Outline, stats: &PageStats) -> Self {
        let whole = stats.nodes[0].length * 0.85;
        let mut of_nodes: Vec<[u8; Hints::COUNT]> = Vec::with_capacity(outline.nodes.len());
        of_nodes.push([FAR; Hints::COUNT]);
        for (node, held) in outline.nodes.iter().zip(&stats.nodes).skip(1) {
            let mut distances = of_nodes[node.parent as usize];
            for distance in &mut distances {
                *distance = distance.saturating_add(1).min(FAR);
            }
            let mut hints = if held.length > whole { 0 } else { node.hints.0 };
            while hints != 0 {
                distances[hints.trailing_zeros() as usize] = 0;
                hints &= hints - 1;
            }
            of_nodes.push(distances);
        }
        Self { of_nodes }
    }

    pub fn at(&self, node: u32) -> &[u8; Hints::COUNT] {
        &self.of_nodes[node as usize]
    }
}

/// Kinds of bytes that are counted; each has a byte of its own in a counter of eight.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Class {
    Upper,
    Digit,
    Space,
    Comma,
    Currency,
    /// The first byte of a character that is twice as wide.
    Wide,
    Continuation,
}

/// For each byte one in the place of its class.
const COUNTED: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let class = match byte as u8 {
            b'A'..=b'Z' => Some(Class::Upper),
            b'0'..=b'9' => Some(Class::Digit),
            b' ' | b'\n' => Some(Class::Space),
            b',' => Some(Class::Comma),
            b'$' => Some(Class::Currency),
            0xe3..=0xed | 0xf0 => Some(Class::Wide),
            0x80..=0xbf => Some(Class::Continuation),
            _ => None,
        };
        if let Some(class) = class {
            table[byte] = 1 << (8 * class as u32);
        }
        byte += 1;
    }
    table
};

/// The number of bytes of each class.
fn count_classes(bytes: &[u8]) -> [u32; 8] {
    let mut counts = [0; 8];
    // No byte of the counter overflows.
    for piece in bytes.chunks(255) {
        let counted = piece.iter().fold(0, |sum, byte| sum + COUNTED[usize::from(*byte)]);
        for (count, more) in counts.iter_mut().zip(u64::to_le_bytes(counted)) {
            *count += u32::from(more);
        }
    }
    counts
}

/// Ends of sentences that stand before a space.
fn count_sentences(bytes: &[u8]) -> u32 {
    let Some((_, following)) = bytes.split_first() else { return 0 };
    // In pieces whose count fits into a byte, so that many are compared at once.
    let pieces = bytes.chunks(255).zip(following.chunks(255));
    let count = |(ends, spaces): (&[u8], &[u8])| {
        let pairs = ends.iter().zip(spaces);
        pairs.fold(0u8, |count, (end, space)| {
            count + u8::from(ends_sentence(*end) & ((*space == b' ') | (*space == b'\n')))
        })
    };
    pieces.map(count).map(u32::from).sum()
}

fn ends_sentence(byte: u8) -> bool {
    (byte == b'.') | (byte == b'!') | (byte == b'?')
}

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// How much of one unit is looked at closely; it is the same all through.
const MAX_LOOK_BYTES: usize = 4 << 10;

fn unit_stats(text: &str, unit: &Unit) -> UnitStats {
    let bytes = &text.as_bytes()[unit.start as usize..unit.end as usize];
    let looked = &bytes[..bytes.len().min(MAX_LOOK_BYTES)];
    let counts = count_classes(looked);
    let sentences = count_sentences(looked);
    // Most units are without them, and signs of several bytes need not be looked for.
    let is_ascii = counts[Class::Continuation as usize] == 0;
    let euros = || bytes.windows(3).take(200).filter(|sign| *sign == "€".as_bytes()).count();
    let is_copyright = || looked.windows(2).take(400).any(|sign| sign == "©".as_bytes());
    let scale = bytes.len() as f32 / looked.len().max(1) as f32;
    let count = |class: Class| counts[class as usize] as f32 * scale;
    let wide = count(Class::Wide);
    let length = bytes.len() as f32 - count(Class::Continuation) + wide;
    let (wide_ends, wide_commas) = if wide > 0.0 { wide_punctuation(text, unit) } else { (0.0, 0.0) };
    let ends = bytes.last().is_some_and(|byte| ends_sentence(*byte))
        || bytes.ends_with("。".as_bytes())
        || bytes.ends_with("”".as_bytes())
        || bytes.ends_with(b".\"")
        || bytes.ends_with("…".as_bytes());
    UnitStats {
        length,
        link_length: length * unit.link_bytes as f32 / bytes.len().max(1) as f32,
        words: 1.0 + count(Class::Space) + wide / 2.0,
        upper: count(Class::Upper),
        digits: count(Class::Digit),
        commas: count(Class::Comma) + wide_commas,
        currency: count(Class::Currency) + if is_ascii { 0.0 } else { euros() as f32 },
        sentences: sentences as f32 * scale + f32::from(u8::from(ends)) + wide_ends,
        ends_sentence: ends,
        ends_with_colon: bytes.last() == Some(&b':'),
        begins_upper: bytes.first().is_some_and(u8::is_ascii_uppercase),
        has_copyright: !is_ascii && is_copyright(),
        hash: HASHER.hash_one(looked),
    }
}

fn wide_punctuation(text: &str, unit: &Unit) -> (f32, f32) {
    let looked = &text[unit.start as usize..unit.end as usize];
    let looked = &looked[..looked.floor_char_boundary(MAX_LOOK_BYTES)];
    let mut found = (0.0, 0.0);
    for character in looked.chars() {
        match character {
            '。' | '！' | '？' => found.0 += 1.0,
            '，' | '、' | '；' => found.1 += 1.0,
            _ => {}
        }
    }
    found
}
