//! Settings: built-in defaults, then a file, then the environment; the command line is applied by the commands.
//!
//! The defaults are the commented file that `seine config default` prints, so the two cannot differ. Reading goes from
//! text over a table whose keys are checked (an unknown one is refused with the nearest known) to [`Config`], in which
//! every value can be used as it is. Everything is read before anything is opened.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Value;

use crate::secret::Secret;

mod crawl;
mod filters;
mod frontier;
mod node;
mod resources;
mod server;
mod watching;
mod keys;

pub use crawl::{
    CrawlDefaults, HostOverride, PausePerName, RefreshDefaults, RefreshPolicyName, StrategyName, parse_span,
    with_contact,
};
use crawl::{RawCrawl, RawRefresh};
pub use filters::FilterBook;
use filters::RawFilter;
use frontier::RawFrontier;
pub use frontier::{FrontierConfig, FrontierStore, PASSWORD_VARIABLE, RedisSettings, RedisTls};
pub use node::NodeConfig;
use node::RawNode;
use resources::RawResources;
pub use resources::{ResourcesConfig, parse_size};
use server::RawServer;
pub use server::{ClientLimit, CorsOrigins, ServerConfig, WebConfig};
pub use watching::{LogConfig, LogFormat, TelemetryConfig, log_directives};
use watching::{RawLog, RawTelemetry};

/// The commented defaults.
pub const DEFAULT_TOML: &str = include_str!("config/default.toml");
/// Read when it exists and no other file is named.
pub const DEFAULT_FILE: &str = "seine.toml";

