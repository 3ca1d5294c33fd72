//! The store on RocksDB, embedded in the Monitor's process: a table is a column family, or the part of one that its keys' first
//! byte tells. It knows no slots.
//!
//! Writes are not synced one by one: syncing the log up to its end makes everything written before durable, in order.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompactionStyle, DBCompressionType,
    Direction, IteratorMode, Options, ReadOptions, WriteBatch, WriteBufferManager,
};

use super::{Batch, Change, Counted, Durable, Entry, Slot, Store, Table, Ticket, Walked, Wanted};
use crate::{MonitorError, Result};

/// For unwritten changes and data blocks, where no setting says otherwise.
pub const DEFAULT_MEMORY_BYTES: usize = 48 << 20;
/// The rest of the memory is for data blocks, all tables together.
const WRITE_BUFFER_SHARE: f64 = 2.0 / 3.0;
/// Of the unwritten changes of all tables, before those of one are written.
const TABLE_BUFFER_SHARE: f64 = 0.25;
/// Block size of tables that are read in stretches.
const STRETCH_BLOCK_BYTES: usize = 16 << 10;
/// Bits per key of the bloom filters.
const BLOOM_BITS: f64 = 10.0;
/// Size of the filters of unwritten changes, as a part of those.
const MEMTABLE_FILTER_RATIO: f64 = 0.05;

pub struct RocksStore {
    db: Arc<DB>,
}

impl RocksStore {
    /// `memory_bytes` are for unwritten changes and for data blocks.
    pub fn open(path: &Path, memory_bytes: usize) -> Result<Self> {
        if has_lost_its_pointer(path) {
            // RocksDB would make an empty store over what is left.
            return Err(MonitorError::Corrupt("CURRENT, which is missing"));
        }
        let write_buffer_bytes = (memory_bytes as f64 * WRITE_BUFFER_SHARE) as usize;
        let cache = Cache::new_lru_cache(memory_bytes - write_buffer_bytes);
        let table_buffer_bytes = (write_buffer_bytes as f64 * TABLE_BUFFER_SHARE) as usize;
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_write_buffer_manager(&WriteBufferManager::new_write_buffer_manager(write_buffer_bytes, false));
        options.set_max_total_wal_size(128 << 20);
        options.set_max_background_jobs(2);
        options.set_keep_log_file_num(2);
        // Everything up to the first damaged record counts, whichever of the logs it stands in, and nothing behind it.
        options.set_wal_recovery_mode(rocksdb::DBRecoveryMode::PointInTime);
        let mut tables = Table::ALL.to_vec();
        tables.dedup_by_key(|table| family(*table));
        let family = |table: &Table| {
            ColumnFamilyDescriptor::new(family(*table), table_options(*table, &cache, table_buffer_bytes))
        };
        Ok(Self { db: Arc::new(DB::open_cf_descriptors(&options, path, tables.iter().map(family))?) })
    }

    fn table(&self, table: Table) -> &ColumnFamily {
        self.db.cf_handle(family(table)).expect("every table is opened")
    }
}

/// Whether there are tables of RocksDB, but not the file that leads to them.
fn has_lost_its_pointer(path: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    let is_manifest = |name: std::ffi::OsString| name.to_string_lossy().starts_with("MANIFEST-");
    !path.join("CURRENT").exists() && entries.filter_map(|entry| entry.ok()).any(|entry| is_manifest(entry.file_name()))
}

fn table_options(table: Table, cache: &Cache, buffer_bytes: usize) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    // Filters grow with the table and are kept in memory, so only where most look-ups find nothing.
    if [Table::Seen, Table::Contents, Table::Heads].contains(&table) {
        blocks.set_bloom_filter(BLOOM_BITS, false);
        blocks.set_whole_key_filtering(true);
    }
    // Read in stretches: larger blocks have a smaller index, which is kept in memory too.
    if [Table::Queue, Table::Records, Table::Visits].contains(&table) {
        blocks.set_block_size(STRETCH_BLOCK_BYTES);
    }
    blocks.set_format_version(5);
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_compaction_style(DBCompactionStyle::Universal);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_write_buffer_size(buffer_bytes);
    if [Table::Seen, Table::Contents].contains(&table) {
        // What is not written to files yet has a filter too.
        options.set_memtable_whole_key_filtering(true);
        options.set_memtable_prefix_bloom_ratio(MEMTABLE_FILTER_RATIO);
    }
    options
}

