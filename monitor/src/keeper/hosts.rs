//! What is known of hosts, for people: a list, and all about one.

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{
    DelayReason, GetHostResponse, HostInCrawl, HostLease, HostState, KnownRobots, ListHostsRequest, ListHostsResponse,
    ListedHost,
};

use super::blocking::message;
use super::states::State;
use super::{ActiveCrawl, Keeper};
use crate::blocklist::HostPattern;
use crate::politeness::HostPace;
use crate::record::{CrawlId, HostRecord};
use crate::{MonitorError, Result};

/// Hosts looked at per call; others are served in between.
const LOOKED_AT_ONCE: usize = 1_000;
/// URLs of a host that are counted.
const COUNTED: usize = 10_000;

/// Where a list goes on: first the hosts that were leased once, then those that only wait.
enum Cursor {
    Leased(Vec<u8>),
    Waiting(Vec<u8>),
}

impl Keeper {
    pub(super) fn list_hosts(&self, request: &ListHostsRequest) -> Result<ListHostsResponse> {
        let wanted: Option<HostPattern> = match request.pattern.trim() {
            "" => None,
            pattern => Some(
                pattern
                    .parse()
                    .map_err(|error: crate::blocklist::NotAHostPattern| MonitorError::Invalid(error.to_string()))?,
            ),
        };
        let mut answer = ListHostsResponse::default();
        let (hosts, next) = match Cursor::read(&request.cursor)? {
            Cursor::Leased(cursor) => self.leased_once(&cursor)?,
            Cursor::Waiting(cursor) => self.never_leased(&cursor)?,
        };
        for record in hosts {
            let host = HostKey::from_stored(record.host.clone());
            if wanted.as_ref().is_some_and(|wanted| !wanted.matches(&host, record.address.parse().ok())) {
                continue;
            }
            let listed = self.listed(&host, &record)?;
            let is_wanted = request.state() == HostState::Unspecified || listed.state() == request.state();
            if is_wanted && (listed.block.is_some() || !request.only_blocked) {
                answer.hosts.push(listed);
            }
        }
        answer.cursor = next.map(Cursor::write).unwrap_or_default().into();
        Ok(answer)
    }

    fn leased_once(&self, cursor: &[u8]) -> Result<(Vec<HostRecord>, Option<Cursor>)> {
        let (records, next) = self.frontier.hosts(cursor, LOOKED_AT_ONCE)?;
        let next = if next.is_empty() { Cursor::Waiting(Vec::new()) } else { Cursor::Leased(next) };
        Ok((records, Some(next)))
    }

    fn never_leased(&self, cursor: &[u8]) -> Result<(Vec<HostRecord>, Option<Cursor>)> {
        let (waiting, next) = self.frontier.waiting_hosts(cursor, LOOKED_AT_ONCE)?;
        let mut records = Vec::new();
        for host in waiting {
            // The others were told before.
            if !self.frontier.was_leased(&host)? {
                records.push(self.frontier.host(&host)?);
            }
        }
        Ok((records, Some(next).filter(|next| !next.is_empty()).map(Cursor::Waiting)))
    }

    fn listed(&self, host: &HostKey, record: &HostRecord) -> Result<ListedHost> {
        let now = self.clock.now_ms();
        Ok(ListedHost {
            host: host.as_str().to_owned(),
            state: state(self.host_state(host, now)?).into(),
            address: record.address.clone(),
            rests_until_ms: self.host_rest(host, now)?.map(|(until, _)| until),
            block: self.blocks_of(host, record).next().map(message),
        })
    }

