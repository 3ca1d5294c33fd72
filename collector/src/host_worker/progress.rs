//! What each event changes in a host worker.

use std::time::Instant;

use seine_proto::monitor::v1::collector_message::Message;
use seine_proto::monitor::v1::{Crawl, Discover, OutcomeKind, Pace, Robots, RobotsFound};

use super::events::{Action, Event, Origin, PageId, Parsed};
use super::pages::Ended;
use super::{HostWorker, PinState};
use crate::fetch::outcome::{Ending, NOT_MODIFIED};
use crate::fetch::redirect::MAX_REDIRECTS;
use crate::fetch::robots::RobotsAnswer;
use crate::robots::Verdict;

/// Links of a sitemap that go up together. The Monitor answers each message, and the mailbox must hold the answers.
const LINKS_PER_MESSAGE: usize = 5_000;

/// What the analyser thinks of a page.
#[derive(Clone, Copy, Default)]
struct Judged {
    value: f32,
    usability: f32,
}

impl HostWorker {
    /// Takes note of an event. [`HostWorker::advance`] follows.
    pub fn handle(&mut self, event: Event, now: Instant, actions: &mut Vec<Action>) {
        match event {
            Event::Pinned { go: true, request_allowance } => {
                self.asked_pin = None;
                self.pin = PinState::Confirmed;
                self.terms.request_allowance = request_allowance.or(self.terms.request_allowance);
            }
            Event::Pinned { go: false, .. } => {
                self.asked_pin = None;
                self.drain(now);
            }
            Event::Drain => self.drain(now),
            Event::Detached => self.is_attached = false,
            Event::Resumed { since, .. } => {
                self.renew(since, now);
                self.resume(actions);
            }
            Event::Urls { urls, exhausted } => self.window.answer(urls, exhausted),
            Event::Discovered { page, urls } => {
                self.window.discovered(urls);
                self.pages.release_slot(page);
            }
            Event::Settled { stale: true, .. } => actions.push(Action::Abandon),
            Event::Settled { page, stale: false } => self.settled(page, actions),
            Event::Renewed { since } => self.renew(since, now),
            Event::TermsChanged { crawl, pace, judge_again } => self.change_terms(&crawl, pace, judge_again, now),
            Event::AddressFound { origin, found } => {
                self.pin_first_address(&found, actions);
                if let Some(verdict) = self.origins.address_found(&origin, &found, self.terms.ignore_robots) {
                    self.decide(&origin, verdict, actions);
                }
            }
            Event::RobotsAnswered { origin, answer, at_ms, record } => {
                self.robots_answered(&origin, answer, at_ms, record, actions);
            }
            Event::RobotsParsed { origin, rules } => {
                self.pacing.at_least(rules.crawl_delay().unwrap_or_default());
                self.origins.parsed(&origin, rules);
            }
            Event::Fetched { page, status, bytes, at_ms, freshness } => {
                if let Some(fetched) = self.pages.get_mut(page) {
                    (fetched.status, fetched.bytes, fetched.at_ms, fetched.freshness) =
                        (status, bytes, at_ms, freshness);
                }
                // Nothing of it is parsed, so no links will be waited for.
                if status == NOT_MODIFIED {
                    self.pages.release_slot(page);
                }
            }
            Event::CutOff { page } => {
                if let Some(cut_off) = self.pages.remove(page) {
                    self.window.put_back(cut_off.queued);
                }
            }
            Event::RobotsCutOff { origin, url } => self.origins.cut_off(&origin, url),
            Event::Ended { page, ending, at_ms, is_kept } => self.ended(page, ending, at_ms, is_kept, now, actions),
            Event::Parsed { page, parsed } => self.parsed(page, parsed, actions),
            Event::Saved { page, archive } => {
                if self.recorded(page, actions) {
                    return;
                }
                if let Some(saved) = self.pages.get_mut(page) {
                    if let Some(outcome) = saved.withdraws_as.take() {
                        self.pages.release_allowance(page);
                        return self.settle(page, outcome, actions);
                    }
                    if saved.status == NOT_MODIFIED {
                        let outcome = saved.visited_outcome();
                        self.pages.release_allowance(page);
                        return self.settle(page, outcome, actions);
                    }
                    let outcome = saved.saved_outcome(archive);
                    self.pages.saved(page);
                    self.settle(page, outcome, actions);
                }
            }
            Event::Failed { page, reason } => {
                // What is known of the URL is worth more than the record of it: nothing is asked for again.
                if self.recorded(page, actions) {
                    return tracing::warn!(host = %self.terms.host, reason, "answer could not be archived");
                }
                self.not_kept(page, &reason, actions);
            }
        }
    }

