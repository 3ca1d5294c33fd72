//! What is known of each unit of text when it is decided whether it belongs to the main text.
//!
//! Every feature has a name, under which the training tool lists it. Their order is that in which they are put.

use std::sync::LazyLock;

use crate::extract::hints;
use crate::extract::outline::{Outline, Unit};
use crate::parse::Block;

use super::page_stats::{Distances, FAR, PageStats, UnitStats, share};
use super::phrases;

/// A page as the choice of the main text sees it.
pub(crate) struct PageView<'a> {
    pub text: &'a str,
    pub outline: &'a Outline,
    pub title: &'a str,
    /// What names the page as a whole: path, declared types, classes of its body.
    pub kind_hints: hints::Hints,
}

/// Takes the features of one unit after the other.
pub(crate) trait Sink {
    fn put(&mut self, name: &str, value: f32);
}

/// Features of all units, one feature after the other, so that a rule runs over them at once.
#[derive(Default)]
pub(crate) struct Columns {
    values: Vec<f32>,
    rows: usize,
    row: usize,
    next: usize,
}

impl Columns {
    pub fn column(&self, feature: usize) -> &[f32] {
        &self.values[feature * self.rows..][..self.rows]
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Sink for Columns {
    #[inline]
    fn put(&mut self, _name: &str, value: f32) {
        self.values[self.next * self.rows + self.row] = value;
        self.next += 1;
    }
}

struct Names(Vec<String>);

impl Sink for Names {
    fn put(&mut self, name: &str, _value: f32) {
        self.0.push(name.to_owned());
    }
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

pub(crate) fn columns(page: &PageView<'_>) -> Columns {
    let features = Features::of(page);
    let rows = page.outline.units.len();
    let mut columns = Columns { values: vec![0.0; rows * *COUNT], rows, ..Columns::default() };
    for row in 0..rows {
        columns.row = row;
        columns.next = 0;
        features.put_unit(row, &mut columns);
    }
    // What is true of the page is true of all its units.
    if rows > 0 {
        columns.row = 0;
        features.put_page(&mut WholeColumns(&mut columns));
    }
    columns
}

static COUNT: LazyLock<usize> = LazyLock::new(|| names().len());

/// Gives all units the same value.
struct WholeColumns<'c>(&'c mut Columns);

impl Sink for WholeColumns<'_> {
    fn put(&mut self, _name: &str, value: f32) {
        let rows = self.0.rows;
        // Behind the columns of the last unit.
        self.0.values[self.0.next * rows..][..rows].fill(value);
        self.0.next += 1;
    }
}

/// Elements whose distance above a unit counts.
const ELEMENTS: [(Block, &str); 18] = [
    (Block::Nav, "nav"),
    (Block::Header, "header"),
    (Block::Footer, "footer"),
    (Block::Aside, "aside"),
    (Block::Main, "main"),
    (Block::Article, "article"),
    (Block::Section, "section"),
    (Block::Form, "form"),
    (Block::Table, "table"),
    (Block::List, "list"),
    (Block::Item, "item"),
    (Block::Definitions, "definitions"),
    (Block::Figure, "figure"),
    (Block::Details, "details"),
    (Block::Dialog, "dialog"),
    (Block::Quote, "quote"),
    (Block::Select, "select"),
    (Block::Custom, "custom"),
];

/// Kinds of pages that their names may tell.
const PAGE_KINDS: [usize; 10] = [7, 8, 13, 21, 25, 26, 29, 34, 37, 51];
/// Containers above a unit that are looked at, counted from its own.
const LEVELS: [usize; 5] = [0, 1, 2, 3, 5];

struct Features<'a> {
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
    first_h1: Option<usize>,
    /// How many units have the same text, and how many of them stand before.
    equal_texts: Vec<(u8, u8)>,
    title_words: Vec<u64>,
    h1s: f32,
    articles: f32,
    mains: f32,
}

impl<'a> Features<'a> {
    fn of(page: &'a PageView<'a>) -> Self {
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
        let count = |block: Block| nodes.iter().filter(|node| node.block == block).count() as f32;
        Self {
            before: running(|unit| unit.length),
            prose_before: running(UnitStats::prose),
            link_before: running(|unit| unit.link_length),
            first_h1: outline.units.iter().position(|unit| level(unit) == 1),
            equal_texts: equal_texts(&stats.units),
            title_words: word_hashes(page.title),
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
            stats,
        }
    }

    fn put_unit(&self, place: usize, sink: &mut impl Sink) {
        let unit = &self.page.outline.units[place];
        self.put_text(place, unit, sink);
        self.put_position(place, sink);
        self.put_neighbours(place, sink);
        self.put_containers(unit, sink);
    }

