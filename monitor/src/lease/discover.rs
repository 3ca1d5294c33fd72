//! Taking in the links of a page: scope and depth first, then the sieve.
//!
//! Answered at once, without waiting for the disk: the settlement of the page follows in the same log, so a page is
//! never settled without its links, and what a crash loses here is found again when the page is fetched again.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Discover, Discovered, monitor_message::Message};

use super::grant::queued_url;
use super::table::SessionId;
use crate::frontier::place::Place;
use crate::frontier::record::QueueEntry;
use crate::frontier::{Candidate, CrawlId, Queued, Result};
use crate::keeper::Keeper;

impl Keeper {
    pub(crate) fn discover(&mut self, session: SessionId, discover: &Discover) -> Result<()> {
        let Discover { token, request_id, .. } = *discover;
        let urls = match self.leases.held_by(token, session) {
            Some(lease) => {
                let (crawl, host) = (lease.crawl, lease.host.clone());
                let place = Place::from_slice(&discover.from_place);
                let parent = place.map(|place| self.frontier.queued(crawl, &host, place)).transpose()?.flatten();
                match parent {
                    Some(parent) if parent.url == discover.from_url => {
                        let new = self.take_in(crawl, &parent, discover)?;
                        let same_host = new.into_iter().filter(|candidate| candidate.host == host);
                        same_host.map(|c| queued_url(Queued { place: c.place, entry: c.entry })).collect()
                    }
                    _ => Vec::new(),
                }
            }
            None => Vec::new(),
        };
        self.send(session, Message::Discovered(Discovered { request_id, token, urls }));
        Ok(())
    }

    /// Those links that are new to the crawl, in the order of their places.
    fn take_in(&mut self, crawl: CrawlId, parent: &QueueEntry, discover: &Discover) -> Result<Vec<Candidate>> {
        let sequence = self.frontier.next_sequence(crawl);
        let depth = if discover.redirect { parent.depth } else { parent.depth.saturating_add(1) };
        let links = discover.links.iter().enumerate();
        let parsed = links.filter_map(|(number, link)| Some((number as u32, CanonicalUrl::parse(link).ok()?)));
        let mut candidates = Vec::with_capacity(discover.links.len());
        for (number, url) in parsed {
            if discover.redirect && parent.seed {
                self.join_scope(crawl, &url)?;
            }
            let active = &self.crawls[&crawl];
            let within_depth = active.record.settings.max_depth.is_none_or(|max| depth <= max);
            if !within_depth || !active.checked.scope.admits(&url) {
                continue;
            }
            let entry = QueueEntry {
                url: url.as_str().to_owned(),
                depth,
                redirect_hops: if discover.redirect { parent.redirect_hops + 1 } else { 0 },
                seed: discover.redirect && parent.seed,
                discovered_from: parent.url.clone(),
                ..QueueEntry::default()
            };
            let place = active.checked.order.place(depth, sequence, number);
            candidates.push(Candidate { host: url.host(), url, place, entry });
        }
        self.frontier.count_excluded(crawl, (discover.links.len() - candidates.len()) as u64);
        self.enter(crawl, candidates)
    }

    /// Where a seed redirects to belongs to the crawl, wherever that is.
    fn join_scope(&mut self, crawl: CrawlId, url: &CanonicalUrl) -> Result<()> {
        let active = self.crawls.get_mut(&crawl).expect("a leased crawl is known");
        if active.checked.scope.join(url) {
            tracing::info!(
                crawl = active.record.settings.name,
                place = url.as_str(),
                "scope joined by a seed's redirect"
            );
            active.record.joined.push(url.as_str().to_owned());
            self.frontier.put_crawl(&active.record)?;
        }
        Ok(())
    }

    /// Passes candidates through the sieve and gives back the new ones.
    pub(crate) fn enter(&mut self, crawl: CrawlId, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let admitted = self.frontier.admit(crawl, &candidates, self.clock.now_ms())?;
        metrics::counter!("seine_monitor_links_total").increment(candidates.len() as u64);
        let mut new: Vec<_> = candidates.into_iter().zip(admitted).filter_map(|(c, new)| new.then_some(c)).collect();
        if !new.is_empty() {
            self.grant_soon();
        }
        new.sort_by_key(|candidate| candidate.place);
        Ok(new)
    }
}
