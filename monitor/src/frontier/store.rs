//! The frontier on RocksDB, embedded in the Monitor's process.
//!
//! Responsible for: opening the tables with the right options, and the small records (crawls, hosts, robots, leases).
//! The sieve, the host queues, the ready index and settling are in the files of those names.
//!
//! One writer (the keeper's thread) and one syncing thread. Writes are not synced one by one: [`Durable::sync`] syncs the
//! log up to its end, which makes everything written before durable in order.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use prost::Message;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompactionStyle, DBCompressionType,
    Direction, IteratorMode, Options, ReadOptions, WriteBatch, WriteBufferManager,
};
use seine_common::address::AddressKey;
use seine_common::fingerprint::Fingerprinter;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::{Outcome, Robots};

use super::exclusions::Exclusions;
use super::floors::Floors;
use super::record::{
    AddressRecord, AtWorkRecord, BlockRecord, CrawlProgress, CrawlRecord, ExclusionRecord, ForgettingRecord,
    HostRecord, HostUse, LeaseRecord, QueueEntry, UrlRecord, decode,
};
use super::{Candidate, CrawlId, Durable, Forgotten, Frontier, Known, Result, Settlement, Stretch, Unforgotten, key};
use crate::MonitorError;
use crate::frontier::place::Place;

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

pub(super) const SEEN: &str = "seen";
pub(super) const QUEUE: &str = "queue";
pub(super) const RETRIES: &str = "retries";
pub(super) const RECORDS: &str = "records";
pub(super) const HEADS: &str = "heads";
pub(super) const READY: &str = "ready";
pub(super) const VISITS: &str = "visits";
pub(super) const USES: &str = "uses";
pub(super) const CONTENTS: &str = "contents";
const HOSTS: &str = "hosts";
const ROBOTS: &str = "robots";
const ADDRESSES: &str = "addresses";
const META: &str = "meta";
const TABLES: [&str; 13] =
    [SEEN, QUEUE, RETRIES, RECORDS, HEADS, READY, VISITS, USES, CONTENTS, HOSTS, ADDRESSES, ROBOTS, META];

pub(super) type KeyValue = (Box<[u8]>, Box<[u8]>);

pub struct RocksFrontier {
    pub(super) db: Arc<DB>,
    pub(super) fingerprinter: Fingerprinter,
    pub(super) progress: HashMap<CrawlId, CrawlProgress>,
    /// Nothing in `ready` stands before these times; keeps scans off the graves of removed entries.
    pub(super) ready_from: HashMap<CrawlId, i64>,
    pub(super) exclusions: HashMap<CrawlId, Exclusions>,
    pub(super) floors: RefCell<Floors>,
    last_token: u64,
}

