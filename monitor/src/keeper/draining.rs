//! Draining a collector: it finishes what is under way on the hosts that it has, gives them back, and gets no others; its
//! slots go to the rest. Until somebody takes that back, also over restarts.

use std::collections::BTreeMap;

use super::Keeper;
use crate::Result;

impl Keeper {
    pub(super) fn drain(&mut self, collector: &str, undo: bool) -> Result<u32> {
        let changed = if undo { self.slots.end_drain(collector) } else { self.slots.drain(collector) };
        if changed {
            tracing::info!(collector, undo, "draining of a collector");
            self.frontier.put_slots(&self.slots.encode())?;
            self.nodes.set_draining(self.slots.draining().clone());
        }
        if undo && self.collectors.values().any(|known| known.holder.collector == collector) {
            self.give_slots(collector)?;
        }
        let held = self.leases.iter().filter(|lease| lease.holder.collector == collector);
        let held: Vec<(u64, bool)> = held.map(|lease| (lease.token, lease.revoked)).collect();
        for (token, _) in held.iter().filter(|(_, revoked)| !undo && !revoked) {
            self.revoke(*token, "its collector is draining");
        }
        // It may take hosts again, or others may take those that its slots preferred.
        self.grant_soon();
        Ok(u32::try_from(held.len()).unwrap_or(u32::MAX))
    }

    /// How many leases each collector has that has any.
    pub(super) fn lease_counts(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for lease in self.leases.iter() {
            *counts.entry(lease.holder.collector.clone()).or_default() += 1;
        }
        counts
    }
}
