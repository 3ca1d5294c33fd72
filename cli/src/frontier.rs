//! `seine frontier`: work on a resting frontier, wherever it is kept.
//!
//! While a command runs it holds the Monitor's lock on the data directory, so that no Monitor starts; on a store that is shared it
//! owns the frontier besides.

mod check;
mod copy;
mod logs;

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seine_common::config::{Config, FrontierStore, RedisSettings};
use seine_common::data_dir::{DataDir, TierLock};
use seine_monitor::MonitorError;
use seine_monitor::store::{DEFAULT_MEMORY_BYTES, RocksStore, Store};

use crate::End;
use crate::args::{FrontierArguments, FrontierCommand, FrontierPlace};
use crate::failure::{Failure, Result};
use crate::process::MONITOR_DIR;

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

fn open_redis(settings: &RedisSettings) -> Result<Box<dyn Store>> {
    Err(Failure::failed(format!("the store at {} cannot be reached by this version", settings.nodes.join(", "))))
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
