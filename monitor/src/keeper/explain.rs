//! Everything that is known about a URL, and why it is as it is.

use seine_common::host::HostKey;
use seine_common::robots::{Rules, agent_token};
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{CrawlVerdict, ExplainResponse, OutcomeKind, RobotsVerdict};

use super::states::State;
use super::waiting::blocked;
use super::{ActiveCrawl, Keeper};
use crate::crawl::filters;
use crate::frontier::Known;
use crate::frontier::forget::is_forgotten;
use crate::record::{CrawlId, FORGOTTEN, QueueEntry, UrlRecord};
use crate::{MonitorError, Result};

/// URLs counted before the one that is asked for; nobody needs it more exactly.
const COUNTED_BEFORE: usize = 1_000;
/// What lets a sitemap in: most rules are for pages.
const SITEMAP_RULE: &str = "in scope; a sitemap";

impl Keeper {
    pub(super) fn explain(&self, url: &str) -> Result<ExplainResponse> {
        let url = CanonicalUrl::parse(url).map_err(|error| MonitorError::Invalid(error.to_string()))?;
        let host = url.host();
        let record = self.frontier.host(&host)?;
        let now = self.clock.now_ms();
        let rest = self.host_rest(&host, now)?;
        let verdicts = self.crawls.iter().map(|(id, crawl)| self.verdict(*id, crawl, &url));
        Ok(ExplainResponse {
            canonical_url: url.as_str().to_owned(),
            slot: u32::from(host.slot()),
            host: host.as_str().to_owned(),
            crawls: verdicts.collect::<Result<_>>()?,
            host_rests_until_ms: rest.as_ref().map(|(until, _)| *until),
            host_rests_because: rest.map(|(_, because)| because).unwrap_or_default(),
            host_state: self.host_state(&host, now)?.in_words().to_owned(),
            address_state: self
                .address_state(&record.address, now)?
                .map(State::in_words)
                .unwrap_or_default()
                .to_owned(),
            blocks: self.blocks_of(&host, &record).map(super::blocking::message).collect(),
            address: record.address,
        })
    }

    fn verdict(&self, id: CrawlId, crawl: &ActiveCrawl, url: &CanonicalUrl) -> Result<CrawlVerdict> {
        let url = &crawl.checked.admission.strip(url.clone());
        let known = self.frontier.known(id, url)?;
        let depth = match &known {
            Some(Known::Queued(queued)) => Some(queued.entry.depth),
            Some(Known::Retrying(entry)) => Some(entry.depth),
            Some(Known::Settled(record)) => Some(record.entry.depth),
            None => None,
        };
        let waiting = match &known {
            Some(Known::Queued(queued)) => Some(&queued.entry),
            Some(Known::Retrying(entry)) => Some(entry),
            _ => None,
        };
        let is_sitemap = waiting.is_some_and(|entry| entry.sitemap_level > 0);
        let excluded_by = match waiting {
            Some(entry) => crawl.checked.judge(url, entry),
            None => crawl.checked.excludes(url, depth.unwrap_or(0)),
        };
        let admitted_by = || if is_sitemap { SITEMAP_RULE.to_owned() } else { crawl.checked.admitted_by(url) };
        let rule = excluded_by.clone().unwrap_or_else(admitted_by);
        let hindrance = waiting.map(|entry| self.hindrance(&url.host(), entry, excluded_by.as_deref())).transpose()?;
        let mut verdict = CrawlVerdict {
            crawl: crawl.record.settings.name.clone(),
            depth,
            rule,
            robots: self.robots_in_words(crawl, url)?,
            ..CrawlVerdict::default()
        };
        let record = self.frontier.record(id, url)?;
        let outcome = record.as_ref().map(|record| &record.outcome);
        (verdict.enumeration, verdict.generation) =
            filters::in_words(&crawl.checked.filters, url, depth.unwrap_or(0), outcome);
        let leased = self.leases.of_crawl(id).any(|lease| lease.host == url.host());
        match known {
            Some(Known::Queued(queued)) => {
                let (state, reason) = match (hindrance.flatten(), leased) {
                    (Some((state, reason)), _) => (state.unwrap_or("queued"), reason),
                    (None, true) => ("leased", "its host is being fetched now".to_owned()),
                    (None, false) => ("queued", "it waits for its host's turn".to_owned()),
                };
                let before = self.frontier.stretch(id, &url.host(), None, COUNTED_BEFORE)?.urls;
                let before = before.iter().take_while(|other| other.place < queued.place).count();
                verdict.before_it = Some(before as u32);
                waits(&mut verdict, state, reason, queued.entry);
            }
            Some(Known::Retrying(entry)) => {
                let (state, reason) = match hindrance.flatten() {
                    Some((state, reason)) => (state.unwrap_or("to retry"), reason),
                    None => ("to retry", "it failed and will be tried again".to_owned()),
                };
                waits(&mut verdict, state, reason, entry);
            }
            Some(Known::Settled(record)) => {
                let UrlRecord { entry, outcome, .. } = *record;
                verdict.state = state_name(outcome.kind());
                verdict.reason = match &excluded_by {
                    Some(rule) if outcome.kind() == OutcomeKind::Saved => {
                        format!("it leaves the index at its next visit: {rule}")
                    }
                    _ => outcome.detail.clone(),
                };
                verdict.forgotten = is_forgotten(&outcome);
                if verdict.forgotten {
                    verdict.rule = FORGOTTEN.to_owned();
                }
                verdict.discovered_from = entry.discovered_from;
                verdict.attempts = entry.attempts;
                verdict.outcome = Some(outcome);
            }
            None => {
                (verdict.state, verdict.reason) = match excluded_by {
                    None => ("unknown".into(), "no page whose links are followed links to it within the depth".into()),
                    Some(rule) => ("excluded".into(), rule),
                };
                verdict.forgotten = crawl.checked.is_forgotten(url);
            }
        }
        if let Some(record) = record {
            self.add_history(&mut verdict, id, record)?;
        }
        Ok(verdict)
    }

