//! The store in which the frontier lies, and the harm that is done to it.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_test_stores::{Setup, StoreCluster};
use tokio::task::spawn_blocking;
use tokio::time::sleep_until;

use crate::sandbox::frontier_in;

const SLOTS: u16 = 16_384;
const MASTERS: u16 = 3;
/// A master that was killed is away for so long at least; nothing that it had has a replica meanwhile.
const AWAY: Duration = Duration::from_secs(5);
const DEADLINE: Duration = Duration::from_secs(60);

/// Of three masters with a replica each.
pub struct SharedStore {
    cluster: Arc<StoreCluster>,
    /// The master of this slot is killed.
    struck: u16,
}

impl SharedStore {
    /// `None`, with a printed reason, on a machine without such a store.
    pub fn start(seed: u64) -> Option<Self> {
        let cluster = StoreCluster::start(Setup { masters: MASTERS.into(), ..Setup::default() })?;
        Some(Self { cluster: Arc::new(cluster), struck: (seed % u64::from(SLOTS)) as u16 })
    }

    /// For a Monitor's environment.
    pub fn settings(&self) -> [(&'static str, String); 2] {
        frontier_in(&self.cluster)
    }

    /// Its replica becomes the master, and it comes back as a replica of that.
    pub async fn kill_a_master(&self) {
        let (struck, at) = (self.struck, Instant::now());
        let killed = self
            .blocking(move |cluster| {
                let killed = cluster.owner(struck).expect("every slot has a master");
                cluster.kill(killed);
                cluster.wait_for_failover(killed, DEADLINE);
                killed
            })
            .await;
        sleep_until((at + AWAY).into()).await;
        self.blocking(move |cluster| {
            cluster.restart(killed);
            cluster.wait_until_ok(DEADLINE);
        })
        .await;
    }

    /// From each master the first third of its slots goes to the next one, so that all have as many as before.
    pub async fn move_a_third(&self) {
        self.blocking(|cluster| {
            let owners: Vec<usize> = (0..MASTERS)
                .map(|share| cluster.owner(*third_of(share).start()).expect("every slot has a master"))
                .collect();
            for (share, from) in (0..MASTERS).zip(&owners) {
                let to = owners[usize::from((share + 1) % MASTERS)];
                cluster.move_slots(*from, to, third_of(share), DEADLINE);
            }
        })
        .await;
    }

    async fn blocking<T: Send + 'static>(&self, harm: impl FnOnce(&StoreCluster) -> T + Send + 'static) -> T {
        let cluster = self.cluster.clone();
        spawn_blocking(move || harm(&cluster)).await.expect("the store bears it")
    }
}

/// Of the slots that a master had at the start.
fn third_of(share: u16) -> RangeInclusive<u16> {
    let first = |share: u16| (u32::from(SLOTS) * u32::from(share) / u32::from(MASTERS)) as u16;
    let (start, end) = (first(share), first(share + 1));
    start..=start + (end - start) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_all_slots_moves_and_every_master_keeps_two() {
        let moved: usize = (0..MASTERS).map(|share| third_of(share).len()).sum();
        assert!(moved.abs_diff(usize::from(SLOTS) / 3) <= usize::from(MASTERS), "{moved}");
        assert!(third_of(0).end() < third_of(1).start() && third_of(1).end() < third_of(2).start());
    }
}
