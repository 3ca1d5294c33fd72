//! The command line of the bench.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::real::RowName;
use crate::seine::Contender;

/// Crawls a test web on this machine and prints what it cost, beside Scrapy and wget2.
#[derive(Debug, Parser)]
pub struct Args {
    /// Pages of the test web
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub pages: u32,
    /// Run one part only
    #[arg(long, value_enum)]
    pub only: Option<Part>,
    /// The seine program to measure; by default the one beside this program
    #[arg(long)]
    pub seine: Option<PathBuf>,
    /// Flags for its crawls besides those of the bench, such as "--connections-per-host 4"
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true)]
    pub flags: String,
    /// Compare with this seine program instead: whole crawls in turns, medians and ratios; with `--only real` of each of its
    /// rows, with `--only cluster-cost` by five processes each
    #[arg(long, value_name = "PROGRAM")]
    pub against: Option<PathBuf>,
    /// Flags for the crawls of the program compared with
    #[arg(long, value_name = "FLAGS", default_value = "", allow_hyphen_values = true, requires = "against")]
    pub against_flags: String,
    /// Pairs of crawls, one by each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99), requires = "against")]
    pub pairs: u32,
    /// Where data are written while the bench runs; should be on a disk, not in memory
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    pub work_dir: PathBuf,
    /// Where the figures are written as JSON
    #[arg(long, default_value = "output/bench.json")]
    pub output: PathBuf,
    /// Rows of the part `real` to run, separated by commas; all by default
    #[arg(long, value_enum, value_delimiter = ',')]
    pub row: Vec<RowName>,
    /// Crawl the rows of the part `real` under perf, and leave one recording each in this directory
    #[arg(long, value_name = "DIR")]
    pub profile: Option<PathBuf>,
    /// Run the part `real` without other crawlers
    #[arg(long)]
    pub no_peers: bool,
    /// Hosts of the row `hosts`
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u8).range(1..=250))]
    pub hosts: u8,
    /// URLs that the frontier takes in
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(10_000..=100_000_000))]
    pub frontier_urls: u64,
    /// Documents that are searched; their index is kept in the work directory
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub search_documents: u32,
    /// Measure the frontier with so many URLs, and print the figures as JSON
    #[arg(long, hide = true)]
    pub frontier_of: Option<u64>,
    /// Fetch all behind these URLs and keep nothing of it
    #[arg(long, hide = true, value_delimiter = ',', requires = "connections")]
    pub fetch_from: Vec<String>,
    /// To each host then
    #[arg(long, hide = true)]
    pub connections: Option<u32>,
    /// Take the stages alone on the pages behind this URL, and print them as JSON
    #[arg(long, hide = true)]
    pub stages_of: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    Seine,
    Peers,
    Real,
    Stages,
    Frontier,
    Refresh,
    SlowHosts,
    Search,
    Searchable,
    IdleConnections,
    Analysis,
    Scaling,
    ClusterCost,
    Chaos,
    StoreChaos,
}

impl Args {
    pub fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    pub fn wants_row(&self, row: RowName) -> bool {
        if self.row.is_empty() { row != RowName::Long } else { self.row.contains(&row) }
    }

    /// The program to measure, with its flags.
    pub fn contender(&self) -> anyhow::Result<Contender> {
        Ok(Contender::new(self.seine_program()?, &self.flags))
    }

    pub fn seine_program(&self) -> anyhow::Result<PathBuf> {
        match &self.seine {
            Some(path) => Ok(path.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("seine")),
        }
    }
}