/// The column family that has the table: stored, so it stays as it is.
fn family(table: Table) -> &'static str {
    match table {
        Table::Seen => "seen",
        Table::Queue => "queue",
        Table::Retries => "retries",
        Table::Records => "records",
        Table::Heads => "heads",
        Table::Ready => "ready",
        Table::Visits => "visits",
        Table::Uses => "uses",
        Table::Contents => "contents",
        Table::Hosts => "hosts",
        Table::Addresses | Table::AddressRecords => "addresses",
        Table::Robots => "robots",
        Table::Leases | Table::Crawls | Table::Blocks | Table::Forgettings | Table::Counters | Table::Meta => "meta",
    }
}

/// Whether a key of the table's family is the table's own.
fn holds(table: Table, key: &[u8]) -> bool {
    let kind = key.first();
    match table {
        Table::Addresses => key.last() != Some(&0),
        Table::AddressRecords => key.last() == Some(&0),
        Table::Leases => kind == Some(&b'l'),
        Table::Crawls => kind == Some(&b'c'),
        Table::Blocks => kind == Some(&b'b'),
        Table::Forgettings => kind == Some(&b'f'),
        Table::Counters => kind == Some(&b'g'),
        Table::Meta => !matches!(kind, Some(b'l' | b'c' | b'b' | b'f' | b'g')),
        _ => true,
    }
}

impl RocksStore {
    fn entries(&self, table: Table, prefix: &[u8], from: &[u8]) -> impl Iterator<Item = Result<Entry>> {
        let mut options = ReadOptions::default();
        options.set_iterate_range(rocksdb::PrefixRange(prefix));
        let from = IteratorMode::From(from, Direction::Forward);
        let entries = self.db.iterator_cf_opt(self.table(table), options, from);
        entries.map(|entry| entry.map_err(MonitorError::from))
    }
}

impl Store for RocksStore {
    fn get(&self, _: Slot, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.db.get_cf(self.table(table), key)?)
    }

    fn has(&self, _: Slot, table: Table, key: &[u8]) -> Result<bool> {
        Ok(self.db.get_pinned_cf(self.table(table), key)?.is_some())
    }

    fn get_sorted(&self, table: Table, keys: &[(Slot, &[u8])]) -> Result<Vec<Option<Vec<u8>>>> {
        let found = self.db.batched_multi_get_cf(self.table(table), keys.iter().map(|(_, key)| *key), true);
        found.into_iter().map(|value| Ok(value?.map(|bytes| bytes.to_vec()))).collect()
    }

    fn scan(&self, _: Slot, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Entry>> {
        self.entries(table, prefix, from).take(limit).collect()
    }

    fn scan_all(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<(Slot, Entry)>> {
        self.entries(table, prefix, from).take(limit).map(|entry| Ok((Slot::HOME, entry?))).collect()
    }

    fn walk(&self, table: Table, cursor: &[u8], limit: usize) -> Result<Walked> {
        let mut walked = Walked::default();
        for entry in self.entries(table, &[], cursor) {
            let (key, value) = entry?;
            if walked.entries.len() == limit {
                walked.next = key.into_vec();
                break;
            }
            if holds(table, &key) {
                walked.entries.push((None, (key, value)));
            }
        }
        Ok(walked)
    }

    fn counted(&self, key: &[u8]) -> Result<Counted> {
        Ok(Counted::Total(self.get(Slot::HOME, Table::Counters, key)?))
    }

    fn write(&mut self, batch: Batch) -> Result<Ticket> {
        let mut changes = WriteBatch::default();
        for (_, change) in batch.changes() {
            match change {
                Change::Insert { table, key, value } | Change::Put { table, key, value } => {
                    changes.put_cf(self.table(table), key, value);
                }
                Change::Delete { table, key } => changes.delete_cf(self.table(table), key),
            }
        }
        for (number, count) in batch.counts().iter().enumerate() {
            if !batch.counts()[number + 1..].iter().any(|later| later.key == count.key) {
                changes.put_cf(self.table(Table::Counters), &count.key, &count.total);
            }
        }
        self.db.write(changes)?;
        Ok(Ticket::default())
    }

    /// All is within reach of one who may wait for the disk.
    fn load<'s>(&'s self, _: &'s [Wanted]) -> BoxFuture<'s, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn syncer(&self) -> Arc<dyn Durable> {
        Arc::new(Log(Arc::clone(&self.db)))
    }
}

struct Log(Arc<DB>);

impl Durable for Log {
    /// Waits for the disk: for a thread of its own.
    fn sync(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(self.0.flush_wal(true)?) })
    }
}
