//! What the frontier stores, as protobuf: fields can be added without rewriting a data directory.

use prost::Message;
use seine_proto::monitor::v1::{Crawl, CrawlState, Outcome, Revisit, Visit};

use crate::MonitorError;

/// Number of a crawl within its data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CrawlId(pub u32);

/// The rule that keeps a forgotten URL out.
pub const FORGOTTEN: &str = "forgotten";

/// A URL in a host queue or among the retries.
#[derive(Clone, PartialEq, Message)]
pub struct QueueEntry {
    #[prost(string, tag = "1")]
    pub url: String,
    /// The smallest known.
    #[prost(uint32, tag = "2")]
    pub depth: u32,
    /// Failed fetches so far.
    #[prost(uint32, tag = "3")]
    pub attempts: u32,
    #[prost(uint32, tag = "4")]
    pub redirect_hops: u32,
    /// A seed, or where a seed redirected to: where this one redirects to joins the scope.
    #[prost(bool, tag = "5")]
    pub seed: bool,
    #[prost(string, tag = "6")]
    pub discovered_from: String,
    /// How the last attempt ended.
    #[prost(message, optional, tag = "7")]
    pub last_outcome: Option<Outcome>,
    /// What the analyser thought of the page it was found on, from 0 to 1.
    #[prost(float, tag = "8")]
    pub expected_usability: f32,
    /// Set while a known URL is visited again.
    #[prost(message, optional, tag = "9")]
    pub revisit: Option<Revisit>,
    /// When a sitemap says that it was last changed; 0 when none does.
    #[prost(int64, tag = "12")]
    pub sitemap_lastmod_ms: i64,
    /// Not a page but a sitemap: 1 when robots.txt names it, more when other sitemaps do.
    #[prost(uint32, tag = "13")]
    pub sitemap_level: u32,
    /// The rules that let it in, by [`CrawlRecord::rules_generation`]; under others it is judged again.
    #[prost(uint32, tag = "14")]
    pub rules_generation: u32,
}

/// A URL that is finished, until it is visited again.
#[derive(Clone, PartialEq, Message)]
pub struct UrlRecord {
    #[prost(message, required, tag = "1")]
    pub entry: QueueEntry,
    /// What holds: for a page that was saved and could not be reached at a later visit, still how it was saved.
    #[prost(message, required, tag = "2")]
    pub outcome: Outcome,
    #[prost(message, optional, tag = "3")]
    pub history: Option<ChangeHistory>,
    /// It is due from then on.
    #[prost(int64, tag = "4")]
    pub next_visit_ms: i64,
    /// The last visits, the newest first.
    #[prost(message, repeated, tag = "5")]
    pub visits: Vec<Visit>,
}

/// What the visits to a page have shown, as it is stored with its record.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ChangeHistory {
    #[prost(uint32, tag = "1")]
    pub visits: u32,
    #[prost(uint32, tag = "2")]
    pub changes: u32,
    #[prost(uint64, tag = "3")]
    pub first_visit_ms: u64,
    #[prost(uint64, tag = "4")]
    pub last_visit_ms: u64,
    #[prost(uint64, tag = "5")]
    pub last_change_ms: u64,
    #[prost(uint64, tag = "6")]
    pub unchanged_ms: u64,
    #[prost(uint64, tag = "7")]
    pub changed_ms: u64,
    #[prost(uint32, tag = "8")]
    pub changed_intervals: u32,
    #[prost(uint32, tag = "9")]
    pub dated_changes: u32,
    #[prost(uint32, tag = "10")]
    pub intervals: u32,
    #[prost(uint64, optional, tag = "11")]
    pub last_modified_ms: Option<u64>,
    #[prost(uint64, optional, tag = "12")]
    pub expires_ms: Option<u64>,
    #[prost(uint64, optional, tag = "13")]
    pub sitemap_lastmod_ms: Option<u64>,
    #[prost(uint32, tag = "14")]
    pub gone_visits: u32,
    #[prost(uint64, tag = "15")]
    pub first_gone_ms: u64,
    #[prost(uint64, tag = "16")]
    pub last_gone_ms: u64,
    /// Where it stands in the population of its crawl.
    #[prost(uint32, optional, tag = "17")]
    pub cell: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CrawlRecord {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    #[prost(message, required, tag = "2")]
    pub settings: Crawl,
    #[prost(enumeration = "CrawlState", tag = "3")]
    pub state: i32,
    /// Where seeds redirected to: part of the scope.
    #[prost(string, repeated, tag = "4")]
    pub joined: Vec<String>,
    #[prost(int64, tag = "5")]
    pub created_at_ms: i64,
    /// Known URLs that were due before this time are to be visited again.
    #[prost(int64, tag = "6")]
    pub visit_due_before_ms: i64,
    /// Hosts whose pages were removed for good.
    #[prost(string, repeated, tag = "7")]
    pub forgotten_hosts: Vec<String>,
    /// When the filters changed last: what was fetched before is not asked for conditionally.
    #[prost(int64, tag = "20")]
    pub filters_changed_ms: i64,
    /// How often the rules for what is taken in have changed.
    #[prost(uint32, tag = "21")]
    pub rules_generation: u32,
    /// How often settings have changed that a lease fixes.
    #[prost(uint32, tag = "22")]
    pub lease_settings_generation: u32,
}

