//! `seine frontier copy`: moves the frontier to another store, and goes on where an earlier attempt was broken off.
//!
//! How far it is stands in a file of the data directory, with the number of the Monitor's last start: where one has started since,
//! the copy would be of two times, and is refused.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{HumanCount, ProgressBar};
use seine_common::config::{Config, FrontierStore};
use seine_common::data_dir::{DataDir, TierLock, write_atomically};
use seine_monitor::MonitorError;
use seine_monitor::frontier::copy::{self, Reached, Watcher};
use seine_monitor::store::{Store, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{blocking, make_rocks, open_data, open_redis, open_store, spinner};
use crate::End;
use crate::args::{CopyTo, FrontierPlace};
use crate::failure::{Failure, Result};
use crate::process::MONITOR_DIR;

/// Below the data directory, while a copy is not complete.
const PROGRESS_FILE: &str = "frontier-copy.json";

#[derive(Serialize, Deserialize)]
struct Kept {
    to: String,
    epoch: Option<u64>,
    table: usize,
    cursor: Vec<u8>,
    entries: Vec<u64>,
    left_out: u64,
}

/// The store that is copied to.
struct Target {
    store: Box<dyn Store>,
    name: String,
    /// What to do to use it.
    next: String,
    _lock: Option<TierLock>,
}

pub async fn run(to: CopyTo, place: FrontierPlace, config: Config) -> Result<End> {
    let (data, _lock) = open_data(&place)?;
    let begun = Instant::now();
    let (reached, name, next) = blocking(move || {
        let from = open_store(&config, &data)?;
        let target = open_target(&to, &config, &data)?;
        let reached = copy_all(from.as_ref(), target.store, &target.name, &data)?;
        Ok((reached, target.name, target.next))
    })
    .await?;
    let seconds = begun.elapsed().as_secs_f64();
    let counts = Table::ALL.iter().zip(reached.entries);
    if place.json {
        let counts: serde_json::Map<_, _> =
            counts.map(|(table, count)| (table.name().to_owned(), count.into())).collect();
        say!("{}", json!({ "to": name, "entries": counts, "left_out": reached.left_out, "seconds": seconds }));
        return Ok(End::Done);
    }
    for (table, count) in counts.filter(|(_, count)| *count > 0) {
        say!("{:>12} {}", HumanCount(count).to_string(), table.name());
    }
    if reached.left_out > 0 {
        say!(
            "{} entries were left out: they are of hosts that nothing names; `seine frontier check` tells more",
            HumanCount(reached.left_out)
        );
    }
    say!("copied to {name} in {seconds:.0} s; to use it, {next}. The store that was copied is as it was");
    Ok(End::Done)
}

fn open_target(to: &CopyTo, config: &Config, data: &DataDir) -> Result<Target> {
    let same = || {
        Failure::usage("the frontier is kept there already; [frontier] store says where it is, --to where it is to go")
    };
    let set = |store: &str| format!("set [frontier] store = {store:?} and start the server");
    match (to, &config.frontier.store) {
        (CopyTo::Redis, FrontierStore::Redis(_)) | (CopyTo::RocksDb(None), FrontierStore::RocksDb) => Err(same()),
        (CopyTo::Redis, FrontierStore::RocksDb) => {
            let settings = config.frontier.redis.as_ref().ok_or_else(|| {
                Failure::usage(
                    "[frontier] nodes is empty; name at least one node of the cluster, such as [\"10.0.0.5:6379\"]",
                )
            })?;
            let name = format!("the cluster at {}", settings.nodes.join(", "));
            Ok(Target { store: open_redis(settings)?, name, next: set("redis"), _lock: None })
        }
        (CopyTo::RocksDb(None), FrontierStore::Redis(_)) => {
            let path = data.tier(MONITOR_DIR)?;
            let name = path.display().to_string();
            Ok(Target { store: make_rocks(&path)?, name, next: set("rocksdb"), _lock: None })
        }
        (CopyTo::RocksDb(Some(directory)), from) => {
            if matches!(from, FrontierStore::RocksDb) && is_same(directory, data.root()) {
                return Err(same());
            }
            let other = DataDir::open(directory)?;
            // The directory at hand is held already.
            let lock = (!is_same(directory, data.root())).then(|| other.lock(MONITOR_DIR)).transpose()?;
            let path = other.tier(MONITOR_DIR)?;
            let name = path.display().to_string();
            Ok(Target {
                store: make_rocks(&path)?,
                name,
                next: format!("start with --data {}", directory.display()),
                _lock: lock,
            })
        }
    }
}

fn is_same(a: &Path, b: &Path) -> bool {
    let (a, b) = (fs::canonicalize(a), fs::canonicalize(b));
    a.is_ok() && a.ok() == b.ok()
}

fn copy_all(from: &dyn Store, mut to: Box<dyn Store>, name: &str, data: &DataDir) -> Result<Reached> {
    let file = data.root().join(PROGRESS_FILE);
    let epoch = copy::epoch(from).map_err(Failure::failed)?;
    if copy::is_empty(from).map_err(Failure::failed)? {
        return Err(Failure::failed(
            "there is nothing to copy: the frontier is empty; check [frontier] store and --data",
        ));
    }
    let reached = match read_kept(&file)? {
        Some(kept) => go_on(kept, name, epoch, &file)?,
        None if copy::is_empty(to.as_ref()).map_err(Failure::failed)? => Reached::default(),
        None => {
            return Err(Failure::failed(format!(
                "{name} has a frontier already, and two would be mixed; empty it, or name another store"
            )));
        }
    };
    let mut keeper = ProgressKeeper { file: file.clone(), to: name.to_owned(), epoch, bar: spinner() };
    // An attempt that is broken off early is known by it, too.
    keeper.safe(&reached).map_err(Failure::failed)?;
    let reached = copy::copy(from, to.as_mut(), reached, &mut keeper).map_err(Failure::failed)?;
    keeper.bar.finish_and_clear();
    fs::remove_file(&file).map_err(|error| cannot_use(&file, &error))?;
    Ok(reached)
}

/// Where an earlier attempt was broken off.
fn go_on(kept: Kept, name: &str, epoch: Option<u64>, file: &Path) -> Result<Reached> {
    let again = format!("empty that store, remove {} and copy again", file.display());
    if kept.to != name {
        return Err(Failure::failed(format!("a copy to {} is not complete; finish it first, or {again}", kept.to)));
    }
    if kept.epoch != epoch {
        return Err(Failure::failed(format!(
            "the frontier has changed since its copy to {name} was interrupted; {again}"
        )));
    }
    let entries = <[u64; Table::ALL.len()]>::try_from(kept.entries);
    let (Ok(entries), true) = (entries, kept.table <= Table::ALL.len()) else {
        return Err(Failure::failed(format!("the copy to {name} was begun by another version; {again}")));
    };
    let reached = Reached { table: kept.table, cursor: kept.cursor, entries, left_out: kept.left_out };
    eprintln!("going on with the copy to {name}: {} entries are there", HumanCount(reached.total()));
    Ok(reached)
}

fn read_kept(file: &Path) -> Result<Option<Kept>> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            Failure::failed(format!(
                "{} cannot be read ({error}); remove it and empty the store copied to",
                file.display()
            ))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot_use(file, &error)),
    }
}

