//! What stands before and behind a unit.

use super::super::page_stats::{UnitStats, share};
use super::columns::Sink;
use super::{Features, heading_level};

impl Features<'_> {
    pub(super) fn put_neighbours(&self, place: usize, sink: &mut impl Sink) {
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
}