/// The part of the memory for documents that are not written yet.
const INDEX_SHARE: f64 = 0.25;
/// Numbered in 32 bits while it is not written.
const MOST_INDEX_MEMORY: usize = 4 << 30;
/// A collector's process is short of memory when it takes so many times as much, files that the system keeps for it included.
const SHORT_OF_MEMORY: u64 = 4;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read the configuration {}: {error}", .path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{origin} is not valid TOML: {error}")]
    Syntax { origin: String, error: Box<toml::de::Error> },
    #[error("{origin} has the unknown setting {key:?}; {advice}")]
    UnknownKey { origin: String, key: String, advice: String },
    #[error("the setting {key} is wrong: {problem}")]
    Value { key: &'static str, problem: String },
    #[error("a setting has a value of the wrong kind: {0}")]
    Kind(String),
    #[error(
        "{origin} has a password in frontier.password, and settings are shown to many; name a file with it in \
         frontier.password_file, or set the environment variable {PASSWORD_VARIABLE}"
    )]
    Password { origin: String },
    #[error("the environment variable {name} has a value that is not UTF-8: {value}; set it again, or unset it")]
    NotText { name: String, value: String },
    #[error("the settings in [filters] are wrong: {0}")]
    Filter(#[from] crate::filter::FilterError),
    #[error("the filter {name:?} has otherwise = {value:?}; write \"allow\" or \"deny\"")]
    Otherwise { name: String, value: String },
    #[error("the setting crawl.{key} names the filter {name:?}, which does not exist; {advice}")]
    NoFilter { key: &'static str, name: String, advice: String },
}

#[derive(Clone, Debug)]
pub struct Config {
    pub crawl: CrawlDefaults,
    pub filters: FilterBook,
    pub analyse: AnalyseConfig,
    pub fetch: FetchConfig,
    pub resources: ResourcesConfig,
    pub frontier: FrontierConfig,
    pub store: StoreConfig,
    pub archive: ArchiveConfig,
    pub index: IndexConfig,
    pub convert: ConvertConfig,
    pub server: ServerConfig,
    pub node: NodeConfig,
    pub log: LogConfig,
    pub telemetry: TelemetryConfig,
    /// Settings given by file or environment that are about the process that fetches and stores, not about a crawl, as
    /// `section.key`.
    pub set_for_process: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct AnalyseConfig {
    /// ISO 639-1 codes; empty means all.
    pub languages: Vec<String>,
    pub keep_ip: bool,
}

#[derive(Clone, Debug)]
pub struct FetchConfig {
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    pub max_in_flight: usize,
    pub memory_bytes: u64,
    pub max_load: f32,
}

#[derive(Clone, Debug)]
pub struct StoreConfig {
    pub sync: bool,
    pub min_free_percent: f64,
    pub archive_file_bytes: u64,
}

#[derive(Clone, Debug)]
pub struct ArchiveConfig {
    /// Redirects, errors and robots.txt too.
    pub keeps_answers: bool,
}

#[derive(Clone, Debug)]
pub struct IndexConfig {
    pub memory_bytes: usize,
    pub commit_interval: Duration,
}

/// How documents such as PDF are converted.
#[derive(Clone, Debug)]
pub struct ConvertConfig {
    pub workers: usize,
    pub timeout: Duration,
    pub memory_bytes: u64,
}

#[derive(Deserialize)]
struct Raw {
    crawl: RawCrawl,
    refresh: RawRefresh,
    filters: BTreeMap<String, RawFilter>,
    analyse: RawAnalyse,
    fetch: RawFetch,
    resources: RawResources,
    frontier: RawFrontier,
    store: RawStore,
    archive: RawArchive,
    index: RawIndex,
    convert: RawConvert,
    server: RawServer,
    #[serde(default)]
    node: RawNode,
    log: RawLog,
    telemetry: RawTelemetry,
}

#[derive(Deserialize)]
struct RawAnalyse {
    languages: Vec<String>,
    keep_ip: bool,
}

#[derive(Deserialize)]
struct RawFetch {
    connect_timeout: f64,
    request_timeout: f64,
    max_in_flight: usize,
    memory_bytes: Option<u64>,
    max_load: f32,
}

#[derive(Deserialize)]
struct RawStore {
    durability: String,
    min_free_percent: f64,
    archive_file_bytes: u64,
}

#[derive(Deserialize)]
struct RawArchive {
    keep: String,
}

#[derive(Deserialize)]
struct RawIndex {
    memory_bytes: Option<usize>,
    commit_seconds: f64,
}

#[derive(Deserialize)]
struct RawConvert {
    workers: usize,
    timeout: f64,
    memory_bytes: u64,
}

impl Config {
    /// From the named file, or from [`DEFAULT_FILE`] when that exists, and the process's environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let path = file.map(Path::to_owned).or_else(|| Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists()));
        let text = path.map(|path| match std::fs::read_to_string(&path) {
            Ok(text) => Ok((path.display().to_string(), text)),
            Err(error) => Err(ConfigError::Read { path, error }),
        });
        let file = text.transpose()?;
        let environment = keys::own_variables(std::env::vars_os())?;
        Self::from_layers(file.as_ref().map(|(origin, text)| (origin.as_str(), text.as_str())), environment)
    }

    pub fn from_layers(
        file: Option<(&str, &str)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut table = keys::parse("the built-in defaults", DEFAULT_TOML)?;
        let (password, environment) = keys::without_password(environment);
        let mut given = keys::from_environment(environment)?;
        if let Some((origin, text)) = file {
            let mut layer = keys::parse(origin, text)?;
            keys::check(origin, &layer)?;
            keys::merge(&mut layer, given);
            given = layer;
        }
        let set_for_process = keys::set_for_process(&given);
        keys::merge(&mut table, given);
        let raw: Raw = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            let lines: Vec<_> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
            ConfigError::Kind(lines.join(" ").trim().to_owned())
        })?;
        Ok(Config { set_for_process, ..raw.validate(password)? })
    }
}