/// What kept links out of a crawl.
#[derive(Clone, PartialEq, Message)]
pub struct ExclusionRecord {
    #[prost(string, tag = "1")]
    pub rule: String,
    #[prost(uint64, tag = "2")]
    pub links: u64,
    #[prost(string, tag = "3")]
    pub example: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExclusionRecords {
    #[prost(message, repeated, tag = "1")]
    pub rules: Vec<ExclusionRecord>,
}

/// What one host of one crawl has had so far.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct HostUse {
    #[prost(uint64, tag = "1")]
    pub pages: u64,
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
    /// The sitemaps that its robots.txt names were queued.
    #[prost(bool, tag = "3")]
    pub sitemaps_queued: bool,
}

/// Counters of one crawl; written with whatever changes them.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct CrawlProgress {
    #[prost(uint64, tag = "1")]
    pub pages: u64,
    #[prost(uint64, tag = "2")]
    pub failed: u64,
    #[prost(uint64, tag = "3")]
    pub refused_by_robots: u64,
    #[prost(uint64, tag = "4")]
    pub duplicates: u64,
    #[prost(uint64, tag = "5")]
    pub bytes: u64,
    #[prost(uint64, tag = "6")]
    pub redirected: u64,
    /// In queues and among the retries.
    #[prost(uint64, tag = "7")]
    pub queued: u64,
    #[prost(uint64, tag = "8")]
    pub excluded: u64,
    #[prost(uint64, tag = "9")]
    pub not_indexed: u64,
    #[prost(uint64, tag = "10")]
    pub unwanted: u64,
    /// Pages whose links were taken in so far.
    #[prost(uint64, tag = "11")]
    pub sequence: u64,
    #[prost(uint64, tag = "12")]
    pub gone: u64,
    /// Visits to known URLs so far, and those that found the page as it was.
    #[prost(uint64, tag = "13")]
    pub revisits: u64,
    #[prost(uint64, tag = "14")]
    pub unchanged: u64,
    /// Of those queued: known URLs, links of valuable pages, and such links that wait for resources.
    #[prost(uint64, tag = "15")]
    pub revisits_queued: u64,
    #[prost(uint64, tag = "16")]
    pub breadth_queued: u64,
    #[prost(uint64, tag = "17")]
    pub deferred: u64,
}

