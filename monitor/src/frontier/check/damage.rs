//! What can be wrong, in words, and how much of it there is.

use std::collections::BTreeMap;

/// Examples kept of each kind.
const EXAMPLES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Damage {
    WaitsUnknown,
    WaitsTwice,
    WaitsSettled,
    WaitsNowhere,
    Lost,
    RecordUnknown,
    VisitMissing,
    VisitOfNothing,
    HostMissing,
    HostTaken,
    HostNotReady,
    ReadyOfNothing,
    LeasedAndReady,
    SeedMissing,
    PageWithoutRecord,
    RecordWithoutPage,
    Counter,
}

/// One kind of damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub count: u64,
    pub examples: Vec<String>,
}

/// What was looked at and found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub damage: BTreeMap<Damage, Found>,
    /// Entries of tables and of logs.
    pub entries: u64,
    pub log_entries: u64,
    /// Pages of crawls that the frontier does not know, and records of pages in logs that were not read.
    pub of_unknown_crawls: u64,
    pub in_other_logs: u64,
    /// When it mends: URLs that were found again in the logs, and those that wait until something names them.
    pub found_again: u64,
    pub not_found_again: u64,
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    pub(super) fn add(&mut self, damage: Damage, example: impl FnOnce() -> String) {
        let found = self.damage.entry(damage).or_default();
        found.count += 1;
        if found.examples.len() < EXAMPLES {
            found.examples.push(example());
        }
    }
}

impl Damage {
    /// For programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::WaitsUnknown => "waits_unknown",
            Self::WaitsTwice => "waits_twice",
            Self::WaitsSettled => "waits_settled",
            Self::WaitsNowhere => "waits_nowhere",
            Self::Lost => "lost",
            Self::RecordUnknown => "record_unknown",
            Self::VisitMissing => "visit_missing",
            Self::VisitOfNothing => "visit_of_nothing",
            Self::HostMissing => "host_missing",
            Self::HostTaken => "host_taken",
            Self::HostNotReady => "host_not_ready",
            Self::ReadyOfNothing => "ready_of_nothing",
            Self::LeasedAndReady => "leased_and_ready",
            Self::SeedMissing => "seed_missing",
            Self::PageWithoutRecord => "page_without_record",
            Self::RecordWithoutPage => "record_without_page",
            Self::Counter => "counter",
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::WaitsUnknown => "URLs wait in a queue that the crawl does not know, so they could enter again",
            Self::WaitsTwice => "URLs wait at two places",
            Self::WaitsSettled => "URLs wait in a queue although they are settled",
            Self::WaitsNowhere => "known pages are to wait for a visit and stand in no queue",
            Self::Lost => "URLs are known by their fingerprint alone: neither a queue nor a record has them",
            Self::RecordUnknown => "settled URLs are not known, so they could enter again",
            Self::VisitMissing => "settled URLs are not among those to be visited again",
            Self::VisitOfNothing => "visits are planned of URLs that have no such plan",
            Self::HostMissing => "hosts have something waiting and never come up",
            Self::HostTaken => "hosts are taken by a lease that does not exist",
            Self::HostNotReady => "hosts are not among those that come up",
            Self::ReadyOfNothing => "hosts come up at a time that is not theirs",
            Self::LeasedAndReady => "hosts are leased and could be leased once more",
            Self::SeedMissing => "seeds of crawls are not known",
            Self::PageWithoutRecord => "saved pages are in a description log and not in the frontier",
            Self::RecordWithoutPage => "pages are recorded as saved and are in no description log",
            Self::Counter => "counters differ from what the tables have",
        }
    }

    /// What was done about it.
    pub fn mended(self) -> &'static str {
        match self {
            Self::WaitsUnknown | Self::RecordUnknown => "known again",
            Self::WaitsTwice => "taken out of the place that does not count",
            Self::WaitsSettled => "taken out of the queue, or visited once more",
            Self::WaitsNowhere => "planned for a visit again",
            Self::Lost => "let in again wherever a log or a page names them",
            Self::VisitMissing => "planned again",
            Self::VisitOfNothing | Self::ReadyOfNothing => "taken out",
            Self::HostMissing | Self::HostTaken | Self::HostNotReady => "put back by what they have waiting",
            Self::LeasedAndReady => "marked as leased",
            Self::SeedMissing => "queued again",
            Self::PageWithoutRecord => "recorded as the log has them, and queued for a visit",
            Self::RecordWithoutPage => "queued for a visit that fetches them in full",
            Self::Counter => "counted anew",
        }
    }
}
