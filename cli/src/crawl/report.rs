//! What is told at the end of `seine crawl`: sentences on standard error, and with `--json` one line on standard output.

use std::time::Instant;

use seine_proto::monitor::v1::{CrawlState, CrawlStatus, ExplainRequest};
use serde::Serialize;

use crate::End;
use crate::args::CrawlArguments;
use crate::connect::Services;
use crate::failure::{Failure, Result};

/// How a crawl ended, as far as a script should know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    Interrupted,
    NoPage,
    /// It has no page because somebody wanted it so.
    AllForgotten,
}

impl Ending {
    pub async fn of(services: &mut Services, status: &CrawlStatus, interrupted: bool) -> Result<Self> {
        Ok(match (interrupted, status.pages) {
            (true, _) => Self::Interrupted,
            (false, 0) if starts_from_nothing(services, status).await? => Self::AllForgotten,
            (false, 0) => Self::NoPage,
            (false, _) => Self::Done,
        })
    }

    pub fn end(self) -> End {
        match self {
            Self::Done | Self::AllForgotten => End::Done,
            Self::NoPage => End::Unsuccessful,
            Self::Interrupted => End::Interrupted,
        }
    }
}

/// Whether everything that the crawl could start from was forgotten.
async fn starts_from_nothing(services: &mut Services, status: &CrawlStatus) -> Result<bool> {
    let Some(crawl) = &status.crawl else { return Ok(false) };
    for seed in &crawl.seeds {
        let explained = services.admin.explain(ExplainRequest { url: seed.clone() }).await?.into_inner();
        if !explained.crawls.iter().any(|verdict| verdict.crawl == crawl.name && verdict.forgotten) {
            return Ok(false);
        }
    }
    Ok(!crawl.seeds.is_empty())
}

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

    pub fn report(&self, status: &CrawlStatus, ending: Ending, arguments: &CrawlArguments) -> Result<()> {
        self.print_counts(status);
        let data = arguments.data.display();
        let seed = arguments.what.urls.first().map_or("", String::as_str);
        if status.blocked_hosts > 0 && status.state() == CrawlState::Finished {
            eprintln!(
                "{} URLs wait on blocked hosts ({}); once they are unblocked the same command goes on, `seine hosts list \
                 --data {data}` shows what is blocked",
                status.queued, status.waiting_reason
            );
        }
        match ending {
            Ending::AllForgotten => eprintln!(
                "all that it starts from is forgotten; `seine index forget --undo {seed} --data {data}` lets it back in"
            ),
            Ending::NoPage => eprintln!("no page could be fetched; `seine explain {seed} --data {data}` tells why"),
            _ if self.pages > 0 && status.state() == CrawlState::Running => {
                eprintln!("{} URLs are left; the same command goes on with them", status.queued);
            }
            _ => eprintln!("next: `seine search --data {data} WORDS` or `seine serve --data {data}`"),
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