impl RocksFrontier {
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_within(path, DEFAULT_MEMORY_BYTES)
    }

    /// `memory_bytes` are for unwritten changes and for data blocks.
    pub fn open_within(path: &Path, memory_bytes: usize) -> Result<Self> {
        if has_lost_its_pointer(path) {
            // RocksDB would make an empty frontier over what is left.
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
        let tables = TABLES
            .iter()
            .map(|name| ColumnFamilyDescriptor::new(*name, table_options(name, &cache, table_buffer_bytes)));
        let db = Arc::new(DB::open_cf_descriptors(&options, path, tables)?);
        let mut this = Self {
            fingerprinter: Fingerprinter::public(),
            progress: HashMap::new(),
            ready_from: HashMap::new(),
            exclusions: HashMap::new(),
            floors: RefCell::default(),
            last_token: 0,
            db,
        };
        this.fingerprinter = this.own_polynomial()?;
        this.last_token = this.number(key::meta::TOKEN)?.unwrap_or(0);
        for crawl in this.crawls()? {
            let stored = this.db.get_pinned_cf(this.table(META), key::meta::progress(crawl.id))?;
            let progress = stored.map(|bytes| decode(&bytes, "progress")).transpose()?.unwrap_or_default();
            this.progress.insert(CrawlId(crawl.id), progress);
            let stored = this.db.get_pinned_cf(this.table(META), key::meta::exclusions(crawl.id))?;
            let exclusions = stored.map(|bytes| decode(&bytes, "exclusions")).transpose()?.unwrap_or_default();
            this.exclusions.insert(CrawlId(crawl.id), Exclusions::of(exclusions));
        }
        Ok(this)
    }

    /// The polynomial drawn when the data directory was made: a public one could be forged.
    fn own_polynomial(&self) -> Result<Fingerprinter> {
        if let Some(polynomial) = self.number(key::meta::POLYNOMIAL)? {
            return Fingerprinter::new(polynomial).ok_or(MonitorError::Corrupt("polynomial"));
        }
        let drawn = Fingerprinter::random(rand::random);
        self.db.put_cf(self.table(META), key::meta::POLYNOMIAL, drawn.polynomial().to_be_bytes())?;
        Ok(drawn)
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>> {
        let bytes = self.db.get_cf(self.table(META), key)?;
        bytes
            .map(|bytes| bytes.try_into().map(u64::from_be_bytes).map_err(|_| MonitorError::Corrupt("number")))
            .transpose()
    }

    pub(super) fn table(&self, name: &str) -> &ColumnFamily {
        self.db.cf_handle(name).expect("every table in TABLES is opened")
    }

    pub(super) fn host_key(&self, crawl: CrawlId, host: &HostKey) -> [u8; key::HOST_BYTES] {
        key::host(crawl, self.fingerprinter.of(host.as_str().as_bytes()))
    }

    /// Adds the crawl's counters to a batch that changes them.
    pub(super) fn put_progress(&self, batch: &mut WriteBatch, crawl: CrawlId) {
        let progress = self.progress.get(&crawl).copied().unwrap_or_default();
        batch.put_cf(self.table(META), key::meta::progress(crawl.0), progress.encode_to_vec());
    }

    /// All entries of a table whose keys begin with the prefix, from a key on.
    pub(super) fn scan<'a>(
        &'a self,
        table: &str,
        prefix: &[u8],
        from: &[u8],
    ) -> impl Iterator<Item = Result<KeyValue>> + 'a {
        let mut options = ReadOptions::default();
        options.set_iterate_range(rocksdb::PrefixRange(prefix));
        let iterator =
            self.db.iterator_cf_opt(self.table(table), options, IteratorMode::From(from, Direction::Forward));
        iterator.map(|item| item.map_err(MonitorError::from))
    }
}

/// Whether there are tables of RocksDB, but not the file that leads to them.
fn has_lost_its_pointer(path: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    let is_manifest = |name: std::ffi::OsString| name.to_string_lossy().starts_with("MANIFEST-");
    !path.join("CURRENT").exists() && entries.filter_map(|entry| entry.ok()).any(|entry| is_manifest(entry.file_name()))
}

fn table_options(name: &str, cache: &Cache, buffer_bytes: usize) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    // Filters grow with the table and are kept in memory, so only where most look-ups find nothing.
    if [SEEN, CONTENTS, HEADS].contains(&name) {
        blocks.set_bloom_filter(BLOOM_BITS, false);
        blocks.set_whole_key_filtering(true);
    }
    // Read in stretches: larger blocks have a smaller index, which is kept in memory too.
    if [QUEUE, RECORDS, VISITS].contains(&name) {
        blocks.set_block_size(STRETCH_BLOCK_BYTES);
    }
    blocks.set_format_version(5);
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_compaction_style(DBCompactionStyle::Universal);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_write_buffer_size(buffer_bytes);
    if [SEEN, CONTENTS].contains(&name) {
        // What is not written to files yet has a filter too.
        options.set_memtable_whole_key_filtering(true);
        options.set_memtable_prefix_bloom_ratio(MEMTABLE_FILTER_RATIO);
    }
    options
}

struct Log(Arc<DB>);

impl Durable for Log {
    fn sync(&self) -> Result<()> {
        self.0.flush_wal(true)?;
        Ok(())
    }
}

