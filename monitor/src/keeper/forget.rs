//! Forgetting: visits end, what a collector holds of it is revoked, and what is wanted is kept until every tier has done it.
//!
//! A forgetting is a record of the frontier, made before anything is changed. Whoever carries it through
//! ([`crate::forgetting`]) asks for its pages, a batch at a time and as often as needed: a page that was forgotten before is
//! told again.

use std::collections::BTreeSet;

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Revisit, forget_request};

use super::Keeper;
use super::hosts::parse_host;
use crate::frontier::Candidate;
use crate::frontier::forget::is_forgotten;
use crate::place::{Class, Place};
use crate::record::{CrawlId, FORGOTTEN, ForgettingRecord, QueueEntry};
use crate::{MonitorError, Result};

/// URLs forgotten per call.
pub(super) const FORGOTTEN_AT_ONCE: usize = 1_000;
/// Forgettings that wait for filesavers which do not run; each is looked at whenever one comes.
const MAX_FORGETTINGS: usize = 1_000;

/// Pages that are to be withdrawn.
#[derive(Debug, Default)]
pub(crate) struct ForgottenPages {
    pub urls: Vec<String>,
    /// Empty when all are told.
    pub cursor: Vec<u8>,
    /// Drawn for these: above every lease granted so far, below every later one.
    pub epoch: u64,
    pub token: u64,
}

impl Keeper {
    /// Takes the place of one that is under way for the same.
    pub(super) fn begin_forgetting(&mut self, what: Option<forget_request::What>) -> Result<ForgettingRecord> {
        let mut record = ForgettingRecord::default();
        match what {
            Some(forget_request::What::Url(url)) => parse_url(&url)?.as_str().clone_into(&mut record.url),
            Some(forget_request::What::Host(host)) => parse_host(&host)?.as_str().clone_into(&mut record.host),
            None => return Err(MonitorError::Invalid("say which URL or which host to forget".to_owned())),
        }
        self.end_forgettings(|known| (&known.url, &known.host) == (&record.url, &record.host))?;
        if self.frontier.forgettings()?.len() >= MAX_FORGETTINGS {
            return Err(MonitorError::Invalid(format!(
                "{MAX_FORGETTINGS} pages and hosts are still to be forgotten by filesavers that do not run; start those, or leave \
                 their pages out with `seine index rebuild --without LOG` and start the server again"
            )));
        }
        record.id = self.frontier.next_token()?;
        self.frontier.put_forgetting(&record)?;
        Ok(record)
    }

    /// Gives how many there were.
    pub(super) fn end_forgettings(&mut self, is_over: impl Fn(&ForgettingRecord) -> bool) -> Result<usize> {
        let mut over = self.frontier.forgettings()?;
        over.retain(is_over);
        for record in &over {
            self.frontier.remove_forgetting(record.id)?;
        }
        Ok(over.len())
    }

    /// These logs have it. False when it is not wanted any more.
    pub(super) fn told_logs(&mut self, id: u64, logs: Vec<String>) -> Result<bool> {
        let Some(record) = self.frontier.forgettings()?.into_iter().find(|record| record.id == id) else {
            return Ok(false);
        };
        let logs = record.logs.into_iter().chain(logs).collect::<BTreeSet<_>>().into_iter().collect();
        self.frontier.put_forgetting(&ForgettingRecord { logs, ..record })?;
        Ok(true)
    }

    /// The next pages of a forgetting; `None` when there is none any more: it was taken back, or asked for again.
    pub(super) fn forget_some(&mut self, id: u64, cursor: &[u8]) -> Result<Option<ForgottenPages>> {
        let Some(record) = self.frontier.forgettings()?.into_iter().find(|record| record.id == id) else {
            return Ok(None);
        };
        let forgotten = match record.host.is_empty() {
            true => self.forget_url(&record.url)?,
            false => self.forget_host(&record.host, cursor)?,
        };
        // Above the leases under which the pages were fetched or are being fetched, below the next one.
        Ok(Some(ForgottenPages { epoch: self.epoch, token: self.frontier.next_token()?, ..forgotten }))
    }

