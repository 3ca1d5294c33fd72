//! Which fault comes when: drawn from a seed, so that a run that failed can be seen again.
//!
//! Moments are told by how much of the web was asked for and not by the clock, so that a slow machine has the same run.

use std::fmt;

use super::cluster::COLLECTORS;
use super::form::Form;
use crate::fake_web::dice::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    KillCollector,
    AddCollector,
    KillAnalyser,
    /// Killed, and started again in its directory.
    RestartFilesaver,
    /// The one that is asked; another stands by.
    KillIndexer,
    /// Killed, and started again in its directory and at its ports.
    RestartMonitor,
    /// Stands still for longer than its leases, and goes on then.
    StopCollector,
    /// Works on, but nothing goes between it and the Monitor for longer than its leases.
    SeverCollector,
    /// Of the frontier's store; it comes back as a replica.
    KillStoreMaster,
    /// The one that leads; when another does, it is started again in its directory.
    KillMonitor,
    /// The one that leads then stands still until long after another does, and goes on.
    StopMonitor,
    /// A third of them all goes to another master of the frontier's store.
    MoveSlots,
}

impl Fault {
    pub fn strikes_a_collector(self) -> bool {
        matches!(self, Self::KillCollector | Self::StopCollector | Self::SeverCollector)
    }
}

/// What part of the crawl has the faults: the beginning has every host at work, and the end lets everything be done that was
/// left undone.
const FIRST: f64 = 0.08;
const LAST: f64 = 0.60;

#[derive(Debug)]
pub struct Plan {
    pub seed: u64,
    /// After which part of all requests, in order.
    pub faults: Vec<(f64, Fault)>,
}

impl Plan {
    pub fn draw(form: &Form, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut waiting = form.faults.clone();
        let mut moments: Vec<f64> = waiting.iter().map(|_| FIRST + (LAST - FIRST) * dice.fraction()).collect();
        moments.sort_by(f64::total_cmp);
        let mut faults: Vec<(f64, Fault)> =
            moments.into_iter().map(|moment| (moment, waiting.swap_remove(dice.below(waiting.len())))).collect();
        let last = |wanted: fn(Fault) -> bool| faults.iter().rposition(|(_, fault)| wanted(*fault));
        let (strike, added) = (last(Fault::strikes_a_collector), last(|fault| fault == Fault::AddCollector));
        // Somebody is always left to work.
        if let (Some(strike), Some(added)) = (strike, added)
            && form.faults.iter().filter(|fault| fault.strikes_a_collector()).count() >= COLLECTORS
            && strike < added
        {
            (faults[strike].1, faults[added].1) = (faults[added].1, faults[strike].1);
        }
        let first = |wanted: Fault| faults.iter().position(|(_, fault)| *fault == wanted);
        // The next one is stopped; the one that was killed has come back then.
        if let (Some(killed), Some(stopped)) = (first(Fault::KillMonitor), first(Fault::StopMonitor))
            && stopped < killed
        {
            (faults[killed].1, faults[stopped].1) = (faults[stopped].1, faults[killed].1);
        }
        Self { seed, faults }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> =
            self.faults.iter().map(|(moment, fault)| format!("{fault:?} at {:.0} %", 100.0 * moment)).collect();
        out.write_str(&faults.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_every_fault_once_and_always_the_same_order() {
        let form = Form::whole();
        let plan = Plan::draw(&form, 7);
        assert_eq!(plan.faults, Plan::draw(&form, 7).faults);
        assert!((8..100).any(|seed| Plan::draw(&form, seed).faults != plan.faults));
        for fault in &form.faults {
            assert_eq!(plan.faults.iter().filter(|(_, planned)| planned == fault).count(), 1, "{fault:?}");
        }
        for seed in 0..100 {
            let faults = Plan::draw(&form, seed).faults;
            let added = faults.iter().position(|(_, fault)| *fault == Fault::AddCollector);
            let struck = faults.iter().rposition(|(_, fault)| fault.strikes_a_collector());
            assert!(added < struck, "nobody is left to work with seed {seed}");
        }
        for seed in 0..100 {
            let faults = Plan::draw(&Form::whole_over_store(), seed).faults;
            let moment = |wanted| faults.iter().position(|(_, fault)| *fault == wanted).expect("it is planned");
            assert!(moment(Fault::KillMonitor) < moment(Fault::StopMonitor), "nobody is left to lead with seed {seed}");
        }
        assert!(plan.faults.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