fn cannot_use(file: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot use {}: {error}; check the path and its permissions", file.display()))
}

struct ProgressKeeper {
    file: PathBuf,
    to: String,
    epoch: Option<u64>,
    bar: ProgressBar,
}

impl Watcher for ProgressKeeper {
    fn reached(&mut self, reached: &Reached) {
        let table = Table::ALL.get(reached.table).map_or("", |table| table.name());
        self.bar.set_message(format!("{} entries copied, now {table}", HumanCount(reached.total())));
        self.bar.tick();
    }

    fn safe(&mut self, reached: &Reached) -> seine_monitor::Result<()> {
        let kept = Kept {
            to: self.to.clone(),
            epoch: self.epoch,
            table: reached.table,
            cursor: reached.cursor.clone(),
            entries: reached.entries.to_vec(),
            left_out: reached.left_out,
        };
        let text = serde_json::to_vec(&kept).expect("numbers and a text");
        let written = write_atomically(&self.file, &text, 0o600);
        written.map_err(|error| MonitorError::Invalid(cannot_use(&self.file, &error).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use seine_monitor::frontier::Frontier;
    use seine_monitor::record::CrawlRecord;
    use seine_monitor::store::MemoryStore;

    use super::*;

    fn source() -> MemoryStore {
        let store = MemoryStore::default();
        let mut frontier = Frontier::over(store.clone()).unwrap();
        frontier.put_crawl(&CrawlRecord { id: 1, ..CrawlRecord::default() }).unwrap();
        frontier.begin_epoch(0).unwrap();
        store
    }

    fn data() -> (tempfile::TempDir, DataDir) {
        let root = tempfile::tempdir().unwrap();
        let data = DataDir::open(root.path()).unwrap();
        (root, data)
    }

    /// As an attempt leaves it that was broken off.
    fn interrupted(data: &DataDir, to: &str, epoch: u64) {
        let (table, entries) = (2, vec![0; Table::ALL.len()]);
        let kept = Kept { to: to.to_owned(), epoch: Some(epoch), table, cursor: Vec::new(), entries, left_out: 0 };
        fs::write(data.root().join(PROGRESS_FILE), serde_json::to_vec(&kept).unwrap()).unwrap();
    }

    #[test]
    fn a_complete_copy_leaves_no_trace_and_is_not_made_twice() {
        let ((_root, data), to) = (data(), MemoryStore::default());
        copy_all(&source(), Box::new(to.clone()), "there", &data).unwrap();
        assert!(!data.root().join(PROGRESS_FILE).exists());
        let refusal = copy_all(&source(), Box::new(to), "there", &data).unwrap_err().to_string();
        assert!(refusal.contains("has a frontier already"), "{refusal}");
    }

    #[test]
    fn an_interrupted_copy_goes_on_only_to_the_same_store_and_from_the_same_frontier() {
        let (_root, data) = data();
        interrupted(&data, "there", 1);
        copy_all(&source(), Box::new(MemoryStore::default()), "there", &data).unwrap();
        interrupted(&data, "elsewhere", 1);
        let refusal = copy_all(&source(), Box::new(MemoryStore::default()), "there", &data).unwrap_err().to_string();
        assert!(refusal.contains("elsewhere") && refusal.contains(PROGRESS_FILE), "{refusal}");
        interrupted(&data, "there", 7);
        let refusal = copy_all(&source(), Box::new(MemoryStore::default()), "there", &data).unwrap_err().to_string();
        assert!(refusal.contains("has changed since"), "{refusal}");
    }

    #[test]
    fn an_empty_frontier_is_not_copied() {
        let (_root, data) = data();
        let refusal = copy_all(&MemoryStore::default(), Box::new(MemoryStore::default()), "there", &data).unwrap_err();
        assert!(refusal.to_string().contains("nothing to copy"), "{refusal}");
    }
}
