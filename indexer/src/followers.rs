//! Follows all description logs at once: one follower for each that the index has pages of or that a filesaver offers.
//!
//! Logs come while this runs, and none ever goes: one whose filesaver is away is waited for. Entries of different logs may be
//! applied in any order, because each URL's versions are ordered by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use seine_node::membership::Filesavers;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::checkpoint::Checkpoint;
use crate::follow::{Follower, Following, Trouble};
use crate::worker::Command;

/// How following goes, by log.
pub type Followings = BTreeMap<String, Following>;

/// Where followers say how it goes.
#[derive(Clone)]
pub struct Followed(Arc<watch::Sender<Followings>>);

impl Followed {
    pub fn set(&self, log_id: &str, following: Following) {
        self.0.send_if_modified(|all| all.insert(log_id.to_owned(), following.clone()) != Some(following));
    }

    pub fn trouble(&self, log_id: &str) -> Option<Trouble> {
        self.0.borrow().get(log_id).and_then(|following| following.trouble.clone())
    }
}

/// Of all logs that are not followed, why.
pub fn troubles(followings: &Followings) -> Option<String> {
    let reasons: BTreeSet<&str> =
        followings.values().filter_map(|following| following.trouble.as_ref()).map(Trouble::reason).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

pub struct Followers {
    index: PathBuf,
    filesavers: Filesavers,
    commands: mpsc::Sender<Command>,
    /// Where each log is to be continued.
    positions: Checkpoint,
    followed: Followed,
}

impl Followers {
    pub fn new(
        index: PathBuf,
        filesavers: Filesavers,
        commands: mpsc::Sender<Command>,
        positions: Checkpoint,
    ) -> (Self, watch::Receiver<Followings>) {
        let (followed, following) = watch::channel(Followings::new());
        (Self { index, filesavers, commands, positions, followed: Followed(Arc::new(followed)) }, following)
    }

    /// Until shutdown, or until the worker is gone.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut known = self.filesavers.changes();
        let mut running = JoinSet::new();
        let mut begun = BTreeSet::new();
        loop {
            let offered: Vec<String> = known.borrow_and_update().keys().cloned().collect();
            // A log that was cut to nothing, or never had anything, is nothing to wait for.
            let indexed = self.positions.iter().filter(|(_, log)| log.offset > 0).map(|(log_id, _)| log_id.clone());
            for log_id in indexed.chain(offered) {
                if begun.insert(log_id.clone()) {
                    running.spawn(self.follower(log_id).run(shutdown.clone()));
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => break,
                // The first to end knows that the worker is gone, or has panicked.
                Some(ended) = running.join_next() => {
                    if let Err(error) = ended && error.is_panic() {
                        std::panic::resume_unwind(error.into_panic());
                    }
                    break;
                }
                changed = known.changed() => if changed.is_err() { break },
            }
        }
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }

    fn follower(&self, log_id: String) -> Follower {
        self.followed.set(&log_id, Following::default());
        let position = self.positions.get(&log_id).cloned().unwrap_or_default();
        let (filesavers, commands) = (self.filesavers.clone(), self.commands.clone());
        Follower::new(&self.index, log_id, filesavers, commands, position, self.followed.clone())
    }
}
