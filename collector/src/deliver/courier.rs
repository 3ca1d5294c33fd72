//! Does what the [`dispatch`](super::dispatch) decides: keeps a stream open to each analyser on the list, writes pages to them,
//! passes answers on to the leases, and closes the gate while nothing can be saved.

use std::collections::HashMap;
use std::time::Instant;

use seine_node::health::Reporter;
use seine_node::membership::{Analysers, KnownPeers, Route};
use seine_proto::analyser::v1::analyse_response::Event as Answer;
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, ParsedPage};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::analyser::Standing;
use super::dispatch::{Action, AnalyserId, Dispatch, PageNumber, Refusal};
use super::{Content, Parcel, stream};
use crate::gate::Gate;
use crate::host_worker::events::{Event, Parsed};

/// Answers and ends of streams that wait to be taken in; a full mailbox holds the streams back.
const EVENTS_WAITING: usize = 256;

pub struct Courier {
    dispatch: Dispatch,
    parcels: HashMap<PageNumber, Parcel>,
    pages: mpsc::Receiver<Parcel>,
    analysers: Analysers,
    links: HashMap<AnalyserId, Link>,
    last_link: AnalyserId,
    events: (stream::Events, mpsc::Receiver<(AnalyserId, stream::Event)>),
    gate: Gate,
    health: Reporter,
    /// The outage that gate and reporter know of.
    told: Option<String>,
}

/// One analyser, with the task that reads its stream.
struct Link {
    name: String,
    route: Route,
    /// While its stream is open.
    requests: Option<mpsc::Sender<AnalyseRequest>>,
    _reader: AbortOnDropHandle<()>,
}

impl Courier {
    pub(super) fn new(analysers: Analysers, pages: mpsc::Receiver<Parcel>, gate: Gate, health: Reporter) -> Self {
        Self {
            dispatch: Dispatch::default(),
            parcels: HashMap::new(),
            pages,
            analysers,
            links: HashMap::new(),
            last_link: 0,
            events: mpsc::channel(EVENTS_WAITING),
            gate,
            health,
            told: None,
        }
    }

