//! Does the faults, one after the other; a collector that is stopped or cut off stays so while others go on.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::cluster::Cluster;
use super::plan::Fault;
use super::shared_store::SharedStore;
use super::strike::{After, LEASE, SecondAnswer, Strike};
use crate::FakeWeb;

/// A cut lasts by so much longer than a lease.
const BEYOND_THE_LEASE: Duration = Duration::from_secs(4);
/// How long what is started again was away.
const AWAY: Duration = Duration::from_millis(1_500);
/// When another leads, the one that was stopped stands still for so much longer at least.
const BEYOND_THE_TAKE_OVER: Duration = Duration::from_secs(4);

/// Which of the collectors is struck by what; the first is the one with a wire.
const SEVERED: usize = 0;
const STOPPED: usize = 1;
const KILLED: usize = 2;

/// A fault that has been done.
#[derive(Debug)]
pub struct Done {
    pub fault: Fault,
    pub at: Instant,
    /// When the process was back, or when all was told about one that stays away.
    pub over: Instant,
    /// Of a collector.
    pub strike: Option<Strike>,
    /// How long after the Monitor was struck another led.
    pub taken_over_after: Option<Duration>,
}

pub struct Faults<'a> {
    cluster: Cluster,
    web: &'a FakeWeb,
    /// For how long a Monitor that is stopped does, at least.
    stands_still: Duration,
    done: Vec<Done>,
    /// Places in `done` of what is cut off, and until when.
    cut: Vec<(usize, Instant)>,
    /// Places in `done` of strikes, and the Monitor's second answers.
    again: Vec<(usize, SecondAnswer)>,
}

impl<'a> Faults<'a> {
    pub fn new(cluster: Cluster, web: &'a FakeWeb, stands_still: Duration) -> Self {
        Self { cluster, web, stands_still, done: Vec::new(), cut: Vec::new(), again: Vec::new() }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub fn into_parts(self) -> (Cluster, Vec<Done>) {
        (self.cluster, self.done)
    }

    pub async fn strike(&mut self, fault: Fault) {
        let leads = match fault {
            Fault::KillMonitor | Fault::StopMonitor => self.cluster.monitors.leading().await,
            _ => 0,
        };
        let at = Instant::now();
        let (mut strike, mut taken_over_after) = (None, None);
        match fault {
            Fault::KillCollector => {
                self.cluster.collectors[KILLED].kill();
                strike = Some((KILLED, After::Silent));
            }
            Fault::StopCollector => {
                self.cluster.collectors[STOPPED].signal("STOP");
                strike = Some((STOPPED, After::Silent));
            }
            Fault::SeverCollector => {
                self.cluster.wire.cut();
                strike = Some((SEVERED, After::Works));
            }
            Fault::AddCollector => self.cluster.add_collector(),
            Fault::KillAnalyser => self.cluster.analysers[0].kill(),
            Fault::KillIndexer => self.cluster.indexers[0].kill(),
            Fault::RestartFilesaver => {
                self.cluster.filesavers[0].kill();
                sleep(AWAY).await;
                self.cluster.start_filesaver(0);
            }
            Fault::RestartMonitor => {
                self.cluster.monitors.kill(leads);
                sleep(AWAY).await;
                self.cluster.monitors.start_again(leads);
            }
            Fault::KillStoreMaster => self.store().kill_a_master().await,
            Fault::MoveSlots => self.store().move_a_third().await,
            Fault::KillMonitor => {
                self.cluster.monitors.kill(leads);
                self.cluster.monitors.another_leads(leads).await;
                taken_over_after = Some(at.elapsed());
                self.cluster.monitors.start_again(leads);
            }
            Fault::StopMonitor => {
                self.cluster.monitors.stop(leads);
                self.cluster.monitors.another_leads(leads).await;
                taken_over_after = Some(at.elapsed());
                let until = (at + self.stands_still).max(Instant::now() + BEYOND_THE_TAKE_OVER);
                self.cut.push((self.done.len(), until));
            }
        }
        let strike = match strike {
            Some((collector, after)) => {
                let name = &self.cluster.collectors[collector].name;
                let (strike, again) = Strike::note(&self.cluster, name, self.web, at, after).await;
                self.again.push((self.done.len(), again));
                Some(strike)
            }
            None => None,
        };
        if matches!(fault, Fault::StopCollector | Fault::SeverCollector) {
            self.cut.push((self.done.len(), at + LEASE + BEYOND_THE_LEASE));
        }
        self.done.push(Done { fault, at, over: Instant::now(), strike, taken_over_after });
    }

    fn store(&self) -> &SharedStore {
        self.cluster.store.as_ref().expect("only a form over a store has faults of one")
    }

    /// Brings back what has been cut off for long enough.
    pub fn end_what_is_over(&mut self) {
        let now = Instant::now();
        let (over, cut): (Vec<_>, Vec<_>) = self.cut.drain(..).partition(|(_, until)| *until <= now);
        self.cut = cut;
        for (number, _) in over {
            match self.done[number].fault {
                Fault::StopCollector => self.cluster.collectors[STOPPED].signal("CONT"),
                Fault::StopMonitor => self.cluster.monitors.go_on(),
                _ => self.cluster.wire.mend(),
            }
            self.done[number].over = now;
        }
    }

    pub async fn end_all(&mut self) {
        while let Some(until) = self.cut.iter().map(|(_, until)| *until).min() {
            sleep(until.saturating_duration_since(Instant::now())).await;
            self.end_what_is_over();
        }
        for (number, again) in self.again.drain(..) {
            let (before, from) = self.done.split_at_mut(number);
            if let Some(strike) = &mut from[0].strike {
                strike.correct(again).await;
                before.iter().filter_map(|done| done.strike.as_ref()).for_each(|before| strike.leave_out(before));
            }
        }
    }
}
