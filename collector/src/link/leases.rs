//! The leases that the collector holds, over all streams, and their renewal.
//!
//! A heartbeat names all leases; its answer names those that are still held. A lease that was asked for and is not
//! named is lost: its work is dropped at once. Only one heartbeat is open at a time, and a lease that came after it was
//! sent waits for the next. Hello is the first heartbeat of a stream, and its answer gives leases of the last stream back.
//!
//! Invariant: a lease counts from a moment before the Monitor granted or renewed it, however late its message is read.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use seine_proto::monitor::v1::Heartbeat;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::uplink::Uplink;
use crate::host_worker::events::Event;
use crate::metrics;

/// Longest pause between heartbeats.
const LONGEST_INTERVAL: Duration = Duration::from_secs(3);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(20);
/// A Monitor that does not answer a heartbeat for this long is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// How to reach the worker of a lease.
#[derive(Debug)]
pub struct Held {
    pub mailbox: mpsc::Sender<Event>,
    /// Ends the worker and all its requests at once.
    pub lost: CancellationToken,
    pub duration: Duration,
    /// Only address and robots.txt are found out.
    pub prepares: bool,
    /// It is being given back because there are too many.
    pub ends: bool,
}

#[derive(Debug)]
struct Open {
    sent_at: Instant,
    tokens: Vec<u64>,
}

#[derive(Debug)]
pub struct Leases {
    held: HashMap<u64, Held>,
    open: Option<Open>,
    last_heartbeat: Instant,
    /// When the last heartbeat was sent that was answered: what the Monitor grants, it grants later than that.
    answered: Instant,
}

impl Leases {
    pub fn new(now: Instant) -> Self {
        Self { held: HashMap::new(), open: None, last_heartbeat: now, answered: now }
    }

    /// A stream begins: gives the leases to show. The workers must have been told that the last one is over.
    pub fn begin(&mut self, now: Instant) -> Vec<u64> {
        let tokens: Vec<u64> = self.held.keys().copied().collect();
        self.last_heartbeat = now;
        self.open = Some(Open { sent_at: now, tokens: tokens.clone() });
        tokens
    }

    /// The answer to what [`Leases::begin`] has shown.
    pub fn welcomed(&mut self, tokens: &[u64], uplink: &Uplink) {
        self.answered(tokens, |since| Event::Resumed { since, uplink: uplink.clone() });
    }

    /// From when on a lease counts that comes now.
    pub fn granted_since(&self) -> Instant {
        self.answered
    }

    /// Leases and preparations held.
    pub fn count(&self) -> (u32, u32) {
        let preparations = self.held.values().filter(|held| held.prepares).count();
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        (count(self.held.len() - preparations), count(preparations))
    }

    /// Leases of hosts beyond this number that are not being given back already.
    pub fn beyond(&mut self, most: u32) -> Vec<u64> {
        let surplus = self.count().0.saturating_sub(most) as usize;
        let ending = self.held.values().filter(|held| held.ends).count();
        let mut hosts = self.held.iter_mut().filter(|(_, held)| !held.prepares && !held.ends);
        let beyond = hosts.by_ref().take(surplus.saturating_sub(ending));
        beyond
            .map(|(token, held)| {
                held.ends = true;
                *token
            })
            .collect()
    }

    pub fn add(&mut self, token: u64, held: Held) {
        self.held.insert(token, held);
    }

