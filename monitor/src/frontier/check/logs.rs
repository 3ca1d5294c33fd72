//! The description logs beside the frontier: every page in a log is known to its crawl, and every page that is recorded as saved is
//! in a log.
//!
//! Of one URL the newest entry counts, in whichever log it stands; one that was withdrawn since is missed by nobody. A page that
//! waits to be fetched is known: it was saved, and the process ended before that was recorded.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use prost::Message;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{ArchivePosition, Description, Withdrawn};
use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Revisit};

use super::super::Candidate;
use super::super::key::{HostAt, UrlAt};
use super::super::sieve::Seen;
use super::{Check, Damage, Watch, crawl_of};
use crate::place::{Class, Place};
use crate::record::{CrawlId, HostUse, QueueEntry, UrlRecord, decode};
use crate::store::{Batch, Slot, Table};
use crate::{MonitorError, Result};

/// Names that are kept for examples.
const NAMED: usize = 3;

/// A page of the logs that its crawl does not know.
pub(super) struct Missing {
    crawl: CrawlId,
    version: Version,
    /// Of the entry, counted through all logs.
    number: u64,
    url_fingerprint: u64,
    url: Option<String>,
}

/// What is known of a page is ordered by the leases it was found out under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    epoch: u64,
    token: u64,
    at_ms: i64,
}

impl Version {
    fn of_page(page: &Description) -> Self {
        Self { epoch: page.epoch, token: page.token, at_ms: page.fetched_at_ms }
    }

    fn of_withdrawal(withdrawn: &Withdrawn) -> Self {
        Self { epoch: withdrawn.epoch, token: withdrawn.token, at_ms: withdrawn.at_ms }
    }
}

