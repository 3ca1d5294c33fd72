//! Bounds over all leases: requests under way, bytes of bodies that are alive, bytes per second. Closed while no page can be saved.
//!
//! A permit is taken before a request starts and moves with it: its first half is given back when the answer is
//! complete, the half for the body when the analyser has made the page durable. So a slow analyser stops new requests
//! instead of letting those under way time out.
//!
//! A body that outgrows its reservation takes more; when there is none, one body at a time may overdraw. So bodies
//! never wait for each other in a circle, and memory is bounded by the budget and one body limit.

use std::sync::Arc;

use seine_node::limits::Bandwidth;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::metrics;

/// Reserved for a request before its length is known: more than most pages have.
const RESERVATION_BYTES: usize = 64 << 10;
const UNIT: usize = 1 << 10;

#[derive(Clone, Debug)]
pub struct Gate {
    max_in_flight: usize,
    requests: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    overdraft: Arc<Semaphore>,
    open: Arc<watch::Sender<bool>>,
    bandwidth: Arc<Bandwidth>,
}

/// The right to make one request and to hold its body.
#[derive(Debug)]
pub struct StartPermit {
    pub request: RequestPermit,
    pub body: BodyPermit,
}

/// Counted as a request under way for as long as it lives.
#[derive(Debug)]
pub struct RequestPermit {
    _permit: OwnedSemaphorePermit,
}

impl RequestPermit {
    fn new(permit: OwnedSemaphorePermit) -> Self {
        metrics::request_started();
        Self { _permit: permit }
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        metrics::request_ended();
    }
}

/// The right to hold a body of this size.
#[derive(Debug)]
pub struct BodyPermit {
    gate: Gate,
    units: OwnedSemaphorePermit,
    overdraft: Option<OwnedSemaphorePermit>,
}

impl Gate {
    /// `body_bytes` are for bodies that are alive in the collector.
    pub fn new(max_in_flight: usize, body_bytes: usize) -> Self {
        Self {
            max_in_flight,
            requests: Arc::new(Semaphore::new(max_in_flight)),
            bodies: Arc::new(Semaphore::new(body_bytes.max(RESERVATION_BYTES) / UNIT)),
            overdraft: Arc::new(Semaphore::new(1)),
            open: Arc::new(watch::Sender::new(true)),
            bandwidth: Arc::default(),
        }
    }

    /// Opens only while there is some of it left.
    pub fn within(self, bandwidth: Arc<Bandwidth>) -> Self {
        Self { bandwidth, ..self }
    }

    /// No request starts from now on, whatever its host.
    pub fn close(&self) {
        self.open.send_replace(false);
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }

    pub fn is_open(&self) -> bool {
        *self.open.borrow()
    }

    /// Whether bodies take all the room that there is for them.
    pub fn is_full(&self) -> bool {
        self.bodies.available_permits() < RESERVATION_BYTES / UNIT
    }

    /// Requests under way.
    pub fn in_flight(&self) -> u32 {
        u32::try_from(self.max_in_flight.saturating_sub(self.requests.available_permits())).unwrap_or(u32::MAX)
    }

    pub fn try_acquire(&self) -> Option<StartPermit> {
        if !self.is_open() || !self.bandwidth.is_free() {
            return None;
        }
        let request = self.requests.clone().try_acquire_owned().ok()?;
        let units = self.bodies.clone().try_acquire_many_owned(units(RESERVATION_BYTES)).ok()?;
        Some(self.permit(request, units))
    }

    pub async fn acquire(&self) -> StartPermit {
        const NEVER_CLOSED: &str = "the semaphore is never closed";
        loop {
            let _ = self.open.subscribe().wait_for(|open| *open).await;
            self.bandwidth.free().await;
            let request = self.requests.clone().acquire_owned().await.expect(NEVER_CLOSED);
            let units = self.bodies.clone().acquire_many_owned(units(RESERVATION_BYTES)).await.expect(NEVER_CLOSED);
            // It may have been closed, or others may have used the bandwidth up, while this one waited.
            if self.is_open() && self.bandwidth.is_free() {
                return self.permit(request, units);
            }
        }
    }

