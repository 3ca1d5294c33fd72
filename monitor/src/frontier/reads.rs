//! Which keys an operation reads, for those who have many before them and want them all at once.

use futures::executor::block_on;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use super::{Frontier, key};
use crate::Result;
use crate::place::Place;
use crate::record::CrawlId;
use crate::store::{Slot, Table, Wanted};

#[derive(Default)]
pub struct Reads(Vec<Wanted>);

impl Reads {
    fn want(&mut self, slot: Slot, table: Table, key: impl Into<Vec<u8>>) {
        self.0.push(Wanted { slot, table, key: key.into() });
    }
}

impl Frontier {
    /// Whether reading many keys at once is faster than one by one.
    pub fn loads(&self) -> bool {
        self.store.loads()
    }

    pub fn load(&self, reads: &Reads) -> Result<()> {
        if reads.0.is_empty() { Ok(()) } else { block_on(self.store.load(&reads.0)) }
    }

    /// Of a URL that was handed out from the queue.
    pub fn reads_of_queued(&self, reads: &mut Reads, crawl: CrawlId, host: &HostKey, place: Place) {
        let at = self.host_at(crawl, host);
        reads.want(at.slot, Table::Queue, key::queue(&at.key, place));
        reads.want(at.slot, Table::Uses, at.key);
        reads.want(at.slot, Table::Heads, at.key);
        reads.want(at.slot, Table::Hosts, host.as_str());
    }

    pub fn reads_of_link(&self, reads: &mut Reads, crawl: CrawlId, url: &CanonicalUrl) {
        let at = self.url_at(crawl, url);
        reads.want(at.slot, Table::Seen, at.key);
        reads.want(at.slot, Table::Heads, at.host());
    }

    /// Of a page that was visited, and its text.
    pub fn reads_of_outcome(&self, reads: &mut Reads, crawl: CrawlId, host: &HostKey, url: &str, fingerprint: u64) {
        if fingerprint != 0 {
            reads.want(Slot::of_number(fingerprint), Table::Contents, key::content(crawl, fingerprint));
        }
        let at = self.host_at(crawl, host).url(self.fingerprinter.of(url.as_bytes()));
        reads.want(at.slot, Table::Records, at.key);
    }

    /// Of a host that is about to be leased.
    pub fn reads_of_host(&self, reads: &mut Reads, crawl: CrawlId, host: &HostKey) {
        let at = self.host_at(crawl, host);
        reads.want(at.slot, Table::Hosts, host.as_str());
        reads.want(at.slot, Table::Uses, at.key);
        reads.want(at.slot, Table::Heads, at.key);
        reads.want(at.slot, Table::Queue, at.key);
        reads.want(at.slot, Table::Retries, at.key);
        reads.want(at.slot, Table::Robots, key::robots(host.as_str(), ""));
    }
}
