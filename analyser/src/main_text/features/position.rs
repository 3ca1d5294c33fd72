//! Where a unit stands on its page: how far down, and how far behind which heading.

use super::super::page_stats::share;
use super::columns::Sink;
use super::{Features, heading_level};

impl Features<'_> {
    pub(super) fn put_position(&self, place: usize, sink: &mut impl Sink) {
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
}