impl Ord for Version {
    /// Entries without an epoch are older than all others, and only their times order them.
    fn cmp(&self, other: &Self) -> Ordering {
        let within = || match self.epoch {
            0 => self.at_ms.cmp(&other.at_ms),
            _ => (self.token, self.at_ms).cmp(&(other.token, other.at_ms)),
        };
        self.epoch.cmp(&other.epoch).then_with(within)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Check<'_> {
    /// Takes in entries of a log, the first of which has this number. Numbers run through all logs.
    pub fn log_entries(&mut self, first: u64, entries: &[LogEntry]) -> Result<()> {
        self.report.log_entries += entries.len() as u64;
        let mut pages = Vec::new();
        for (number, entry) in (first..).zip(entries) {
            match &entry.entry {
                Some(Entry::Description(page)) => {
                    if let Some(position) = &page.archive {
                        self.logged.insert(hash(position));
                    }
                    pages.extend(self.page_at(page).map(|(crawl, at)| (number, crawl, at, page)));
                }
                Some(Entry::Withdrawn(withdrawn)) => {
                    let url = self.frontier.fingerprinter.of(withdrawn.url.as_bytes());
                    let version = Version::of_withdrawal(withdrawn);
                    let latest = self.withdrawn.entry(url).or_insert(version);
                    *latest = (*latest).max(version);
                }
                None => {}
            }
        }
        let keys: Vec<(Slot, &[u8])> = pages.iter().map(|(_, _, at, _)| (at.slot, &at.key[..])).collect();
        let seen = self.values(Table::Seen, &keys)?;
        for ((number, crawl, at, page), seen) in pages.into_iter().zip(seen) {
            if seen.is_none() && self.frontier.record_at(&at)?.is_none() {
                self.miss(number, crawl, &at, page);
            }
        }
        Ok(())
    }

    fn page_at(&mut self, page: &Description) -> Option<(CrawlId, UrlAt)> {
        let Some(&crawl) = self.crawls.get(&page.crawl) else {
            self.report.of_unknown_crawls += 1;
            return None;
        };
        let url = CanonicalUrl::parse(&page.url).ok()?;
        Some((crawl, self.frontier.url_at(crawl, &url)))
    }

    fn miss(&mut self, number: u64, crawl: CrawlId, at: &UrlAt, page: &Description) {
        let version = Version::of_page(page);
        let is_older = |known: &Missing| version < known.version;
        if self.missing.get(&at.key).is_some_and(is_older) {
            return;
        }
        let url_fingerprint = self.frontier.fingerprinter.of(page.url.as_bytes());
        let url = (self.missing.len() < NAMED).then(|| page.url.clone());
        self.missing.insert(at.key, Missing { crawl, version, number, url_fingerprint, url });
    }

    /// Called when all logs have been read: tells what is missing. True when they are to be read once more, for
    /// [`Check::restore`].
    pub fn has_to_restore(&mut self) -> bool {
        let withdrawn = &self.withdrawn;
        self.missing.retain(|_, missing| {
            withdrawn.get(&missing.url_fingerprint).is_none_or(|withdrawn| *withdrawn < missing.version)
        });
        let (named, others): (Vec<_>, Vec<_>) = self.missing.values().partition(|missing| missing.url.is_some());
        for missing in named.into_iter().chain(others) {
            let name = || missing.url.clone().unwrap_or_else(|| format!("a page of crawl {}", missing.crawl.0));
            self.report.add(Damage::PageWithoutRecord, name);
        }
        self.mends && !(self.missing.is_empty() && self.lost.is_empty())
    }

    /// Of entries that are read once more, with the same numbers, those that are missing are recorded and queued for a visit; and
    /// lost URLs that they name are let in again.
    pub fn restore(&mut self, first: u64, entries: &[LogEntry]) -> Result<()> {
        for (number, entry) in (first..).zip(entries) {
            let Some(Entry::Description(page)) = &entry.entry else { continue };
            let Some(&crawl) = self.crawls.get(&page.crawl) else { continue };
            let Ok(url) = CanonicalUrl::parse(&page.url) else { continue };
            let at = self.frontier.url_at(crawl, &url);
            if self.missing.get(&at.key).is_some_and(|missing| missing.number == number) {
                self.restore_page(crawl, url, &at, page)?;
            }
            if !self.lost.is_empty() {
                self.find_lost_links(crawl, page)?;
            }
        }
        Ok(())
    }

    fn restore_page(&mut self, crawl: CrawlId, url: CanonicalUrl, at: &UrlAt, page: &Description) -> Result<()> {
        let record = recorded(page, self.now_ms);
        let host = HostAt { slot: at.slot, key: at.host() };
        let mut batch = Batch::at(at.slot);
        batch.put(Table::Seen, at.key, Seen::Settled { depth: page.depth }.encode());
        self.frontier.write_record(&mut batch, at, None, &record);
        self.count_use_again(&mut batch, host, page.bytes)?;
        self.frontier.write(batch)?;
        if self.lost.remove(&at.key) {
            self.report.found_again += 1;
        }
        self.visit_in_full(crawl, url, record)
    }

    /// What a host has given is counted apart from its pages: anew where the count is lost, too, and else it has this page.
    fn count_use_again(&mut self, batch: &mut Batch, host: HostAt, bytes: u64) -> Result<()> {
        let host_use: Option<HostUse> = self.frontier.read(host.slot, Table::Uses, &host.key, "host use")?;
        if host_use.is_none() {
            self.counted_anew.insert(host.key);
        }
        if self.counted_anew.contains(&host.key) {
            let host_use = host_use.unwrap_or_default();
            let host_use = HostUse { pages: host_use.pages + 1, bytes: host_use.bytes + bytes, ..host_use };
            batch.put(Table::Uses, host.key, host_use.encode_to_vec());
        }
        Ok(())
    }

    /// A page is fetched again as if nothing were known of it but that it counts as saved.
    fn visit_in_full(&mut self, crawl: CrawlId, url: CanonicalUrl, record: UrlRecord) -> Result<()> {
        let sequence = self.frontier.next_sequence(crawl);
        let revisit = Revisit { saved: true, ..Revisit::default() };
        let entry = QueueEntry { attempts: 0, revisit: Some(revisit), ..record.entry };
        let place = Place::in_turn(Class::Revisit, sequence, 0);
        self.woken.insert(crawl);
        self.frontier.revisit(crawl, vec![Candidate { host: url.host(), url, place, entry }], self.now_ms)
    }

    /// Pages that are recorded as saved and are not in the logs that were read.
    pub(super) fn saved_pages(&mut self, logs: &HashSet<String>, watch: Watch<'_>) -> Result<()> {
        self.each_stretch(Table::Records, watch, |this, _, entries| {
            for (_, (key, value)) in entries {
                let record: UrlRecord = decode(value, "URL record")?;
                if record.outcome.kind() != OutcomeKind::Saved {
                    continue;
                }
                match &record.outcome.archive {
                    Some(position) if !position.filesaver.is_empty() && !logs.contains(&position.filesaver) => {
                        this.report.in_other_logs += 1;
                    }
                    Some(position) if !this.logged.contains(&hash(position)) => this.fetch_again(key, value)?,
                    _ => {}
                }
            }
            Ok(())
        })
    }

    fn fetch_again(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let (at, record) = self.read_record(key, value)?;
        self.found(Damage::RecordWithoutPage, || record.entry.url.clone());
        if !self.mends {
            return Ok(());
        }
        let in_full = |entry: &mut QueueEntry| {
            if let Some(revisit) = &mut entry.revisit {
                revisit.etag.clear();
                revisit.last_modified.clear();
            }
        };
        if self.rewrite_waiting(&at, in_full)? {
            return Ok(());
        }
        let url = CanonicalUrl::parse(&record.entry.url).map_err(|_| MonitorError::Corrupt("URL record"))?;
        let due = UrlRecord { next_visit_ms: self.now_ms.max(1), ..record.clone() };
        let mut batch = Batch::at(at.slot);
        self.frontier.write_record(&mut batch, &at, Some(&record), &due);
        self.frontier.write(batch)?;
        self.visit_in_full(crawl_of(&at.key)?, url, due)
    }
}

fn recorded(page: &Description, now_ms: i64) -> UrlRecord {
    let outcome = Outcome {
        kind: OutcomeKind::Saved.into(),
        status: page.status,
        fetched_at_ms: page.fetched_at_ms,
        bytes: page.bytes,
        archive: page.archive.clone(),
        fingerprint: page.fingerprint,
        generate: page.generate,
        title: page.title.clone(),
        usability: page.usability,
        generation_rule: page.generation_rule.clone(),
        enumeration_rule: page.enumeration_rule.clone(),
        not_converted: page.not_converted.clone(),
        expires_ms: page.expires_ms,
        ..Outcome::default()
    };
    let entry = QueueEntry { url: page.url.clone(), depth: page.depth, ..QueueEntry::default() };
    UrlRecord { entry, outcome, next_visit_ms: now_ms.max(1), ..UrlRecord::default() }
}

/// Of a position. Files of two filesavers may have the same name, and positions of earlier versions name none.
fn hash(position: &ArchivePosition) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&position.file, position.offset).hash(&mut hasher);
    hasher.finish()
}
