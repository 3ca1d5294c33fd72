//! Sitemaps: which are read, and what becomes of the dates in them.
//!
//! robots.txt names them. They stand in their host's queue as pages do, behind all others of the same depth, so the order
//! of the pages that links lead to stays as it is. Addresses in them are links like others; a date says that a known page
//! has changed since it was visited, and brings its next visit forward.

use seine_common::host::HostKey;
use seine_common::robots;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Discover, Robots};

use crate::Result;
use crate::frontier::{Candidate, Known};
use crate::keeper::Keeper;
use crate::record::{CrawlId, QueueEntry};
use crate::visit;

/// Sitemaps name others, which name others; no real site goes deeper.
const MAX_LEVEL: u32 = 3;

impl Keeper {
    /// Queues what a host's robots.txt names, once per crawl and each time the file is read.
    pub(super) fn queue_sitemaps(&mut self, crawl: CrawlId, host: &HostKey, known: &[Robots]) -> Result<()> {
        let Some(active) = self.crawls.get(&crawl) else { return Ok(()) };
        if active.record.settings.ignore_sitemaps() || active.record.settings.ignore_robots() {
            return Ok(());
        }
        // What is found in a sitemap is as far from the start as what the host's first page links to.
        let first = self.frontier.stretch(crawl, host, None, 1)?.urls;
        let depth = first.first().map_or(0, |queued| queued.entry.depth);
        let mut named = Vec::new();
        for file in known {
            let Ok(from) = CanonicalUrl::parse(&format!("{}/robots.txt", file.origin)) else { continue };
            for address in robots::sitemaps(&file.body) {
                if let Ok(url) = from.as_url().join(&address) {
                    named.push((url.as_str().to_owned(), from.as_str().to_owned()));
                }
            }
        }
        self.enter_sitemaps(crawl, host, named, depth, 1)?;
        self.frontier.note_sitemaps(crawl, host)
    }

    /// A host whose robots.txt was read for another crawl.
    pub(super) fn queue_known_sitemaps(&mut self, crawl: CrawlId, host: &HostKey) -> Result<()> {
        let settings = &self.crawls[&crawl].record.settings;
        let are_wanted = !settings.ignore_sitemaps() && !settings.ignore_robots();
        if !are_wanted || self.frontier.host_use(crawl, host)?.sitemaps_queued {
            return Ok(());
        }
        let known = self.frontier.robots(host)?;
        if known.is_empty() { Ok(()) } else { self.queue_sitemaps(crawl, host, &known) }
    }

    /// The sitemaps that another one names.
    pub(super) fn take_in_sitemaps(&mut self, crawl: CrawlId, parent: &QueueEntry, discover: &Discover) -> Result<()> {
        let Ok(from) = CanonicalUrl::parse(&parent.url) else { return Ok(()) };
        let named = discover.links.iter().map(|link| (link.clone(), parent.url.clone())).collect();
        self.enter_sitemaps(crawl, &from.host(), named, parent.depth, parent.sitemap_level + 1)
    }

    /// Only from the host that names it, or from within the scope: a stranger's file is nobody's business here.
    fn enter_sitemaps(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        named: Vec<(String, String)>,
        depth: u32,
        level: u32,
    ) -> Result<()> {
        if level > MAX_LEVEL {
            return Ok(());
        }
        let mut candidates = Vec::with_capacity(named.len());
        for (address, discovered_from) in named {
            let Ok(url) = CanonicalUrl::parse(&address) else { continue };
            let number = self.frontier.next_sequence(crawl) as u32;
            let checked = &self.crawls[&crawl].checked;
            let is_strange = url.host() != *host && !checked.scope.admits(&url);
            if is_strange || checked.excludes_sitemap(&url).is_some() {
                continue;
            }
            let entry = QueueEntry {
                url: url.as_str().to_owned(),
                depth,
                discovered_from,
                sitemap_level: level,
                ..QueueEntry::default()
            };
            candidates.push(Candidate { host: url.host(), url, place: checked.order.last_place(depth, number), entry });
        }
        self.enter(crawl, candidates).map(drop)
    }

    /// Notes what a sitemap says of pages that were visited before.
    pub(super) fn note_dates(&mut self, crawl: CrawlId, dated: &[(CanonicalUrl, i64)]) -> Result<()> {
        let has_schedule = self.crawls[&crawl].checked.refresh.interval_ms() > 0;
        for (url, lastmod_ms) in dated {
            let Some(Known::Settled(record)) = self.frontier.known(crawl, url)? else { continue };
            if let Some(record) = visit::dated(*record, *lastmod_ms, has_schedule, self.clock.now_ms()) {
                self.frontier.put_record(crawl, url, &record)?;
            }
        }
        Ok(())
    }
}
