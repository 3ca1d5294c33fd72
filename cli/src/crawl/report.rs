//! What is told at the end of `seine crawl`: sentences on standard error, and with `--json` one line on standard output.

use std::time::Instant;

use seine_proto::monitor::v1::{CrawlState, CrawlStatus};
use serde::Serialize;

use crate::args::CrawlArguments;
use crate::failure::{Failure, Result};

/// The line that `--json` prints.
#[derive(Serialize)]
pub(super) struct Summary {
    crawl: String,
    pages: u64,
    indexed: u64,
    failed: u64,
    refused_by_robots: u64,
    duplicates: u64,
    bytes: u64,
    seconds: f64,
}

impl Summary {
    pub fn new(name: &str, status: &CrawlStatus, indexed: u64, started: Instant) -> Self {
        Self {
            crawl: name.to_owned(),
            pages: status.pages,
            indexed,
            failed: status.failed,
            refused_by_robots: status.refused_by_robots,
            duplicates: status.duplicates,
            bytes: status.bytes,
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    pub fn report(&self, status: &CrawlStatus, arguments: &CrawlArguments) -> Result<()> {
        self.print_counts(status);
        let data = arguments.data.display();
        if self.pages == 0 {
            let seed = arguments.what.urls.first().map_or("", String::as_str);
            eprintln!("no page could be fetched; `seine explain {seed} --data {data}` tells why");
        } else if status.state() == CrawlState::Running {
            eprintln!("{} URLs are left; the same command goes on with them", status.queued);
        } else {
            eprintln!("next: `seine search --data {data} WORDS` or `seine serve --data {data}`");
        }
        self.print_line(arguments)
    }

    pub fn print_counts(&self, status: &CrawlStatus) {
        if status.revisits > 0 {
            eprintln!(
                "{} visits to known pages so far, {} unchanged, {} gone",
                status.revisits, status.unchanged, status.gone
            );
        }
        eprintln!(
            "{}: {} pages ({} indexed), {} failed, {} refused by robots.txt, {} in {:.1} s",
            self.crawl,
            self.pages,
            self.indexed,
            self.failed,
            self.refused_by_robots,
            indicatif::HumanBytes(self.bytes),
            self.seconds
        );
    }

    pub fn print_line(&self, arguments: &CrawlArguments) -> Result<()> {
        if arguments.json {
            say!("{}", serde_json::to_string(self).map_err(Failure::failed)?);
        }
        Ok(())
    }
}
