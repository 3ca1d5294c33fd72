//! The frontier: every link of every page through scope and sieve, every page settled, in depth-first order.
//!
//! What the Monitor does for each page, without leases, politeness and messages. Its log is synced as often as the
//! Monitor does.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use futures::executor::block_on;
use seine_analyser::Analysis;
use seine_common::host::HostKey;
use seine_common::scope::{ScopeKind, ScopeRules};
use seine_common::url::CanonicalUrl;
use seine_monitor::frontier::{Candidate, Frontier, Settlement};
use seine_monitor::place::{Order, Place};
use seine_monitor::record::CrawlId;
use seine_monitor::record::{QueueEntry, UrlRecord};
use seine_proto::monitor::v1::{Outcome, OutcomeKind};

const CRAWL: CrawlId = CrawlId(1);
const ORDER: Order = Order::DepthFirst;
const SYNC_INTERVAL: Duration = Duration::from_millis(10);

/// What the crawl meets: the links and the outcome of each page.
pub struct Site {
    home: CanonicalUrl,
    scope: ScopeRules,
    pages: HashMap<String, PageFacts>,
}

struct PageFacts {
    links: Vec<String>,
    outcome: Outcome,
}

impl Site {
    pub fn of(home: &str, analyses: &[Analysis]) -> anyhow::Result<Self> {
        let home = CanonicalUrl::parse(home)?;
        let scope = ScopeRules::new(ScopeKind::Host, [&home]);
        let pages = analyses.iter().map(|analysis| (analysis.description.url.clone(), PageFacts::of(analysis)));
        Ok(Self { scope, pages: pages.collect(), home })
    }

    /// What became of a URL; those without a page are disallowed by robots.txt.
    fn take(&mut self, url: &str) -> PageFacts {
        let refused = || PageFacts { links: Vec::new(), outcome: outcome(OutcomeKind::RefusedByRobots) };
        self.pages.remove(url).unwrap_or_else(refused)
    }

    fn candidates(&self, links: &[String], parent: &QueueEntry, sequence: u64) -> Vec<Candidate> {
        let depth = parent.depth + 1;
        let parsed =
            links.iter().enumerate().filter_map(|(number, link)| Some((number, CanonicalUrl::parse(link).ok()?)));
        let admitted = parsed.filter(|(_, url)| self.scope.admits(url));
        admitted.map(|(number, url)| candidate(url, depth, sequence, number as u32, &parent.url)).collect()
    }
}

impl PageFacts {
    fn of(analysis: &Analysis) -> Self {
        let description = &analysis.description;
        let outcome = Outcome {
            status: description.status,
            fetched_at_ms: description.fetched_at_ms,
            bytes: description.bytes,
            fingerprint: description.fingerprint,
            generate: description.generate,
            title: description.title.clone(),
            ..outcome(OutcomeKind::Saved)
        };
        Self { links: analysis.follow.clone(), outcome }
    }
}

pub fn run(mut site: Site, directory: &Path) -> anyhow::Result<()> {
    let mut frontier = Frontier::open(directory)?;
    let syncer = frontier.syncer();
    let host = site.home.host();
    let expected = site.pages.len() as u64;
    let seed = candidate(site.home.clone(), 0, 0, 0, "");
    let mut waiting = Waiting::default();
    waiting.admit(&mut frontier, &host, &[seed])?;
    let mut synced = Instant::now();
    while let Some(place) = waiting.places.pop_first() {
        let parent = frontier.queued(CRAWL, &host, place)?.context("an admitted URL is queued")?;
        let facts = site.take(&parent.url);
        let sequence = frontier.next_sequence(CRAWL);
        waiting.admit(&mut frontier, &host, &site.candidates(&facts.links, &parent, sequence))?;
        let record = UrlRecord { entry: parent, outcome: facts.outcome, ..UrlRecord::default() };
        frontier.settle(CRAWL, &host, place, Settlement::Done(Box::new(record)))?;
        if synced.elapsed() >= SYNC_INTERVAL {
            block_on(syncer.sync())?;
            synced = Instant::now();
        }
    }
    block_on(syncer.sync())?;
    let pages = frontier.progress(CRAWL).pages;
    ensure!(pages == expected, "the frontier led to {pages} pages instead of {expected}");
    Ok(())
}

/// The places of the URLs that wait, as the collector holds them for a leased host.
#[derive(Default)]
struct Waiting {
    places: BTreeSet<Place>,
}

impl Waiting {
    fn admit(&mut self, frontier: &mut Frontier, host: &HostKey, candidates: &[Candidate]) -> anyhow::Result<()> {
        let new = frontier.admit(CRAWL, candidates, 0)?;
        for (candidate, _) in candidates.iter().zip(new).filter(|(candidate, new)| *new && candidate.host == *host) {
            self.places.insert(candidate.place);
        }
        Ok(())
    }
}

fn candidate(url: CanonicalUrl, depth: u32, sequence: u64, number: u32, from: &str) -> Candidate {
    let entry =
        QueueEntry { url: url.as_str().to_owned(), depth, discovered_from: from.to_owned(), ..QueueEntry::default() };
    Candidate { host: url.host(), url, place: ORDER.place(depth, sequence, number), entry }
}

fn outcome(kind: OutcomeKind) -> Outcome {
    Outcome { kind: kind.into(), ..Outcome::default() }
}
