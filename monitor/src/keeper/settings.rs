//! Changing the settings of a crawl while it runs, so that they hold from the next request on.
//!
//! Those who hold a host of the crawl are told its new terms, or lose their lease where the terms were settled with it. What
//! waits is judged by changed rules when it is handed out (`lease::judge`); here only hosts that are excluded as a whole are
//! looked for, because one that rests is not handed out for a long time.

use seine_common::host::HostKey;
use seine_proto::monitor::v1::{
    Crawl, CrawlState, Outcome, OutcomeKind, SetCrawlRequest, SetCrawlResponse, SettingChange, Terms,
    monitor_message::Message,
};

use super::{ActiveCrawl, Keeper};
use crate::crawl::settings::{self, Effect, Setting};
use crate::crawl::{CheckedCrawl, filters, validate};
use crate::politeness::HostPace;
use crate::record::{CrawlId, CrawlRecord, FORGOTTEN};
use crate::{MonitorError, Result};

/// Hosts looked at together after a change of rules; others are served in between.
const SWEPT_AT_ONCE: usize = 256;

impl Keeper {
    pub(super) fn set_crawl(&mut self, request: SetCrawlRequest) -> Result<SetCrawlResponse> {
        let id = self.crawl_named(&request.name)?;
        let mut record = self.crawls[&id].record.clone();
        let asked = request.settings.unwrap_or_default();
        let mut settings = record.settings.clone();
        for field in &request.fields {
            let setting = Setting::by_field(field).ok_or_else(|| cannot_be_set(field))?;
            setting.copy(&asked, &mut settings);
        }
        let settings = validate::complete(settings, &self.config.crawl_defaults)?;
        let before = std::mem::replace(&mut record.settings, settings);
        let checked = CheckedCrawl::of_record(&record)?;
        let changes = self.put_settings(&before, record, checked)?;
        // One that was over because it had all its pages may want more now.
        if self.crawls[&id].record.state() == CrawlState::Finished && self.frontier.progress(id).queued > 0 {
            self.change_state(id, CrawlState::Running)?;
        }
        self.finish_if_done(id)?;
        self.watch_delays()?;
        self.grant_soon();
        Ok(SetCrawlResponse { status: Some(self.status(id)?), changes })
    }

    /// Stores a crawl, new or with other settings than before, and tells those who work for it.
    pub(super) fn put_settings(
        &mut self,
        before: &Crawl,
        mut record: CrawlRecord,
        checked: CheckedCrawl,
    ) -> Result<Vec<SettingChange>> {
        let id = CrawlId(record.id);
        let changed = settings::differing(before, &record.settings);
        let effect = settings::effect(&changed);
        if filters::differ(before, &record.settings) {
            record.filters_changed_ms = self.clock.now_ms();
        }
        let judges_again = effect.is_some_and(|(_, judges_again)| judges_again);
        record.rules_generation += u32::from(judges_again);
        let ends_leases = effect.is_some_and(|(effect, _)| effect == Effect::Lease);
        record.lease_settings_generation += u32::from(ends_leases);
        let changes = settings::changes(before, &record.settings);
        for SettingChange { setting, before, now } in &changes {
            tracing::info!(crawl = record.settings.name, setting, before, now, "setting of a crawl changed");
        }
        self.frontier.put_crawl(&record)?;
        self.crawls.insert(id, ActiveCrawl { record, checked });
        if let Some((effect, judges_again)) = effect {
            self.tell_holders(id, effect, judges_again)?;
        }
        if judges_again {
            self.sweeps.insert(id, None);
        }
        Ok(changes)
    }

    fn tell_holders(&mut self, id: CrawlId, effect: Effect, judge_again: bool) -> Result<()> {
        let held = self.leases.of_crawl(id).filter(|lease| !lease.revoked);
        let held: Vec<(u64, bool)> = held.map(|lease| (lease.token, lease.prepares)).collect();
        for (token, prepares) in held {
            // A preparation is short and holds one URL, which may be the excluded one.
            if effect == Effect::Lease || (judge_again && prepares) {
                self.revoke(token, "the crawl's settings have changed");
            } else {
                self.send_terms(token, judge_again)?;
            }
        }
        Ok(())
    }

