//! The command line, as clap reads it. Values are checked further where they are used.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub mod crawl;
pub mod export;
mod frontier;
mod hosts;
pub mod nodes;

pub use crawl::{CrawlArguments, CrawlFlags, Limit, PausePerFlag, ScopeFlag, SettingFlags, StrategyFlag};
pub use export::ExportCommand;
pub use frontier::{CopyTo, FrontierArguments, FrontierCommand, FrontierPlace};
pub use hosts::{HostsArguments, HostsCommand, StateFlag};

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
    /// Join the server of another machine or process, and run some tiers for it
    Node(NodeArguments),
    /// Add, show and control crawls of a running or resting data directory
    Crawls(CrawlsArguments),
    /// Block hosts over all crawls, and tell what hosts are doing
    Hosts(HostsArguments),
    /// Let machines join, and see, drain and remove them
    Nodes(nodes::NodesArguments),
    /// Tell what is known about a URL, and why
    Explain(ExplainArguments),
    /// Print or check settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write out what was gathered: descriptions, URLs, links, texts, a mirror, WARC
    #[command(subcommand)]
    Export(ExportCommand),
    /// Work on the index
    #[command(subcommand)]
    Index(IndexCommand),
    /// Check, repair and move the frontier: all URLs, and where each stands
    Frontier(FrontierArguments),
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
    /// Where people and programs reach gRPC, in clear on loopback and over TLS elsewhere [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR")]
    pub grpc: Option<SocketAddr>,
    /// Where other machines join and reach this one, over mutual TLS [default: 127.0.0.1:7071]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
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
#[command(after_help = "The server prints the whole line to run here:
  seine nodes token create --roles collector,analyser

The token is needed at the first start only; afterwards the machine is known by what it keeps in its data directory.")]
pub struct NodeArguments {
    /// Which tiers to run: collector, analyser, filesaver, indexer, query; monitor to stand by for the one that is
    #[arg(long, value_name = "ROLE,…", value_delimiter = ',', required = true)]
    pub roles: Vec<Role>,
    /// Where the server listens for nodes, such as crawl.example.org:7071 [default: where this machine has joined]
    #[arg(long, value_name = "HOST:PORT")]
    pub join: Option<String>,
    /// Token for joining, or @ and a file that holds it. Better in SEINE_JOIN_TOKEN or a file, where other users cannot read it
    #[arg(long, value_name = "TOKEN|@FILE")]
    pub token: Option<String>,
    /// Directory for what the tiers keep
    #[arg(long, value_name = "DIR", default_value = "seine-data")]
    pub data: PathBuf,
    /// Where /metrics and health are answered, and the search page where the query is among the roles [default:
    /// 127.0.0.1:8080 with the query, otherwise any free port]
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// Where people and programs of this machine reach this node's gRPC
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub grpc: SocketAddr,
    /// Where other nodes reach this one [default: a free port of the address that leads to the server]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
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
    /// gRPC address of a server, such as 127.0.0.1:7070, or https://crawl.example.org:7070 on another machine
    #[arg(long, value_name = "ADDR")]
    pub server: Option<String>,
    /// Admin token for --server, from the file admin-token of its data directory. Better in SEINE_TOKEN, where other
    /// users cannot read it
    #[arg(long)]
    pub token: Option<String>,
    /// Roots to believe for --server https://…, such as the file ca.pem of its data directory [default: this machine's]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub ca: Option<PathBuf>,
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
    /// One crawl in full, with all its settings
    Show {
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Change settings of a crawl; what is not named stays as it is
    ///
    /// From the next request on the new settings hold. A list that is named is replaced; an empty value empties it.
    Set {
        name: String,
        #[command(flatten)]
        settings: Box<SettingFlags>,
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
        /// Tell what the crawl's filters decide for this URL before it is fetched
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// How many links away from the start that URL is
        #[arg(long, value_name = "N", default_value_t = 0)]
        depth: u32,
    },
}

#[derive(Subcommand)]
pub enum IndexCommand {
    /// Make the index anew from the description log, without fetching
    Rebuild {
        /// Leave out the pages of the filesaver with this log, which will not come back
        #[arg(long, value_name = "LOG")]
        without: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Remove a page, or all pages of a host, and never visit them again
    Forget {
        /// A URL with its scheme, or a host name
        #[arg(value_name = "URL|HOST")]
        what: String,
        /// Let back in what was forgotten: it is visited again
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        target: Target,
    },
}
