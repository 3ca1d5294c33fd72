//! The command line, as clap reads it. Values are checked further where they are used.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "Examples:
  seine crawl https://example.org/         fetch a site and index it
  seine search river boats                 search what was fetched
  seine serve                              search page at http://127.0.0.1:8080/

Data is kept in ./seine-data unless --data names another directory.";

#[derive(Parser)]
#[command(name = "seine", version, about = "A crawler and search engine for your web sites", after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Fetch web sites and index them; goes on where it was interrupted
    Crawl(Box<CrawlArguments>),
    /// Search what was fetched
    Search(SearchArguments),
    /// Run a server: search page, HTTP and gRPC
    Serve(ServeArguments),
    /// Run some tiers for the server of another process
    Node(NodeArguments),
    /// Add, show and control crawls of a running or resting data directory
    Crawls(CrawlsArguments),
    /// Tell what is known about a URL, and why
    Explain(ExplainArguments),
    /// Print or check settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write out what was gathered (not available yet)
    Export(ExportArguments),
    /// Work on the index
    #[command(subcommand)]
    Index(IndexCommand),
    /// Convert documents from standard input; started by the analyser
    #[command(name = seine_analyser::convert::worker::COMMAND, hide = true)]
    ConvertWorker(WorkerArguments),
}

#[derive(Args)]
pub struct WorkerArguments {
    /// Address space of the process
    #[arg(long)]
    pub memory_bytes: u64,
    /// Processor time for one document
    #[arg(long)]
    pub cpu_seconds: u64,
}

#[derive(Args)]
#[command(after_help = "Examples:
  seine crawl https://example.org/
  seine crawl https://example.org/docs/ --scope prefix --max-pages 500
  seine crawl http://127.0.0.1:8000/ --allow-net 127.0.0.0/8 --delay 0")]
pub struct CrawlArguments {
    #[command(flatten)]
    pub what: CrawlFlags,
    /// Directory for everything that is kept
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

/// What a crawl is. The defaults stand in the settings; see `seine config default`.
#[derive(Args)]
pub struct CrawlFlags {
    /// Where to start, such as https://example.org/
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    /// Name of the crawl [default: made from URLs and scope]
    #[arg(long)]
    pub name: Option<String>,
    /// How far to go from the start [default: host]
    #[arg(long)]
    pub scope: Option<ScopeFlag>,
    /// Which page comes next [default: depth-first]
    #[arg(long)]
    pub strategy: Option<StrategyFlag>,
    /// How many links away from the start [default: unlimited]
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Stop after so many pages [default: unlimited]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_pages: Option<u64>,
    /// From one request to a host to the next [default: 1]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub delay: Option<f64>,
    /// Requests to one host at the same time [default: 1, or 8 when the delay is 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub connections_per_host: Option<u32>,
    /// Hosts on one IP address at the same time, 0 for no limit [default: 2; no limit on networks named by --allow-net]
    #[arg(long, value_name = "N")]
    pub hosts_per_ip: Option<u32>,
    /// How to name itself; robots.txt is read for the part before the slash [default: seine/VERSION]
    #[arg(long, value_name = "TEXT")]
    pub user_agent: Option<String>,
    /// Also crawl this loopback, private or link-local network
    #[arg(long, value_name = "CIDR")]
    pub allow_net: Vec<String>,
    /// Use this address for a host, as curl does
    #[arg(long, value_name = "HOST:PORT:ADDR")]
    pub resolve: Vec<String>,
    /// Do not obey robots.txt: only for sites that are yours
    #[arg(long)]
    pub no_robots: bool,
    #[command(flatten)]
    pub limits: LimitFlags,
    #[command(flatten)]
    pub manners: MannerFlags,
    #[command(flatten)]
    pub refresh: RefreshFlags,
}

/// Patterns are globs, in which * stands for any characters, or regular expressions behind "re:".
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
    #[arg(long, value_name = "N")]
    pub depth_dynamic: Option<u32>,
    /// Stop after so many bytes of pages [default: unlimited]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_bytes: Option<u64>,
    /// At most so many pages of each host [default: unlimited]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_pages_per_host: Option<u64>,
    /// At most so many bytes of each host [default: unlimited]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_bytes_per_host: Option<u64>,
    /// Take this query parameter off every URL, such as 'utm_*' or PHPSESSID
    #[arg(long, value_name = "NAME")]
    pub strip_parameter: Vec<String>,
    /// For bounded-breadth: a word that makes a page valuable
    #[arg(long, value_name = "WORD")]
    pub keyword: Vec<String>,
    /// For bounded-breadth: from which value on a page is valuable, 0 to 1 [default: 0.3]
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
    /// Visit pages again so often on average, such as 7d, while a server runs [default: only with --again]
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// Which pages when: freshest, uniform, fixed or classes [default: freshest]
    #[arg(long, value_name = "POLICY")]
    pub refresh_policy: Option<String>,
    /// A page leaves the index when it is missing at two visits so far apart [default: 1d]
    #[arg(long, value_name = "TIME")]
    pub gone_after: Option<String>,
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
pub enum StrategyFlag {
    /// Follow the first link down, then the next
    DepthFirst,
    /// Near pages before far ones
    BreadthFirst,
    /// Depth-first, but the links of valuable pages first (see --keyword)
    BoundedBreadth,
}

#[derive(Args)]
pub struct SearchArguments {
    /// What to look for; pages with all words come first
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Directory to search
    #[arg(long, value_name = "DIR", default_value = "seine-data", conflicts_with = "server")]
    pub data: PathBuf,
    /// Ask this server instead, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// How many hits
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    /// How many hits to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: u32,
    /// Only this host and its subdomains
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,
    /// Only this language, such as en
    #[arg(long, value_name = "CODE")]
    pub lang: Option<String>,
    /// Print the answer as one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ServeArguments {
    /// Directory for everything that is kept
    #[arg(long, value_name = "DIR", default_value = "seine-data")]
    pub data: PathBuf,
    /// Where the search page listens [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// Where gRPC listens, loopback only [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR")]
    pub grpc: Option<SocketAddr>,
    /// Which tiers to run
    #[arg(
        long,
        value_name = "ROLE,…",
        value_delimiter = ',',
        default_value = "monitor,collector,analyser,filesaver,indexer,query"
    )]
    pub roles: Vec<Role>,
    /// File with settings [default: seine.toml, where it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Args)]
