//! One leased host: which of its URLs is fetched when, and what is told to the Monitor.
//!
//! [`HostWorker`] only decides; it does no I/O and is told the time. [`driver`] feeds it events, performs its actions,
//! and makes the requests it starts. Life of a lease: find the address → pin it with the Monitor → for each origin, as
//! it is met, read robots.txt → fetch in strategy order ([`window`]) at the host's pace ([`pacing`]) → when nothing is
//! left, or it was told to, finish what is under way ([`pages`]) and return the lease.
//!
//! The lease outlives the stream to the Monitor: while there is none, the worker goes on for as long as the lease lasts, and
//! says again on the next stream what is [`unconfirmed`]. A lease that ends unrenewed has its connections closed; what was
//! fetched is kept until the Monitor says whether it goes on.
//!
//! Invariants: nothing starts before the pin is confirmed, after the usable part of the lease, or before the delay;
//! a page is settled after its links were sent, and the Monitor hears of an answer that is kept after the archive has it;
//! the lease is returned with nothing under way.

pub mod terms;
pub mod events;
pub mod window;
pub mod pacing;
pub mod origins;
pub mod pages;
mod progress;
mod answer_record;
mod fetch_span;
mod unconfirmed;
pub mod driver;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use seine_common::address::port;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::collector_message::Message;
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Pin, ReturnLease, Robots, Settle, WantUrls};

use self::events::{Action, Origin, Start, StartPage};
use self::origins::{Origins, State};
use self::pacing::{Marks, Pacing};
use self::pages::Pages;
use self::terms::Terms;
use self::unconfirmed::Unconfirmed;
use self::window::{QueuedUrl, URLS_PER_ANSWER, Window};
use crate::fetch::Known;
use crate::fetch::outcome::{Ending, label};
use crate::metrics;
use crate::resolve::Found;
use crate::strategy::Place;

/// Bytes gone through in one turn to match URLs against robots.txt; then other hosts have theirs. A fraction of a
/// millisecond, also with rules that were written to be slow.
const ROBOTS_BYTES_PER_TURN: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PinState {
    Unasked,
    Asked,
    Confirmed,
}

/// The first URL of the window, found fit to be fetched.
#[derive(Debug)]
struct Cleared {
    place: Place,
    origin: Origin,
    url: CanonicalUrl,
}

#[derive(Debug)]
pub struct HostWorker {
    terms: Terms,
    window: Window,
    pacing: Pacing,
    origins: Origins,
    pages: Pages,
    /// Answers for robots.txt on their way to the archive, with what the Monitor is told when they are there.
    robots_records: HashMap<events::PageId, Option<Robots>>,
    pin: PinState,
    cleared: Option<Cleared>,
    /// The origin that the first URL waits for.
    waits_for: Option<Origin>,
    /// The turn ended before all that could be decided was.
    has_more: bool,
    /// There is a stream to the Monitor on which the lease is known.
    is_attached: bool,
    unconfirmed: Unconfirmed,
    /// Asked for and not answered.
    asked_pin: Option<Pin>,
    renewed_at: Instant,
    /// The lease has ended unrenewed and all connections are closed.
    is_over: bool,
    /// Set when nothing more is to be started; the lease is not returned before this time.
    draining: Option<Instant>,
    finished: bool,
}

