//! `seine frontier`: work on a resting frontier, wherever it is kept.
//!
//! While a command runs it holds the Monitor's lock on the data directory, so that no Monitor starts; on a store that is shared it
//! owns the frontier besides.

mod check;
mod copy;
mod logs;

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seine_common::config::{Config, FrontierStore, RedisSettings};
use seine_common::data_dir::{DataDir, TierLock};
use seine_monitor::MonitorError;
use seine_monitor::store::{DEFAULT_MEMORY_BYTES, RedisStore, RocksStore, SharedStore, Store};

use crate::End;
use crate::args::{FrontierArguments, FrontierCommand, FrontierPlace};
use crate::failure::{Failure, Result};
use crate::process::MONITOR_DIR;

/// An owner that is dead has been silent for so long by then.
const OWNER_SHOWN_WITHIN: Duration = Duration::from_secs(8);
const ASK_AGAIN: Duration = Duration::from_millis(500);

pub async fn run(arguments: FrontierArguments, config: Config) -> Result<End> {
    match arguments.command {
        FrontierCommand::Check { place } => check::run(place, config, false).await,
        FrontierCommand::Repair { place } => check::run(place, config, true).await,
        FrontierCommand::Copy { to, place } => copy::run(to, place, config).await,
    }
}

/// The directory, and the lock that keeps Monitors away from it.
fn open_data(place: &FrontierPlace) -> Result<(DataDir, TierLock)> {
    let data = DataDir::open_existing(&place.data)?;
    let lock = data.lock(MONITOR_DIR)?;
    data.withdraw();
    data.migrate()?;
    Ok((data, lock))
}

/// Where the settings say that the frontier is.
fn open_store(config: &Config, data: &DataDir) -> Result<Box<dyn Store>> {
    match &config.frontier.store {
        FrontierStore::RocksDb => open_rocks(&data.root().join(MONITOR_DIR)),
        FrontierStore::Redis(settings) => open_redis(settings),
    }
}

/// One that exists.
fn open_rocks(path: &Path) -> Result<Box<dyn Store>> {
    let is_there = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if !is_there {
        return Err(Failure::failed(format!(
            "there is no frontier in {}; name the data directory of the Monitor with --data, or the cluster that it is kept on in \
             [frontier]",
            path.display()
        )));
    }
    make_rocks(path)
}

fn make_rocks(path: &Path) -> Result<Box<dyn Store>> {
    let store = RocksStore::open(path, DEFAULT_MEMORY_BYTES);
    let store = store.map_err(|error| MonitorError::Open { path: path.to_owned(), error: Box::new(error) });
    Ok(Box::new(store.map_err(Failure::failed)?))
}

/// Owned for as long as it is open, so that no Monitor writes meanwhile.
fn open_redis(settings: &RedisSettings) -> Result<Box<dyn Store>> {
    let shared = SharedStore::connect(settings).map_err(Failure::failed)?;
    // Nobody else has that name: one of the same name would be taken for this process, started again.
    let name = format!("seine frontier {}-{:08x}", std::process::id(), RandomState::new().hash_one(Instant::now()));
    let begun = Instant::now();
    loop {
        if let Some(ownership) = shared.try_own(&name, "").map_err(Failure::failed)? {
            return Ok(Box::new(RedisStore::open(&shared, &Arc::new(ownership), DEFAULT_MEMORY_BYTES)));
        }
        if begun.elapsed() > OWNER_SHOWN_WITHIN {
            let owner = shared.owner().map_err(Failure::failed)?;
            let owner = owner
                .map_or_else(|| "another process".to_owned(), |owner| format!("{} at {}", owner.node, owner.address));
            return Err(Failure::failed(format!(
                "the frontier at {} is owned by {owner}; stop it first",
                settings.nodes.join(", ")
            )));
        }
        std::thread::sleep(ASK_AGAIN);
    }
}

/// How far it is, on standard error and only on a terminal.
fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}").expect("the template is valid");
    bar.with_style(style)
}

/// What works on a store waits for it, so not on a thread that others need.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Failure::failed(format!("the command broke off: {error}"))),
    }
}
