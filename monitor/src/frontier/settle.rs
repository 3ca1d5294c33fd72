//! The end of a URL's stay in its queue: what became of it, and what that does to the crawl's counters.

use prost::Message;
use rocksdb::WriteBatch;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

use super::place::Place;
use super::record::{CrawlProgress, QueueEntry, UrlRecord, decode};
use super::sieve::Seen;
use super::store::{CONTENTS, QUEUE, RECORDS, RETRIES, RocksFrontier, SEEN};
use super::{CrawlId, Result, Settlement, key};

impl RocksFrontier {
    pub(super) fn end_stay(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        place: Place,
        settlement: Settlement,
    ) -> Result<bool> {
        let host_key = self.host_key(crawl, host);
        let queue_key = key::queue(&host_key, place);
        let Some(bytes) = self.db.get_pinned_cf(self.table(QUEUE), queue_key)? else { return Ok(false) };
        let mut entry: QueueEntry = decode(&bytes, "queue entry")?;
        let url_key = key::url(&host_key, self.fingerprinter.of(entry.url.as_bytes()));
        let mut batch = WriteBatch::default();
        batch.delete_cf(self.table(QUEUE), queue_key);
        match settlement {
            Settlement::Retry { due_ms, outcome } => {
                entry.attempts += 1;
                entry.last_outcome = Some(outcome);
                let seen = Seen::Retrying { depth: entry.depth, due_ms, place };
                batch.put_cf(self.table(SEEN), url_key, seen.encode());
                batch.put_cf(self.table(RETRIES), key::retry(&host_key, due_ms, place), entry.encode_to_vec());
            }
            Settlement::Done(outcome) => {
                let duplicate = self.repeats_content(&mut batch, crawl, &outcome)?;
                let progress = self.progress.entry(crawl).or_default();
                count(progress, &outcome);
                progress.duplicates += u64::from(duplicate);
                batch.put_cf(self.table(SEEN), url_key, Seen::Settled { depth: entry.depth }.encode());
                entry.last_outcome = None;
                batch.put_cf(self.table(RECORDS), url_key, UrlRecord { entry, outcome }.encode_to_vec());
                self.put_progress(&mut batch, crawl);
            }
        }
        self.db.write(batch)?;
        Ok(true)
    }

    /// Whether a saved page has the text of an earlier one of the crawl.
    fn repeats_content(&self, batch: &mut WriteBatch, crawl: CrawlId, outcome: &Outcome) -> Result<bool> {
        if outcome.kind() != OutcomeKind::Saved || outcome.fingerprint == 0 {
            return Ok(false);
        }
        let key = key::content(crawl, outcome.fingerprint);
        if self.db.get_pinned_cf(self.table(CONTENTS), key)?.is_some() {
            return Ok(true);
        }
        batch.put_cf(self.table(CONTENTS), key, b"");
        Ok(false)
    }
}

fn count(progress: &mut CrawlProgress, outcome: &Outcome) {
    progress.queued = progress.queued.saturating_sub(1);
    match outcome.kind() {
        OutcomeKind::Saved => {
            progress.pages += 1;
            progress.bytes += outcome.bytes;
            progress.not_indexed += u64::from(!outcome.generate);
        }
        OutcomeKind::Redirected => progress.redirected += 1,
        OutcomeKind::RefusedByRobots => progress.refused_by_robots += 1,
        OutcomeKind::UnwantedType => progress.unwanted += 1,
        _ => progress.failed += 1,
    }
}
