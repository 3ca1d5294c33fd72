//! `seine crawl` on a directory that a server holds: the server does the crawl, and this process shows how it goes.
//!
//! What the crawl is travels with it: seeds, flags, and the sections `[crawl]`, `[refresh]` and `[filters]` of the
//! settings. Timeouts, stores and the index are the server's own; settings for those are named and not used. The end is
//! that of a crawl in this process: everything saved can be searched and the archive is closed. Ctrl-C ends only the
//! following, so nothing is waited for then.

use std::time::Instant;

use seine_common::config::Config;
use seine_common::data_dir::{DataDir, Endpoint};
use seine_node::shutdown::Shutdown;
use seine_proto::monitor::v1::{Crawl, CrawlState};

use super::report::{Ending, Summary};
use super::{indexed, settle_down, start, status_of, watch};
use crate::End;
use crate::args::{CrawlArguments, Role};
use crate::connect::{self, Services};
use crate::failure::{Failure, Result};

pub(super) async fn run(
    arguments: &CrawlArguments,
    config: &Config,
    crawl: Crawl,
    data: &DataDir,
    server: &Endpoint,
    started: Instant,
) -> Result<End> {
    let (pid, directory) = (server.pid, data.root().display());
    eprintln!("handing the crawl to the server that holds {directory} (process {pid}); Ctrl-C leaves it running");
    if !config.set_for_process.is_empty() {
        eprintln!("these settings are the server's own and not used here: {}", config.set_for_process.join(", "));
    }
    let name = crawl.name.clone();
    let shutdown = Shutdown::on_signals(|| {}).map_err(Failure::failed)?;
    match follow(arguments, crawl, server, &shutdown, started).await {
        Err(failure) if failure.is_unreachable() || connect::server_of(data).as_ref() != Some(server) => {
            Err(Failure::failed(format!(
                "the server that did crawl {name} went away (process {pid}); the same command goes on with it, and so \
                 does `seine serve --data {directory}`"
            )))
        }
        ended => ended,
    }
}

async fn follow(
    arguments: &CrawlArguments,
    crawl: Crawl,
    server: &Endpoint,
    shutdown: &Shutdown,
    started: Instant,
) -> Result<End> {
    let name = crawl.name.clone();
    let mut remote = connect::remote(server)?;
    let mut services = remote.services.clone();
    if start(&mut services, crawl, arguments.again).await? {
        watch(&mut services, &name, shutdown).await?;
    }
    remote.find_tiers(&[Role::Filesaver, Role::Indexer]).await?;
    let mut services = remote.services;
    let settled = tokio::select! {
        biased;
        () = shutdown.token.cancelled() => None,
        indexed = settle_down(&mut services, &name) => Some(indexed?),
    };
    let Some(indexed) = settled else { return leave(arguments, &mut services, &name, server, started).await };
    let status = status_of(&mut services, &name).await?;
    let ending = Ending::of(&mut services, &status, false).await?;
    Summary::new(&name, &status, indexed, started).report(&status, ending, arguments)?;
    Ok(ending.end())
}

/// The person has seen enough: tells how the crawl stands and that it goes on.
async fn leave(
    arguments: &CrawlArguments,
    services: &mut Services,
    name: &str,
    server: &Endpoint,
    started: Instant,
) -> Result<End> {
    let (status, indexed) = (status_of(services, name).await?, indexed(services, name).await?);
    let summary = Summary::new(name, &status, indexed, started);
    summary.print_counts(&status);
    let data = arguments.data.display();
    match status.state() {
        CrawlState::Finished | CrawlState::Stopped => eprintln!("its last pages are still being indexed by the server"),
        _ => eprintln!(
            "crawl {name} goes on at the server (process {}); `seine crawls show {name} --data {data}` tells how it \
             goes, `seine crawls stop {name} --data {data}` ends it",
            server.pid
        ),
    }
    summary.print_line(arguments)?;
    Ok(End::Interrupted)
}