    fn change_terms(&mut self, crawl: &Crawl, pace: Option<Pace>, judge_again: bool, now: Instant) {
        self.terms = self.terms.changed(crawl, pace);
        self.pacing.change(self.terms.delay, self.terms.response_factor);
        if judge_again {
            self.window.give_back();
            self.cleared = None;
            self.waits_for = None;
            // A preparation asks for nothing more, and its one URL is gone.
            if self.terms.prepare {
                self.drain(now);
            }
        }
    }

    /// The archive has an answer, or will never have it: what waited for that goes on. False for everything else.
    fn recorded(&mut self, page: PageId, actions: &mut Vec<Action>) -> bool {
        if let Some(robots) = self.robots_records.remove(&page) {
            self.tell_robots(robots, actions);
            return true;
        }
        let Some(ended) = self.pages.get_mut(page).and_then(|page| page.awaits_record.take()) else {
            return false;
        };
        self.end(page, &ended, actions);
        true
    }

    /// A failure of this page alone: it counts as an attempt, as one at its host would.
    fn not_kept(&mut self, page: PageId, reason: &str, actions: &mut Vec<Action>) {
        let Some(failed) = self.pages.get(page) else { return };
        tracing::warn!(url = %failed.queued.url, lease = self.terms.token, reason, "page could not be kept");
        let ending = Ending::new(OutcomeKind::NotKept, reason).with_status(failed.status);
        let at_ms = failed.at_ms;
        self.pages.release_slot(page);
        self.settle_ending(page, &ending, at_ms, actions);
    }

    fn robots_answered(
        &mut self,
        origin: &Origin,
        answer: RobotsAnswer,
        at_ms: i64,
        record: Option<PageId>,
        actions: &mut Vec<Action>,
    ) {
        let verdict = match answer {
            RobotsAnswer::Verdict(verdict) => Some(verdict),
            RobotsAnswer::Redirect(target) => self.origins.redirected(origin, target),
        };
        let robots = verdict.as_ref().map(|verdict| verdict.to_message(origin, at_ms));
        match record {
            Some(record) => drop(self.robots_records.insert(record, robots)),
            None => self.tell_robots(robots, actions),
        }
        if let Some(verdict) = verdict {
            self.decide(origin, verdict, actions);
        }
    }

    fn tell_robots(&mut self, robots: Option<Robots>, actions: &mut Vec<Action>) {
        if robots.is_some() {
            self.send(Message::Robots(RobotsFound { token: self.terms.token, robots }), actions);
        }
    }

    fn decide(&mut self, origin: &Origin, verdict: Verdict, actions: &mut Vec<Action>) {
        self.origins.decided(origin, &verdict);
        if let Verdict::Rules(body) = verdict {
            actions.push(Action::ParseRobots { origin: origin.clone(), body });
        }
    }

