//! The command line of `seine export`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Target;

#[derive(Subcommand)]
pub enum ExportCommand {
    /// All that is known about each page, one JSON object a line
    #[command(after_help = "Examples:
  seine export descriptions > pages.jsonl
  seine export descriptions --site example.org --lang en --since 2026-01-01 --output pages.jsonl
  seine export descriptions | jq -r '[.url, .title] | @tsv'")]
    Descriptions {
        #[command(flatten)]
        what: ExportFlags,
        /// json: an object a line; protobuf: seine.common.v1.Description, each behind its length as a varint
        #[arg(long, value_name = "FORMAT", default_value = "json")]
        format: DescriptionFormat,
    },
    /// The URL of each page, one a line; with --json an object with status, type, language and time
    #[command(after_help = "Example:
  seine export urls --site example.org | sort")]
    Urls {
        #[command(flatten)]
        what: ExportFlags,
    },
    /// Every link of every page, one JSON object a line: from, to, text, kind
    #[command(after_help = "Example:
  seine export links | jq -r 'select(.kind == \"anchor\") | [.from, .to] | @tsv'")]
    Links {
        #[command(flatten)]
        what: ExportFlags,
    },
    /// The text of each page: one JSON object a line, or one file a page where --output names a directory
    #[command(after_help = "Examples:
  seine export text --lang cs > texts.jsonl
  seine export text --main --output texts/")]
    Text {
        #[command(flatten)]
        what: ExportFlags,
        /// Only the main text, without menus, banners and footers
        #[arg(long)]
        main: bool,
    },
    /// A directory of pages that opens from disk in a browser: links between them lead from file to file
    #[command(after_help = "Example:
  seine export mirror copy/ --site example.org
  xdg-open copy/example.org/index.html

Images and styles are there as far as the crawl has fetched them. Scripts and forms are left out, and so are pages that
ask not to be archived.")]
    Mirror {
        /// Where to write; made when missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        #[command(flatten)]
        pages: SelectionFlags,
        #[command(flatten)]
        target: Target,
    },
    /// The records of the pages as one WARC file: response, request and metadata, as they were archived
    #[command(after_help = "Example:
  seine export warc example.warc.gz --site example.org --since 2026-01-01")]
    Warc {
        /// Where to write, such as example.warc.gz; - for standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        pages: SelectionFlags,
        #[command(flatten)]
        target: Target,
    },
}

/// Which pages, and where to.
#[derive(Args)]
pub struct ExportFlags {
    #[command(flatten)]
    pub pages: SelectionFlags,
    /// Where to write [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub target: Target,
}

/// The newest version of every page, unless these say otherwise.
#[derive(Args)]
#[command(next_help_heading = "Which pages")]
pub struct SelectionFlags {
    /// Only this host and its subdomains
    #[arg(long, value_name = "HOST")]
    pub site: Vec<String>,
    /// Only pages fetched at this time or later: 2026-11-16, or 2026-11-16T08:30:00Z
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Each page as it was at this time; a day counts to its end
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Only this language, such as en
    #[arg(long, value_name = "CODE")]
    pub lang: Vec<String>,
    /// Only what this crawl has fetched
    #[arg(long, value_name = "NAME")]
    pub crawl: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DescriptionFormat {
    Json,
    Protobuf,
}
