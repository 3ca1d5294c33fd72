//! What people ask the Monitor to do: adding crawls, pausing them, telling how they stand and explaining a URL.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{
    AddCrawlRequest, AddCrawlResponse, CrawlState, CrawlStatus, CrawlVerdict, ExplainResponse, OutcomeKind,
    SetCrawlStateRequest,
};

use super::{ActiveCrawl, Keeper};
use crate::MonitorError;
use crate::crawl::{CheckedCrawl, changes};
use crate::frontier::record::{CrawlRecord, QueueEntry, UrlRecord};
use crate::frontier::{Candidate, CrawlId, Known, Result};
use crate::politeness;

/// A rest shorter than this is not worth mentioning.
const NOTABLE_REST_MS: i64 = 1_500;

impl Keeper {
    pub(super) fn add_crawl(&mut self, request: AddCrawlRequest) -> Result<AddCrawlResponse> {
        let settings = request.crawl.ok_or_else(|| MonitorError::Invalid("the request holds no crawl".to_owned()))?;
        let known = self.crawl_named(&settings.name).ok();
        let joined = known.map(|id| self.crawls[&id].record.joined.clone()).unwrap_or_default();
        let checked = CheckedCrawl::check(settings, &joined)?;
        let changes = known.map(|id| changes(&self.crawls[&id].record.settings, &checked.settings)).unwrap_or_default();
        let id = known.unwrap_or_else(|| CrawlId(self.crawls.keys().last().map_or(1, |last| last.0 + 1)));
        let created_at_ms = known.map_or_else(|| self.clock.now_ms(), |id| self.crawls[&id].record.created_at_ms);
        let record = CrawlRecord {
            id: id.0,
            settings: checked.settings.clone(),
            state: CrawlState::Running.into(),
            joined,
            created_at_ms,
        };
        self.frontier.put_crawl(&record)?;
        let seeds = checked.seeds.clone();
        self.crawls.insert(id, ActiveCrawl { record, checked });
        self.enter_seeds(id, &seeds)?;
        self.finish_if_done(id)?;
        self.grant_soon();
        Ok(AddCrawlResponse { status: Some(self.status(id)?), continued: known.is_some(), changes })
    }

    fn enter_seeds(&mut self, crawl: CrawlId, seeds: &[CanonicalUrl]) -> Result<()> {
        let sequence = self.frontier.next_sequence(crawl);
        let order = self.crawls[&crawl].checked.order;
        let candidate = |(number, url): (usize, &CanonicalUrl)| Candidate {
            url: url.clone(),
            host: url.host(),
            place: order.place(0, sequence, number as u32),
            entry: QueueEntry { url: url.as_str().to_owned(), seed: true, ..QueueEntry::default() },
        };
        let candidates = seeds.iter().enumerate().map(candidate).collect();
        self.enter(crawl, candidates).map(drop)
    }

    pub(super) fn set_state(&mut self, request: &SetCrawlStateRequest) -> Result<CrawlStatus> {
        let id = self.crawl_named(&request.name)?;
        let reason = match request.state() {
            CrawlState::Running => None,
            CrawlState::Paused => Some("paused by admin"),
            CrawlState::Stopped => Some("stopped by admin"),
            CrawlState::Finished | CrawlState::Unspecified => {
                return Err(MonitorError::Invalid("a crawl can be paused, resumed or stopped".to_owned()));
            }
        };
        self.change_state(id, request.state())?;
        if let Some(reason) = reason {
            let held: Vec<u64> = self.leases.of_crawl(id).map(|lease| lease.token).collect();
            for token in held {
                self.revoke(token, reason);
            }
        }
        self.finish_if_done(id)?;
        self.grant_soon();
        self.status(id)
    }

    fn change_state(&mut self, id: CrawlId, state: CrawlState) -> Result<()> {
        let crawl = self.crawls.get_mut(&id).expect("the caller looked the crawl up");
        crawl.record.state = state.into();
        tracing::info!(crawl = crawl.record.settings.name, state = state.as_str_name(), "crawl changed its state");
        self.frontier.put_crawl(&crawl.record)
    }

    /// A crawl is finished when it runs, nothing of it is leased, and nothing is left to do or nothing more is wanted.
    pub(crate) fn finish_if_done(&mut self, id: CrawlId) -> Result<()> {
        if !self.is_running(id) || self.leases.of_crawl(id).next().is_some() {
            return Ok(());
        }
        if self.frontier.progress(id).queued == 0 || self.pages_left(id) == Some(0) {
            self.change_state(id, CrawlState::Finished)?;
        }
        Ok(())
    }

    pub(super) fn crawl_named(&self, name: &str) -> Result<CrawlId> {
        let found = self.crawls.iter().find(|(_, crawl)| crawl.record.settings.name == name);
        found.map(|(id, _)| *id).ok_or_else(|| MonitorError::NoSuchCrawl(name.to_owned()))
    }

