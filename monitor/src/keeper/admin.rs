//! What people ask the Monitor to do: adding crawls, pausing them, and telling how they stand.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{
    AddCrawlRequest, AddCrawlResponse, CrawlState, CrawlStatus, Exclusion, SetCrawlStateRequest,
};

use super::Keeper;
use crate::crawl::{CheckedCrawl, validate};
use crate::frontier::Candidate;
use crate::record::{CrawlId, CrawlRecord, ExclusionRecord, QueueEntry};
use crate::{MonitorError, Result};

impl Keeper {
    pub(super) fn add_crawl(&mut self, request: AddCrawlRequest) -> Result<AddCrawlResponse> {
        let asked = request.crawl.ok_or_else(|| MonitorError::Invalid("the request holds no crawl".to_owned()))?;
        let settings = validate::complete(asked, &self.config.crawl_defaults)?;
        let known = self.crawl_named(&settings.name).ok();
        let was_finished = known.is_some_and(|id| self.crawls[&id].record.state() == CrawlState::Finished);
        let mut record = match known {
            Some(id) => self.crawls[&id].record.clone(),
            None => CrawlRecord {
                id: self.crawls.keys().last().map_or(1, |last| last.0 + 1),
                created_at_ms: self.clock.now_ms(),
                settings: settings.clone(),
                ..CrawlRecord::default()
            },
        };
        record.set_state(CrawlState::Running);
        let id = CrawlId(record.id);
        let before = std::mem::replace(&mut record.settings, settings);
        let checked = CheckedCrawl::of_record(&record)?;
        checked.refuse_excluded_seeds()?;
        let seeds = checked.seeds.clone();
        let changes = self.put_settings(&before, record, checked)?;
        self.enter_seeds(id, &seeds)?;
        self.put_back_unblocked(id)?;
        // An unfinished crawl goes on with what it has; only a finished one begins anew.
        if request.again && was_finished {
            self.start_round(id)?;
        }
        self.finish_if_done(id)?;
        self.watch_delays()?;
        self.grant_soon();
        let changes = changes.iter().map(|c| format!("{} was {}, now {}", c.setting, c.before, c.now)).collect();
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
        // Those that were forgotten one by one are known already.
        let is_forgotten = |url: &CanonicalUrl| self.crawls[&crawl].checked.is_forgotten(url);
        let wanted = seeds.iter().enumerate().filter(|(_, url)| !is_forgotten(url));
        let candidates = wanted.map(candidate).collect();
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
        self.put_back_unblocked(id)?;
        if let Some(reason) = reason {
            let held: Vec<u64> = self.leases.of_crawl(id).map(|lease| lease.token).collect();
            for token in held {
                self.revoke(token, reason);
            }
        }
        self.finish_if_done(id)?;
        self.watch_delays()?;
        self.grant_soon();
        self.status(id)
    }

    pub(super) fn change_state(&mut self, id: CrawlId, state: CrawlState) -> Result<()> {
        let crawl = self.crawls.get_mut(&id).expect("the caller looked the crawl up");
        crawl.record.state = state.into();
        tracing::info!(crawl = crawl.record.settings.name, state = state.as_str_name(), "crawl changed its state");
        self.frontier.put_crawl(&crawl.record)
    }

    /// A crawl is finished when it runs, nothing of it is leased, and nothing is left to do, nothing more is wanted, or all
    /// that is left waits on blocked hosts.
    pub(crate) fn finish_if_done(&mut self, id: CrawlId) -> Result<()> {
        if !self.is_running(id) || self.leases.of_crawl(id).next().is_some() {
            return Ok(());
        }
        let nothing_to_ask = self.frontier.progress(id).queued == 0 || self.is_all_parked(id)?;
        if (nothing_to_ask || !self.wants_anything(id)) && !self.has_due_visits(id)? {
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
            exclusions: self.frontier.exclusions(id).into_iter().map(exclusion).collect(),
            gone: progress.gone,
            revisits: progress.revisits,
            unchanged: progress.unchanged,
            next_visit_ms: self.scheduled_visit(id)?,
            deferred: progress.deferred,
            revisits_queued: progress.revisits_queued,
            blocked_hosts: self.count_parked(id)?,
            troubles: self.troubles.iter().map(|trouble| format!("{}: {}", trouble.tier, trouble.reason)).collect(),
        })
    }
}

fn exclusion(record: ExclusionRecord) -> Exclusion {
    Exclusion { rule: record.rule, links: record.links, example: record.example }
}