    /// Why a URL that waits is not asked for, and the state that this is if it is not just waiting. `None` when nothing is
    /// in its way.
    fn hindrance(
        &self,
        host: &HostKey,
        entry: &QueueEntry,
        excluded_by: Option<&str>,
    ) -> Result<Option<(Option<&'static str>, String)>> {
        let withdraws = entry.revisit.as_ref().map(|revisit| revisit.withdraw.as_str()).filter(|rule| !rule.is_empty());
        if let Some(rule) = withdraws {
            return Ok(Some((None, format!("it is about to leave the index: {rule}"))));
        }
        if let Some(rule) = excluded_by {
            return Ok(Some((Some("excluded"), rule.to_owned())));
        }
        let record = self.frontier.host(host)?;
        Ok(self.blocks_of(host, &record).next().map(|block| (None, blocked(host, block))))
    }

    fn add_history(&self, verdict: &mut CrawlVerdict, id: CrawlId, record: UrlRecord) -> Result<()> {
        verdict.next_visit_ms = Some(record.next_visit_ms).filter(|due| *due > 0 && self.has_schedule(id));
        if record.outcome.kind() == OutcomeKind::Saved {
            verdict.in_index = record.outcome.generate;
            if record.outcome.fingerprint != 0 {
                let first = self.frontier.first_with_content(id, record.outcome.fingerprint)?;
                verdict.duplicate_of = first.filter(|first| *first != record.entry.url).unwrap_or_default();
            }
        }
        verdict.visits = record.visits;
        Ok(())
    }

    /// What the robots.txt that is known says, with the line that decides.
    fn robots_in_words(&self, crawl: &ActiveCrawl, url: &CanonicalUrl) -> Result<String> {
        if crawl.record.settings.ignore_robots() {
            return Ok("not read: the crawl does not obey robots.txt".to_owned());
        }
        let origin = url.origin();
        let known = self.frontier.robots(&url.host())?.into_iter().find(|robots| robots.origin == origin);
        let Some(robots) = known else { return Ok(String::new()) };
        Ok(match robots.verdict() {
            RobotsVerdict::AllowAll => "allowed: there is no robots.txt".to_owned(),
            RobotsVerdict::Unavailable => "refused for now: robots.txt could not be read".to_owned(),
            RobotsVerdict::Unspecified => String::new(),
            RobotsVerdict::Rules => {
                let agent = agent_token(crawl.record.settings.user_agent());
                let decision = Rules::parse(&robots.body, agent).decision(url.path_and_query());
                let verb = if decision.allow { "allowed" } else { "refused" };
                match decision.line {
                    None => format!("{verb}: no line speaks of it"),
                    Some(line) => format!("{verb} by line {line}: {}", line_text(&robots.body, line)),
                }
            }
        })
    }
}

fn waits(verdict: &mut CrawlVerdict, state: &str, reason: String, entry: QueueEntry) {
    verdict.state = state.to_owned();
    verdict.reason = reason;
    verdict.outcome = entry.last_outcome;
    verdict.discovered_from = entry.discovered_from;
    verdict.attempts = entry.attempts;
}

fn line_text(body: &[u8], number: u32) -> String {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\r', "\n");
    text.lines().nth(number.saturating_sub(1) as usize).unwrap_or_default().trim().chars().take(200).collect()
}

/// `OUTCOME_KIND_REFUSED_BY_ROBOTS` in words: `refused by robots`.
pub(crate) fn state_name(kind: OutcomeKind) -> String {
    kind.as_str_name().trim_start_matches("OUTCOME_KIND_").to_ascii_lowercase().replace('_', " ")
}