    fn forget_url(&mut self, url: &str) -> Result<ForgottenPages> {
        let url = parse_url(url)?;
        self.revoke_host(&url.host(), "a page of it is forgotten");
        let mut urls = BTreeSet::new();
        let ids: Vec<CrawlId> = self.crawls.keys().copied().collect();
        for id in ids {
            let known_as = self.crawls[&id].checked.admission.strip(url.clone());
            if self.frontier.forget_url(id, &known_as)? {
                urls.insert(known_as.as_str().to_owned());
            }
            self.finish_if_done(id)?;
        }
        Ok(ForgottenPages { urls: urls.into_iter().collect(), ..ForgottenPages::default() })
    }

    /// What a collector holds of the host must not be fetched any more.
    fn revoke_host(&mut self, host: &HostKey, reason: &str) {
        let held: Vec<u64> = self.leases.iter().filter(|lease| lease.host == *host).map(|lease| lease.token).collect();
        for token in held {
            self.revoke(token, reason);
        }
    }

    /// A page that was forgotten while it was being fetched has been saved after its withdrawal: it is withdrawn again.
    pub(crate) fn withdraw_if_forgotten(&mut self, crawl: CrawlId, url: &str) -> Result<()> {
        let Ok(url) = CanonicalUrl::parse(url) else { return Ok(()) };
        let Some(mut record) = self.frontier.record(crawl, &url)? else { return Ok(()) };
        if !is_forgotten(&record.outcome) {
            return Ok(());
        }
        let now = self.clock.now_ms();
        record.next_visit_ms = now.max(1);
        self.frontier.put_record(crawl, &url, &record)?;
        let withdraw = Revisit { withdraw: FORGOTTEN.to_owned(), saved: true, ..Revisit::default() };
        let sequence = self.frontier.next_sequence(crawl);
        let entry = QueueEntry { revisit: Some(withdraw), ..record.entry };
        let place = Place::in_turn(Class::Revisit, sequence, 0);
        self.frontier.revisit(crawl, vec![Candidate { host: url.host(), url, place, entry }], now)
    }

    /// The host is kept out of all crawls from now on.
    fn forget_host(&mut self, host: &str, cursor: &[u8]) -> Result<ForgottenPages> {
        let host = parse_host(host)?;
        let mut ids = self.crawls.keys().copied().collect::<Vec<_>>().into_iter();
        // The cursor names the crawl at hand, then the place in it.
        let (at, from) = read_cursor(cursor);
        self.revoke_host(&host, "it is forgotten");
        let mut answer = ForgottenPages::default();
        let Some(id) = ids.find(|id| id.0 >= at) else { return Ok(answer) };
        let crawl = self.crawls.get_mut(&id).expect("it was just listed");
        if !crawl.record.forgotten_hosts.iter().any(|known| known == host.as_str()) {
            crawl.record.forgotten_hosts.push(host.as_str().to_owned());
            crawl.checked.forgotten_hosts = crawl.record.forgotten_hosts.iter().cloned().collect();
            self.frontier.put_crawl(&crawl.record)?;
        }
        let from = if id.0 == at { from } else { &[] };
        let told = self.frontier.forget(id, &host, from, FORGOTTEN_AT_ONCE)?;
        answer.urls = told.saved;
        let next = if told.next.is_empty() { ids.next().map(|id| (id, Vec::new())) } else { Some((id, told.next)) };
        answer.cursor = next.map(|(id, from)| write_cursor(id, &from)).unwrap_or_default();
        self.finish_if_done(id)?;
        Ok(answer)
    }
}

pub(super) fn parse_url(url: &str) -> Result<CanonicalUrl> {
    CanonicalUrl::parse(url).map_err(|error| MonitorError::Invalid(error.to_string()))
}

/// The crawl at hand, and the place in it.
pub(super) fn read_cursor(cursor: &[u8]) -> (u32, &[u8]) {
    match cursor.split_first_chunk::<4>() {
        Some((id, from)) => (u32::from_be_bytes(*id), from),
        None => (0, &[]),
    }
}

pub(super) fn write_cursor(crawl: CrawlId, from: &[u8]) -> Vec<u8> {
    [&crawl.0.to_be_bytes()[..], from].concat()
}
