//! What commands are about to read, brought within reach together: where the frontier lies on other machines, a round trip for
//! all that wait instead of several for each.
//!
//! Only a help: what is forgotten here is read when it is needed.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Discover, Settle, collector_message};

use super::{Command, Keeper};
use crate::Result;
use crate::frontier::Reads;
use crate::place::Place;

/// Hosts of a crawl that are read together.
const HOSTS_AT_ONCE: usize = 16;

impl Keeper {
    pub(super) fn bring_within_reach(&mut self, commands: &[Command]) -> Result<()> {
        if !self.frontier.loads() {
            return Ok(());
        }
        let mut reads = Reads::default();
        for command in commands {
            if let Command::Message { message, .. } = command {
                match message {
                    collector_message::Message::Discover(discover) => self.reads_of_links(&mut reads, discover),
                    collector_message::Message::Settle(settle) => self.reads_of_page(&mut reads, settle),
                    _ => {}
                }
            }
        }
        self.frontier.load(&reads)
    }

    /// The first hosts that may be leased now. Those that are within reach cost a look.
    pub(crate) fn bring_ready_hosts_within_reach(&mut self, now: i64) -> Result<()> {
        if !self.frontier.loads() {
            return Ok(());
        }
        let mut reads = Reads::default();
        for crawl in self.crawls.keys().copied().filter(|crawl| self.is_running(*crawl)) {
            let ready = self.frontier.ready(crawl, HOSTS_AT_ONCE)?;
            for (_, host) in ready.into_iter().take_while(|(ready_ms, _)| *ready_ms <= now) {
                self.frontier.reads_of_host(&mut reads, crawl, &host);
            }
        }
        self.frontier.load(&reads)
    }

    fn reads_of_links(&self, reads: &mut Reads, discover: &Discover) {
        let Some(lease) = self.leases.get(discover.token) else { return };
        if let Some(place) = Place::from_slice(&discover.from_place) {
            self.frontier.reads_of_queued(reads, lease.crawl, &lease.host, place);
        }
        let Some(crawl) = self.crawls.get(&lease.crawl) else { return };
        for link in &discover.links {
            if let Ok(url) = CanonicalUrl::parse(link) {
                let url = crawl.checked.admission.strip(url);
                self.frontier.reads_of_link(reads, lease.crawl, &url);
            }
        }
    }

    fn reads_of_page(&self, reads: &mut Reads, settle: &Settle) {
        let (Some(lease), Some(outcome)) = (self.leases.get(settle.token), &settle.outcome) else { return };
        if let Some(place) = Place::from_slice(&settle.place) {
            self.frontier.reads_of_queued(reads, lease.crawl, &lease.host, place);
        }
        self.frontier.reads_of_outcome(reads, lease.crawl, &lease.host, &settle.url, outcome.fingerprint);
    }
}
