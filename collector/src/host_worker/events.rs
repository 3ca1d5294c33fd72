//! What a host worker is told, and what it asks to be done.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::monitor::v1::collector_message::Message;
use seine_proto::monitor::v1::{Crawl, Pace};

use super::window::QueuedUrl;
use crate::fetch::Known;
use crate::fetch::freshness::Freshness;
use crate::fetch::outcome::Ending;
use crate::fetch::robots::RobotsAnswer;
use crate::link::uplink::Uplink;
use crate::resolve::Found;
use crate::robots::Rules;

/// Numbers a URL that was taken from the window, from then until it is settled.
pub type PageId = u64;
/// `scheme://name[:port]`
pub type Origin = Arc<str>;

/// Something happened.
#[derive(Debug)]
pub enum Event {
    // The Monitor says:
    Pinned {
        go: bool,
        /// Requests that may be started; `None` when what came with the lease holds.
        request_allowance: Option<u64>,
    },
    Urls {
        urls: Vec<QueuedUrl>,
        exhausted: bool,
    },
    Discovered {
        page: PageId,
        urls: Vec<QueuedUrl>,
    },
    Settled {
        page: PageId,
        stale: bool,
    },
    /// The lease counts from `since` again.
    Renewed {
        since: Instant,
    },
    /// The stream to the Monitor is over. What is said from now on is said again when there is another.
    Detached,
    /// There is another stream, and the Monitor has given the lease back: it counts from `since` again.
    Resumed {
        since: Instant,
        /// For the driver.
        uplink: Uplink,
    },
    /// Settings of the crawl have changed. With `judge_again`, what was sent of the queue no longer counts.
    TermsChanged {
        crawl: Box<Crawl>,
        pace: Option<Pace>,
        judge_again: bool,
    },
    /// Start nothing more, finish, and return the lease.
    Drain,
    // The network says:
    AddressFound {
        origin: Origin,
        found: Found,
    },
    RobotsAnswered {
        origin: Origin,
        answer: RobotsAnswer,
        at_ms: i64,
        /// The answer is on its way to the archive under this number.
        record: Option<PageId>,
    },
    RobotsParsed {
        origin: Origin,
        rules: Arc<Rules>,
    },
    /// The page is on its way to the analyser.
    Fetched {
        page: PageId,
        status: u16,
        bytes: u64,
        at_ms: i64,
        freshness: Freshness,
    },
    /// The connection was closed at the end of the lease, before the answer was complete.
    CutOff {
        page: PageId,
    },
    /// The same for a request for robots.txt.
    RobotsCutOff {
        origin: Origin,
        url: CanonicalUrl,
    },
    Ended {
        page: PageId,
        ending: Ending,
        at_ms: i64,
        /// The answer is on its way to the archive.
        is_kept: bool,
    },
    // The analyser says:
    Parsed {
        page: PageId,
        parsed: Parsed,
    },
    Saved {
        page: PageId,
        archive: Option<ArchivePosition>,
    },
    Failed {
        page: PageId,
        reason: String,
    },
}

/// What the analyser read in a page.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Those that the Monitor may not know yet.
    pub links: Vec<String>,
    /// Of all links, to be remembered once the page is settled.
    pub link_hashes: Vec<u64>,
    pub generate: bool,
    pub fingerprint: u64,
    pub title: String,
    pub value: f32,
    pub usability: f32,
    /// Of a sitemap: when each of its links was last changed, and the sitemaps that it names.
    pub lastmod_ms: Vec<i64>,
    pub sitemaps: Vec<String>,
    /// The rules of the crawl's filters that decided.
    pub generation_rule: String,
    pub enumeration_rule: String,
    /// Why its content was not read; empty where it was.
    pub not_converted: String,
}

/// Something to do at once.
#[derive(Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the large kind, and a box would be an allocation for each"
)]
pub enum Action {
    Send(Message),
    FindAddress {
        origin: Origin,
        url: CanonicalUrl,
    },
    ParseRobots {
        origin: Origin,
        body: Bytes,
    },
    /// The page leaves the index: answered like a page that is saved.
    Withdraw {
        page: PageId,
        url: String,
    },
    /// The Monitor knows these links now, at this depth.
    Remember {
        link_hashes: Vec<u64>,
        depth: u32,
    },
    /// The lease has ended unrenewed: no connection to the host may stay open, with a request under way or not. Requests
    /// that are cut off by that are told.
    CloseConnections,
    /// The lease has been returned: nothing more is to be done under it.
    Finish,
    /// The lease is lost: nothing under it counts any more.
    Abandon,
}

/// A request to make now. `request` is its number in the host's pacing.
#[derive(Debug, PartialEq)]
pub enum Start {
    /// The answer is archived under the number `record`, if at all.
    Robots {
        origin: Origin,
        url: CanonicalUrl,
        request: u64,
        record: PageId,
    },
    Page(StartPage),
}

#[derive(Debug, PartialEq)]
pub struct StartPage {
    pub page: PageId,
    pub origin: Origin,
    pub url: CanonicalUrl,
    pub depth: u32,
    pub is_sitemap: bool,
    pub known: Known,
    pub request: u64,
}
