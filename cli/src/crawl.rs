//! `seine crawl`: the whole of Seine in one process for the duration of one crawl.
//!
//! Opens the data directory, runs all tiers but the query, asks the Monitor for the crawl, shows how it goes, and at the
//! end (or at the first Ctrl-C) lets everything settle: leases returned, log indexed and committed, archive sealed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use seine_common::config::Config;
use seine_common::data_dir::DataDir;
use seine_common::shutdown::Shutdown;
use seine_proto::filesaver::v1::{LogEndRequest, SealRequest};
use seine_proto::indexer::v1::{FlushRequest, StatusRequest};
use seine_proto::monitor::v1::{AddCrawlRequest, CrawlState, CrawlStatus, GetCrawlRequest};
use serde::Serialize;

use crate::End;
use crate::args::{CrawlArguments, Role};
use crate::connect::Services;
use crate::crawl_settings;
use crate::failure::{Failure, Result};
use crate::process::{Plan, Process};
use crate::progress::Progress;
use crate::seeds;

/// How often the crawl's state is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The line that `--json` prints.
#[derive(Serialize)]
struct Summary {
    crawl: String,
    pages: u64,
    indexed: u64,
    failed: u64,
    refused_by_robots: u64,
    duplicates: u64,
    bytes: u64,
    seconds: f64,
}

pub async fn run(arguments: CrawlArguments, config: Config) -> Result<End> {
    let started = Instant::now();
    let crawl = crawl_settings::crawl(&arguments.what, &config)?;
    seeds::check_addresses(&crawl).await?;
    let shutdown = Shutdown::on_signals(|| {
        eprintln!("stopping: finishing what is under way and saving it; press Ctrl-C again to stop at once");
    })
    .map_err(Failure::failed)?;
    let roles = [Role::Monitor, Role::Collector, Role::Analyser, Role::Filesaver, Role::Indexer];
    let plan = Plan {
        roles: roles.iter().map(|role| role.name()).collect::<BTreeSet<_>>(),
        data: DataDir::open(&arguments.data)?,
        config,
        grpc: "127.0.0.1:0".parse().expect("it is an address"),
        join: None,
    };
    let mut process = Process::start(plan).await?;
    let mut services = process.services();

    let name = crawl.name.clone();
    let added =
        services.admin.add_crawl(AddCrawlRequest { crawl: Some(crawl), again: arguments.again }).await?.into_inner();
    let status = added.status.ok_or_else(|| Failure::failed("the monitor did not say how the crawl stands"))?;
    for change in &added.changes {
        eprintln!("changed since last time: {change}");
    }
    let nothing_to_do = added.continued && status.state() == CrawlState::Finished;
    if nothing_to_do {
        match arguments.again {
            false => eprintln!("crawl {name} is finished and nothing was fetched; --again will visit its pages again"),
            true => eprintln!("crawl {name} is finished and none of its pages is due{}", next_visit(&status)),
        }
    } else if added.continued && arguments.again && status.revisits_queued > 0 {
        eprintln!("visiting the {} pages of crawl {name} again", status.pages);
    } else if added.continued {
        eprintln!("continuing crawl {name}: {} pages so far, {} URLs waiting", status.pages, status.queued);
    }
    if !nothing_to_do {
        watch(&mut services, &name, &shutdown).await?;
    }
    process.stop_collecting().await;
    let indexed = settle_down(&mut services, &name).await?;
    let status = status_of(&mut services, &name).await?;
    process.close().await;

    let summary = Summary {
        crawl: name,
        pages: status.pages,
        indexed,
        failed: status.failed,
        refused_by_robots: status.refused_by_robots,
        duplicates: status.duplicates,
        bytes: status.bytes,
        seconds: started.elapsed().as_secs_f64(),
    };
    report(&summary, &status, &arguments)?;
    Ok(match (shutdown.was_interrupted(), summary.pages) {
        (true, _) => End::Interrupted,
        (false, 0) => End::Unsuccessful,
        (false, _) => End::Done,
    })
}

/// Until the crawl is over or somebody wants to stop.
async fn watch(services: &mut Services, name: &str, shutdown: &Shutdown) -> Result<()> {
    let mut progress = Progress::start();
    loop {
        let status = status_of(services, name).await?;
        progress.show(&status);
        if matches!(status.state(), CrawlState::Finished | CrawlState::Stopped) || shutdown.token.is_cancelled() {
            progress.finish();
            return Ok(());
        }
        tokio::select! {
            () = shutdown.token.cancelled() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

async fn status_of(services: &mut Services, name: &str) -> Result<CrawlStatus> {
    let answer = services.admin.get_crawl(GetCrawlRequest { name: name.to_owned() }).await?.into_inner();
    answer.status.ok_or_else(|| Failure::failed("the monitor did not say how the crawl stands"))
}

/// Waits until everything saved can be searched and the archive is closed; gives the number of the crawl's documents.
async fn settle_down(services: &mut Services, name: &str) -> Result<u64> {
    let end = services.filesaver.log_end(LogEndRequest {}).await?.into_inner();
    let flush = FlushRequest { log_id: end.log_id, until_offset: end.end_offset };
    services.indexer.flush(flush).await?;
    services.filesaver.seal(SealRequest {}).await?;
    let status = services.indexer.status(StatusRequest { crawl: name.to_owned() }).await?.into_inner();
    Ok(status.crawl_documents)
}

fn next_visit(status: &CrawlStatus) -> String {
    if status.waiting_reason.is_empty() { String::new() } else { format!(": {}", status.waiting_reason) }
}

fn report(summary: &Summary, status: &CrawlStatus, arguments: &CrawlArguments) -> Result<()> {
    if status.revisits > 0 {
        eprintln!(
            "{} visits to known pages so far, {} unchanged, {} gone",
            status.revisits, status.unchanged, status.gone
        );
    }
    eprintln!(
        "{}: {} pages ({} indexed), {} failed, {} refused by robots.txt, {} in {:.1} s",
        summary.crawl,
        summary.pages,
        summary.indexed,
        summary.failed,
        summary.refused_by_robots,
        indicatif::HumanBytes(summary.bytes),
        summary.seconds
    );
    if summary.pages == 0 {
        let seed = arguments.what.urls.first().map_or("", String::as_str);
        eprintln!("no page could be fetched; `seine explain {seed} --data {}` tells why", arguments.data.display());
    } else if status.state() == CrawlState::Running {
        eprintln!("{} URLs are left; the same command goes on with them", status.queued);
    } else {
        eprintln!("next: `seine search --data {0} WORDS` or `seine serve --data {0}`", arguments.data.display());
    }
    if arguments.json {
        say!("{}", serde_json::to_string(summary).map_err(Failure::failed)?);
    }
    Ok(())
}
