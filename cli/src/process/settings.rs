//! What the settings mean to each tier.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use seine_analyser::AnalyserConfig;
use seine_analyser::convert::ConverterConfig;
use seine_collector::CollectorConfig;
use seine_common::config::Config;
use seine_indexer::{IndexerConfig, Searches};
use seine_monitor::MonitorConfig;
use seine_monitor::crawl::defaults::defaults;
use seine_monitor::keeper::Durability;
use seine_node::limits::Limits;

use crate::failure::{Failure, Result};

/// Parts of `[resources] memory`. A quarter is for documents that are not written yet, see `[index] memory_bytes`; the rest is for
/// connections, hosts at work, searches, and what an allocator holds.
const BODIES_SHARE: f64 = 0.125;
const ANALYSIS_SHARE: f64 = 0.125;
const FRONTIER_SHARE: f64 = 0.1875;
/// Each writes segments of its own, which searches have to look through.
const MOST_INDEXING_THREADS: usize = 2;

pub fn monitor_config(config: &Config) -> Result<MonitorConfig> {
    Ok(MonitorConfig {
        durability: if config.store.sync { Durability::Sync } else { Durability::Os },
        frontier_memory: config.resources.share(FRONTIER_SHARE),
        collector_memory: config.fetch.memory_bytes,
        collector_load: config.fetch.max_load,
        crawl_defaults: defaults(config).map_err(Failure::usage)?,
        ..MonitorConfig::default()
    })
}

pub fn filesaver_config(config: &Config) -> seine_analyser::filesaver::FilesaverConfig {
    use seine_analyser::filesaver::Durability;
    seine_analyser::filesaver::FilesaverConfig {
        durability: if config.store.sync { Durability::Sync } else { Durability::Os },
        segment_bytes: config.store.archive_file_bytes,
        software: concat!("seine/", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

pub fn analyser_config(config: &Config, limits: &Limits) -> AnalyserConfig {
    let converter = ConverterConfig {
        program: own_program(),
        workers: Arc::clone(&limits.converters),
        timeout: config.convert.timeout,
        memory_bytes: config.convert.memory_bytes,
    };
    AnalyserConfig {
        wanted_languages: config.analyse.languages.clone(),
        keeps_ip: config.analyse.keep_ip,
        converter: Some(converter),
        threads: Arc::clone(&limits.analysis),
        page_bytes: config.resources.share(ANALYSIS_SHARE),
        ..AnalyserConfig::default()
    }
}

/// The program of this very process, even if its file was replaced by another version since it started.
fn own_program() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    if link.exists() {
        return link;
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("seine"))
}

pub fn indexer_config(config: &Config, searches: &Searches) -> IndexerConfig {
    IndexerConfig {
        memory_bytes: config.index.memory_bytes,
        threads: std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_INDEXING_THREADS),
        commit_interval: config.index.commit_interval,
        searches: searches.clone(),
    }
}

pub fn collector_config(config: &Config, node_id: &str, embedded: bool, limits: &Limits) -> CollectorConfig {
    CollectorConfig {
        connect_timeout: config.fetch.connect_timeout,
        request_timeout: config.fetch.request_timeout,
        max_in_flight: config.fetch.max_in_flight,
        body_bytes: config.resources.share(BODIES_SHARE),
        keeps_answers: config.archive.keeps_answers,
        hosts: Arc::clone(&limits.hosts),
        bandwidth: Arc::clone(&limits.bandwidth),
        id: node_id.to_owned(),
        embedded,
        ..CollectorConfig::default()
    }
}