impl Frontier for RocksFrontier {
    fn crawls(&self) -> Result<Vec<CrawlRecord>> {
        self.scan(META, b"c", b"c").map(|item| decode(&item?.1, "crawl")).collect()
    }

    fn put_crawl(&mut self, crawl: &CrawlRecord) -> Result<()> {
        self.progress.entry(CrawlId(crawl.id)).or_default();
        Ok(self.db.put_cf(self.table(META), key::meta::crawl(crawl.id), crawl.encode_to_vec())?)
    }

    fn progress(&self, crawl: CrawlId) -> CrawlProgress {
        self.progress.get(&crawl).copied().unwrap_or_default()
    }

    fn next_sequence(&mut self, crawl: CrawlId) -> u64 {
        let progress = self.progress.entry(crawl).or_default();
        progress.sequence += 1;
        progress.sequence
    }

    fn count_excluded(&mut self, crawl: CrawlId, rule: &str, url: &str) {
        self.progress.entry(crawl).or_default().excluded += 1;
        self.exclusions.entry(crawl).or_default().count(rule, url);
    }

    fn exclusions(&self, crawl: CrawlId) -> Vec<ExclusionRecord> {
        self.exclusions.get(&crawl).map(Exclusions::most_frequent_first).unwrap_or_default()
    }

    fn save_exclusions(&mut self) -> Result<()> {
        let changed: Vec<_> = self
            .exclusions
            .iter_mut()
            .filter_map(|(crawl, exclusions)| Some((*crawl, exclusions.take_changed()?)))
            .collect();
        for (crawl, records) in changed {
            self.db.put_cf(self.table(META), key::meta::exclusions(crawl.0), records.encode_to_vec())?;
        }
        Ok(())
    }

    fn admit(&mut self, crawl: CrawlId, candidates: &[Candidate], now_ms: i64) -> Result<Vec<bool>> {
        self.pass_sieve(crawl, candidates, now_ms)
    }

    fn stretch(&self, crawl: CrawlId, host: &HostKey, after: Option<Place>, limit: usize) -> Result<Stretch> {
        self.read_queue(crawl, host, after, limit)
    }

    fn queued(&self, crawl: CrawlId, host: &HostKey, place: Place) -> Result<Option<QueueEntry>> {
        let key = key::queue(&self.host_key(crawl, host), place);
        let found = self.db.get_pinned_cf(self.table(QUEUE), key)?;
        found.map(|bytes| decode(&bytes, "queue entry")).transpose()
    }

    fn settle(&mut self, crawl: CrawlId, host: &HostKey, place: Place, settlement: Settlement) -> Result<bool> {
        self.end_stay(crawl, host, place, settlement)
    }

    fn promote_retries(&mut self, crawl: CrawlId, host: &HostKey, now_ms: i64) -> Result<()> {
        self.bring_back_retries(crawl, host, now_ms)
    }

