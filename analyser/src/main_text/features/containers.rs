//! What the containers around a unit are called and what else they hold.

use crate::extract::hints;
use crate::extract::outline::Unit;
use crate::parse::Block;

use super::super::page_stats::{FAR, share};
use super::columns::Sink;
use super::{Features, flag, heading_level};

/// Elements whose distance above a unit counts.
pub(super) const ELEMENTS: [(Block, &str); 18] = [
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

/// Containers above a unit that are looked at, counted from its own.
const LEVELS: [usize; 5] = [0, 1, 2, 3, 5];

impl Features<'_> {
    pub(super) fn put_containers(&self, unit: &Unit, sink: &mut impl Sink) {
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
}