impl HostWorker {
    pub fn new(
        terms: Terms,
        urls: impl IntoIterator<Item = QueuedUrl>,
        exhausted: bool,
        robots: &[Robots],
        renewed_at: Instant,
        now: Instant,
    ) -> Self {
        let mut window = Window::default();
        window.answer(urls, exhausted);
        Self {
            pacing: Pacing::new(terms.delay, terms.response_factor, now + terms.rest),
            origins: Origins::new(robots),
            pages: Pages::default(),
            robots_records: HashMap::new(),
            pin: PinState::Unasked,
            cleared: None,
            waits_for: None,
            has_more: false,
            is_attached: true,
            unconfirmed: Unconfirmed::default(),
            asked_pin: None,
            renewed_at,
            is_over: false,
            draining: None,
            finished: false,
            window,
            terms,
        }
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    pub fn depth_of(&self, page: events::PageId) -> Option<u32> {
        self.pages.get(page).map(|page| page.queued.depth)
    }

    pub fn is_sitemap(&self, page: events::PageId) -> bool {
        self.pages.get(page).is_some_and(|page| page.queued.is_sitemap)
    }

    pub fn observe(&mut self, marks: Marks) {
        self.pacing.observe(marks);
    }

    /// Whether [`HostWorker::advance`] is to be called again, once others have had their turn.
    pub fn has_more(&self) -> bool {
        self.has_more && !self.finished
    }

    /// Does what can be done without a request, as much as fits in one turn. To be called after every event.
    pub fn advance(&mut self, now: Instant, actions: &mut Vec<Action>) {
        self.has_more = false;
        if self.finished {
            return;
        }
        if now >= self.lease_end() && !std::mem::replace(&mut self.is_over, true) {
            tracing::info!(host = %self.terms.host, lease = self.terms.token, "lease ended unrenewed; closing its connections");
            actions.push(Action::CloseConnections);
        }
        if self.draining.is_none() && self.has_done_its_share() {
            self.drain(now);
        }
        if self.draining.is_none() {
            self.look_at_the_first(now, actions);
        }
        if self.draining.is_none()
            && self.is_attached
            && !self.terms.prepare
            && let Some(place) = self.window.question()
        {
            let question = WantUrls {
                token: self.terms.token,
                after_place: place.to_bytes(),
                limit: URLS_PER_ANSWER,
                under_way: self.window.under_way().map(Place::to_bytes).collect(),
            };
            self.send(Message::WantUrls(question), actions);
        }
        let due = self.draining.map_or(self.window.is_exhausted(), |until| until <= now);
        let is_idle = self.pages.is_empty() && !self.origins.has_request_under_way() && self.robots_records.is_empty();
        if due && is_idle && self.is_attached {
            self.return_lease(now, actions);
        }
    }

    /// Connections may be open until then.
    pub fn lease_end(&self) -> Instant {
        self.renewed_at + self.terms.duration
    }

    fn renew(&mut self, since: Instant, now: Instant) {
        self.renewed_at = self.renewed_at.max(since);
        self.is_over &= now >= self.lease_end();
    }

    /// Says again what may not have been heard, and asks again what was not answered.
    fn resume(&mut self, actions: &mut Vec<Action>) {
        self.is_attached = true;
        // The one URL of a preparation came with the lease.
        if !self.terms.prepare {
            self.window.ask_anew();
        }
        let asked_pin = self.asked_pin.clone().map(Message::Pin);
        actions.extend(asked_pin.into_iter().chain(self.unconfirmed.iter().cloned()).map(Action::Send));
    }

    fn send(&mut self, message: Message, actions: &mut Vec<Action>) {
        self.unconfirmed.note(&message);
        if self.is_attached {
            actions.push(Action::Send(message));
        }
    }

    fn has_done_its_share(&self) -> bool {
        let requests_used = self.terms.request_allowance.is_some_and(|allowed| self.pacing.requests() >= allowed);
        // What is left of the window may be known pages, which are not counted.
        let pages_used = self.terms.page_allowance.is_some_and(|allowed| self.pages.count_saved() >= allowed);
        requests_used || pages_used
    }

    fn drain(&mut self, until: Instant) {
        self.draining = Some(self.draining.map_or(until, |known| known.max(until)));
        self.cleared = None;
        self.waits_for = None;
    }

    /// Finds out whether the first URL may be fetched; settles those that may not, until one may or must wait.
    fn look_at_the_first(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let mut cost = 0;
        while !self.pages.is_full() {
            if cost > ROBOTS_BYTES_PER_TURN {
                self.has_more = true;
                return;
            }
            let Some(first) = self.window.first() else {
                self.cleared = None;
                self.waits_for = None;
                return;
            };
            if self.cleared.as_ref().is_some_and(|cleared| cleared.place == first.place) {
                return;
            }
            let judgement = self.judge(first, &mut cost);
            self.cleared = None;
            match judgement {
                Judgement::Fit(_) if self.terms.prepare => return self.drain(now),
                Judgement::Fit(cleared) => {
                    self.waits_for = None;
                    self.cleared = Some(cleared);
                    return;
                }
                Judgement::Waits(origin) => {
                    self.waits_for = Some(origin);
                    return;
                }
                Judgement::New(origin, url) => {
                    self.origins.begin(origin.clone());
                    self.waits_for = Some(origin.clone());
                    actions.push(Action::FindAddress { origin, url });
                    return;
                }
                Judgement::Withdraw { rule, keep_document } => {
                    let ending = Ending::new(OutcomeKind::Excluded, rule);
                    let page = self.take_without_request();
                    match keep_document {
                        true => self.settle(page, Outcome { withdrawn: true, ..ending.to_outcome(0) }, actions),
                        false => self.withdraw(page, &ending, 0, actions),
                    }
                }
                // The lease that fetches will settle it, as all others that robots.txt refuses.
                Judgement::Refused(ending) if self.terms.prepare && ending.kind == OutcomeKind::RefusedByRobots => {
                    return self.drain(now);
                }
                Judgement::Refused(ending) => {
                    let may_pass = matches!(
                        ending.kind,
                        OutcomeKind::RobotsUnavailable | OutcomeKind::NameNotFound | OutcomeKind::SlowDown
                    );
                    let page = self.take_without_request();
                    self.settle_refusal(page, &ending, actions);
                    // It is the host that failed: the others keep their attempts for when it is back.
                    if may_pass {
                        return self.drain(now);
                    }
                }
            }
        }
    }

    fn take_without_request(&mut self) -> events::PageId {
        let queued = self.window.take_first().expect("the first was just looked at");
        self.pages.take(queued, false)
    }

    /// Adds what matching robots.txt has cost.
    fn judge(&self, queued: &QueuedUrl, cost: &mut usize) -> Judgement {
        if let Some(revisit) = queued.revisit.as_ref().filter(|revisit| !revisit.withdraw.is_empty()) {
            return Judgement::Withdraw { rule: revisit.withdraw.clone(), keep_document: revisit.keep_document };
        }
        let url = match CanonicalUrl::parse(&queued.url) {
            Ok(url) if url.host().as_str() == &*self.terms.host => url,
            // The Monitor sends neither; a lease is for one host, so nothing else is fetched under it.
            Ok(_) => return Judgement::Refused(Ending::new(OutcomeKind::ConnectionFailed, "not on the leased host")),
            Err(error) => return Judgement::Refused(Ending::new(OutcomeKind::ConnectionFailed, error.to_string())),
        };
        // Links to such ports are not taken in; this is for what was queued by an earlier version.
        if let Some(port) = url.as_url().port().filter(|port| port::is_refused(*port)) {
            return Judgement::Refused(Ending::new(OutcomeKind::Excluded, format!("refused-port {port}")));
        }
        let origin: Origin = url.origin().into();
        match self.origins.state(&origin) {
            None => Judgement::New(origin, url),
            Some(State::Barred(ending)) => Judgement::Refused(ending.clone()),
            Some(State::Open(rules)) => {
                let decision = rules.as_ref().map(|rules| rules.decision(url.path_and_query()));
                *cost += decision.map_or(0, |decision| decision.cost);
                if decision.is_none_or(|decision| decision.allow) {
                    return Judgement::Fit(Cleared { place: queued.place.clone(), origin, url });
                }
                Judgement::Refused(Ending::new(
                    OutcomeKind::RefusedByRobots,
                    format!("{origin}/robots.txt forbids it to {}", self.terms.agent_token),
                ))
            }
            Some(_) => Judgement::Waits(origin),
        }
    }

    /// Whether a request could start now, if the collector as a whole has room for one.
    pub fn wants_to_start(&self, now: Instant) -> bool {
        self.has_work() && self.pacing.earliest().is_some_and(|earliest| earliest <= now) && self.may_start_at(now)
    }

    /// When to look again, if nothing happens before.
    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        let startable = || self.pacing.earliest().filter(|&earliest| self.may_start_at(earliest));
        let wake = self.draining.or_else(|| self.has_work().then(startable).flatten());
        let lease_end = (!self.is_over).then(|| self.lease_end());
        wake.filter(|&at| at > now).into_iter().chain(lease_end).min()
    }