    fn known(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<Known>> {
        self.look_up(crawl, url)
    }

    fn record(&self, crawl: CrawlId, url: &CanonicalUrl) -> Result<Option<UrlRecord>> {
        let key = key::url(&self.host_key(crawl, &url.host()), self.fingerprinter.of(url.as_str().as_bytes()));
        self.record_at(&key)
    }

    fn first_with_content(&self, crawl: CrawlId, fingerprint: u64) -> Result<Option<String>> {
        let found = self.db.get_cf(self.table(CONTENTS), key::content(crawl, fingerprint))?;
        Ok(found.and_then(|url| String::from_utf8(url).ok()))
    }

    fn host_use(&self, crawl: CrawlId, host: &HostKey) -> Result<HostUse> {
        self.read_use(&self.host_key(crawl, host))
    }

    fn note_sitemaps(&mut self, crawl: CrawlId, host: &HostKey) -> Result<()> {
        let key = self.host_key(crawl, host);
        let host_use = HostUse { sitemaps_queued: true, ..self.read_use(&key)? };
        Ok(self.db.put_cf(self.table(USES), key, host_use.encode_to_vec())?)
    }

    fn settle_rest(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        outcome: &Outcome,
        next_visit_ms: i64,
        limit: usize,
    ) -> Result<usize> {
        self.end_all_stays(crawl, host, outcome, next_visit_ms, limit)
    }

    fn promote_deferred(&mut self, crawl: CrawlId, host: &HostKey, limit: usize) -> Result<usize> {
        self.take_up_deferred(crawl, host, limit)
    }

    fn due_visits(&self, crawl: CrawlId, before_ms: i64, limit: usize) -> Result<Vec<UrlRecord>> {
        self.first_due(crawl, before_ms, limit)
    }

    fn next_due(&self, crawl: CrawlId) -> Result<Option<i64>> {
        self.earliest_due(crawl)
    }

    fn pull_in_visits(&mut self, crawl: CrawlId, latest_ms: i64, due_ms: i64, limit: usize) -> Result<usize> {
        self.hasten_visits(crawl, latest_ms, due_ms, limit)
    }

    fn put_record(&mut self, crawl: CrawlId, url: &CanonicalUrl, record: &UrlRecord) -> Result<()> {
        let key = key::url(&self.host_key(crawl, &url.host()), self.fingerprinter.of(url.as_str().as_bytes()));
        let before = self.record_at(&key)?;
        let mut batch = WriteBatch::default();
        self.write_record(&mut batch, &key, before.as_ref(), record);
        Ok(self.db.write(batch)?)
    }

    fn revisit(&mut self, crawl: CrawlId, visits: Vec<Candidate>, now_ms: i64) -> Result<()> {
        self.queue_known(crawl, visits, now_ms)
    }

    fn forget(&mut self, crawl: CrawlId, host: &HostKey, from: &[u8], limit: usize) -> Result<Forgotten> {
        self.forget_host(crawl, host, from, limit)
    }

    fn forget_url(&mut self, crawl: CrawlId, url: &CanonicalUrl) -> Result<bool> {
        self.forget_one(crawl, url)
    }

    fn unforget(
        &mut self,
        crawl: CrawlId,
        host: &HostKey,
        from: &[u8],
        limit: usize,
        due_ms: i64,
    ) -> Result<Unforgotten> {
        self.unforget_host(crawl, host, from, limit, due_ms)
    }

    fn unforget_url(&mut self, crawl: CrawlId, url: &CanonicalUrl, due_ms: i64) -> Result<Option<UrlRecord>> {
        self.unforget_one(crawl, url, due_ms)
    }

    fn blocks(&self) -> Result<Vec<BlockRecord>> {
        self.scan(META, key::meta::BLOCKS, key::meta::BLOCKS).map(|item| decode(&item?.1, "block")).collect()
    }

    fn put_block(&mut self, block: &BlockRecord) -> Result<()> {
        Ok(self.db.put_cf(self.table(META), key::meta::block(&block.pattern), block.encode_to_vec())?)
    }

    fn remove_block(&mut self, pattern: &str) -> Result<()> {
        Ok(self.db.delete_cf(self.table(META), key::meta::block(pattern))?)
    }

    fn forgettings(&self) -> Result<Vec<ForgettingRecord>> {
        let prefix = key::meta::FORGETTINGS;
        self.scan(META, prefix, prefix).map(|item| decode(&item?.1, "forgetting")).collect()
    }

    fn put_forgetting(&mut self, forgetting: &ForgettingRecord) -> Result<()> {
        let key = key::meta::forgetting(forgetting.id);
        Ok(self.db.put_cf(self.table(META), key, forgetting.encode_to_vec())?)
    }

    fn remove_forgetting(&mut self, id: u64) -> Result<()> {
        Ok(self.db.delete_cf(self.table(META), key::meta::forgetting(id))?)
    }

    fn planning(&self, crawl: CrawlId) -> Result<Option<Vec<u8>>> {
        Ok(self.db.get_cf(self.table(META), key::meta::planning(crawl.0))?)
    }

    fn put_planning(&mut self, crawl: CrawlId, planning: &[u8]) -> Result<()> {
        Ok(self.db.put_cf(self.table(META), key::meta::planning(crawl.0), planning)?)
    }

    fn slots(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.db.get_cf(self.table(META), key::meta::SLOTS)?)
    }

