//! The leases that the collector holds under one stream, and their renewal.
//!
//! A heartbeat names all leases; its answer names those that are still held. A lease that was asked for and is not
//! named is lost: its work is dropped at once. Only one heartbeat is open at a time, and a lease that came after it was
//! sent waits for the next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use seine_proto::monitor::v1::Heartbeat;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::host_worker::events::Event;
use crate::metrics;

/// Longest pause between heartbeats.
const LONGEST_INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(20);
/// A Monitor that does not answer a heartbeat for this long is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// How to reach the worker of a lease.
#[derive(Debug)]
pub struct Held {
    pub mailbox: mpsc::Sender<Event>,
    /// Ends the worker and all its requests at once.
    pub lost: CancellationToken,
    pub duration: Duration,
    /// Only address and robots.txt are found out.
    pub prepares: bool,
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
}

/// The Monitor answered what was not asked, and more than a worker can have asked for.
#[derive(Debug, thiserror::Error)]
#[error("the mailbox of lease {0} is full")]
pub struct MailboxFull(u64);

impl Leases {
    pub fn new(now: Instant) -> Self {
        Self { held: HashMap::new(), open: None, last_heartbeat: now }
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

    /// Tells the worker of a lease. A lease that has ended hears nothing.
    pub fn tell(&self, token: u64, event: Event) -> Result<(), MailboxFull> {
        let Some(held) = self.held.get(&token) else {
            return Ok(());
        };
        match held.mailbox.try_send(event) {
            Err(mpsc::error::TrySendError::Full(_)) => Err(MailboxFull(token)),
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }

    pub fn tell_all(&self, event: impl Fn() -> Event) -> Result<(), MailboxFull> {
        self.held.keys().try_for_each(|token| self.tell(*token, event()))
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
    pub fn renewed(&mut self, tokens: &[u64]) -> Result<(), MailboxFull> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        for token in open.tokens {
            if tokens.contains(&token) {
                self.tell(token, Event::Renewed { since: open.sent_at })?;
            } else if let Some(held) = self.held.get(&token) {
                tracing::info!(lease = token, "lease lost");
                held.lost.cancel();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(seconds: u64) -> (Held, mpsc::Receiver<Event>) {
        let (mailbox, events) = mpsc::channel(1);
        let duration = Duration::from_secs(seconds);
        (Held { mailbox, lost: CancellationToken::new(), duration, prepares: false }, events)
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
        leases.renewed(&[2]).unwrap();
        assert_eq!(lost.iter().map(CancellationToken::is_cancelled).collect::<Vec<_>>(), [true, false, false]);
        assert!(one_hears.try_recv().is_err());
        assert!(matches!(two_hears.try_recv(), Ok(Event::Renewed { since }) if since == now));
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
    fn an_overfull_mailbox_is_an_error_and_a_closed_one_is_not() {
        let mut leases = Leases::new(Instant::now());
        let (one, hears) = held(60);
        leases.add(1, one);
        assert!(leases.tell(1, Event::Drain).is_ok());
        assert!(leases.tell(1, Event::Drain).is_err());
        drop(hears);
        assert!(leases.tell(1, Event::Drain).is_ok());
        assert!(leases.tell(7, Event::Drain).is_ok());
    }
}