    /// Within the part of the lease in which requests may start.
    fn may_start_at(&self, at: Instant) -> bool {
        at.saturating_duration_since(self.renewed_at) < self.terms.usable
    }

    fn has_work(&self) -> bool {
        let robots_due = || {
            let state = self.waits_for.as_ref().and_then(|origin| self.origins.state(origin));
            matches!(state, Some(State::RobotsDue { .. }))
        };
        let may_save = || self.terms.page_allowance.is_none_or(|allowance| self.pages.count_committed() < allowance);
        self.draining.is_none()
            && self.pin == PinState::Confirmed
            && self.connections_in_use() < self.terms.connections
            && ((self.cleared.is_some() && !self.pages.is_full() && may_save()) || robots_due())
    }

    fn connections_in_use(&self) -> u32 {
        self.pages.slots_held() + u32::from(self.origins.has_request_under_way())
    }

    /// Starts what [`HostWorker::wants_to_start`] wanted.
    pub fn start(&mut self, now: Instant) -> Option<Start> {
        debug_assert!(self.wants_to_start(now));
        if let Some(origin) = self.waits_for.clone() {
            let url = self.origins.take_robots_due(&origin)?;
            let request = self.pacing.start(now);
            // Counted down from where no page is numbered.
            return Some(Start::Robots { origin, url, request, record: events::PageId::MAX - request });
        }
        let Cleared { origin, url, .. } = self.cleared.take()?;
        let queued = self.window.take_first()?;
        debug_assert_eq!(&*queued.url, url.as_str());
        let (depth, is_sitemap) = (queued.depth, queued.is_sitemap);
        let known = queued.revisit.as_ref().map(|revisit| Known {
            etag: revisit.etag.clone(),
            last_modified: revisit.last_modified.clone(),
            archive: revisit.archive.clone(),
        });
        let page = self.pages.take(queued, true);
        let request = self.pacing.start(now);
        let known = known.unwrap_or_default();
        Some(Start::Page(StartPage { page, origin, url, depth, is_sitemap, known, request }))
    }