    fn put_slots(&mut self, slots: &[u8]) -> Result<()> {
        Ok(self.db.put_cf(self.table(META), key::meta::SLOTS, slots)?)
    }

    fn at_work(&self) -> Result<Option<AtWorkRecord>> {
        let stored = self.db.get_cf(self.table(META), key::meta::AT_WORK)?;
        stored.map(|bytes| decode(&bytes, "time of last work")).transpose()
    }

    fn put_at_work(&mut self, at_work: &AtWorkRecord) -> Result<()> {
        Ok(self.db.put_cf(self.table(META), key::meta::AT_WORK, at_work.encode_to_vec())?)
    }

    fn put_lease(&mut self, lease: &LeaseRecord) -> Result<()> {
        Ok(self.db.put_cf(self.table(META), key::meta::lease(lease.token), lease.encode_to_vec())?)
    }

    fn settled_urls(&self, crawl: CrawlId) -> Result<Vec<UrlRecord>> {
        let prefix = key::crawl(crawl);
        self.scan(RECORDS, &prefix, &prefix).map(|item| decode(&item?.1, "URL record")).collect()
    }

    fn ready(&self, crawl: CrawlId, limit: usize) -> Result<Vec<(i64, HostKey)>> {
        self.first_ready(crawl, None, limit)
    }

    fn ready_after(&self, crawl: CrawlId, after: Option<&(i64, HostKey)>, limit: usize) -> Result<Vec<(i64, HostKey)>> {
        self.first_ready(crawl, after, limit)
    }

    fn has_work(&self, crawl: CrawlId, host: &HostKey) -> Result<bool> {
        Ok(self.db.get_pinned_cf(self.table(HEADS), self.host_key(crawl, host))?.is_some())
    }

    fn requeue_host(&mut self, crawl: CrawlId, host: &HostKey, ready_ms: i64) -> Result<()> {
        self.place_in_ready(crawl, host, ready_ms)
    }

    fn parked(&self, crawl: CrawlId, after: Option<&HostKey>, limit: usize) -> Result<Vec<HostKey>> {
        self.parked_hosts(crawl, after, limit)
    }

    fn waiting_hosts(&self, from: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, HostKey)>> {
        self.hosts_with_work(from, limit)
    }

    fn hosts(&self, from: &str, limit: usize) -> Result<Vec<HostRecord>> {
        self.scan(HOSTS, &[], from.as_bytes()).take(limit).map(|item| decode(&item?.1, "host")).collect()
    }

    fn host(&self, host: &HostKey) -> Result<HostRecord> {
        match self.db.get_pinned_cf(self.table(HOSTS), host.as_str())? {
            Some(bytes) => decode(&bytes, "host"),
            None => Ok(HostRecord { host: host.as_str().to_owned(), ..HostRecord::default() }),
        }
    }

    fn put_host(&mut self, record: &HostRecord) -> Result<()> {
        Ok(self.db.put_cf(self.table(HOSTS), &record.host, record.encode_to_vec())?)
    }

    fn move_host(&mut self, record: &HostRecord, address: &str) -> Result<()> {
        let entry = |address: &str| AddressKey::parse(address).map(|address| key::address(address, &record.host));
        let (before, now) = (entry(&record.address), entry(address));
        let is_listed = match &now {
            Some(now) => self.db.get_pinned_cf(self.table(ADDRESSES), now)?.is_some(),
            None => true,
        };
        if record.address == address && is_listed {
            return Ok(());
        }
        let mut batch = WriteBatch::default();
        if let Some(before) = before {
            batch.delete_cf(self.table(ADDRESSES), before);
        }
        if let Some(now) = now {
            batch.put_cf(self.table(ADDRESSES), now, b"");
        }
        let record = HostRecord { address: address.to_owned(), ..record.clone() };
        batch.put_cf(self.table(HOSTS), &record.host, record.encode_to_vec());
        Ok(self.db.write(batch)?)
    }