    fn put_text(&self, place: usize, unit: &Unit, sink: &mut impl Sink) {
        let stats = &self.stats.units[place];
        let text = &self.page.text[unit.start as usize..unit.end as usize];
        let bytes = (unit.end - unit.start).max(1) as f32;
        sink.put("length", stats.length);
        sink.put("words", stats.words);
        sink.put("word length", share(stats.length, stats.words));
        sink.put("links", share(stats.link_length, stats.length));
        sink.put("number of links", f32::from(unit.links));
        sink.put("emphasis", unit.emphasis_bytes as f32 / bytes);
        sink.put("lines", f32::from(unit.lines));
        sink.put("images", f32::from(unit.images));
        sink.put("upper", share(stats.upper, stats.length));
        sink.put("upper per word", share(stats.upper, stats.words));
        sink.put("digits", share(stats.digits, stats.length));
        sink.put("commas", stats.commas);
        sink.put("sentences", stats.sentences);
        sink.put("ends sentence", flag(stats.ends_sentence));
        sink.put("ends with colon", flag(stats.ends_with_colon));
        sink.put("begins upper", flag(stats.begins_upper));
        sink.put("currency", stats.currency);
        sink.put("copyright", flag(stats.has_copyright));
        sink.put("equal texts", f32::from(self.equal_texts[place].0));
        sink.put("equal texts before", f32::from(self.equal_texts[place].1));
        sink.put("title", self.title_share(text));
        let found = phrases::count(text.as_bytes());
        for (group, count) in phrases::GROUPS.iter().zip(found) {
            sink.put(group[0], share(f32::from(count), stats.words));
        }
    }

    fn put_position(&self, place: usize, sink: &mut impl Sink) {
        let units = self.page.outline.units.len() as f32;
        let whole = *self.before.last().unwrap_or(&0.0);
        let prose = *self.prose_before.last().unwrap_or(&0.0);
        sink.put("place", place as f32 / units);
        sink.put("text before", share(self.before[place], whole));
        sink.put("prose before", share(self.prose_before[place], prose));
        sink.put("units before", place as f32);
        sink.put("units behind", units - place as f32);
        sink.put("after h1", self.first_h1.map_or(-1000.0, |h1| place as f32 - h1 as f32));
        let heading = self.heading[place];
        let level = |heading: u32| heading_level(self.page.outline, &self.page.outline.units[heading as usize]);
        sink.put("last heading", heading.map_or(0.0, |heading| f32::from(level(heading))));
        sink.put("units since heading", heading.map_or(1000.0, |heading| (place - heading as usize) as f32));
        sink.put(
            "text since heading",
            heading.map_or(self.before[place], |heading| self.before[place] - self.before[heading as usize]),
        );
    }

    fn put_neighbours(&self, place: usize, sink: &mut impl Sink) {
        const NAMES: [[&str; 5]; 6] = [
            ["-3 length", "-3 links", "-3 heading", "-3 prose", "-3 together"],
            ["-2 length", "-2 links", "-2 heading", "-2 prose", "-2 together"],
            ["-1 length", "-1 links", "-1 heading", "-1 prose", "-1 together"],
            ["+1 length", "+1 links", "+1 heading", "+1 prose", "+1 together"],
            ["+2 length", "+2 links", "+2 heading", "+2 prose", "+2 together"],
            ["+3 length", "+3 links", "+3 heading", "+3 prose", "+3 together"],
        ];
        let outline = self.page.outline;
        let own = outline.units[place].node as usize;
        for (offset, names) in [-3isize, -2, -1, 1, 2, 3].into_iter().zip(NAMES) {
            let other = place.checked_add_signed(offset).filter(|other| *other < outline.units.len());
            let (stats, unit) = match other {
                Some(other) => (self.stats.units[other], Some(&outline.units[other])),
                None => (UnitStats::default(), None),
            };
            sink.put(names[0], stats.length);
            sink.put(names[1], share(stats.link_length, stats.length));
            sink.put(names[2], unit.map_or(0.0, |unit| f32::from(heading_level(outline, unit))));
            sink.put(names[3], stats.prose());
            // How far up both stand in one container.
            sink.put(names[4], unit.map_or(9.0, |unit| self.steps_to_common(own, unit.node as usize)));
        }
        for (width, names) in [
            (4, ["window 4 prose", "window 4 links"]),
            (10, ["window 10 prose", "window 10 links"]),
            (30, ["window 30 prose", "window 30 links"]),
        ] {
            let from = place.saturating_sub(width);
            let to = (place + width + 1).min(outline.units.len());
            let length = self.before[to] - self.before[from];
            sink.put(names[0], share(self.prose_before[to] - self.prose_before[from], length));
            sink.put(names[1], share(self.link_before[to] - self.link_before[from], length));
        }
    }

    fn steps_to_common(&self, from: usize, to: usize) -> f32 {
        let nodes = &self.page.outline.nodes;
        let (mut a, mut b) = (from, to);
        let mut steps = 0u8;
        while a != b && steps < 9 {
            if nodes[a].depth >= nodes[b].depth {
                a = nodes[a].parent as usize;
                steps += 1;
            } else {
                b = nodes[b].parent as usize;
            }
        }
        f32::from(steps)
    }