    fn permit(&self, request: OwnedSemaphorePermit, units: OwnedSemaphorePermit) -> StartPermit {
        let body = BodyPermit { gate: self.clone(), units, overdraft: None };
        StartPermit { request: RequestPermit::new(request), body }
    }
}

impl BodyPermit {
    /// Waits until `bytes` may be held.
    pub async fn grow_to(&mut self, bytes: usize) {
        let held = self.units.num_permits();
        if self.overdraft.is_some() || bytes <= held * UNIT {
            return;
        }
        let missing = units(bytes) - held as u32;
        match self.gate.bodies.clone().try_acquire_many_owned(missing) {
            Ok(more) => self.units.merge(more),
            Err(_) => self.overdraft = self.gate.overdraft.clone().acquire_owned().await.ok(),
        }
    }

    /// Gives back what a body of this size does not need.
    pub fn shrink_to(&mut self, bytes: usize) {
        let spare = self.units.num_permits().saturating_sub(units(bytes) as usize);
        drop(self.units.split(spare));
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BUDGET_BYTES: usize = 32 << 20;

    #[test]
    fn no_more_requests_than_allowed_are_under_way() {
        let gate = Gate::new(2, BUDGET_BYTES);
        let (first, _second) = (gate.try_acquire().unwrap(), gate.try_acquire().unwrap());
        assert!(gate.try_acquire().is_none());
        drop(first);
        assert!(gate.try_acquire().is_some());
    }

    #[tokio::test]
    async fn nothing_passes_a_closed_gate() {
        let gate = Gate::new(1, BUDGET_BYTES);
        let under_way = gate.try_acquire().unwrap();
        let mut waiting = Box::pin(gate.acquire());
        assert!(tokio::time::timeout(Duration::from_millis(20), &mut waiting).await.is_err());
        gate.close();
        drop(under_way);
        assert!(gate.try_acquire().is_none());
        assert!(tokio::time::timeout(Duration::from_millis(20), &mut waiting).await.is_err());
        gate.open();
        tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("the gate is open");
    }

    #[test]
    fn full_memory_stops_new_requests_until_bodies_are_gone() {
        let gate = Gate::new(10_000, BUDGET_BYTES);
        let bodies: Vec<_> = std::iter::from_fn(|| gate.try_acquire().map(|permit| permit.body)).collect();
        assert_eq!(bodies.len(), BUDGET_BYTES / RESERVATION_BYTES);
        drop(bodies);
        assert!(gate.try_acquire().is_some());
    }

    #[test]
    fn a_small_body_gives_back_most_of_its_reservation() {
        let gate = Gate::new(10_000, BUDGET_BYTES);
        let bodies: Vec<_> = (0..1000)
            .map_while(|_| {
                let mut body = gate.try_acquire()?.body;
                body.shrink_to(20_000);
                Some(body)
            })
            .collect();
        assert_eq!(bodies.len(), 1000);
    }

    #[tokio::test]
    async fn bodies_that_outgrow_all_memory_overdraw_one_at_a_time() {
        let gate = Gate::new(10_000, BUDGET_BYTES);
        let mut bodies: Vec<_> = std::iter::from_fn(|| gate.try_acquire().map(|permit| permit.body)).collect();
        let (mut one, mut other) = (bodies.pop().unwrap(), bodies.pop().unwrap());
        one.grow_to(BUDGET_BYTES).await;
        let mut waiting = Box::pin(other.grow_to(BUDGET_BYTES));
        assert!(tokio::time::timeout(Duration::from_millis(20), &mut waiting).await.is_err());
        drop(one);
        tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("the overdraft is free");
    }
}