    /// Settles a page that is not there, or withdraws it first when that makes it gone for good.
    fn settle_refusal(&mut self, page: events::PageId, ending: &Ending, actions: &mut Vec<Action>) {
        if self.is_gone_by(page, ending) {
            self.withdraw(page, ending, 0, actions);
        } else {
            self.settle_ending(page, ending, 0, actions);
        }
    }

    /// Whether this ending confirms that a page of the index is gone.
    fn is_gone_by(&self, page: events::PageId, ending: &Ending) -> bool {
        let missing =
            matches!(ending.kind, OutcomeKind::NotFound | OutcomeKind::RefusedByRobots | OutcomeKind::Redirected);
        let revisit = self.pages.get(page).and_then(|page| page.queued.revisit.as_ref());
        missing && revisit.is_some_and(|revisit| revisit.gone_if_missing)
    }

    /// The page leaves the index; it is settled once that is durable.
    fn withdraw(&mut self, page: events::PageId, ending: &Ending, at_ms: i64, actions: &mut Vec<Action>) {
        let Some(leaving) = self.pages.get_mut(page) else { return };
        leaving.withdraws_as = Some(Outcome { withdrawn: true, ..ending.to_outcome(at_ms) });
        actions.push(Action::Withdraw { page, url: leaving.queued.url.to_string() });
    }

    fn settle_ending(&mut self, page: events::PageId, ending: &Ending, at_ms: i64, actions: &mut Vec<Action>) {
        self.pages.release_allowance(page);
        self.settle(page, ending.to_outcome(at_ms), actions);
    }

    fn settle(&mut self, page: events::PageId, outcome: Outcome, actions: &mut Vec<Action>) {
        let Some(settling) = self.pages.get(page) else {
            return;
        };
        metrics::outcome(outcome.kind(), outcome.bytes);
        tracing::debug!(
            url = %settling.queued.url,
            outcome = label(outcome.kind()),
            status = outcome.status,
            detail = outcome.detail,
            "settled"
        );
        let settle = Settle {
            token: self.terms.token,
            request_id: page,
            url: settling.queued.url.to_string(),
            place: settling.queued.place.to_bytes(),
            outcome: Some(outcome),
        };
        self.send(Message::Settle(settle), actions);
    }

    fn pin_first_address(&mut self, found: &Found, actions: &mut Vec<Action>) {
        if let (PinState::Unasked, Found::Use { address, allowed_by_name }) = (self.pin, found) {
            self.pin = PinState::Asked;
            let pin = Pin { token: self.terms.token, address: address.to_string(), allowed_by_name: *allowed_by_name };
            self.asked_pin = Some(pin.clone());
            self.send(Message::Pin(pin), actions);
        }
    }

    fn return_lease(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let milliseconds = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
        actions.push(Action::Send(Message::ReturnLease(ReturnLease {
            token: self.terms.token,
            since_last_request_ms: self.pacing.since_last(now).map(milliseconds),
            crawl_delay_ms: milliseconds(self.origins.crawl_delay()),
            requests: u32::try_from(self.pacing.requests()).unwrap_or(u32::MAX),
            rest_ms: self.pacing.earliest().map_or(0, |at| milliseconds(at.saturating_duration_since(now))),
        })));
        actions.push(Action::Finish);
        self.finished = true;
    }
}

enum Judgement {
    Fit(Cleared),
    /// Something must be known of its origin first, and is being found out.
    Waits(Origin),
    New(Origin, CanonicalUrl),
    Refused(Ending),
    /// It is saved and excluded now, by this rule; its document goes too, unless another crawl has it.
    Withdraw {
        rule: String,
        keep_document: bool,
    },
}

#[cfg(test)]
mod tests;