    pub(super) fn show_host(&self, name: &str) -> Result<GetHostResponse> {
        let host = parse_host(name)?;
        let record = self.frontier.host(&host)?;
        let now = self.clock.now_ms();
        let listed = self.listed(&host, &record)?;
        let crawls = self.crawls.iter().map(|(id, crawl)| self.host_in_crawl(*id, crawl, &host, &record));
        let crawls = crawls.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        Ok(GetHostResponse {
            slot: u32::from(host.slot()),
            rests_because: self.host_rest(&host, now)?.map(|(_, because)| because).unwrap_or_default(),
            address_state: self.address_state(&record.address, now)?.map_or(HostState::Unspecified, state).into(),
            blocks: self.blocks_of(&host, &record).map(message).collect(),
            robots: self.known_robots(&host)?,
            crawls,
            lease: self.leases.iter().find(|lease| lease.host == host).map(|lease| HostLease {
                crawl: self
                    .crawls
                    .get(&lease.crawl)
                    .map(|crawl| crawl.record.settings.name.clone())
                    .unwrap_or_default(),
                // Empty while it is away.
                collector: lease.session.map(|_| lease.holder.collector.clone()).unwrap_or_default(),
                token: lease.token,
                ending: lease.revoked,
            }),
            host: Some(listed),
        })
    }

    fn known_robots(&self, host: &HostKey) -> Result<Vec<KnownRobots>> {
        let fresh_ms = self.config.robots_fresh.as_millis() as i64;
        let robots = self.frontier.robots(host)?.into_iter();
        let known = robots.map(|robots| KnownRobots {
            verdict: robots.verdict,
            fetched_at_ms: robots.fetched_at_ms,
            fresh_until_ms: robots.fetched_at_ms.saturating_add(fresh_ms),
            origin: robots.origin,
        });
        Ok(known.collect())
    }

    /// `None` when the crawl has nothing to do with the host.
    fn host_in_crawl(
        &self,
        id: CrawlId,
        crawl: &ActiveCrawl,
        host: &HostKey,
        record: &HostRecord,
    ) -> Result<Option<HostInCrawl>> {
        let host_use = self.frontier.host_use(id, host)?;
        let queued = self.frontier.stretch(id, host, None, COUNTED)?.urls.len() as u32;
        if queued == 0 && host_use.pages == 0 && !self.frontier.has_work(id, host)? {
            return Ok(None);
        }
        let set_ms = HostPace::of(&crawl.checked, host, 0).delay_ms;
        let asked_ms = HostPace::of(&crawl.checked, host, record.crawl_delay_ms).delay_ms;
        let delay_ms = self.pace(id, host, record.crawl_delay_ms)?.map_or(asked_ms, |pace| pace.delay_ms);
        let differs = crawl.checked.host_settings(host).is_some_and(|settings| settings.delay_ms.is_some());
        let because = match differs {
            _ if delay_ms > asked_ms => DelayReason::OtherCrawl,
            _ if asked_ms > set_ms => DelayReason::Robots,
            true => DelayReason::HostSettings,
            false => DelayReason::Crawl,
        };
        Ok(Some(HostInCrawl {
            crawl: crawl.record.settings.name.clone(),
            queued,
            pages: host_use.pages,
            bytes: host_use.bytes,
            delay_ms: delay_ms as u32,
            delay_because: because.into(),
        }))
    }
}

impl Cursor {
    fn read(bytes: &[u8]) -> Result<Self> {
        let wrong = || MonitorError::Invalid("the cursor is none that was given".to_owned());
        match bytes.split_first() {
            None => Ok(Self::Leased(Vec::new())),
            Some((b'h', cursor)) => Ok(Self::Leased(cursor.to_vec())),
            Some((b'w', cursor)) => Ok(Self::Waiting(cursor.to_vec())),
            Some(_) => Err(wrong()),
        }
    }

    fn write(self) -> Vec<u8> {
        match self {
            Self::Leased(cursor) => [b"h", cursor.as_slice()].concat(),
            Self::Waiting(cursor) => [b"w", cursor.as_slice()].concat(),
        }
    }
}

/// A host as people write it, or a URL of it.
pub(super) fn parse_host(text: &str) -> Result<HostKey> {
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}/") };
    let parsed = CanonicalUrl::parse(&url).map(|url| url.host());
    parsed.map_err(|_| MonitorError::Invalid(format!("{text:?} is not a host name")))
}

fn state(state: State) -> HostState {
    match state {
        State::Waiting => HostState::Waiting,
        State::Active => HostState::Active,
        State::Resting => HostState::Resting,
        State::Done => HostState::Done,
    }
}
