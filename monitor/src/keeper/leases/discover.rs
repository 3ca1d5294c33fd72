//! Taking in the links of a page: scope and the crawl's rules first, then the sieve.
//!
//! Answered at once, without waiting for the disk: the settlement of the page follows in the same log, so a page is
//! never settled without its links, and what a crash loses here is found again when the collector says it again, or when the
//! page is fetched again.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Discover, Discovered, Strategy, monitor_message::Message};

use super::grant::queued_url;
use crate::Result;
use crate::frontier::{Candidate, Queued};
use crate::keeper::Keeper;
use crate::lease::table::SessionId;
use crate::place::{Class, Place};
use crate::record::{CrawlId, QueueEntry};

/// Deferred URLs taken up with one lease.
const TAKEN_UP_AT_ONCE: u64 = 256;

impl Keeper {
    pub(crate) fn discover(&mut self, session: SessionId, discover: &Discover) -> Result<()> {
        let Discover { token, request_id, .. } = *discover;
        let urls = match self.leases.held_by(token, session) {
            Some(lease) => {
                let (crawl, host) = (lease.crawl, lease.host.clone());
                let place = Place::from_slice(&discover.from_place);
                let parent = place.map(|place| self.waiting(crawl, &host, &discover.from_url, place)).transpose()?;
                match parent.flatten().map(|parent| parent.entry) {
                    Some(parent) if discover.sitemaps => {
                        self.take_in_sitemaps(crawl, &parent, discover)?;
                        Vec::new()
                    }
                    Some(parent) => {
                        let new = self.take_in(crawl, &parent, discover)?;
                        // A crawl that has all its pages wants no new ones now; they stay queued.
                        let wanted = self.pages_left_for(crawl, &host)? != Some(0);
                        let same_host = new.into_iter().filter(|candidate| wanted && candidate.host == host);
                        same_host.map(|c| queued_url(Queued { place: c.place, entry: c.entry })).collect()
                    }
                    None => Vec::new(),
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
        let mut places = self.places(crawl, depth, sequence, discover);
        let mut candidates = Vec::with_capacity(discover.links.len());
        // A redirect and a sitemap are no pages, and say nothing against what they name.
        let (unusable, expected_usability) = match parent.sitemap_level {
            _ if discover.redirect => (None, parent.expected_usability),
            0 => (self.crawls[&crawl].checked.unusable(parent, discover.usability), discover.usability),
            _ => (None, 1.0),
        };
        for (number, link) in discover.links.iter().enumerate() {
            let Ok(url) = CanonicalUrl::parse(link) else {
                self.frontier.count_excluded(crawl, "no address of a page", link);
                continue;
            };
            if discover.redirect && parent.seed {
                self.join_scope(crawl, &url)?;
            }
            let checked = &self.crawls[&crawl].checked;
            let url = checked.admission.strip(url);
            if let Some(rule) = checked.excludes(&url, depth).or_else(|| unusable.clone()) {
                self.frontier.count_excluded(crawl, &rule, url.as_str());
                continue;
            }
            let entry = QueueEntry {
                url: url.as_str().to_owned(),
                depth,
                redirect_hops: if discover.redirect { parent.redirect_hops + 1 } else { 0 },
                seed: discover.redirect && parent.seed,
                discovered_from: parent.url.clone(),
                expected_usability,
                sitemap_lastmod_ms: discover.lastmod_ms.get(number).copied().unwrap_or(0),
                // A sitemap that has moved is one still.
                sitemap_level: if discover.redirect { parent.sitemap_level } else { 0 },
                ..QueueEntry::default()
            };
            candidates.push(Candidate { host: url.host(), url, place: places(number as u32), entry });
        }
        let dated = dated(&candidates);
        let new = self.enter(crawl, candidates)?;
        if let Ok(page) = CanonicalUrl::parse(&parent.url) {
            self.frontier.settle_after_links(crawl, &page.host());
        }
        self.note_dates(crawl, &dated)?;
        Ok(new)
    }

    /// Where the links of a page go. Those of a valuable page are expanded breadth-first, as far as resources allow.
    fn places(
        &self,
        crawl: CrawlId,
        depth: u32,
        sequence: u64,
        discover: &Discover,
    ) -> impl FnMut(u32) -> Place + use<> {
        let checked = &self.crawls[&crawl].checked;
        let (order, settings) = (checked.order, &checked.settings);
        let is_valuable = settings.strategy() == Strategy::BoundedBreadth
            && !discover.redirect
            && discover.value >= settings.value_threshold();
        let mut room = self.breadth_room(crawl);
        move |number| match is_valuable {
            false => order.place(depth, sequence, number),
            true if room > 0 => {
                room -= 1;
                Place::in_turn(Class::Breadth, sequence, number)
            }
            true => Place::in_turn(Class::Deferred, sequence, number),
        }
    }

    /// How many more links of valuable pages may wait to be expanded now.
    fn breadth_room(&self, crawl: CrawlId) -> u64 {
        if self.resources_are_tight() {
            return 0;
        }
        let budget = u64::from(self.crawls[&crawl].record.settings.breadth_budget());
        budget.saturating_sub(self.frontier.progress(crawl).breadth_queued)
    }

    /// Whether a collector is short of memory or has more to do than it can.
    fn resources_are_tight(&self) -> bool {
        let config = &self.config;
        self.collectors.values().any(|c| c.memory_bytes > config.collector_memory || c.load > config.collector_load)
    }

    /// Links that were put off get their turn when there is room again.
    pub(super) fn take_up_deferred(&mut self, crawl: CrawlId, host: &seine_common::host::HostKey) -> Result<()> {
        if self.frontier.progress(crawl).deferred > 0 {
            let room = self.breadth_room(crawl).min(TAKEN_UP_AT_ONCE) as usize;
            if room > 0 {
                self.frontier.promote_deferred(crawl, host, room)?;
            }
        }
        Ok(())
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
    pub(crate) fn enter(&mut self, crawl: CrawlId, mut candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let generation = self.crawls[&crawl].record.rules_generation;
        for candidate in &mut candidates {
            candidate.entry.rules_generation = generation;
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

/// Those of which a sitemap says when they were last changed.
fn dated(candidates: &[Candidate]) -> Vec<(CanonicalUrl, i64)> {
    let with_date = candidates.iter().filter(|candidate| candidate.entry.sitemap_lastmod_ms > 0);
    with_date.map(|candidate| (candidate.url.clone(), candidate.entry.sitemap_lastmod_ms)).collect()
}