    /// Delivers until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut list = self.analysers.changes();
        list.mark_changed();
        let mut actions = Vec::new();
        loop {
            // One moment for both, so that none falls between them.
            let now = Instant::now();
            self.dispatch.advance(now, &mut actions);
            for action in actions.drain(..) {
                self.perform(action);
            }
            self.tell_outage();
            let wake = self.dispatch.wake_at(now);
            tokio::select! {
                Ok(()) = list.changed() => self.follow(&mut list),
                Some((id, event)) = self.events.1.recv() => self.take_in(id, event, &mut actions),
                Some(parcel) = self.pages.recv(), if self.dispatch.has_room() => {
                    self.parcels.insert(self.dispatch.take(parcel.bytes()), parcel);
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now).into()), if wake.is_some() => self.drop_unwanted(),
                () = shutdown.cancelled() => return,
            }
        }
    }

    /// A stream to each that is new on the list, and no more pages for those that are not on it.
    fn follow(&mut self, list: &mut watch::Receiver<KnownPeers>) {
        let mut known = list.borrow_and_update().clone();
        for (id, link) in &self.links {
            let told = known.get(&link.name).filter(|route| route.is(&link.route)).map(standing);
            if told.is_some() {
                known.remove(&link.name);
            }
            self.dispatch.stands(*id, told.unwrap_or(Standing::Gone));
        }
        for (name, route) in known {
            self.last_link += 1;
            let id = self.last_link;
            self.dispatch.stands(id, standing(&route));
            let reader = stream::run(id, route.channel.clone(), self.events.0.clone());
            let reader = AbortOnDropHandle::new(tokio::spawn(reader));
            self.links.insert(id, Link { name, route, requests: None, _reader: reader });
        }
    }

    fn take_in(&mut self, id: AnalyserId, event: stream::Event, actions: &mut Vec<Action>) {
        // What still comes of one that was closed is old.
        let Some(link) = self.links.get_mut(&id) else { return };
        let now = Instant::now();
        match event {
            stream::Event::Answered(answer) => self.answered(id, answer, now, actions),
            stream::Event::Opened(requests) => {
                link.requests = Some(requests);
                self.dispatch.opened(id, now);
            }
            stream::Event::Broke(status) => {
                tracing::debug!(analyser = link.name, error = %status, "stream to an analyser ended");
                link.requests = None;
                self.dispatch.broke(id, now, actions);
            }
            stream::Event::Unreachable(status) => {
                tracing::debug!(analyser = link.name, error = %status, "an analyser cannot be reached");
                self.dispatch.unreachable(id, status.message());
            }
        }
    }

    fn answered(&mut self, from: AnalyserId, answer: AnalyseResponse, now: Instant, actions: &mut Vec<Action>) {
        let number = answer.page_id;
        let dispatch = &mut self.dispatch;
        match answer.event {
            Some(Answer::Parsed(parsed)) if dispatch.parsed(from, number) => {
                if let Some(parcel) = self.parcels.get(&number) {
                    tell(parcel, Event::Parsed { page: parcel.id, parsed: parsed.into() });
                }
            }
            Some(Answer::Saved(saved)) if dispatch.saved(from, number) => {
                self.finish(number, |page| Event::Saved { page, archive: saved.archive });
            }
            Some(Answer::Failed(reason)) if dispatch.failed(from, number, now) => {
                self.finish(number, |page| Event::Failed { page, reason });
            }
            Some(Answer::Unavailable(reason)) => {
                dispatch.refused(from, number, Refusal::Nothing, reason, now, actions);
            }
            Some(Answer::Again(reason)) => dispatch.refused(from, number, Refusal::Here, reason, now, actions),
            // Said already, or of a page that is not there any more.
            Some(Answer::Parsed(_) | Answer::Saved(_) | Answer::Failed(_)) | None => {}
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Send { to, page } => {
                let requests = self.links.get(&to).and_then(|link| link.requests.as_ref());
                let (Some(requests), Some(parcel)) = (requests, self.parcels.get(&page)) else { return };
                // One that is closed has ended, and its reader is about to say so.
                let sent = requests.try_send(request(page, &parcel.content));
                debug_assert!(!matches!(sent, Err(mpsc::error::TrySendError::Full(_))), "there is room for all");
            }
            Action::Fail { page, reason } => self.finish(page, |page| Event::Failed { page, reason }),
            Action::Close(id) => drop(self.links.remove(&id)),
        }
    }

    /// The page is answered for good.
    fn finish(&mut self, number: PageNumber, event: impl FnOnce(u64) -> Event) {
        if let Some(parcel) = self.parcels.remove(&number) {
            tell(&parcel, event(parcel.id));
        }
    }

    /// Nobody waits any more for pages whose leases are lost.
    fn drop_unwanted(&mut self) {
        let is_unwanted = |page: &PageNumber| self.parcels.get(page).is_none_or(|parcel| parcel.answers.is_closed());
        let unwanted: Vec<PageNumber> = self.dispatch.waiting().filter(is_unwanted).collect();
        for page in unwanted {
            self.dispatch.forget(page);
            self.parcels.remove(&page);
        }
    }

    fn tell_outage(&mut self) {
        if self.dispatch.outage() == self.told.as_deref() {
            return;
        }
        let was_on = self.told.is_some();
        self.told = self.dispatch.outage().map(str::to_owned);
        match &self.told {
            Some(reason) => {
                if !was_on {
                    tracing::warn!(reason, "no page can be saved; fetching rests");
                }
                self.gate.close();
                self.health.unwell(format!("pages cannot be saved: {reason}"));
            }
            None => {
                tracing::info!("pages can be saved again; fetching goes on");
                self.health.well();
                self.gate.open();
            }
        }
    }
}

fn standing(route: &Route) -> Standing {
    if route.draining { Standing::Draining } else { Standing::Wanted }
}

/// The body is shared, not copied.
fn request(page_id: PageNumber, content: &Content) -> AnalyseRequest {
    match content.clone() {
        Content::Page(page) => AnalyseRequest { page_id, page: Some(*page), withdrawn: None },
        Content::Withdrawn(withdrawn) => AnalyseRequest { page_id, page: None, withdrawn: Some(withdrawn) },
    }
}

impl From<ParsedPage> for Parsed {
    fn from(page: ParsedPage) -> Self {
        Self {
            links: page.links,
            link_hashes: Vec::new(),
            generate: page.generate,
            fingerprint: page.fingerprint,
            title: page.title,
            value: page.value,
            usability: page.usability,
            lastmod_ms: page.lastmod_ms,
            sitemaps: page.sitemaps,
            generation_rule: page.generation_rule,
            enumeration_rule: page.enumeration_rule,
            not_converted: page.not_converted,
        }
    }
}

/// A mailbox has room for all that can be under way; one that is closed belongs to a lease that has ended.
fn tell(parcel: &Parcel, event: Event) {
    if let Err(mpsc::error::TrySendError::Full(event)) = parcel.answers.try_send(event) {
        tracing::error!(?event, "mailbox of a lease is full; its page will be fetched again");
    }
}