pub struct NodeArguments {
    /// Which tiers to run
    #[arg(long, value_name = "ROLE,…", value_delimiter = ',', required = true)]
    pub roles: Vec<Role>,
    /// gRPC address of the server with the monitor, such as 127.0.0.1:7070
    #[arg(long, value_name = "ADDR")]
    pub join: String,
    /// Token for joining; not needed on loopback. Better in SEINE_TOKEN, where other users cannot read it
    #[arg(long)]
    pub token: Option<String>,
    /// Directory for what the tiers keep
    #[arg(long, value_name = "DIR", default_value = "seine-data")]
    pub data: PathBuf,
    /// Where this node's gRPC listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub grpc: SocketAddr,
    /// File with settings [default: seine.toml, where it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Role {
    Monitor,
    Collector,
    Analyser,
    Filesaver,
    Indexer,
    Query,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Monitor => "monitor",
            Self::Collector => "collector",
            Self::Analyser => "analyser",
            Self::Filesaver => "filesaver",
            Self::Indexer => "indexer",
            Self::Query => "query",
        }
    }
}

/// Which Seine a command talks to.
#[derive(Args, Clone)]
pub struct Target {
    /// Data directory; its process is asked, or the directory opened when none runs
    #[arg(long, value_name = "DIR", default_value = "seine-data", conflicts_with = "server")]
    pub data: PathBuf,
    /// gRPC address of a server, such as 127.0.0.1:7070
    #[arg(long, value_name = "ADDR")]
    pub server: Option<String>,
    /// Admin token for --server, from the file admin-token of its data directory. Better in SEINE_TOKEN, where other
    /// users cannot read it
    #[arg(long)]
    pub token: Option<String>,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct CrawlsArguments {
    #[command(subcommand)]
    pub command: CrawlsCommand,
}

#[derive(Subcommand)]
pub enum CrawlsCommand {
    /// Add a crawl to a running server, or continue one
    Add {
        #[command(flatten)]
        what: Box<CrawlFlags>,
        #[command(flatten)]
        target: Target,
    },
    /// All crawls, a line each
    List {
        #[command(flatten)]
        target: Target,
    },
    /// One crawl in full
    Show {
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Stop fetching until resumed
    Pause {
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Go on after a pause or a stop
    Resume {
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// End a crawl; what was fetched stays
    Stop {
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Visit the pages again that are due
    Refresh {
        name: String,
        #[command(flatten)]
        target: Target,
    },
}

#[derive(Args)]
pub struct ExplainArguments {
    #[arg(value_name = "URL")]
    pub url: String,
    #[command(flatten)]
    pub target: Target,
}

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Print all settings with their defaults and what they mean
    Default,
    /// Check a file of settings and the environment
    Check {
        /// The file [default: seine.toml]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Args)]
pub struct ExportArguments {
    /// descriptions, urls, links, text or warc, and their options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub what: Vec<String>,
}

#[derive(Subcommand)]
pub enum IndexCommand {
    /// Make the index anew from the description log, without fetching
    Rebuild(Target),
    /// Remove a page, or all pages of a host, and never visit them again
    Forget {
        /// A URL with its scheme, or a host name
        #[arg(value_name = "URL|HOST")]
        what: String,
        #[command(flatten)]
        target: Target,
    },
}
