//! Why nothing is being fetched, in a sentence: every idle second has a reason.

use seine_common::host::HostKey;
use seine_proto::monitor::v1::CrawlState;

use super::Keeper;
use crate::Result;
use crate::politeness;
use crate::record::{BlockRecord, CrawlId};

/// A rest shorter than this is not worth mentioning.
const NOTABLE_REST_MS: i64 = 1_500;

impl Keeper {
    /// Empty while something is fetched, or when the crawl is over.
    pub(super) fn waiting_reason(&self, id: CrawlId) -> Result<String> {
        let now = self.clock.now_ms();
        match self.crawls[&id].record.state() {
            CrawlState::Paused => return Ok("paused by admin".to_owned()),
            CrawlState::Stopped => return Ok("stopped by admin".to_owned()),
            CrawlState::Finished => return self.next_visit_reason(id),
            CrawlState::Unspecified => return Ok(String::new()),
            CrawlState::Running => {}
        }
        if let Some(reason) = &self.pause {
            return Ok(reason.clone());
        }
        if let Some(reason) = self.trouble_of_all_collectors() {
            return Ok(reason.to_owned());
        }
        let mut active = self.leases.of_crawl(id).filter(|lease| lease.session.is_some()).peekable();
        if active.peek().is_some() {
            let Some(first) = active.min_by_key(|lease| (lease.rests_until_ms, lease.delay_ms)) else {
                return Ok(String::new());
            };
            return Ok(match first {
                lease if lease.rests_until_ms > now + NOTABLE_REST_MS => {
                    rests(lease.host.as_str(), lease.rests_until_ms, "")
                }
                lease if lease.delay_ms > NOTABLE_REST_MS => {
                    format!("{} is asked every {} s at most", lease.host, lease.delay_ms as f64 / 1000.0)
                }
                _ => String::new(),
            });
        }
        if self.collectors.is_empty() {
            return Ok("no collector is attached".to_owned());
        }
        if let Some(lease) = self.leases.of_crawl(id).next() {
            return Ok(format!("{} is still leased to a collector that went away", lease.host));
        }
        let Some((at, host)) = self.frontier.ready(id, 1)?.into_iter().next() else { return Ok(String::new()) };
        let record = self.frontier.host(&host)?;
        if let Some(block) = self.blocks_of(&host, &record).next() {
            return Ok(blocked(&host, block));
        }
        if record.lease_token != 0 {
            return Ok(format!("{host} is being fetched for another crawl"));
        }
        let at = politeness::clamp(now, at);
        if at <= now + NOTABLE_REST_MS {
            return Ok(String::new());
        }
        Ok(match self.host_rest(&host, now)? {
            Some((_, because)) => rests(host.as_str(), at, &because),
            None => format!("a failed page of {host} is tried again at {}", clock_time(at)),
        })
    }

    /// While one of them is well, pages are fetched.
    fn trouble_of_all_collectors(&self) -> Option<&str> {
        let mut troubles = self.collectors.values().map(|collector| self.trouble_of(collector));
        let first = troubles.next()??;
        troubles.all(|trouble| trouble.is_some()).then_some(first)
    }

    fn next_visit_reason(&self, id: CrawlId) -> Result<String> {
        if let Some(host) = self.frontier.parked(id, None, 1)?.first()
            && let Some(block) = self.blocks_of(host, &self.frontier.host(host)?).next()
        {
            return Ok(blocked(host, block));
        }
        let due = self.scheduled_visit(id)?;
        Ok(due.map_or(String::new(), |due| format!("no URL is due before {}", date_time(due))))
    }
}

/// For a person, also where a URL is explained.
pub(super) fn blocked(host: &HostKey, block: &BlockRecord) -> String {
    let because = if block.reason.is_empty() { String::new() } else { format!(": {}", block.reason) };
    let by = if block.pattern == host.as_str() { String::new() } else { format!(" by {}", block.pattern) };
    format!("{host} is blocked{by}{because}")
}

fn rests(host: &str, until_ms: i64, because: &str) -> String {
    let because = if because.is_empty() { String::new() } else { format!(": {because}") };
    format!("{host} rests until {}{because}", clock_time(until_ms))
}

fn clock_time(ms: i64) -> String {
    match utc(ms) {
        Some(t) => format!("{:02}:{:02}:{:02} UTC", t.hour(), t.minute(), t.second()),
        None => "later".to_owned(),
    }
}

fn date_time(ms: i64) -> String {
    match utc(ms) {
        Some(t) => format!("{} {:02}:{:02} UTC", t.date(), t.hour(), t.minute()),
        None => "the end of time".to_owned(),
    }
}

fn utc(ms: i64) -> Option<time::OffsetDateTime> {
    time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()
}
