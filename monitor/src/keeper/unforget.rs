//! Taking a forgetting back: the URLs that crawls knew come back into their queues and are visited again.
//!
//! A crawl that had finished runs again for them; one that was paused or stopped does not. URLs that a rule excludes now
//! stay out. What no crawl knew before it was forgotten is unknown again: a link may bring it in.

use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{CrawlState, Outcome, OutcomeKind, UnforgetRequest, UnforgetResponse, unforget_request};

use super::Keeper;
use super::forget::{FORGOTTEN_AT_ONCE, parse_url, read_cursor, write_cursor};
use super::hosts::parse_host;
use crate::record::{CrawlId, UrlRecord};
use crate::{MonitorError, Result};

impl Keeper {
    pub(super) fn unforget(&mut self, request: &UnforgetRequest) -> Result<UnforgetResponse> {
        match &request.what {
            Some(unforget_request::What::Url(url)) => self.unforget_url(url),
            Some(unforget_request::What::Host(host)) => self.unforget_host(host, &request.cursor),
            None => Err(MonitorError::Invalid("say which URL or which host to let back in".to_owned())),
        }
    }

    fn unforget_url(&mut self, url: &str) -> Result<UnforgetResponse> {
        let url = parse_url(url)?;
        if self.crawls.values().any(|crawl| crawl.checked.is_forgotten(&url)) {
            let host = url.host();
            return Err(MonitorError::Invalid(format!(
                "{url} is forgotten with its whole host; let that back in with `seine index forget --undo {host}`"
            )));
        }
        // What was not carried through before it was taken back is not carried through afterwards.
        self.end_forgettings(|known| known.url == url.as_str())?;
        let mut answer = UnforgetResponse::default();
        let ids: Vec<CrawlId> = self.crawls.keys().copied().collect();
        for id in ids {
            let known_as = self.crawls[&id].checked.admission.strip(url.clone());
            let record = self.frontier.unforget_url(id, &known_as, self.clock.now_ms())?;
            answer.urls.extend(self.visit_unforgotten(id, record.into_iter().collect())?);
        }
        answer.urls.sort_unstable();
        answer.urls.dedup();
        Ok(answer)
    }

    fn unforget_host(&mut self, host: &str, cursor: &[u8]) -> Result<UnforgetResponse> {
        let host = parse_host(host)?;
        let is_of_host = |url: &str| CanonicalUrl::parse(url).is_ok_and(|url| url.host() == host);
        self.end_forgettings(|known| known.host == host.as_str() || is_of_host(&known.url))?;
        let (at, from) = read_cursor(cursor);
        let mut ids = self.crawls.keys().copied().collect::<Vec<_>>().into_iter();
        let Some(id) = ids.find(|id| id.0 >= at) else { return Ok(UnforgetResponse::default()) };
        let crawl = self.crawls.get_mut(&id).expect("it was just listed");
        if crawl.checked.forgotten_hosts.remove(host.as_str()) {
            crawl.record.forgotten_hosts.retain(|known| known != host.as_str());
            self.frontier.put_crawl(&crawl.record)?;
        }
        let from = if id.0 == at { from } else { &[] };
        let told = self.frontier.unforget(id, &host, from, FORGOTTEN_AT_ONCE, self.clock.now_ms())?;
        let urls = self.visit_unforgotten(id, told.records)?;
        let next = if told.next.is_empty() { ids.next().map(|id| (id, Vec::new())) } else { Some((id, told.next)) };
        let mut answer = UnforgetResponse { urls, ..UnforgetResponse::default() };
        answer.cursor = next.map(|(id, from)| write_cursor(id, &from)).unwrap_or_default().into();
        Ok(answer)
    }

    /// Queues what the crawl's rules let in; gives the URLs.
    fn visit_unforgotten(&mut self, id: CrawlId, records: Vec<UrlRecord>) -> Result<Vec<String>> {
        let mut wanted = Vec::new();
        for mut record in records {
            let url = CanonicalUrl::parse(&record.entry.url).map_err(|_| MonitorError::Corrupt("URL record"))?;
            match self.crawls[&id].checked.judge(&url, &record.entry) {
                Some(rule) => {
                    record.outcome = Outcome { kind: OutcomeKind::Excluded.into(), detail: rule, ..Outcome::default() };
                    record.next_visit_ms = self.due_without_visit(id);
                    self.frontier.put_record(id, &url, &record)?;
                }
                None => wanted.push(record),
            }
        }
        let urls: Vec<String> = wanted.iter().map(|record| record.entry.url.clone()).collect();
        if !wanted.is_empty() {
            self.queue_visits(id, wanted)?;
            if self.crawls[&id].record.state() == CrawlState::Finished {
                self.change_state(id, CrawlState::Running)?;
            }
            self.grant_soon();
        }
        Ok(urls)
    }
}
