//! What a crawl can be told: where to go, how far, in which manner.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args)]
#[command(after_help = "Examples:
  seine crawl https://example.org/
  seine crawl https://example.org/docs/ --scope prefix --max-pages 500
  seine crawl http://127.0.0.1:8000/ --allow-net 127.0.0.0/8 --delay 0")]
pub struct CrawlArguments {
    #[command(flatten)]
    pub what: CrawlFlags,
    /// Directory for everything that is kept; a server that holds it does the crawl
    #[arg(long, value_name = "DIR", default_value = "seine-data")]
    pub data: PathBuf,
    /// File with settings [default: seine.toml, where it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Visit the pages of a finished crawl again that are due, and ask only for what has changed
    #[arg(long)]
    pub again: bool,
    /// Print one line of JSON at the end
    #[arg(long)]
    pub json: bool,
}

/// What a crawl is.
#[derive(Args)]
pub struct CrawlFlags {
    /// Where to start, such as https://example.org/
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    /// Name of the crawl [default: made from URLs and scope]
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub settings: SettingFlags,
}

/// What can be set of a crawl, also while it runs. The defaults stand in the settings; see `seine config default`.
#[derive(Args)]
pub struct SettingFlags {
    /// How far to go from the start [default: host]
    #[arg(long)]
    pub scope: Option<ScopeFlag>,
    /// Which page comes next [default: depth-first]
    #[arg(long)]
    pub strategy: Option<StrategyFlag>,
    /// How many links away from the start [default: unlimited]
    #[arg(long, value_name = "N", value_parser = depth)]
    pub depth: Option<Limit>,
    /// Stop after so many pages [default: unlimited]
    #[arg(long, value_name = "N", value_parser = amount)]
    pub max_pages: Option<Limit>,
    /// From one request to a host to the next [default: 1]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub delay: Option<f64>,
    /// Requests to one host at the same time [default: 1, or 8 when the delay is 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub connections_per_host: Option<u32>,
    /// Hosts on one IP address (IPv6: one /64) at the same time, 0 for no limit [default: 2; no limit on networks named by --allow-net]
    #[arg(long, value_name = "N")]
    pub hosts_per_ip: Option<u32>,
    /// How to name itself; robots.txt is read for the part before the slash. A contact of the settings is added [default: seine/VERSION]
    #[arg(long, value_name = "TEXT")]
    pub user_agent: Option<String>,
    /// Also crawl this loopback, private or link-local network
    #[arg(long, value_name = "CIDR")]
    pub allow_net: Vec<String>,
    /// Use this address for a host, as curl does
    #[arg(long, value_name = "HOST:PORT:ADDR")]
    pub resolve: Vec<String>,
    /// Do not obey robots.txt: only for sites that are yours
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub no_robots: Option<bool>,
    /// Do not read the sitemaps that robots.txt names
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub no_sitemaps: Option<bool>,
    #[command(flatten)]
    pub limits: LimitFlags,
    #[command(flatten)]
    pub manners: MannerFlags,
    #[command(flatten)]
    pub refresh: RefreshFlags,
}

