//! Watches over every task of every tier. One that ends without having been asked to ends the process: what is left of it
//! could only wait for the one that is gone.
//!
//! Not responsible for the troubles of a living tier, which it tells itself ([`HealthBoard`]), nor for a panic over one
//! page, which is the outcome of that page.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use seine_common::panics;
use seine_node::health::{Condition, HealthBoard};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::failure::{Failure, Result};

/// What can go wrong with a tier as far as this file is concerned.
const TASK: &str = "task";

/// Clones are the same supervisor.
#[derive(Clone, Default)]
pub struct Supervisor {
    pub board: HealthBoard,
    /// The first that ended: others that end after it are likely to do so because of it.
    first: Arc<watch::Sender<Option<String>>>,
}

/// A task that is watched over. Dropped, it is cut off.
pub struct Supervised {
    tier: &'static str,
    stop: CancellationToken,
    watching: AbortOnDropHandle<()>,
}

impl Supervisor {
    /// Runs a tier, or waits for the end of one that runs by itself, until `stop` asks for its end.
    pub fn watch<E: Display + Send + 'static>(
        &self,
        tier: &'static str,
        stop: CancellationToken,
        run: impl Future<Output = std::result::Result<(), E>> + Send + 'static,
    ) -> Supervised {
        let reporter = self.board.reporter(tier, TASK);
        let (first, asked) = (Arc::clone(&self.first), stop.clone());
        let task = AbortOnDropHandle::new(tokio::spawn(run));
        let watching: JoinHandle<()> = tokio::spawn(async move {
            let Some(reason) = reason_of(task.await, &asked) else { return };
            tracing::error!(tier, reason, "tier ended");
            first.send_if_modified(|first| {
                let is_first = first.is_none();
                first.get_or_insert_with(|| sentence(tier, &reason));
                is_first
            });
            reporter.report(Condition::Ended(reason));
        });
        Supervised { tier, stop, watching: AbortOnDropHandle::new(watching) }
    }

    /// Returns when a tier has ended without having been asked to, with what to tell.
    pub fn failure(&self) -> impl Future<Output = Failure> + Send + 'static {
        let mut first = self.first.subscribe();
        async move {
            let told = first.wait_for(Option::is_some).await.ok().and_then(|first| first.clone());
            match told {
                Some(sentence) => Failure::failed(sentence),
                // The supervisor is gone, and with it all that it watched over.
                None => std::future::pending().await,
            }
        }
    }

    /// Whether all went well so far.
    pub fn check(&self) -> Result<()> {
        match self.first.borrow().as_deref() {
            Some(sentence) => Err(Failure::failed(sentence)),
            None => Ok(()),
        }
    }
}

impl Supervised {
    /// Its end is somebody else's to ask for from now on.
    pub fn release(&self) {
        self.stop.cancel();
    }

    /// Asks for its end and waits for it, but not for ever.
    pub async fn end(mut self, deadline: Duration) {
        self.stop.cancel();
        if tokio::time::timeout(deadline, &mut self.watching).await.is_err() {
            tracing::warn!(tier = self.tier, "did not end in time and is cut off");
        }
    }
}

/// Why a task ended; `None` when it was asked to and nothing is wrong.
fn reason_of<E: Display>(
    ended: std::result::Result<std::result::Result<(), E>, JoinError>,
    asked: &CancellationToken,
) -> Option<String> {
    match ended {
        Ok(Ok(())) => (!asked.is_cancelled()).then(|| "it ended and nobody asked it to; please report this".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => error.try_into_panic().ok().map(|panic| panics::panicked(panic.as_ref())),
    }
}

fn sentence(tier: &str, reason: &str) -> String {
    format!("the {tier} has stopped: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(10);

    async fn told(supervisor: &Supervisor) -> String {
        tokio::time::timeout(DEADLINE, supervisor.failure()).await.expect("the end is noticed").to_string()
    }

    #[tokio::test]
    async fn a_tier_that_panics_fails_or_just_ends_is_told_with_its_name_and_reason() {
        async fn panics() -> std::result::Result<(), String> {
            tokio::task::yield_now().await;
            panic!("on purpose")
        }
        async fn fails() -> std::result::Result<(), String> {
            Err("the disk is gone".to_owned())
        }
        async fn ends() -> std::result::Result<(), String> {
            Ok(())
        }
        type Run = std::pin::Pin<Box<dyn Future<Output = std::result::Result<(), String>> + Send>>;
        let cases: [(Run, &str); 3] = [
            (Box::pin(panics()), "on purpose"),
            (Box::pin(fails()), "the disk is gone"),
            (Box::pin(ends()), "nobody asked"),
        ];
        for (run, reason) in cases {
            let supervisor = Supervisor::default();
            let _task = supervisor.watch("indexer", CancellationToken::new(), run);
            let sentence = told(&supervisor).await;
            assert!(sentence.starts_with("the indexer has stopped: ") && sentence.contains(reason), "{sentence}");
            assert!(supervisor.check().is_err());
        }
    }

    #[tokio::test]
    async fn a_thread_that_panics_is_noticed_as_a_task_is() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let work = move || -> std::result::Result<(), String> { panic!("{:?}", wait.recv()) };
        let (_thread, end) = panics::spawn_thread("test", work).unwrap();
        let supervisor = Supervisor::default();
        let _task = supervisor.watch("monitor", CancellationToken::new(), end.wait());
        assert_eq!(supervisor.board.tier("monitor"), Condition::Well);
        go.send(()).unwrap();
        assert!(told(&supervisor).await.contains("the monitor has stopped: it panicked: Ok(())"));
    }

    #[tokio::test]
    async fn the_first_end_is_the_one_that_is_told_and_the_board_tells_all() {
        let supervisor = Supervisor::default();
        let _first = supervisor.watch("filesaver", CancellationToken::new(), async { Err("no disk") });
        told(&supervisor).await;
        let _second = supervisor.watch("collector", CancellationToken::new(), async { Err("no filesaver") });
        let mut changes = supervisor.board.changes();
        while supervisor.board.tier("collector") == Condition::Well {
            tokio::time::timeout(DEADLINE, changes.next()).await.expect("the second is reported");
        }
        assert!(told(&supervisor).await.contains("no disk"));
    }

    #[tokio::test]
    async fn an_end_that_was_asked_for_is_none_unless_something_went_wrong() {
        let supervisor = Supervisor::default();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let run = async move {
            stopped.cancelled().await;
            Ok::<_, String>(())
        };
        supervisor.watch("collector", stop, run).end(DEADLINE).await;
        assert!(supervisor.check().is_ok());
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let run = async move {
            stopped.cancelled().await;
            Err("the last commit failed")
        };
        supervisor.watch("indexer", stop, run).end(DEADLINE).await;
        assert!(supervisor.check().is_err());
    }

    #[tokio::test]
    async fn a_tier_that_does_not_end_is_cut_off() {
        let supervisor = Supervisor::default();
        let task = supervisor.watch(
            "indexer",
            CancellationToken::new(),
            std::future::pending::<std::result::Result<(), String>>(),
        );
        tokio::time::timeout(DEADLINE, task.end(Duration::from_millis(10))).await.expect("it is cut off");
        assert!(supervisor.check().is_ok());
    }
}