    pub(super) fn status(&self, id: CrawlId) -> Result<CrawlStatus> {
        let crawl = &self.crawls[&id];
        let progress = self.frontier.progress(id);
        Ok(CrawlStatus {
            crawl: Some(crawl.record.settings.clone()),
            state: crawl.record.state,
            pages: progress.pages,
            failed: progress.failed,
            refused_by_robots: progress.refused_by_robots,
            duplicates: progress.duplicates,
            bytes: progress.bytes,
            redirected: progress.redirected,
            queued: progress.queued,
            active_hosts: self.leases.of_crawl(id).filter(|lease| lease.session.is_some()).count() as u64,
            waiting_reason: self.waiting_reason(id)?,
            excluded: progress.excluded,
            created_at_ms: crawl.record.created_at_ms,
            not_indexed: progress.not_indexed,
            unwanted: progress.unwanted,
        })
    }

    /// Why nothing is being fetched; empty while something is, or when the crawl is over.
    fn waiting_reason(&self, id: CrawlId) -> Result<String> {
        let now = self.clock.now_ms();
        match self.crawls[&id].record.state() {
            CrawlState::Paused => return Ok("paused by admin".to_owned()),
            CrawlState::Stopped => return Ok("stopped by admin".to_owned()),
            CrawlState::Running => {}
            CrawlState::Finished | CrawlState::Unspecified => return Ok(String::new()),
        }
        let mut active = self.leases.of_crawl(id).filter(|lease| lease.session.is_some()).peekable();
        if active.peek().is_some() {
            let first =
                active.min_by_key(|lease| lease.rests_until_ms).filter(|l| l.rests_until_ms > now + NOTABLE_REST_MS);
            return Ok(first.map_or(String::new(), |lease| rests(lease.host.as_str(), lease.rests_until_ms)));
        }
        if self.collectors.is_empty() {
            return Ok("no collector is attached".to_owned());
        }
        if let Some(lease) = self.leases.of_crawl(id).next() {
            return Ok(format!("{} is still leased to a collector that went away", lease.host));
        }
        let next = self.frontier.ready(id, 1)?.into_iter().next();
        let next =
            next.map(|(at, host)| (politeness::clamp(now, at), host)).filter(|(at, _)| *at > now + NOTABLE_REST_MS);
        Ok(next.map_or(String::new(), |(at, host)| rests(host.as_str(), at)))
    }

    pub(super) fn explain(&self, url: &str) -> Result<ExplainResponse> {
        let url = CanonicalUrl::parse(url).map_err(|error| MonitorError::Invalid(error.to_string()))?;
        let host = url.host();
        let record = self.frontier.host(&host)?;
        let rests = Some(record.next_allowed_ms).filter(|until| *until > self.clock.now_ms());
        let verdicts = self.crawls.iter().map(|(id, crawl)| self.verdict(*id, crawl, &url));
        Ok(ExplainResponse {
            canonical_url: url.as_str().to_owned(),
            slot: u32::from(host.slot()),
            host: host.as_str().to_owned(),
            crawls: verdicts.collect::<Result<_>>()?,
            host_rests_until_ms: rests,
        })
    }

    fn verdict(&self, id: CrawlId, crawl: &ActiveCrawl, url: &CanonicalUrl) -> Result<CrawlVerdict> {
        let name = crawl.record.settings.name.clone();
        let waits = |state: &str, reason: String, entry: QueueEntry| CrawlVerdict {
            crawl: name.clone(),
            state: state.to_owned(),
            reason,
            depth: Some(entry.depth),
            outcome: entry.last_outcome,
            discovered_from: entry.discovered_from,
            attempts: entry.attempts,
        };
        let leased = self.leases.of_crawl(id).any(|lease| lease.host == url.host());
        Ok(match self.frontier.known(id, url)? {
            Some(Known::Queued(queued)) if leased => {
                waits("leased", "its host is being fetched now".into(), queued.entry)
            }
            Some(Known::Queued(queued)) => waits("queued", "it waits for its host's turn".into(), queued.entry),
            Some(Known::Retrying(entry)) => waits("to retry", "it failed and will be tried again".into(), entry),
            Some(Known::Settled(UrlRecord { entry, outcome })) => {
                let state = state_name(outcome.kind());
                CrawlVerdict { outcome: Some(outcome.clone()), ..waits(&state, outcome.detail, entry) }
            }
            None => {
                let (state, reason) = match crawl.checked.scope.admits(url) {
                    true => ("unknown", "it is in scope, but no page that was fetched links to it within the depth"),
                    false => ("excluded", "it is outside the crawl's scope"),
                };
                CrawlVerdict {
                    crawl: name,
                    state: state.to_owned(),
                    reason: reason.to_owned(),
                    ..CrawlVerdict::default()
                }
            }
        })
    }
}

/// `OUTCOME_KIND_REFUSED_BY_ROBOTS` in words: `refused by robots`.
fn state_name(kind: OutcomeKind) -> String {
    kind.as_str_name().trim_start_matches("OUTCOME_KIND_").to_ascii_lowercase().replace('_', " ")
}

fn rests(host: &str, until_ms: i64) -> String {
    let until = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(until_ms) * 1_000_000);
    match until {
        Ok(t) => format!("{host} rests until {:02}:{:02}:{:02} UTC", t.hour(), t.minute(), t.second()),
        Err(_) => format!("{host} rests"),
    }
}