impl Raw {
    fn validate(self, password: Option<Secret>) -> Result<Config, ConfigError> {
        within("fetch.max_in_flight", self.fetch.max_in_flight as u64, 1, 10_000)?;
        if !(0.0..=100.0).contains(&self.store.min_free_percent) {
            return Err(value(
                "store.min_free_percent",
                format!("{} is not from 0 to 100", self.store.min_free_percent),
            ));
        }
        within("store.archive_file_bytes", self.store.archive_file_bytes, 1 << 16, 1 << 40)?;
        let resources = self.resources.validate()?;
        let index_memory = self.index.memory_bytes.unwrap_or(resources.share(INDEX_SHARE).min(MOST_INDEX_MEMORY));
        within("index.memory_bytes", index_memory as u64, 15_000_000, MOST_INDEX_MEMORY as u64)?;
        let crawl = self.crawl.validate(self.refresh)?;
        let filters = FilterBook::of(self.filters)?;
        filters.get("enumeration", &crawl.enumeration)?;
        filters.get("generation", &crawl.generation)?;
        within("convert.workers", self.convert.workers as u64, 1, 64)?;
        within("convert.memory_bytes", self.convert.memory_bytes, 128 << 20, 64 << 30)?;
        Ok(Config {
            crawl,
            filters,
            analyse: AnalyseConfig { languages: languages(self.analyse.languages)?, keep_ip: self.analyse.keep_ip },
            fetch: FetchConfig {
                connect_timeout: seconds("fetch.connect_timeout", self.fetch.connect_timeout, 0.1, 600.0)?,
                request_timeout: seconds("fetch.request_timeout", self.fetch.request_timeout, 0.1, 600.0)?,
                max_in_flight: self.fetch.max_in_flight,
                memory_bytes: self.fetch.memory_bytes.unwrap_or(resources.memory_bytes * SHORT_OF_MEMORY),
                max_load: self.fetch.max_load,
            },
            resources,
            frontier: self.frontier.validate(password)?,
            store: StoreConfig {
                min_free_percent: self.store.min_free_percent,
                sync: match self.store.durability.as_str() {
                    "sync" => true,
                    "os" => false,
                    other => {
                        return Err(value("store.durability", format!("{other:?} is neither \"sync\" nor \"os\"")));
                    }
                },
                archive_file_bytes: self.store.archive_file_bytes,
            },
            archive: ArchiveConfig {
                keeps_answers: match self.archive.keep.as_str() {
                    "all" => true,
                    "pages" => false,
                    other => return Err(value("archive.keep", format!("{other:?} is neither \"all\" nor \"pages\""))),
                },
            },
            index: IndexConfig {
                memory_bytes: index_memory,
                commit_interval: seconds("index.commit_seconds", self.index.commit_seconds, 0.05, 3600.0)?,
            },
            convert: ConvertConfig {
                workers: self.convert.workers,
                timeout: seconds("convert.timeout", self.convert.timeout, 1.0, 3600.0)?,
                memory_bytes: self.convert.memory_bytes,
            },
            server: self.server.validate()?,
            node: self.node.validate()?,
            log: self.log.validate()?,
            telemetry: self.telemetry.validate()?,
            set_for_process: Vec::new(),
        })
    }
}

fn languages(codes: Vec<String>) -> Result<Vec<String>, ConfigError> {
    let wrong = codes.iter().find(|code| code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_lowercase()));
    match wrong {
        Some(code) => Err(value("analyse.languages", format!("{code:?} is not a code of two letters such as en"))),
        None => Ok(codes),
    }
}

/// A number of seconds as people write it, such as 0.5.
pub fn parse_delay(seconds: f64) -> Result<Duration, String> {
    if (0.0..=300.0).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(format!("{seconds} is not a number of seconds from 0 to 300"))
}

fn seconds(key: &'static str, seconds: f64, least: f64, most: f64) -> Result<Duration, ConfigError> {
    if (least..=most).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(value(key, format!("{seconds} is not a number of seconds from {least} to {most}")))
}

fn within(key: &'static str, number: u64, least: u64, most: u64) -> Result<(), ConfigError> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(value(key, format!("{number} is not between {least} and {most}")))
}

