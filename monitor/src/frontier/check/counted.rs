//! Counters of crawls, and what the tables have of what they count.
//!
//! Those that nothing else tells, such as how many links were kept out, cannot be checked. Bytes and the sequence of parents may be
//! higher than what is left tells.

use std::collections::HashMap;

use seine_proto::monitor::v1::CrawlState;

use super::super::settle::count;
use super::{Check, Damage, Watch, crawl_of};
use crate::Result;
use crate::place::{PLACE_BYTES, Place};
use crate::record::{CrawlId, CrawlProgress, HostUse, UrlRecord, decode};
use crate::store::{Batch, Entry, Slot, Table};

/// A counter, and how it is reached.
type Counter = (&'static str, fn(&mut CrawlProgress) -> &mut u64);

/// Those that follow from the tables.
const EXACT: [Counter; 11] = [
    ("pages", |progress| &mut progress.pages),
    ("failed", |progress| &mut progress.failed),
    ("refused by robots.txt", |progress| &mut progress.refused_by_robots),
    ("redirected", |progress| &mut progress.redirected),
    ("not indexed", |progress| &mut progress.not_indexed),
    ("of an unwanted type", |progress| &mut progress.unwanted),
    ("gone", |progress| &mut progress.gone),
    ("queued", |progress| &mut progress.queued),
    ("queued for another visit", |progress| &mut progress.revisits_queued),
    ("queued links of valuable pages", |progress| &mut progress.breadth_queued),
    ("deferred links of valuable pages", |progress| &mut progress.deferred),
];
const AT_LEAST: [Counter; 1] = [("bytes", |progress| &mut progress.bytes)];

impl Check<'_> {
    pub(super) fn counters(&mut self, watch: Watch<'_>) -> Result<()> {
        let mut tallies: HashMap<CrawlId, CrawlProgress> = HashMap::new();
        for table in [Table::Queue, Table::Retries, Table::Records, Table::Uses] {
            self.each_stretch(table, watch, |_, _, entries| tally(&mut tallies, table, entries))?;
        }
        let mut ids: Vec<(CrawlId, String)> = self.crawls.iter().map(|(name, id)| (*id, name.clone())).collect();
        ids.sort();
        for (id, name) in ids {
            self.compare(id, &name, tallies.remove(&id).unwrap_or_default())?;
        }
        Ok(())
    }

    fn compare(&mut self, id: CrawlId, name: &str, mut tally: CrawlProgress) -> Result<()> {
        let mut progress = self.frontier.progress(id);
        let mut differs = false;
        let exact = EXACT.into_iter().map(|counter| (counter, true));
        for ((counter, field), is_exact) in exact.chain(AT_LEAST.into_iter().map(|counter| (counter, false))) {
            let (counted, there) = (*field(&mut progress), *field(&mut tally));
            if counted == there || (!is_exact && counted > there) {
                continue;
            }
            self.found(Damage::Counter, || format!("{name}: {counted} {counter}, and the tables have {there}"));
            *field(&mut progress) = there;
            differs = true;
        }
        if differs { self.count(id, progress) } else { Ok(()) }
    }

    /// Notes how far the sequence of parents must have come for this place.
    pub(super) fn note_sequence(&mut self, crawl: CrawlId, place: Place) {
        let bytes = place.0[4..12].try_into().expect("a place has so many bytes");
        let number = u64::from_be_bytes(bytes);
        // Depth-first the later goes first and stands as its complement.
        let sequence = number.min(!number);
        let highest = self.sequences.entry(crawl).or_default();
        *highest = (*highest).max(sequence);
    }

    /// New places must not be those of URLs that wait.
    pub(super) fn raise_sequences(&mut self) -> Result<()> {
        for (crawl, highest) in std::mem::take(&mut self.sequences) {
            let mut progress = self.frontier.progress(crawl);
            if progress.sequence < highest {
                let counted = std::mem::replace(&mut progress.sequence, highest);
                self.found(Damage::Counter, || {
                    format!("crawl {}: {counted} parents, and the tables have {highest}", crawl.0)
                });
                self.count(crawl, progress)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, crawl: CrawlId, progress: CrawlProgress) -> Result<()> {
        if !self.mends {
            return Ok(());
        }
        self.frontier.progress.insert(crawl, progress);
        let mut batch = Batch::at_home();
        self.frontier.put_progress(&mut batch, crawl);
        self.frontier.write(batch)
    }

    /// A finished crawl that has something to do again goes on.
    pub(super) fn wake(&mut self) -> Result<()> {
        for mut crawl in self.frontier.crawls()? {
            if self.woken.contains(&CrawlId(crawl.id)) && crawl.state() == CrawlState::Finished {
                crawl.state = CrawlState::Running.into();
                self.frontier.put_crawl(&crawl)?;
            }
        }
        Ok(())
    }
}

fn tally(tallies: &mut HashMap<CrawlId, CrawlProgress>, table: Table, entries: &[(Slot, Entry)]) -> Result<()> {
    for (_, (key, value)) in entries {
        let tally = tallies.entry(crawl_of(key)?).or_default();
        match table {
            Table::Records => {
                let record: UrlRecord = decode(value, "URL record")?;
                if record.entry.sitemap_level == 0 {
                    count(tally, &record.outcome, 1);
                }
            }
            Table::Uses => tally.bytes += decode::<HostUse>(value, "host use")?.bytes,
            _ => {
                tally.queued += 1;
                let place = key.len().checked_sub(PLACE_BYTES).and_then(|at| Place::from_slice(&key[at..]));
                if let Some(place) = place {
                    tally.count_class(place.class(), 1);
                }
            }
        }
    }
    Ok(())
}
