//! What the frontier stores, as protobuf: fields can be added without rewriting a data directory.

use prost::Message;
use seine_proto::monitor::v1::{Crawl, CrawlState, Outcome};

use crate::MonitorError;

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
}

/// A URL that is finished.
#[derive(Clone, PartialEq, Message)]
pub struct UrlRecord {
    #[prost(message, required, tag = "1")]
    pub entry: QueueEntry,
    #[prost(message, required, tag = "2")]
    pub outcome: Outcome,
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
    /// Answers 429 and 503 in a row.
    #[prost(uint32, tag = "5")]
    pub blocks: u32,
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
}

pub(super) fn decode<M: Message + Default>(bytes: &[u8], what: &'static str) -> Result<M, MonitorError> {
    M::decode(bytes).map_err(|_| MonitorError::Corrupt(what))
}
