//! The handle with which others reach the keeper, from its start to its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use seine_common::clock::Clock;
use seine_common::panics::{self, ThreadEnd};
use seine_node::membership::{NodeTable, SawEpoch};
use seine_proto::monitor::v1::CrawlStatus;
use tokio::sync::{mpsc, oneshot};

use super::last_known::LastKnown;
use super::{Answer, COMMANDS, Command, Keeper, MonitorConfig};
use crate::frontier::Frontier;
use crate::store::{Ownership, RedisStore, RocksStore, SharedStore, Store, StoreHealth};
use crate::{MonitorError, Result};

/// How often it is looked whether the store answers, while somebody waits for it.
const LOOK_AT_STORE: Duration = Duration::from_millis(500);
/// How long the end waits for a store that is away.
const STORE_MAY_TAKE: Duration = Duration::from_secs(10);

/// Where the frontier is kept.
pub enum Home {
    /// In a directory of this machine.
    Disk(PathBuf),
    /// In a store that other Monitors reach too, as long as it belongs to this one.
    Shared(SharedStore, Arc<Ownership>),
}

/// Handle to the Monitor. Clones reach the same one.
#[derive(Clone)]
pub struct Monitor {
    pub(crate) commands: mpsc::Sender<Command>,
    thread: Arc<std::sync::Mutex<Option<JoinHandle<()>>>>,
    end: ThreadEnd,
    health: StoreHealth,
    last_known: LastKnown,
}

impl Monitor {
    /// Opens the frontier and starts the keeper, which hands nothing out while one of the nodes says so. Must be called within
    /// a tokio runtime; waits for the disk, or for the store.
    pub fn open(home: &Home, config: MonitorConfig, clock: Clock, nodes: NodeTable) -> Result<Self> {
        crate::metrics::describe();
        let store: Box<dyn Store> = match home {
            Home::Disk(path) => Box::new(
                RocksStore::open(path, config.frontier_memory).map_err(|error| MonitorError::open(path, error))?,
            ),
            Home::Shared(store, ownership) => Box::new(RedisStore::open(store, ownership, config.frontier_memory)),
        };
        let health = store.health();
        let frontier = Frontier::over_boxed(store).map_err(|error| match home {
            Home::Disk(path) => MonitorError::open(path, error),
            Home::Shared(..) => error,
        })?;
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let keeper = Keeper::new(frontier, config, clock, nodes)?;
        let runtime = tokio::runtime::Handle::current();
        let (thread, end) = panics::spawn_thread("monitor-keeper", move || keeper.run(receiver, &runtime))
            .expect("a thread can be started");
        Ok(Self {
            commands,
            thread: Arc::new(std::sync::Mutex::new(Some(thread))),
            end,
            health,
            last_known: LastKnown::default(),
        })
    }

    /// Returns when the keeper has ended: asked to, or because its store failed or it panicked.
    pub fn ended(&self) -> impl Future<Output = std::result::Result<(), String>> + Send + 'static {
        self.end.clone().wait()
    }

    /// Lets a collector finish the hosts that it has and gives it no others, from now on and after restarts; or takes that
    /// back. Gives the number of leases that it has now.
    pub async fn drain(&self, collector: &str, undo: bool) -> Result<u32> {
        let node = collector.to_owned();
        self.ask(|answer| Command::Drain { node, undo, answer }).await
    }

    /// Told of the highest epoch in a filesaver's log: no lease of that epoch or a lower one is granted from then on.
    pub fn saw_epoch(&self) -> SawEpoch {
        let this = self.clone();
        Arc::new(move |epoch| {
            let this = this.clone();
            Box::pin(async move { Ok(this.ask(|answer| Command::SawEpoch { epoch, answer }).await?) })
        })
    }

    pub(crate) async fn ask<T>(&self, command: impl FnOnce(Answer<T>) -> Command) -> Result<T> {
        let (answer, asked) = oneshot::channel();
        let answered = async {
            self.commands.send(command(answer)).await.ok()?;
            asked.await.ok()
        };
        tokio::select! {
            answered = answered => if let Some(answer) = answered { return answer },
            reason = self.store_away() => return Err(MonitorError::StoreAway(reason)),
        }
        // Nobody answers because the keeper is about to end, or has ended.
        Err(match self.ended().await {
            Err(reason) => MonitorError::Stopped(reason),
            Ok(()) => MonitorError::Closed,
        })
    }

    /// As it is; as it was, with the reason, while the frontier's store does not answer.
    pub(crate) async fn crawl(&self, name: String) -> Result<CrawlStatus> {
        match self.ask(|answer| Command::Crawl { name: name.clone(), answer }).await {
            Ok(status) => {
                self.last_known.keep(&status);
                Ok(status)
            }
            Err(MonitorError::StoreAway(reason)) => {
                self.last_known.of(&name, &reason).ok_or(MonitorError::StoreAway(reason))
            }
            Err(error) => Err(error),
        }
    }

    /// The same of all.
    pub(crate) async fn crawls(&self) -> Result<Vec<CrawlStatus>> {
        match self.ask(|answer| Command::Crawls { answer }).await {
            Ok(statuses) => {
                self.last_known.keep_all(&statuses);
                Ok(statuses)
            }
            Err(MonitorError::StoreAway(reason)) => Ok(self.last_known.all(&reason)),
            Err(error) => Err(error),
        }
    }

    /// Returns with the reason when the store has been silent for a while: whoever asks need not wait as long as it does.
    async fn store_away(&self) -> String {
        loop {
            if let Some(reason) = self.health.trouble() {
                return reason;
            }
            tokio::time::sleep(LOOK_AT_STORE).await;
        }
    }

    /// Says goodbye to collectors, makes everything durable and ends the keeper. A store that does not answer by then is given
    /// up: what it has not confirmed was not acknowledged.
    pub async fn close(&self) {
        let _ = self.commands.send(Command::Close).await;
        let thread = self.thread.lock().expect("nothing panics while holding this lock").take();
        if let Some(thread) = thread {
            let mut joined = tokio::task::spawn_blocking(move || thread.join());
            if tokio::time::timeout(STORE_MAY_TAKE, &mut joined).await.is_err() {
                self.health.give_up();
                let _ = joined.await;
            }
        }
    }
}
