//! Pages on their way to the analysers, over one long-lived stream to each.
//!
//! A page is kept until an analyser has answered for good: *saved*, or *failed* for a reason of its own. It goes to the
//! analyser that has the least under way ([`dispatch`]). When a stream breaks, what was under way on it goes to the others at
//! once; a page that meets a second break counts as failed: it may be what breaks them. An analyser that cannot save
//! [`rest`]s. While none can save, the gate is closed, so that nothing is fetched that could not be kept, and the pages that
//! are here wait ([`outage`]). Answers go to the mailbox of the lease that fetched the page; when that is gone, to nobody.
//!
//! Pages overtake each other, on one stream and more so on several. That is harmless: no URL is fetched again before it is
//! settled, and where a lease was lost and another fetched the same URL, or withdrew it, the index orders what it reads by
//! epoch, token and time of the leases, and not by the order in which it was saved.
//!
//! [`dispatch`] decides, without I/O; the [`courier`] does what it says, with a task for each [`stream`].
//!
//! Not responsible for: what the answers mean (`host_worker`).

mod rest;
mod analyser;
mod outage;
mod pages;
mod dispatch;
mod stream;
mod courier;

use seine_node::health::Reporter;
use seine_node::membership::Analysers;
use seine_proto::common::v1::{FetchedPage, Withdrawn};
use tokio::sync::mpsc;

pub use self::courier::Courier;
use crate::gate::{BodyPermit, Gate};
use crate::host_worker::events::{Event, PageId};

/// Pages that no stream has room for; their bytes are bounded by the gate.
const PAGES_WAITING: usize = 64;

/// Hands pages to the task that spreads them.
#[derive(Clone, Debug)]
pub struct Delivery {
    pages: mpsc::Sender<Parcel>,
}

#[derive(Clone, Debug)]
pub enum Content {
    Page(Box<FetchedPage>),
    /// A page that leaves the index.
    Withdrawn(Withdrawn),
}

/// A page with what is needed to answer for it.
#[derive(Debug)]
pub struct Parcel {
    pub content: Content,
    pub id: PageId,
    pub answers: mpsc::Sender<Event>,
    pub body: BodyPermit,
}

/// The gate is closed, and the reporter told, while nothing can be saved.
pub fn delivery(analysers: Analysers, gate: Gate, health: Reporter) -> (Delivery, Courier) {
    let (sender, pages) = mpsc::channel(PAGES_WAITING);
    (Delivery { pages: sender }, Courier::new(analysers, pages, gate, health))
}

impl Delivery {
    /// Waits while the analysers are behind. False when the collector is ending.
    pub async fn submit(&self, parcel: Parcel) -> bool {
        self.pages.send(parcel).await.is_ok()
    }
}

impl Parcel {
    fn bytes(&self) -> usize {
        match &self.content {
            Content::Page(page) => page.body.len(),
            Content::Withdrawn(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests;