    /// The request brought no page. What does not depend on the archive is done at once.
    fn ended(
        &mut self,
        page: PageId,
        mut ending: Ending,
        at_ms: i64,
        is_kept: bool,
        now: Instant,
        actions: &mut Vec<Action>,
    ) {
        let Some(hops) = self.pages.get(page).map(|page| page.queued.redirect_hops) else {
            return;
        };
        let mut is_gone = self.is_gone_by(page, &ending);
        self.pages.release_allowance(page);
        if ending.kind == OutcomeKind::SlowDown {
            self.drain(now);
        }
        match &ending.redirect_to {
            Some(_) if hops >= MAX_REDIRECTS => {
                let detail = format!("more than {MAX_REDIRECTS} redirects in a row, the last to {}", ending.detail);
                ending = Ending::new(OutcomeKind::TooManyRedirects, detail).with_status(ending.status);
                is_gone = false;
                self.pages.release_slot(page);
            }
            Some(target) => {
                self.discover(page, vec![target.as_str().to_owned()], true, Judged::default(), actions);
            }
            None => self.pages.release_slot(page),
        }
        let ended = Ended { ending, at_ms, is_gone };
        match self.pages.get_mut(page) {
            Some(waiting) if is_kept => waiting.awaits_record = Some(Box::new(ended)),
            _ => self.end(page, &ended, actions),
        }
    }

    fn end(&mut self, page: PageId, ended: &Ended, actions: &mut Vec<Action>) {
        if ended.is_gone {
            self.withdraw(page, &ended.ending, ended.at_ms, actions);
        } else {
            self.settle_ending(page, &ended.ending, ended.at_ms, actions);
        }
    }

    fn parsed(&mut self, page: PageId, mut parsed: Parsed, actions: &mut Vec<Action>) {
        let links = std::mem::take(&mut parsed.links);
        let Some(fetched) = self.pages.get_mut(page) else {
            return;
        };
        let judged = Judged { value: parsed.value, usability: parsed.usability };
        if fetched.queued.is_sitemap {
            return self.sitemap_parsed(page, &links, parsed, actions);
        }
        fetched.parsed = Some(parsed);
        if links.is_empty() {
            self.pages.release_slot(page);
        } else {
            self.discover(page, links, false, judged, actions);
        }
    }

    /// Sends links up. The connection stays taken until the answer is there: it may hold the URL that goes next.
    fn discover(
        &mut self,
        page: PageId,
        links: Vec<String>,
        redirect: bool,
        judged: Judged,
        actions: &mut Vec<Action>,
    ) {
        let Some(from) = self.pages.get(page) else {
            return;
        };
        let discover = Discover {
            token: self.terms.token,
            request_id: page,
            from_url: from.queued.url.to_string(),
            from_place: from.queued.place.to_bytes(),
            links,
            redirect,
            value: judged.value,
            usability: judged.usability,
            ..Discover::default()
        };
        self.send(Message::Discover(discover), actions);
    }

    /// A sitemap has more links than a message should.
    fn sitemap_parsed(&mut self, page: PageId, links: &[String], parsed: Parsed, actions: &mut Vec<Action>) {
        let Some(from) = self.pages.get(page) else {
            return;
        };
        let about = Discover {
            token: self.terms.token,
            request_id: page,
            from_url: from.queued.url.to_string(),
            from_place: from.queued.place.to_bytes(),
            // Nobody expects sentences of a list.
            usability: 1.0,
            ..Discover::default()
        };
        for (links, dates) in links.chunks(LINKS_PER_MESSAGE).zip(parsed.lastmod_ms.chunks(LINKS_PER_MESSAGE)) {
            let discover = Discover { links: links.to_vec(), lastmod_ms: dates.to_vec(), ..about.clone() };
            self.send(Message::Discover(discover), actions);
        }
        if !parsed.sitemaps.is_empty() {
            let discover = Discover { links: parsed.sitemaps, sitemaps: true, ..about };
            self.send(Message::Discover(discover), actions);
        }
        self.pages.release_slot(page);
    }

    fn settled(&mut self, page: PageId, actions: &mut Vec<Action>) {
        self.unconfirmed.settled(page);
        let Some(settled) = self.pages.remove(page) else {
            return;
        };
        self.window.settled(&settled.queued.place);
        let parsed = settled.parsed.unwrap_or_default();
        let link_hashes = parsed.link_hashes;
        // What was refused because of this page may be admitted from another: it is to be sent again.
        let is_usable = parsed.usability >= self.terms.unusable_below;
        if is_usable && !link_hashes.is_empty() {
            actions.push(Action::Remember { link_hashes, depth: settled.queued.depth + 1 });
        }
    }
}