/// Why a host rests longer than its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Trouble {
    None = 0,
    /// The general pause after many requests.
    Pause = 1,
    /// It asked for patience.
    Blocked = 2,
    /// It kept failing.
    Failing = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct HostRecord {
    #[prost(string, tag = "1")]
    pub host: String,
    /// No request before this time.
    #[prost(int64, tag = "2")]
    pub next_allowed_ms: i64,
    /// Of the current lease; 0 when there is none.
    #[prost(uint64, tag = "3")]
    pub lease_token: u64,
    /// What robots.txt asks for.
    #[prost(uint32, tag = "4")]
    pub crawl_delay_ms: u32,
    /// Answers 429 and 503 that are not forgiven yet, and the last such block.
    #[prost(uint32, tag = "5")]
    pub blocks: u32,
    #[prost(int64, tag = "6")]
    pub blocked_at_ms: i64,
    #[prost(int64, tag = "7")]
    pub blocked_until_ms: i64,
    /// Why no request is allowed before `next_allowed_ms`, when it is not just the delay.
    #[prost(enumeration = "Trouble", tag = "8")]
    pub trouble: i32,
    #[prost(uint32, tag = "9")]
    pub requests_since_pause: u32,
    /// The weight of failed requests in a row, and how often the host was skipped for that.
    #[prost(uint32, tag = "10")]
    pub failures: u32,
    #[prost(uint32, tag = "11")]
    pub skips: u32,
    /// Where it was found last.
    #[prost(string, tag = "12")]
    pub address: String,
    /// When address and robots.txt were last found out as a piece of work of its own.
    #[prost(int64, tag = "13")]
    pub prepared_at_ms: i64,
    /// When its address was last found to lie in a blocked network.
    #[prost(int64, tag = "30")]
    pub address_refused_ms: i64,
}

impl HostRecord {
    /// No request before this time, for this reason; a rest that is longer anyway stays.
    pub fn rest_until(&mut self, until_ms: i64, trouble: Trouble) {
        if until_ms > self.next_allowed_ms {
            self.next_allowed_ms = until_ms;
            self.set_trouble(trouble);
        }
    }
}

/// What the hosts of one address share.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct AddressRecord {
    #[prost(uint32, tag = "1")]
    pub requests_since_pause: u32,
    /// Its general pause ends then.
    #[prost(int64, tag = "2")]
    pub rests_until_ms: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct LeaseRecord {
    #[prost(uint64, tag = "1")]
    pub token: u64,
    #[prost(uint32, tag = "2")]
    pub crawl: u32,
    #[prost(string, tag = "3")]
    pub host: String,
    #[prost(string, tag = "4")]
    pub collector: String,
    /// The collector lives in the Monitor's process and is gone when that is.
    #[prost(bool, tag = "5")]
    pub embedded: bool,
    /// The address that the collector was allowed to use; empty while none is.
    #[prost(string, tag = "6")]
    pub address: String,
    /// Requests that it may make before a general pause; 0 when there is none.
    #[prost(uint32, tag = "7")]
    pub request_allowance: u32,
    /// The address lies in a network that the crawl allows by name: hosts per IP are not limited there.
    #[prost(bool, tag = "8")]
    pub allowed_by_name: bool,
    /// New pages that it may save; 0 for no limit.
    #[prost(uint64, tag = "9")]
    pub page_allowance: u64,
    /// Only address and robots.txt are to be found out.
    #[prost(bool, tag = "10")]
    pub prepares: bool,
    /// The settings it was granted under, by [`CrawlRecord::lease_settings_generation`].
    #[prost(uint32, tag = "11")]
    pub settings_generation: u32,
    /// The process of the collector.
    #[prost(fixed64, tag = "12")]
    pub instance: u64,
}

/// A moment shortly before the last lease was granted or renewed.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct AtWorkRecord {
    #[prost(string, tag = "1")]
    pub boot: String,
    #[prost(int64, tag = "2")]
    pub since_boot_ms: i64,
}

/// What an administrator has blocked.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct BlockRecord {
    /// As a `HostPattern` is written.
    #[prost(string, tag = "1")]
    pub pattern: String,
    #[prost(string, tag = "2")]
    pub reason: String,
    #[prost(int64, tag = "3")]
    pub since_ms: i64,
}

/// What a person wants forgotten, until every tier has done it. Either a URL or a host.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ForgettingRecord {
    /// In the order in which they were asked for.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub url: String,
    #[prost(string, tag = "3")]
    pub host: String,
    /// The logs that have it.
    #[prost(string, repeated, tag = "4")]
    pub logs: Vec<String>,
}

pub(crate) fn decode<M: Message + Default>(bytes: &[u8], what: &'static str) -> Result<M, MonitorError> {
    M::decode(bytes).map_err(|_| MonitorError::Corrupt(what))
}