    /// Behind the lease itself, which is sent once it is durable.
    pub(crate) fn send_terms(&mut self, token: u64, judge_again: bool) -> Result<()> {
        let Some(lease) = self.leases.get(token) else { return Ok(()) };
        let (crawl, host) = (lease.crawl, lease.host.clone());
        let record = self.frontier.host(&host)?;
        let Some(pace) = self.pace(crawl, &host, record.crawl_delay_ms)? else { return Ok(()) };
        let Some(lease) = self.leases.iter_mut().find(|lease| lease.token == token) else { return Ok(()) };
        lease.delay_ms = pace.delay_ms;
        if let Some(session) = lease.session {
            let pace = Some(pace.to_message(record.requests_since_pause));
            let crawl = Some(self.crawls[&crawl].record.settings.clone());
            self.send_durably(session, Message::Terms(Terms { token, crawl, pace, judge_again }));
        }
        Ok(())
    }

    /// How a host is treated under a lease of this crawl: as the crawl says, with the longest delay of all crawls that want
    /// something of the host now. `None` when there is no such crawl any more.
    pub(crate) fn pace(&self, crawl: CrawlId, host: &HostKey, asks_ms: u32) -> Result<Option<HostPace>> {
        let Some(active) = self.crawls.get(&crawl) else { return Ok(None) };
        let mut pace = HostPace::of(&active.checked, host, asks_ms);
        for (other, active) in self.crawls.iter().filter(|(other, _)| **other != crawl && self.is_running(**other)) {
            let delay_ms = HostPace::of(&active.checked, host, asks_ms).delay_ms;
            if delay_ms > pace.delay_ms && self.frontier.has_work(*other, host)? {
                pace.delay_ms = delay_ms;
            }
        }
        Ok(Some(pace))
    }

    /// A host that another crawl comes to want, or no longer wants, is asked at another pace from then on.
    pub(super) fn watch_delays(&mut self) -> Result<()> {
        if self.crawls.len() < 2 {
            return Ok(());
        }
        let mut differing = Vec::new();
        for lease in self.leases.iter().filter(|lease| lease.session.is_some() && !lease.revoked) {
            let asks_ms = self.frontier.host(&lease.host)?.crawl_delay_ms;
            let pace = self.pace(lease.crawl, &lease.host, asks_ms)?;
            if pace.is_some_and(|pace| pace.delay_ms != lease.delay_ms) {
                differing.push(lease.token);
            }
        }
        differing.into_iter().try_for_each(|token| self.send_terms(token, false))
    }

    /// Looks for hosts that changed rules exclude as a whole, some at a time, and settles what waits on them.
    pub(super) fn sweep_hosts(&mut self) -> Result<()> {
        if !self.emptying.is_empty() {
            return Ok(());
        }
        let Some((id, after)) = self.sweeps.pop_first() else { return Ok(()) };
        let hosts = self.frontier.ready_after(id, after.as_ref(), SWEPT_AT_ONCE)?;
        for (_, host) in &hosts {
            // Known pages are withdrawn by those who are handed the host.
            if let Some(rule) = self.crawls[&id].checked.excludes_host(host).filter(|rule| rule != FORGOTTEN)
                && !self.has_revisits(id, host)?
            {
                let outcome = Outcome { kind: OutcomeKind::Excluded.into(), detail: rule, ..Outcome::default() };
                self.empty(id, host, outcome);
            }
        }
        if let Some(last) = hosts.into_iter().next_back() {
            self.sweeps.insert(id, Some(last));
        }
        Ok(())
    }
}

fn cannot_be_set(field: &str) -> MonitorError {
    let problem = match field {
        "name" | "seeds" => "it cannot be changed; add a crawl for other URLs".to_owned(),
        _ => "a crawl has no such setting".to_owned(),
    };
    MonitorError::Field { field: field.to_owned(), problem }
}