    fn hosts_at(&self, address: AddressKey, limit: usize) -> Result<Vec<HostKey>> {
        let prefix = key::address(address, "");
        // The first key that can be a host's stands behind the record of the address itself.
        let first = [prefix.as_slice(), &[0]].concat();
        let host = |item: Result<KeyValue>| {
            let name = item?.0[prefix.len()..].to_vec();
            let name = String::from_utf8(name).map_err(|_| MonitorError::Corrupt("host at an address"))?;
            Ok(HostKey::from_stored(name))
        };
        self.scan(ADDRESSES, &prefix, &first).take(limit).map(host).collect()
    }

    fn address(&self, address: AddressKey) -> Result<AddressRecord> {
        let found = self.db.get_pinned_cf(self.table(ADDRESSES), key::address(address, ""))?;
        Ok(found.map(|bytes| decode(&bytes, "address")).transpose()?.unwrap_or_default())
    }

    fn put_address(&mut self, address: AddressKey, record: &AddressRecord) -> Result<()> {
        Ok(self.db.put_cf(self.table(ADDRESSES), key::address(address, ""), record.encode_to_vec())?)
    }

    fn robots(&self, host: &HostKey) -> Result<Vec<Robots>> {
        let prefix = key::robots(host.as_str(), "");
        self.scan(ROBOTS, &prefix, &prefix).map(|item| decode(&item?.1, "robots")).collect()
    }

    fn put_robots(&mut self, host: &HostKey, robots: &Robots) -> Result<()> {
        let key = key::robots(host.as_str(), &robots.origin);
        Ok(self.db.put_cf(self.table(ROBOTS), key, robots.encode_to_vec())?)
    }

    fn grant(&mut self, lease: &LeaseRecord, host: &HostRecord) -> Result<()> {
        let mut batch = WriteBatch::default();
        let name = HostKey::from_stored(lease.host.clone());
        self.leave_ready(&mut batch, CrawlId(lease.crawl), &name)?;
        batch.put_cf(self.table(META), key::meta::lease(lease.token), lease.encode_to_vec());
        batch.put_cf(self.table(HOSTS), &host.host, host.encode_to_vec());
        Ok(self.db.write(batch)?)
    }

    fn release(&mut self, token: u64, host: &HostRecord) -> Result<()> {
        let mut batch = WriteBatch::default();
        batch.delete_cf(self.table(META), key::meta::lease(token));
        batch.put_cf(self.table(HOSTS), &host.host, host.encode_to_vec());
        Ok(self.db.write(batch)?)
    }

    fn leases(&self) -> Result<Vec<LeaseRecord>> {
        self.scan(META, b"l", b"l").map(|item| decode(&item?.1, "lease")).collect()
    }

    fn next_token(&mut self) -> Result<u64> {
        self.last_token += 1;
        self.db.put_cf(self.table(META), key::meta::TOKEN, self.last_token.to_be_bytes())?;
        Ok(self.last_token)
    }

    fn pull_in_hosts(&mut self, crawl: CrawlId, latest_ms: i64, limit: usize) -> Result<Vec<HostKey>> {
        self.hasten_hosts(crawl, latest_ms, limit)
    }

    fn begin_epoch(&mut self, above: u64) -> Result<u64> {
        let epoch = self.number(key::meta::EPOCH)?.unwrap_or(0).max(above).saturating_add(1);
        self.db.put_cf(self.table(META), key::meta::EPOCH, epoch.to_be_bytes())?;
        self.db.flush_wal(true)?;
        Ok(epoch)
    }

    fn syncer(&self) -> Arc<dyn Durable> {
        Arc::new(Log(Arc::clone(&self.db)))
    }
}