    fn put_containers(&self, unit: &Unit, sink: &mut impl Sink) {
        let nodes = &self.page.outline.nodes;
        let all = &self.stats.nodes[0];
        let own = &nodes[unit.node as usize];
        sink.put("element", own.block as u8 as f32);
        sink.put("heading", f32::from(heading_level(self.page.outline, unit)));
        sink.put("depth", f32::from(own.depth));
        const NAMES: [[&str; 6]; 5] = [
            ["0 share", "0 links", "0 prose", "0 unit length", "0 alike", "0 element"],
            ["1 share", "1 links", "1 prose", "1 unit length", "1 alike", "1 element"],
            ["2 share", "2 links", "2 prose", "2 unit length", "2 alike", "2 element"],
            ["3 share", "3 links", "3 prose", "3 unit length", "3 alike", "3 element"],
            ["5 share", "5 links", "5 prose", "5 unit length", "5 alike", "5 element"],
        ];
        let mut node = unit.node as usize;
        let mut level = 0;
        let (mut alike, mut alike_length, mut alike_links, mut alike_prose) = (1.0, 0.0, 0.0, 0.0);
        for (wanted, names) in LEVELS.into_iter().zip(NAMES) {
            while level < wanted {
                node = nodes[node].parent as usize;
                level += 1;
            }
            let held = &self.stats.nodes[node];
            sink.put(names[0], share(held.length, all.length));
            sink.put(names[1], share(held.link_length, held.length));
            sink.put(names[2], share(held.prose, held.length));
            sink.put(names[3], share(held.length, held.units));
            sink.put(names[4], held.alike);
            sink.put(names[5], nodes[node].block as u8 as f32);
            if held.alike > alike {
                alike = held.alike;
                alike_length = held.length;
                alike_links = share(held.link_length, held.length);
                alike_prose = share(held.prose, held.length);
            }
        }
        sink.put("alike", alike);
        sink.put("alike length", alike_length);
        sink.put("alike links", alike_links);
        sink.put("alike prose", alike_prose);
        let to = |holds: &[bool]| {
            let mut node = unit.node as usize;
            let mut steps = 0u8;
            while !holds[node] && steps < FAR {
                node = nodes[node].parent as usize;
                steps += 1;
            }
            (f32::from(steps), node)
        };
        let (steps, common) = to(&self.holds_best);
        sink.put("in best", flag(self.in_best[unit.node as usize]));
        sink.put("steps to best", steps);
        sink.put("common with best", share(self.stats.nodes[common].length, all.length));
        let (steps, common) = to(&self.holds_core);
        sink.put("in core", flag(self.in_core[unit.node as usize]));
        sink.put("steps to core", steps);
        sink.put("common with core", share(self.stats.nodes[common].length, all.length));
        for (distance, (_, name)) in self.elements[unit.node as usize].iter().zip(ELEMENTS) {
            sink.put(name, f32::from(*distance));
        }
        for (number, distance) in self.distances.at(unit.node).iter().enumerate() {
            sink.put(hints::GROUPS.get(number).map_or("is hidden", |words| words[0]), f32::from(*distance));
        }
    }

    fn put_page(&self, sink: &mut impl Sink) {
        let all = &self.stats.nodes[0];
        sink.put("page length", all.length);
        sink.put("page units", all.units);
        sink.put("page links", share(all.link_length, all.length));
        sink.put("page prose", share(all.prose, all.length));
        sink.put("page prose length", all.prose);
        sink.put("page images", all.images);
        sink.put("page controls", all.controls);
        sink.put("page h1", self.h1s);
        sink.put("page articles", self.articles);
        sink.put("page main", self.mains);
        let best = &self.stats.nodes[self.stats.best as usize];
        let core = &self.stats.nodes[self.stats.core as usize];
        sink.put("best share", share(best.prose, all.prose));
        sink.put("core share", share(core.length, all.length));
        sink.put("core unit length", share(core.length, core.units));
        for number in PAGE_KINDS {
            sink.put(["page is ", hints::GROUPS[number][0]].concat().as_str(), flag(self.page.kind_hints.has(number)));
        }
    }

    /// How much of the text is in the page's title.
    fn title_share(&self, text: &str) -> f32 {
        if text.len() > 200 {
            return 0.0;
        }
        let words = word_hashes(text);
        let common = words.iter().filter(|word| self.title_words.contains(word)).count();
        share(common as f32, words.len() as f32)
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

fn equal_texts(units: &[UnitStats]) -> Vec<(u8, u8)> {
    let mut order: Vec<(u64, u32)> = units.iter().zip(0..).map(|(unit, place)| (unit.hash, place)).collect();
    order.sort_unstable();
    let mut counts = vec![(0, 0); units.len()];
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        for (before, (_, place)) in group.iter().enumerate() {
            counts[*place as usize] = (group.len().min(255) as u8, before.min(255) as u8);
        }
    }
    counts
}

fn word_hashes(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(40);
    words
        .map(|word| {
            word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
            })
        })
        .collect()
}
