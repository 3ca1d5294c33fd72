//! Who is given the next page: the analyser with the least under way of those that save.

use std::time::Instant;

use super::{Action, AnalyserId, Dispatch, PageNumber};
use crate::deliver::analyser::{Analyser, Standing, Stream};
use crate::deliver::outage::Prospect;
use crate::deliver::pages::Page;
use crate::deliver::rest::Rest;

impl Dispatch {
    /// One page for each that could not save and has rested.
    pub(super) fn try_those_that_rested(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let some_save = self.analysers.values().any(Analyser::saves);
        let rested = |analyser: &Analyser| {
            analyser.answers()
                && analyser.rest.try_at().is_some_and(|at| at <= now)
                && !(some_save && analyser.standing == Standing::Draining)
        };
        let rested: Vec<AnalyserId> =
            self.analysers.iter().filter(|(_, analyser)| rested(analyser)).map(|(id, _)| *id).collect();
        for id in rested {
            // Another page each time: it may be one page that does not fit.
            let page = self
                .waiting()
                .min_by_key(|number| self.pages.get(*number).map(|page| (page.refusals, page.avoids == Some(id))));
            match page {
                Some(page) => {
                    self.rest_of(id, |rest| rest.try_with(page));
                    self.send(page, id, actions);
                }
                // What comes next will tell.
                None if !some_save => self.rest_of(id, |rest| *rest = Rest::None),
                None => {}
            }
        }
    }

    /// The next page that can be sent, and where to.
    pub(super) fn next(&self) -> Option<(PageNumber, AnalyserId)> {
        self.pages.heads().find_map(|number| Some((number, self.choose(self.pages.get(number)?)?)))
    }

    fn choose(&self, page: &Page) -> Option<AnalyserId> {
        let saving = || self.analysers.iter().filter(|(_, analyser)| analyser.saves());
        let all_drain = saving().all(|(_, analyser)| analyser.standing == Standing::Draining);
        let wanted = saving().filter(|(_, analyser)| all_drain || analyser.standing != Standing::Draining);
        let with_room = wanted.filter(|(_, analyser)| analyser.has_room(page.is_suspect()));
        let best = with_room.min_by_key(|(id, analyser)| (page.avoids == Some(**id), analyser.load()));
        best.map(|(id, _)| *id)
    }

    /// What can be expected of all analysers together.
    pub(super) fn prospect(&self) -> Prospect {
        let listed = || self.analysers.values().filter(|analyser| analyser.standing != Standing::Gone);
        if listed().any(Analyser::saves) {
            Prospect::Good
        } else if listed().any(|analyser| analyser.stream == Stream::Opening) {
            Prospect::Unknown
        } else if listed().next().is_some() {
            Prospect::Bad
        } else {
            Prospect::Nobody
        }
    }
}
