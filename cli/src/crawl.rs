//! `seine crawl`: one crawl from its start to its end, or to the first Ctrl-C.
//!
//! Where no process holds the data directory, all tiers but the query run in this one for as long as the crawl lasts.
//! Where a server holds it, the crawl is [handed over](handover) and followed. Either way the Monitor is asked for the
//! crawl, the progress is shown, and at the end everything saved is indexed and the archive sealed.

mod handover;
mod report;

use std::time::{Duration, Instant};

use seine_common::config::Config;
use seine_common::data_dir::DataDir;
use seine_node::shutdown::Shutdown;
use seine_proto::filesaver::v1::SealRequest;
use seine_proto::indexer::v1::{FlushRequest, StatusRequest};
use seine_proto::monitor::v1::{AddCrawlRequest, Crawl, CrawlState, CrawlStatus, GetCrawlRequest};

use crate::End;
use crate::args::{CrawlArguments, Role};
use crate::connect::{self, Services};
use crate::crawl_settings;
use crate::failure::{Failure, Result};
use crate::filesavers::{self, Answering};
use crate::output::damage_text;
use crate::process::{Plan, Process};
use crate::progress::Progress;
use crate::seeds;
use report::{Ending, Summary};

/// How often the crawl's state is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the index may take at the end before it is looked why.
const TELL_AFTER: Duration = Duration::from_secs(2);

pub async fn run(arguments: CrawlArguments, config: Config) -> Result<End> {
    let started = Instant::now();
    let crawl = crawl_settings::crawl(&arguments.what, &config)?;
    seeds::check_addresses(&crawl).await?;
    let data = DataDir::open(&arguments.data)?;
    match connect::server_of(&data) {
        Some(server) => handover::run(&arguments, &config, crawl, &data, &server, started).await,
        None => run_here(&arguments, config, crawl, data, started).await,
    }
}

/// The whole of Seine in this process. A second writer is refused when the tiers are locked.
async fn run_here(
    arguments: &CrawlArguments,
    config: Config,
    crawl: Crawl,
    data: DataDir,
    started: Instant,
) -> Result<End> {
    let shutdown = Shutdown::on_signals(|| {
        eprintln!("stopping: finishing what is under way and saving it; press Ctrl-C again to stop at once");
    })
    .map_err(Failure::failed)?;
    let roles = [Role::Monitor, Role::Collector, Role::Analyser, Role::Filesaver, Role::Indexer];
    let plan = Plan::alone(&roles, data, config);
    let mut process = Process::start(plan).await?;
    let name = crawl.name.clone();
    let done = tokio::select! {
        // A tier that is gone leaves the crawl waiting for what cannot come any more.
        biased;
        failure = process.failure() => Err(failure),
        done = crawl_in(&mut process, crawl, arguments.again, &shutdown) => done,
    };
    let closed = process.close().await;
    let Crawled { indexed, status, ending } = done?;
    closed?;
    Summary::new(&name, &status, indexed, started).report(&status, ending, arguments)?;
    Ok(ending.end())
}

/// What is left of a crawl.
struct Crawled {
    indexed: u64,
    status: CrawlStatus,
    ending: Ending,
}

/// From asking for the crawl until everything has settled down.
async fn crawl_in(process: &mut Process, crawl: Crawl, again: bool, shutdown: &Shutdown) -> Result<Crawled> {
    let mut services = process.services();
    let name = crawl.name.clone();
    if start(&mut services, crawl, again).await? {
        watch(&mut services, &name, shutdown).await?;
    }
    process.stop_collecting().await;
    let indexed = settle_down(&mut services, &name).await?;
    let status = status_of(&mut services, &name).await?;
    let ending = Ending::of(&mut services, &status, shutdown.was_interrupted()).await?;
    Ok(Crawled { indexed, status, ending })
}

/// Asks for the crawl and tells what is known of it; false when there is nothing to do.
async fn start(services: &mut Services, crawl: Crawl, again: bool) -> Result<bool> {
    let name = crawl.name.clone();
    let added = services.admin.add_crawl(AddCrawlRequest { crawl: Some(crawl), again }).await?.into_inner();
    let status = added.status.ok_or_else(|| Failure::failed("the monitor did not say how the crawl stands"))?;
    for change in &added.changes {
        eprintln!("changed since last time: {change}");
    }
    if !added.continued {
        return Ok(true);
    }
    if status.state() == CrawlState::Finished {
        match again {
            _ if status.blocked_hosts > 0 => eprintln!("crawl {name} has nothing to fetch{}", because(&status)),
            false => eprintln!("crawl {name} is finished and nothing was fetched; --again will visit its pages again"),
            true => eprintln!("crawl {name} is finished and none of its pages is due{}", because(&status)),
        }
        return Ok(false);
    }
    if again && status.revisits_queued > 0 {
        eprintln!("visiting the {} pages of crawl {name} again", status.pages);
    } else {
        eprintln!("continuing crawl {name}: {} pages so far, {} URLs waiting", status.pages, status.queued);
    }
    Ok(true)
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

/// Waits until everything saved can be searched and the archives are closed; gives the number of the crawl's documents. What
/// a filesaver saved that is away is indexed when that is back, and nobody knows when.
async fn settle_down(services: &mut Services, name: &str) -> Result<u64> {
    for Answering { mut client, log_id, end_offset: until_offset } in
        filesavers::answering(&services.filesavers).await?
    {
        flush_and_tell(services, name, FlushRequest { log_id, until_offset }).await?;
        client.seal(SealRequest {}).await?;
    }
    filesavers::tell_missing(services, "what it saved last is indexed when it is back").await;
    indexed(services, name).await
}

/// Documents of the crawl that can be searched now.
async fn indexed(services: &mut Services, name: &str) -> Result<u64> {
    let status = services.indexer.status(StatusRequest { crawl: name.to_owned() }).await?.into_inner();
    Ok(status.crawl_documents)
}

/// Where the index is not well, that is what it waits for.
async fn flush_and_tell(services: &mut Services, name: &str, flush: FlushRequest) -> Result<()> {
    let mut indexer = services.indexer.clone();
    let mut flushing = std::pin::pin!(indexer.flush(flush));
    let mut told = Vec::new();
    loop {
        tokio::select! {
            flushed = &mut flushing => {
                for stretch in flushed?.into_inner().damaged {
                    eprintln!("{}; it is not in the index", damage_text(&stretch));
                }
                return Ok(());
            }
            () = tokio::time::sleep(TELL_AFTER) => {}
        }
        let troubles = status_of(services, name).await?.troubles;
        if told != troubles {
            troubles.iter().for_each(|trouble| eprintln!("waiting until all pages are indexed; {trouble}"));
            told = troubles;
        }
    }
}

fn because(status: &CrawlStatus) -> String {
    if status.waiting_reason.is_empty() { String::new() } else { format!(": {}", status.waiting_reason) }
}
