//! The store on RocksDB, embedded in the Monitor's process: a table is a column family.
//!
//! Writes are not synced one by one: syncing the log up to its end makes everything written before durable, in order.

use std::path::Path;
use std::sync::Arc;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompactionStyle, DBCompressionType,
    Direction, IteratorMode, Options, ReadOptions, WriteBatch, WriteBufferManager,
};

use super::{Batch, Change, Durable, Entry, Store, Table};
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
        let tables = Table::ALL
            .iter()
            .map(|table| ColumnFamilyDescriptor::new(table.name(), table_options(*table, &cache, table_buffer_bytes)));
        Ok(Self { db: Arc::new(DB::open_cf_descriptors(&options, path, tables)?) })
    }

    fn table(&self, table: Table) -> &ColumnFamily {
        self.db.cf_handle(table.name()).expect("every table is opened")
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

impl Store for RocksStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.db.get_cf(self.table(table), key)?)
    }

    fn has(&self, table: Table, key: &[u8]) -> Result<bool> {
        Ok(self.db.get_pinned_cf(self.table(table), key)?.is_some())
    }

    fn get_sorted(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let found = self.db.batched_multi_get_cf(self.table(table), keys.iter().copied(), true);
        found.into_iter().map(|value| Ok(value?.map(|bytes| bytes.to_vec()))).collect()
    }

    fn scan<'a>(&'a self, table: Table, prefix: &[u8], from: &[u8]) -> Box<dyn Iterator<Item = Result<Entry>> + 'a> {
        let mut options = ReadOptions::default();
        options.set_iterate_range(rocksdb::PrefixRange(prefix));
        let from = IteratorMode::From(from, Direction::Forward);
        let entries = self.db.iterator_cf_opt(self.table(table), options, from);
        Box::new(entries.map(|entry| entry.map_err(MonitorError::from)))
    }

    fn write(&mut self, batch: &Batch) -> Result<()> {
        let mut changes = WriteBatch::default();
        for change in batch.changes() {
            match change {
                Change::Put { table, key, value } => changes.put_cf(self.table(table), key, value),
                Change::Delete { table, key } => changes.delete_cf(self.table(table), key),
            }
        }
        Ok(self.db.write(changes)?)
    }

    fn syncer(&self) -> Arc<dyn Durable> {
        Arc::new(Log(Arc::clone(&self.db)))
    }
}

struct Log(Arc<DB>);

impl Durable for Log {
    fn sync(&self) -> Result<()> {
        self.0.flush_wal(true)?;
        Ok(())
    }
}