/// Patterns are globs, in which * stands for any characters, or regular expressions behind "re:". An empty one empties the list.
#[derive(Args)]
#[command(next_help_heading = "What to take and what to leave")]
pub struct LimitFlags {
    /// Only hosts that match, such as '*.example.org'
    #[arg(long, value_name = "PATTERN")]
    pub allow_host: Vec<String>,
    /// No hosts that match
    #[arg(long, value_name = "PATTERN")]
    pub deny_host: Vec<String>,
    /// Only URLs that match as a whole, such as '*/docs/*'
    #[arg(long, value_name = "PATTERN")]
    pub allow_url: Vec<String>,
    /// No URLs that match, such as '*/calendar/*'
    #[arg(long, value_name = "PATTERN")]
    pub deny_url: Vec<String>,
    /// Only files with this suffix, and pages without one
    #[arg(long, value_name = "SUFFIX")]
    pub allow_suffix: Vec<String>,
    /// No files with this suffix, such as pdf
    #[arg(long, value_name = "SUFFIX")]
    pub deny_suffix: Vec<String>,
    /// How many links away for pages with a query or made by scripts [default: as --depth]
    #[arg(long, value_name = "N", value_parser = depth)]
    pub depth_dynamic: Option<Limit>,
    /// Stop after so many bytes of pages [default: unlimited]
    #[arg(long, value_name = "N", value_parser = amount)]
    pub max_bytes: Option<Limit>,
    /// At most so many pages of each host [default: unlimited]
    #[arg(long, value_name = "N", value_parser = amount)]
    pub max_pages_per_host: Option<Limit>,
    /// At most so many bytes of each host [default: unlimited]
    #[arg(long, value_name = "N", value_parser = amount)]
    pub max_bytes_per_host: Option<Limit>,
    /// Take this query parameter off every URL, such as 'utm_*' or PHPSESSID
    #[arg(long, value_name = "NAME")]
    pub strip_parameter: Vec<String>,
    /// Which filter of the settings decides whose links are followed [default: enumeration-default]
    #[arg(long, value_name = "FILTER")]
    pub enumeration: Option<String>,
    /// Which filter of the settings decides what is indexed [default: generation-default]
    #[arg(long, value_name = "FILTER")]
    pub generation: Option<String>,
    /// Do not follow links of a second page in a row whose usability is below, 0 to 1 [default: 0, follow all]
    #[arg(long, value_name = "USABILITY")]
    pub unusable_below: Option<f32>,
    /// Index only pages that --keyword makes valuable; the links of others are followed all the same
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub keep_only_valuable: Option<bool>,
    /// A word that makes a page valuable, for --keep-only-valuable and bounded-breadth
    #[arg(long, value_name = "WORD")]
    pub keyword: Vec<String>,
    /// From which value on a page is valuable, 0 to 1 [default: 0.3]
    #[arg(long, value_name = "VALUE")]
    pub value_threshold: Option<f32>,
    /// For bounded-breadth: so many links of valuable pages may wait at once [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub breadth_budget: Option<u32>,
}

#[derive(Args)]
#[command(next_help_heading = "Manners")]
pub struct MannerFlags {
    /// Leave a host alone for a while after so many requests [default: never]
    #[arg(long, value_name = "REQUESTS")]
    pub pause_after: Option<u32>,
    /// How long it is left alone then, such as 60s or 5m [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub pause: Option<String>,
    /// Whose requests are counted, and who rests then [default: address]
    #[arg(long)]
    pub pause_per: Option<PausePerFlag>,
    /// Wait at least so many times as long as a host took for its last answer [default: 0]
    #[arg(long, value_name = "N")]
    pub response_factor: Option<f32>,
    /// Treat some hosts differently, such as '*.example.org delay=5 connections=1'
    #[arg(long, value_name = "PATTERN KEY=VALUE…")]
    pub host_settings: Vec<String>,
    /// How often a URL is asked for before it is given up [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub attempts: Option<u32>,
}

#[derive(Args)]
#[command(next_help_heading = "Visiting pages again")]
pub struct RefreshFlags {
    /// Visit pages again so often on average, such as 7d, while a server runs, or never [default: only with --again]
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// Which pages when: freshest, uniform, fixed or classes [default: freshest]
    #[arg(long, value_name = "POLICY")]
    pub refresh_policy: Option<String>,
    /// A page leaves the index when it is missing at two visits so far apart [default: 1d]
    #[arg(long, value_name = "TIME")]
    pub gone_after: Option<String>,
}

/// A number, or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Unlimited,
    To(u64),
}

impl Limit {
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::To(number) => Some(number),
        }
    }
}

fn depth(text: &str) -> Result<Limit, String> {
    limit(text, 0, u32::MAX.into())
}

fn amount(text: &str) -> Result<Limit, String> {
    limit(text, 1, u64::MAX)
}

fn limit(text: &str, least: u64, most: u64) -> Result<Limit, String> {
    if text == "unlimited" {
        return Ok(Limit::Unlimited);
    }
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.map(Limit::To).ok_or_else(|| format!("write a number from {least} on, or unlimited"))
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ScopeFlag {
    /// The host of the URL, with or without www.
    Host,
    /// Its registrable domain, all subdomains
    Domain,
    /// Below the URL up to its last slash
    Prefix,
    /// Anywhere
    Any,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PausePerFlag {
    /// Each host for itself
    Host,
    /// All hosts of one IP address together
    Address,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StrategyFlag {
    /// Follow the first link down, then the next
    DepthFirst,
    /// Near pages before far ones
    BreadthFirst,
    /// Depth-first, but the links of valuable pages first (see --keyword)
    BoundedBreadth,
}
