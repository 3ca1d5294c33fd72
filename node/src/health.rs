//! How the tiers of this process are: one board, on which every tier writes and from which health checks, `/readyz`, the
//! progress line and the Monitor read.
//!
//! A tier has one [`Reporter`] for each thing that can go wrong with it, so that one trouble that is over does not hide
//! another that is not. The board is about living processes and is kept in memory only; not responsible for what follows
//! from a state, which readers decide.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

/// How a tier is; the later ones are worse.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    #[default]
    Well,
    /// It is ready to do what another one does, for this reason not now.
    StandsBy(String),
    /// It runs, and cannot do all that it should, for this reason.
    Unwell(String),
    /// Nothing may be fetched before this is over, or what is fetched could not be kept.
    Pausing(String),
    /// It does not run any more, and nobody asked it to end.
    Ended(String),
}

impl Condition {
    /// Whether something is wrong.
    pub fn is_trouble(&self) -> bool {
        !matches!(self, Self::Well | Self::StandsBy(_))
    }

    /// Empty when all is well.
    pub fn reason(&self) -> &str {
        match self {
            Self::Well => "",
            Self::StandsBy(reason) | Self::Unwell(reason) | Self::Pausing(reason) | Self::Ended(reason) => reason,
        }
    }
}

/// As `/readyz` and the command line say it.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => f.write_str("well"),
            Self::StandsBy(reason) => write!(f, "stands by: {reason}"),
            Self::Unwell(reason) => write!(f, "unwell: {reason}"),
            Self::Pausing(reason) => write!(f, "pausing: {reason}"),
            Self::Ended(reason) => write!(f, "ended: {reason}"),
        }
    }
}

/// By tier and by what can go wrong with it.
type Conditions = BTreeMap<(&'static str, &'static str), Condition>;

/// Clones are the same board.
#[derive(Clone, Debug, Default)]
pub struct HealthBoard {
    conditions: Arc<watch::Sender<Conditions>>,
}

impl HealthBoard {
    /// A place on the board, well until it says otherwise.
    pub fn reporter(&self, tier: &'static str, subject: &'static str) -> Reporter {
        self.conditions.send_modify(|conditions| {
            conditions.entry((tier, subject)).or_default();
        });
        Reporter { board: self.clone(), tier, subject }
    }

    /// Every tier with the worst that is reported of it, in the order of their names.
    pub fn tiers(&self) -> Vec<(&'static str, Condition)> {
        let mut tiers = BTreeMap::<&'static str, Condition>::new();
        for ((tier, _), condition) in self.conditions.borrow().iter() {
            let worst = tiers.entry(tier).or_default();
            if *condition > *worst {
                worst.clone_from(condition);
            }
        }
        tiers.into_iter().collect()
    }

    /// The worst that is reported of one tier.
    pub fn tier(&self, tier: &str) -> Condition {
        self.tiers().into_iter().find(|(name, _)| *name == tier).map(|(_, condition)| condition).unwrap_or_default()
    }

    /// Tells when something is reported that is new.
    pub fn changes(&self) -> Changes {
        Changes(self.conditions.subscribe())
    }
}

/// See [`HealthBoard::changes`].
pub struct Changes(watch::Receiver<Conditions>);

impl Changes {
    /// Returns at the next change since it was asked for the last time. May be dropped and called again.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// With which a tier says how one thing about it is. What is reported again changes nothing.
#[derive(Clone, Debug)]
pub struct Reporter {
    board: HealthBoard,
    tier: &'static str,
    subject: &'static str,
}

/// Reports to a board that nobody reads.
impl Default for Reporter {
    fn default() -> Self {
        HealthBoard::default().reporter("", "")
    }
}

impl Reporter {
    /// For another thing that can go wrong with the same tier.
    pub fn about(&self, subject: &'static str) -> Self {
        self.board.reporter(self.tier, subject)
    }

    pub fn well(&self) {
        self.report(Condition::Well);
    }

    pub fn unwell(&self, reason: impl Into<String>) {
        self.report(Condition::Unwell(reason.into()));
    }

    pub fn report(&self, condition: Condition) {
        self.board.conditions.send_if_modified(|conditions| {
            let known = conditions.entry((self.tier, self.subject)).or_default();
            // What has ended does not come back in this process.
            let is_new = *known != condition && !matches!(known, Condition::Ended(_));
            if is_new {
                *known = condition;
            }
            is_new
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_as_well_as_the_worst_that_it_reports() {
        let board = HealthBoard::default();
        let (disk, log) = (board.reporter("filesaver", "disk"), board.reporter("filesaver", "log"));
        board.reporter("monitor", "task");
        assert_eq!(board.tiers(), [("filesaver", Condition::Well), ("monitor", Condition::Well)]);
        log.unwell("it is damaged");
        disk.report(Condition::Pausing("it is full".into()));
        assert_eq!(board.tier("filesaver").to_string(), "pausing: it is full");
        disk.well();
        assert_eq!(board.tier("filesaver").reason(), "it is damaged");
        log.well();
        assert_eq!(board.tier("filesaver"), Condition::Well);
    }

    #[test]
    fn what_has_ended_stays_ended() {
        let board = HealthBoard::default();
        let task = board.reporter("indexer", "task");
        task.report(Condition::Ended("it panicked".into()));
        task.well();
        assert_eq!(board.tier("indexer"), Condition::Ended("it panicked".into()));
    }

    #[tokio::test]
    async fn a_change_is_told_and_a_repetition_is_not() {
        let board = HealthBoard::default();
        let disk = board.reporter("monitor", "disk");
        let mut changes = board.changes();
        disk.unwell("slow");
        tokio::time::timeout(std::time::Duration::from_secs(5), changes.next()).await.expect("the change is told");
        disk.unwell("slow");
        assert!(tokio::time::timeout(std::time::Duration::from_millis(20), changes.next()).await.is_err());
    }
}
