//! Taking in what became of a page, under the fence of its lease's token.

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Settle, Settled, monitor_message::Message};

use super::table::SessionId;
use crate::frontier::place::Place;
use crate::frontier::{CrawlId, Result, Settlement};
use crate::keeper::Keeper;
use crate::politeness;

impl Keeper {
    pub(crate) fn settle(&mut self, session: SessionId, settle: Settle) -> Result<()> {
        let Settle { token, request_id, place, outcome, .. } = settle;
        let held = self.leases.held_by(token, session).map(|lease| {
            lease.settled += 1;
            (lease.crawl, lease.host.clone())
        });
        let stale = match (held, Place::from_slice(&place), outcome) {
            (Some((crawl, host)), Some(place), Some(outcome)) => {
                self.apply(token, crawl, &host, place, outcome)?;
                false
            }
            _ => true,
        };
        self.send_durably(session, Message::Settled(Settled { request_id, token, stale }));
        Ok(())
    }

    fn apply(&mut self, token: u64, crawl: CrawlId, host: &HostKey, place: Place, outcome: Outcome) -> Result<()> {
        let now = self.clock.now_ms();
        self.note_patience(host, &outcome, now)?;
        let saved = outcome.kind() == OutcomeKind::Saved;
        let retry = match self.frontier.queued(crawl, host, place)? {
            Some(entry) if may_pass(outcome.kind()) => politeness::retry_after_failure(entry.attempts + 1),
            _ => None,
        };
        let settlement = match retry {
            Some(wait) => Settlement::Retry { due_ms: now + wait, outcome },
            None => Settlement::Done(outcome),
        };
        let settled = self.frontier.settle(crawl, host, place, settlement)?;
        if settled && saved {
            metrics::counter!("seine_monitor_pages_total").increment(1);
            if let Some(lease) = self.leases.iter_mut().find(|lease| lease.token == token) {
                lease.saved += 1;
            }
        }
        Ok(())
    }

    /// A host that asks for patience is left alone; one that answers again starts anew.
    fn note_patience(&mut self, host: &HostKey, outcome: &Outcome, now: i64) -> Result<()> {
        let mut record = self.frontier.host(host)?;
        match outcome.kind() {
            OutcomeKind::SlowDown => {
                let until = politeness::block_until(now, outcome.retry_after_s, record.blocks);
                record.next_allowed_ms = record.next_allowed_ms.max(until);
                record.blocks += 1;
            }
            OutcomeKind::Saved if record.blocks > 0 => record.blocks = 0,
            _ => return Ok(()),
        }
        self.frontier.put_host(&record)
    }
}

/// Whether the same request may succeed later.
fn may_pass(kind: OutcomeKind) -> bool {
    matches!(
        kind,
        OutcomeKind::ServerError
            | OutcomeKind::SlowDown
            | OutcomeKind::RobotsUnavailable
            | OutcomeKind::Timeout
            | OutcomeKind::ConnectionFailed
            | OutcomeKind::NameNotFound
    )
}
