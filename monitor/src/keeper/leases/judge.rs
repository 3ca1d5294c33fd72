//! What waited while the crawl's rules changed is judged again when it is handed out.
//!
//! Every waiting URL carries the generation of the rules that let it in, so that without a change nothing is judged twice.
//! What is excluded now is settled as that, with the rule, and counted; a known page is handed out to be withdrawn. URLs that
//! a collector is fetching at that moment are left to their outcome.

use std::collections::BTreeSet;

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use crate::Result;
use crate::frontier::{Queued, Settlement, Stretch};
use crate::keeper::Keeper;
use crate::place::Place;
use crate::record::{CrawlId, FORGOTTEN, QueueEntry, UrlRecord};

/// URLs read from the queue together while some of them are excluded.
const READ_AT_ONCE: usize = 256;
/// URLs judged before something else gets its turn.
const JUDGED_AT_ONCE: usize = 2_048;

enum Judged {
    Stays(Queued),
    Excluded(Queued, String),
}

impl Keeper {
    /// The first URLs of a host behind a place, as far as the rules of now admit them.
    pub(super) fn hand_out(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        after: Option<Place>,
        limit: usize,
        under_way: &BTreeSet<Place>,
    ) -> Result<Stretch> {
        let stretch = self.frontier.stretch(crawl, host, after, limit)?;
        let generation = self.crawls[&crawl].record.rules_generation;
        if stretch.urls.iter().all(|queued| queued.entry.rules_generation == generation) {
            return Ok(stretch);
        }
        self.hand_out_judged(crawl, host, stretch, limit, under_way)
    }

    fn hand_out_judged(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        first: Stretch,
        limit: usize,
        under_way: &BTreeSet<Place>,
    ) -> Result<Stretch> {
        let mut handed_out = Stretch::default();
        let (mut next, mut looked_at) = (first, 0);
        loop {
            let last = next.urls.last().map(|queued| queued.place);
            looked_at += next.urls.len();
            for queued in next.urls {
                if under_way.contains(&queued.place) {
                    continue;
                }
                match self.judge(crawl, queued)? {
                    Judged::Stays(queued) => handed_out.urls.push(queued),
                    Judged::Excluded(queued, rule) => self.settle_excluded(crawl, host, queued, rule)?,
                }
            }
            handed_out.exhausted = next.exhausted;
            if next.exhausted || handed_out.urls.len() >= limit || looked_at >= JUDGED_AT_ONCE {
                break;
            }
            next = self.frontier.stretch(crawl, host, last, READ_AT_ONCE)?;
        }
        if handed_out.urls.len() > limit {
            handed_out.urls.truncate(limit);
            handed_out.exhausted = false;
        }
        Ok(handed_out)
    }

    fn judge(&self, crawl: CrawlId, mut queued: Queued) -> Result<Judged> {
        let active = &self.crawls[&crawl];
        if queued.entry.rules_generation == active.record.rules_generation {
            return Ok(Judged::Stays(queued));
        }
        let Ok(url) = CanonicalUrl::parse(&queued.entry.url) else { return Ok(Judged::Stays(queued)) };
        let excluded_by = active.checked.judge(&url, &queued.entry);
        let Some(revisit) = queued.entry.revisit.as_mut().filter(|revisit| revisit.saved) else {
            return Ok(match excluded_by {
                Some(rule) => Judged::Excluded(queued, rule),
                None => Judged::Stays(queued),
            });
        };
        if revisit.withdraw != FORGOTTEN {
            revisit.keep_document = excluded_by.is_some() && self.is_saved_by_another(crawl, &url)?;
            revisit.withdraw = excluded_by.unwrap_or_default();
        }
        if active.record.filters_changed_ms > 0 {
            // It may have to be judged as a page, so it is needed in full.
            (revisit.etag, revisit.last_modified) = Default::default();
        }
        Ok(Judged::Stays(queued))
    }

    /// A URL that waited leaves the queue without having been asked for. A later round may find the rule changed.
    fn settle_excluded(&mut self, crawl: CrawlId, host: &HostKey, queued: Queued, rule: String) -> Result<()> {
        let Queued { place, entry } = queued;
        self.frontier.count_excluded(crawl, &rule, &entry.url);
        let before = match (&entry.revisit, CanonicalUrl::parse(&entry.url)) {
            (Some(_), Ok(url)) => self.frontier.record(crawl, &url)?.unwrap_or_default(),
            _ => UrlRecord::default(),
        };
        let outcome = match before.outcome.kind() {
            OutcomeKind::Gone => before.outcome.clone(),
            _ => Outcome { kind: OutcomeKind::Excluded.into(), detail: rule, ..Outcome::default() },
        };
        let entry = QueueEntry { last_outcome: None, revisit: None, ..entry };
        let record = UrlRecord { entry, outcome, next_visit_ms: self.due_without_visit(crawl), ..before };
        self.frontier.settle(crawl, host, place, Settlement::Done(Box::new(record))).map(drop)
    }
}
