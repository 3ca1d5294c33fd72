//! What is known of each unit of text when it is decided whether it belongs to the main text.
//!
//! Every feature has a name, under which the training tool lists it. Their order is that in which they are put.

mod columns;
mod text;
mod position;
mod neighbours;
mod containers;
mod surroundings;
mod page;

use std::ops::Range;
use std::sync::LazyLock;

use crate::extract::hints;
use crate::extract::outline::{Outline, Unit};
use crate::parse::Block;

use self::columns::{Names, WholeColumns};
use self::containers::ELEMENTS;
use self::surroundings::Surroundings;
use self::text::{equal_texts, word_hashes};
use super::page_stats::{Distances, FAR, PageStats, UnitStats};
use super::phrases;

pub(crate) use self::columns::{Columns, UNITS_AT_ONCE};

/// A page as the choice of the main text sees it.
pub(crate) struct PageView<'a> {
    pub text: &'a str,
    pub outline: &'a Outline,
    pub title: &'a str,
    /// What names the page as a whole: path, declared types, classes of its body.
    pub kind_hints: hints::Hints,
}

/// The names of all features.
pub(crate) fn names() -> Vec<String> {
    let mut names = Names(Vec::new());
    let mut outline = Outline::default();
    outline.units.push(Unit::default());
    let page = PageView { text: "", outline: &outline, title: "", kind_hints: hints::Hints::default() };
    let features = Features::of(&page);
    features.put_unit(0, &mut names);
    features.put_page(&mut names);
    names.0
}

static COUNT: LazyLock<usize> = LazyLock::new(|| names().len());

pub(crate) struct Features<'a> {
    page: &'a PageView<'a>,
    stats: PageStats,
    distances: Distances,
    elements: Vec<[u8; ELEMENTS.len()]>,
    /// For each container whether the best and the core container are inside it, or it inside them.
    holds_best: Vec<bool>,
    in_best: Vec<bool>,
    holds_core: Vec<bool>,
    in_core: Vec<bool>,
    /// Length of the text before each unit.
    before: Vec<f32>,
    prose_before: Vec<f32>,
    link_before: Vec<f32>,
    /// The unit of the last heading before each unit, itself included.
    heading: Vec<Option<u32>>,
    /// How often each group of phrases occurs in each unit.
    phrases: Vec<phrases::Counts>,
    surroundings: Surroundings,
    first_h1: Option<usize>,
    /// How many units have the same text, and how many of them stand before.
    equal_texts: Vec<(u8, u8)>,
    title_words: Vec<u64>,
    h1s: f32,
    articles: f32,
    mains: f32,
}

impl<'a> Features<'a> {
    pub(crate) fn of(page: &'a PageView<'a>) -> Self {
        let outline = page.outline;
        let stats = PageStats::of(page.text, outline);
        let distances = Distances::of(outline, &stats);
        let nodes = &outline.nodes;
        let mut elements: Vec<[u8; ELEMENTS.len()]> = Vec::with_capacity(nodes.len());
        let (mut in_best, mut in_core) = (vec![false; nodes.len()], vec![false; nodes.len()]);
        for (place, node) in nodes.iter().enumerate() {
            let mut distances = if place == 0 { [FAR; ELEMENTS.len()] } else { elements[node.parent as usize] };
            for (distance, (block, _)) in distances.iter_mut().zip(ELEMENTS) {
                *distance = if node.block == block { 0 } else { distance.saturating_add(1).min(FAR) };
            }
            elements.push(distances);
            in_best[place] = place as u32 == stats.best || (place > 0 && in_best[node.parent as usize]);
            in_core[place] = place as u32 == stats.core || (place > 0 && in_core[node.parent as usize]);
        }
        let holds = |inner: u32| {
            let mut holds = vec![false; nodes.len()];
            let mut place = inner as usize;
            while place > 0 {
                holds[place] = true;
                place = nodes[place].parent as usize;
            }
            holds[0] = true;
            holds
        };
        let running = |value: fn(&UnitStats) -> f32| {
            let mut sum = 0.0;
            let mut sums: Vec<f32> = stats
                .units
                .iter()
                .map(|unit| {
                    let before = sum;
                    sum += value(unit);
                    before
                })
                .collect();
            sums.push(sum);
            sums
        };
        let level = |unit: &Unit| heading_level(outline, unit);
        let mut last = None;
        let heading = outline.units.iter().enumerate().map(|(place, unit)| {
            if level(unit) > 0 {
                last = Some(place as u32);
            }
            last
        });
        let heading = heading.collect();
        let phrases: Vec<phrases::Counts> = outline
            .units
            .iter()
            .map(|unit| phrases::count(&page.text.as_bytes()[unit.start as usize..unit.end as usize]))
            .collect();
        let count = |block: Block| nodes.iter().filter(|node| node.block == block).count() as f32;
        Self {
            before: running(|unit| unit.length),
            prose_before: running(UnitStats::prose),
            link_before: running(|unit| unit.link_length),
            first_h1: outline.units.iter().position(|unit| level(unit) == 1),
            equal_texts: equal_texts(&stats.units),
            title_words: word_hashes(page.title).collect(),
            h1s: count(Block::H1),
            articles: count(Block::Article),
            mains: count(Block::Main),
            holds_best: holds(stats.best),
            holds_core: holds(stats.core),
            page,
            distances,
            elements,
            in_best,
            in_core,
            heading,
            surroundings: Surroundings::of(outline, &phrases),
            phrases,
            stats,
        }
    }

    /// Puts the features of some of the units in the place of what the columns hold.
    pub(crate) fn fill(&self, columns: &mut Columns, units: Range<usize>) {
        columns.begin(units.len(), *COUNT);
        let is_empty = units.is_empty();
        for (row, unit) in units.enumerate() {
            columns.begin_row(row);
            self.put_unit(unit, columns);
        }
        // What is true of the page is true of all its units.
        if !is_empty {
            self.put_page(&mut WholeColumns(columns));
        }
    }

    fn put_unit(&self, place: usize, sink: &mut impl columns::Sink) {
        let unit = &self.page.outline.units[place];
        self.put_text(place, unit, sink);
        self.put_position(place, sink);
        self.put_neighbours(place, sink);
        self.put_containers(unit, sink);
        self.put_surroundings(unit, sink);
    }
}

fn flag(value: bool) -> f32 {
    f32::from(u8::from(value))
}

pub(crate) fn heading_level(outline: &Outline, unit: &Unit) -> u8 {
    let mut node = unit.node as usize;
    for _ in 0..3 {
        let level = outline.nodes[node].block.heading_level();
        if level > 0 {
            return level;
        }
        node = outline.nodes[node].parent as usize;
    }
    0
}