fn socket(key: &'static str, text: &str) -> Result<SocketAddr, ConfigError> {
    text.parse().map_err(|_| value(key, format!("{text:?} is not an address with a port, such as 127.0.0.1:8080")))
}

fn value(key: &'static str, problem: impl std::fmt::Display) -> ConfigError {
    ConfigError::Value { key, problem: format!("{problem}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::ScopeKind;

    fn file(text: &str) -> Result<Config, ConfigError> {
        Config::from_layers(Some(("seine.toml", text)), [])
    }

    #[test]
    fn the_index_takes_its_share_of_any_memory_up_to_its_highest() {
        let share_of = |memory: &str| file(&format!("[resources]\nmemory = {memory:?}")).unwrap().index.memory_bytes;
        assert_eq!(["128M", "2G", "64G"].map(share_of), [32_000_000, 500_000_000, MOST_INDEX_MEMORY]);
    }

    #[test]
    fn the_commented_defaults_are_valid_and_polite() {
        let config = Config::from_layers(None, []).unwrap();
        assert_eq!(config.crawl.delay, Duration::from_secs(1));
        assert!(config.crawl.robots && config.store.sync);
        assert!(config.server.grpc.ip().is_loopback() && config.server.http.ip().is_loopback());
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_the_defaults() {
        let environment =
            [("SEINE_CRAWL_DELAY".to_owned(), "3".to_owned()), ("SEINE_OTHER".to_owned(), "x".to_owned())];
        let file = ("seine.toml", "[crawl]\ndelay = 2.0\nscope = \"domain\"");
        let config = Config::from_layers(Some(file), environment).unwrap();
        assert_eq!((config.crawl.delay, config.crawl.scope), (Duration::from_secs(3), ScopeKind::Domain));
    }

    #[test]
    fn settings_that_do_not_travel_with_a_crawl_are_named() {
        let environment = [("SEINE_FETCH_MAX_LOAD".to_owned(), "3".to_owned())];
        let file = ("seine.toml", "[crawl]\ndelay = 2.0\n[store]\ndurability = \"os\"\n[log]\nlevel = \"warn\"");
        let config = Config::from_layers(Some(file), environment).unwrap();
        assert_eq!(config.set_for_process, ["fetch.max_load", "store.durability"]);
        assert!(Config::from_layers(None, []).unwrap().set_for_process.is_empty());
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_known_one() {
        let refusal = file("[crawl]\ndely = 1").unwrap_err().to_string();
        assert!(refusal.contains("crawl.dely") && refusal.contains("crawl.delay"), "{refusal}");
        let refusal = file("[crwal]\ndelay = 1").unwrap_err().to_string();
        assert!(refusal.contains("crawl"), "{refusal}");
        let environment = [("SEINE_CRAWL_DELLAY".to_owned(), "3".to_owned())];
        assert!(Config::from_layers(None, environment).unwrap_err().to_string().contains("SEINE_CRAWL_DELAY"));
    }

    #[test]
    fn a_wrong_value_is_refused_with_the_value() {
        for (text, word) in [
            ("[crawl]\ndelay = -1.0", "-1"),
            ("[crawl]\nscope = \"planet\"", "planet"),
            ("[crawl]\nallow_net = [\"localnet\"]", "localnet"),
            ("[server]\nhttp = \"8080\"", "8080"),
            ("[convert]\ntimeout = 0", "convert.timeout"),
            ("[archive]\nkeep = \"some\"", "some"),
            ("[convert]\nmemory_bytes = 1000", "1000"),
            ("[convert]\nworkers = 0", "convert.workers"),
            ("[crawl]\ndelay = \"soon\"", "in `crawl.delay`"),
            ("[crawl", "seine.toml"),
        ] {
            let refusal = file(text).unwrap_err().to_string();
            assert!(refusal.contains(word), "{text}: {refusal}");
        }
    }
}