    pub fn remove(&mut self, token: u64) -> Option<Held> {
        self.held.remove(&token)
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Tells the worker of a lease. A lease that has ended hears nothing. One whose mailbox is full is given up: the Monitor
    /// answered what was not asked, and more than a worker can have asked for.
    pub fn tell(&self, token: u64, event: Event) {
        let Some(held) = self.held.get(&token) else { return };
        if let Err(mpsc::error::TrySendError::Full(_)) = held.mailbox.try_send(event) {
            tracing::error!(lease = token, "the mailbox of a lease is full; giving it up");
            held.lost.cancel();
        }
    }

    pub fn tell_all(&self, event: impl Fn() -> Event) {
        self.held.keys().for_each(|token| self.tell(*token, event()));
    }

    /// When [`Leases::heartbeat`] is due.
    pub fn next_heartbeat(&self) -> Instant {
        let shortest_lease = self.held.values().map(|held| held.duration / 4).min().unwrap_or(LONGEST_INTERVAL);
        let interval = shortest_lease.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
        self.open.as_ref().map_or(self.last_heartbeat + interval, |open| open.sent_at + ANSWER_TIMEOUT)
    }

    /// The heartbeat to send now. `None` when the last one was never answered.
    pub fn heartbeat(&mut self, in_flight: u32, now: Instant) -> Option<Heartbeat> {
        if self.open.is_some() {
            return None;
        }
        let tokens: Vec<u64> = self.held.keys().copied().collect();
        self.last_heartbeat = now;
        self.open = Some(Open { sent_at: now, tokens: tokens.clone() });
        Some(Heartbeat { tokens, memory_bytes: metrics::memory_bytes(), in_flight, load: metrics::load() })
    }

    /// Takes the answer to the heartbeat. The leases count from when it was sent.
    pub fn renewed(&mut self, tokens: &[u64]) {
        self.answered(tokens, |since| Event::Renewed { since });
    }

    fn answered(&mut self, tokens: &[u64], event: impl Fn(Instant) -> Event) {
        let Some(open) = self.open.take() else { return };
        self.answered = open.sent_at;
        let still_held: HashSet<u64> = tokens.iter().copied().collect();
        for token in open.tokens {
            if still_held.contains(&token) {
                self.tell(token, event(open.sent_at));
            } else if let Some(held) = self.held.get(&token) {
                tracing::info!(lease = token, "lease lost");
                held.lost.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(seconds: u64) -> (Held, mpsc::Receiver<Event>) {
        let (mailbox, events) = mpsc::channel(1);
        let duration = Duration::from_secs(seconds);
        (Held { mailbox, lost: CancellationToken::new(), duration, prepares: false, ends: false }, events)
    }

    #[test]
    fn leases_that_are_not_renewed_are_lost_and_later_ones_wait() {
        let now = Instant::now();
        let mut leases = Leases::new(now);
        let (one, mut one_hears) = held(60);
        let (two, mut two_hears) = held(60);
        let (three, _three_hears) = held(60);
        let lost: Vec<_> = [&one, &two, &three].map(|held| held.lost.clone()).into();
        leases.add(1, one);
        leases.add(2, two);
        let heartbeat = leases.heartbeat(0, now).unwrap();
        assert_eq!(heartbeat.tokens.len(), 2);
        leases.add(3, three);
        leases.renewed(&[2]);
        assert_eq!(lost.iter().map(CancellationToken::is_cancelled).collect::<Vec<_>>(), [true, false, false]);
        assert!(one_hears.try_recv().is_err());
        assert!(matches!(two_hears.try_recv(), Ok(Event::Renewed { since }) if since == now));
    }

    #[test]
    fn as_many_as_are_too_many_are_given_back_each_once() {
        let mut leases = Leases::new(Instant::now());
        (1..=5).for_each(|token| leases.add(token, held(60).0));
        let first = leases.beyond(3);
        assert_eq!((first.len(), leases.beyond(3).len()), (2, 0));
        let second = leases.beyond(1);
        assert!(second.len() == 2 && second.iter().all(|token| !first.contains(token)), "{first:?} {second:?}");
        leases.remove(first[0]);
        assert!(leases.beyond(1).is_empty());
    }

    #[test]
    fn heartbeats_come_often_enough_for_the_shortest_lease() {
        let now = Instant::now();
        let mut leases = Leases::new(now);
        assert_eq!(leases.next_heartbeat(), now + LONGEST_INTERVAL);
        leases.add(1, held(4).0);
        leases.add(2, held(60).0);
        assert_eq!(leases.next_heartbeat(), now + Duration::from_secs(1));
        assert!(leases.heartbeat(0, now).is_some());
        assert_eq!(leases.next_heartbeat(), now + ANSWER_TIMEOUT);
        assert!(leases.heartbeat(0, now + ANSWER_TIMEOUT).is_none(), "the first was never answered");
    }

    #[test]
    fn a_lease_with_an_overfull_mailbox_is_given_up_and_one_with_a_closed_one_is_not() {
        let mut leases = Leases::new(Instant::now());
        let ((one, _hears), (two, closed)) = (held(60), held(60));
        let lost = [one.lost.clone(), two.lost.clone()];
        leases.add(1, one);
        leases.add(2, two);
        drop(closed);
        leases.tell_all(|| Event::Drain);
        assert!(!lost[0].is_cancelled());
        leases.tell_all(|| Event::Drain);
        leases.tell(7, Event::Drain);
        assert_eq!(lost.map(|lost| lost.is_cancelled()), [true, false]);
    }

    #[test]
    fn a_lease_counts_from_before_the_monitor_granted_it_however_late_it_is_read() {
        let now = Instant::now();
        let mut leases = Leases::new(now);
        leases.begin(now);
        let (uplink, second) = (Uplink::new(mpsc::channel(1).0), Duration::from_secs(1));
        leases.welcomed(&[], &uplink);
        leases.heartbeat(0, now + 3 * second).unwrap();
        // The process is stopped here for an hour; a lease and then the answer lay in its socket.
        assert_eq!(leases.granted_since(), now);
        leases.renewed(&[]);
        assert_eq!(leases.granted_since(), now + 3 * second);
    }

    #[test]
    fn leases_that_the_next_monitor_knows_go_on_and_the_others_are_lost() {
        let now = Instant::now();
        let mut leases = Leases::new(now);
        let ((one, mut hears), (two, _other)) = (held(60), held(60));
        let lost = [one.lost.clone(), two.lost.clone()];
        leases.add(1, one);
        leases.add(2, Held { prepares: true, ..two });
        leases.heartbeat(0, now).unwrap();
        let later = now + Duration::from_secs(20);
        let mut shown = leases.begin(later);
        shown.sort_unstable();
        assert_eq!((shown, leases.count()), (vec![1, 2], (1, 1)));
        leases.welcomed(&[1], &Uplink::new(mpsc::channel(1).0));
        assert!(matches!(hears.try_recv(), Ok(Event::Resumed { since, .. }) if since == later));
        assert_eq!(lost.map(|lost| lost.is_cancelled()), [false, true]);
        assert_eq!(
            leases.next_heartbeat(),
            later + LONGEST_INTERVAL,
            "the open heartbeat of the last stream is forgotten"
        );
    }
}
