//! Blocking hosts: no crawl asks them, their leases end, and what waits on them goes on waiting.
//!
//! A blocked host is *parked* when it comes up: it stands behind all others of its crawl and is never handed out. So a
//! crawl all of whose waiting hosts are parked has nothing more to do and finishes, with its URLs still queued. Unblocking
//! puts parked hosts back. Networks are compared with addresses that collectors find: a host whose address is not known,
//! or was found long ago, is handed out so that its address is looked up, and refused before any request to it.

use std::net::IpAddr;

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{
    BlockHostsRequest, BlockHostsResponse, CrawlState, HostBlock, UnblockHostsRequest, UnblockHostsResponse,
};

use super::Keeper;
use crate::blocklist::HostPattern;
use crate::frontier::PARKED;
use crate::record::{BlockRecord, CrawlId, HostRecord};
use crate::{MonitorError, Result};

/// Patterns that may be blocked; each is kept in memory.
const MAX_BLOCKS: usize = 100_000;
const MAX_REASON_BYTES: usize = 1_000;
/// An address that was refused is looked up again after this time: the host may have moved.
const ADDRESS_HOLDS_MS: i64 = 24 * 60 * 60 * 1000;
/// Parked hosts looked at together.
const PARKED_AT_ONCE: usize = 1_000;

impl Keeper {
    pub(super) fn block(&mut self, request: &BlockHostsRequest) -> Result<BlockHostsResponse> {
        let pattern = parse(&request.pattern)?;
        let reason = request.reason.trim();
        if reason.len() > MAX_REASON_BYTES {
            return Err(MonitorError::Invalid(format!(
                "a reason of {} bytes; use at most {MAX_REASON_BYTES}",
                reason.len()
            )));
        }
        let known = self.blocklist.get(&pattern);
        if known.is_none() && self.blocklist.len() >= MAX_BLOCKS {
            return Err(MonitorError::Invalid(format!(
                "{MAX_BLOCKS} patterns are blocked already; unblock some first"
            )));
        }
        let since_ms = known.map_or_else(|| self.clock.now_ms(), |known| known.since_ms);
        let record = BlockRecord { pattern: pattern.to_string(), reason: reason.to_owned(), since_ms };
        self.frontier.put_block(&record)?;
        self.blocklist.insert(pattern, record.clone());
        tracing::info!(pattern = record.pattern, reason = record.reason, "hosts blocked");
        let leases = self.end_blocked_leases()?;
        // Parks what waits, and lets crawls finish that have nothing else.
        self.grant_soon();
        Ok(BlockHostsResponse { block: Some(message(&record)), leases })
    }

    fn end_blocked_leases(&mut self) -> Result<u32> {
        let held: Vec<_> = self.leases.iter().map(|lease| (lease.token, lease.host.clone())).collect();
        let mut ended = 0;
        for (token, host) in held {
            // However long ago its address was found, that is where it is being asked.
            let record = self.frontier.host(&host)?;
            if self.blocks_of(&host, &record).next().is_some() {
                self.revoke(token, "its host is blocked");
                ended += 1;
            }
        }
        Ok(ended)
    }

    pub(super) fn unblock(&mut self, request: &UnblockHostsRequest) -> Result<UnblockHostsResponse> {
        let pattern = parse(&request.pattern)?;
        let Some(record) = self.blocklist.remove(&pattern) else {
            return Err(MonitorError::NotBlocked(pattern.to_string()));
        };
        self.frontier.remove_block(&record.pattern)?;
        tracing::info!(pattern = record.pattern, "hosts unblocked");
        let mut answer = UnblockHostsResponse { block: Some(message(&record)), ..UnblockHostsResponse::default() };
        let ids: Vec<CrawlId> = self.crawls.keys().copied().collect();
        for id in ids {
            let hosts = self.put_back_unblocked(id)?;
            answer.hosts += hosts;
            let crawl = &self.crawls[&id].record;
            if hosts > 0 && crawl.state() == CrawlState::Finished {
                answer.finished_crawls.push(crawl.settings.name.clone());
            }
        }
        self.grant_soon();
        Ok(answer)
    }

    /// Puts those parked hosts of a crawl back that nothing blocks any more; gives their number.
    pub(super) fn put_back_unblocked(&mut self, crawl: CrawlId) -> Result<u64> {
        let now = self.clock.now_ms();
        let (mut last, mut put_back) = (None, 0);
        loop {
            let parked = self.frontier.parked(crawl, last.as_ref(), PARKED_AT_ONCE)?;
            for host in &parked {
                if self.block_of(host)?.is_none() {
                    let ready_ms = self.frontier.host(host)?.next_allowed_ms.max(now);
                    self.frontier.requeue_host(crawl, host, ready_ms)?;
                    put_back += 1;
                }
            }
            if parked.len() < PARKED_AT_ONCE {
                return Ok(put_back);
            }
            last = parked.into_iter().next_back();
        }
    }

    /// Whether all that waits in a crawl waits on parked hosts; nothing of it is leased.
    pub(super) fn is_all_parked(&self, crawl: CrawlId) -> Result<bool> {
        // Those stand behind all others.
        Ok(!self.blocklist.is_empty()
            && self.frontier.ready(crawl, 1)?.first().is_some_and(|(ready_ms, _)| *ready_ms == PARKED))
    }

    /// Parked hosts of a crawl, up to as many as are looked at together.
    pub(super) fn count_parked(&self, crawl: CrawlId) -> Result<u32> {
        let is_possible = !self.blocklist.is_empty();
        Ok(if is_possible { self.frontier.parked(crawl, None, PARKED_AT_ONCE)?.len() as u32 } else { 0 })
    }

    /// What keeps a host from being handed out, the most exact if several do.
    pub(crate) fn block_of(&self, host: &HostKey) -> Result<Option<&BlockRecord>> {
        if self.blocklist.is_empty() {
            return Ok(None);
        }
        let record = self.frontier.host(host)?;
        let is_fresh = self.clock.now_ms() - record.address_refused_ms < ADDRESS_HOLDS_MS;
        let address = record.address.parse().ok().filter(|_| is_fresh);
        Ok(self.blocklist.find(host, address).next())
    }

    /// All that blocks a host, by what is known of it, the most exact first.
    pub(super) fn blocks_of<'a>(
        &'a self,
        host: &HostKey,
        record: &HostRecord,
    ) -> impl Iterator<Item = &'a BlockRecord> {
        self.blocklist.find(host, record.address.parse().ok())
    }

    /// Notes where a collector found a host when that is in a blocked network; nothing may be asked there then.
    pub(crate) fn is_refused_at(&mut self, host: &HostKey, address: Option<IpAddr>) -> Result<bool> {
        if self.blocklist.is_empty() || self.blocklist.find(host, address).next().is_none() {
            return Ok(false);
        }
        let mut record = self.frontier.host(host)?;
        record.address_refused_ms = self.clock.now_ms();
        self.frontier.put_host(&record)?;
        Ok(true)
    }
}

fn parse(pattern: &str) -> Result<HostPattern> {
    pattern.parse().map_err(|error: crate::blocklist::NotAHostPattern| MonitorError::Invalid(error.to_string()))
}

pub(super) fn message(record: &BlockRecord) -> HostBlock {
    let BlockRecord { pattern, reason, since_ms } = record.clone();
    HostBlock { pattern, reason, since_ms }
}
