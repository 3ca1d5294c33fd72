//! What is true of the page as a whole.

use crate::extract::hints;

use super::super::page_stats::share;
use super::columns::Sink;
use super::{Features, flag};

/// Kinds of pages that their names may tell.
const PAGE_KINDS: [usize; 10] = [7, 8, 13, 21, 25, 26, 29, 34, 37, 51];

impl Features<'_> {
    pub(super) fn put_page(&self, sink: &mut impl Sink) {
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
            sink.put_of("page is", hints::GROUPS[number][0], flag(self.page.kind_hints.has(number)));
        }
    }
}
