//! The figures of one run, and what follows from them. Written as JSON as they stand here.

use seine_tests::chaos::Verdict;
use serde::{Deserialize, Serialize};

use crate::analysis::AnalysisSpeed;
use crate::frontier::FrontierReport;
use crate::idle_connections::IdleConnections;
use crate::measure::Cost;
use crate::pairs::Pair;
use crate::real::RowReport;
use crate::refresh_simulation::PolicyResult;
use crate::scaling::Scaling;
use crate::search::SearchReport;
use crate::searchable::Searchable;
use crate::slow_hosts::SlowHosts;
use crate::web::Sighting;

#[derive(Debug, Serialize)]
pub struct Report {
    /// Pages of the test web.
    pub web_pages: u32,
    pub cores: usize,
    pub seine: Option<CrawlerRun>,
    /// The same crawl by five processes.
    pub cluster: Option<CrawlerRun>,
    pub peers: Vec<CrawlerRun>,
    /// Crawls by two programs in turns.
    pub pairs: Vec<Pair>,
    /// On real pages, and on made ones as a real web has them.
    pub real: Vec<RowReport>,
    pub stages: Vec<Stage>,
    pub frontier: Option<FrontierReport>,
    pub refresh: Vec<PolicyResult>,
    pub slow_hosts: Option<SlowHosts>,
    pub search: Option<SearchReport>,
    pub searchable: Vec<Searchable>,
    pub idle_connections: Option<IdleConnections>,
    pub analysis: Option<AnalysisSpeed>,
    /// By one collector and by several.
    pub scaling: Vec<Scaling>,
    /// A cluster under faults.
    pub chaos: Option<Verdict>,
    /// Another with two Monitors over a store.
    pub store_chaos: Option<Verdict>,
    /// What was left out and why.
    pub remarks: Vec<String>,
}

/// A whole crawl by one program.
#[derive(Debug, Serialize)]
pub struct CrawlerRun {
    pub name: String,
    /// What it does beyond fetching pages and finding links.
    pub does: String,
    pub pages: u64,
    pub indexed: Option<u64>,
    /// It was stopped after a part of the web.
    pub capped: bool,
    pub cost: Cost,
    pub seen: Sighting,
}

/// One stage of Seine alone, on the same pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stage {
    pub name: String,
    pub pages: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
}

impl Report {
    pub fn new(web_pages: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            web_pages,
            cores,
            seine: None,
            cluster: None,
            peers: Vec::new(),
            pairs: Vec::new(),
            real: Vec::new(),
            stages: Vec::new(),
            frontier: None,
            refresh: Vec::new(),
            slow_hosts: None,
            search: None,
            searchable: Vec::new(),
            idle_connections: None,
            analysis: None,
            scaling: Vec::new(),
            chaos: None,
            store_chaos: None,
            remarks: Vec::new(),
        }
    }

    pub fn stages_cpu_per_1000(&self) -> f64 {
        self.stages.iter().map(Stage::cpu_per_1000).sum()
    }

    /// By how much saving lowers the throughput of a machine that has nothing to spare: its part of the pipeline's CPU.
    pub fn saving_share(&self) -> Option<f64> {
        let pipeline = self.seine.as_ref()?.cpu_per_1000();
        let save = self.stages.iter().find(|stage| stage.name == "save")?;
        (pipeline > 0.0).then(|| save.cpu_per_1000() / pipeline)
    }

    /// CPU of the pipeline by the sum of its stages alone: what putting them together costs.
    pub fn pipeline_ratio(&self) -> Option<f64> {
        let sum = self.stages_cpu_per_1000();
        self.seine.as_ref().filter(|_| sum > 0.0).map(|seine| seine.cpu_per_1000() / sum)
    }
}

impl CrawlerRun {
    pub fn pages_per_second(&self) -> f64 {
        self.pages as f64 / self.cost.seconds
    }

    pub fn cpu_per_1000(&self) -> f64 {
        self.cost.cpu_seconds * 1000.0 / self.pages as f64
    }
}

impl Stage {
    pub fn cpu_per_1000(&self) -> f64 {
        self.cpu_seconds * 1000.0 / self.pages as f64
    }
}
