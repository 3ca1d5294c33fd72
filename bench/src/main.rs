//! `make bench`: what a crawl costs, end to end, beside other crawlers and beside the sum of its stages.
//!
//! The test web runs in this process ([`web`]) and records every request. Everything that is measured is a child process of its
//! own, one after the other: `seine crawl` ([`seine`]), Scrapy and wget2 ([`peers`]), and this program again for the stages
//! ([`stages`]) and for the frontier under load ([`frontier`]). [`real`] crawls real documentation behind nginx beside other
//! crawlers. [`refresh_simulation`] compares refresh policies on a simulated clock, and [`slow_hosts`] crawls many hosts of
//! which some are slow. [`analysis`] compares reading real pages with another parser, [`search`] asks and indexes beside
//! tantivy alone, [`searchable`] tells how soon a fetched page is found, [`idle_connections`] what clients cost that only hold
//! connections. [`cluster_cost`] crawls by five processes, [`scaling`] by one, two and four collectors, and [`chaos`] by a
//! cluster whose processes are killed, and by one with two Monitors over a store. [`pairs`] compares two programs by whole
//! crawls in turns, and nothing else. [`measure`] runs a child and reads what it cost, [`report`] holds the figures, [`table`]
//! prints them. All traffic stays on 127.0.0.0/8, every step has a time limit, and all files are in one directory that is
//! removed at the end, also after Ctrl-C.

mod args;
mod web;
mod measure;
mod seine;
mod pairs;
mod peers;
mod real;
mod stages;
mod frontier;
mod refresh_simulation;
mod slow_hosts;
mod search;
mod searchable;
mod idle_connections;
mod analysis;
mod cluster_cost;
mod scaling;
mod chaos;
mod report;
mod table;

use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use tempfile::TempDir;

use crate::args::{Args, Part};
use crate::report::Report;
use crate::seine::Contender;
use crate::web::TestWeb;

fn main() -> ExitCode {
    match bench(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seine-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(args: &Args) -> anyhow::Result<()> {
    if let Some(home) = &args.stages_of {
        return stages::run_here(home, args.pages, &args.work_dir);
    }
    if let Some(connections) = args.connections {
        return real::fetch_here(&args.fetch_from, connections, &args.work_dir);
    }
    if let Some(urls) = args.frontier_of {
        return frontier::run_here(urls, &args.work_dir);
    }
    std::fs::create_dir_all(&args.work_dir)
        .with_context(|| format!("cannot make the directory {}", args.work_dir.display()))?;
    // Owned out here, so that it is removed however the run ends.
    let work = TempDir::with_prefix_in("run-", &args.work_dir)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = run(args, &work) => report,
            _ = tokio::signal::ctrl_c() => bail!("stopped by Ctrl-C"),
        }
    });
    // What blocks is not waited for; its children were sent the same Ctrl-C.
    runtime.shutdown_background();
    let report = report?;
    print!("{}", table::render(&report));
    if let Some(directory) = args.output.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(&args.output, serde_json::to_vec_pretty(&report)?)
        .with_context(|| format!("cannot write the figures to {}", args.output.display()))?;
    let mut verdicts = report.chaos.iter().chain(&report.store_chaos);
    ensure!(verdicts.all(|verdict| verdict.broken.is_empty()), "the cluster broke a promise, see above");
    Ok(())
}

async fn run(args: &Args, work: &TempDir) -> anyhow::Result<Report> {
    let web = TestWeb::start(args.pages)?;
    let mut report = Report::new(args.pages);
    if let Some(against) = &args.against {
        let against = Contender::new(against.clone(), &args.against_flags);
        let (now, pairs, work) = (args.contender()?, args.pairs, work.path());
        if args.only == Some(Part::Real) {
            report.real = real::compare(args, &now, &against, work, &mut report.remarks).await?;
            return Ok(report);
        }
        report.pairs = match args.only {
            Some(Part::ClusterCost) => pairs::compare(&web, &now, &against, pairs, work, cluster_cost::crawl).await?,
            _ => pairs::compare(&web, &now, &against, pairs, work, seine::crawl).await?,
        };
        return Ok(report);
    }
    if args.wants(Part::Seine) {
        report.seine = Some(seine::crawl(&web, &args.contender()?, work.path()).await?);
    }
    if args.wants(Part::Peers) {
        report.peers = peers::crawl(&web, work.path(), &mut report.remarks).await;
    }
    if args.wants(Part::Real) {
        report.real = real::run(args, work.path(), &mut report.remarks).await?;
    }
    if args.wants(Part::Stages) {
        report.stages = stages::run_in_child(&web, work.path()).await?;
    }
    if args.wants(Part::Frontier) {
        report.frontier = Some(frontier::run_in_child(args.frontier_urls, work.path()).await?);
    }
    if args.wants(Part::SlowHosts) {
        report.slow_hosts = Some(slow_hosts::run(&args.seine_program()?, work.path()).await?);
    }
    if args.wants(Part::Search) {
        let (seine, documents) = (args.seine_program()?, args.search_documents);
        let (kept, work) = (args.work_dir.clone(), work.path().to_owned());
        let measured = tokio::task::spawn_blocking(move || search::run(&seine, documents, &kept, &work));
        report.search = Some(measured.await??);
    }
    if args.wants(Part::Searchable) {
        let (seine, work) = (args.seine_program()?, work.path().to_owned());
        let measured = tokio::task::spawn_blocking(move || searchable::run(&seine, &work));
        report.searchable = measured.await??;
    }
    if args.wants(Part::IdleConnections) {
        let (seine, kept) = (args.seine_program()?, args.work_dir.clone());
        let measured = tokio::task::spawn_blocking(move || idle_connections::run(&seine, &kept));
        report.idle_connections = Some(measured.await??);
    }
    if args.wants(Part::Analysis) {
        report.analysis = analysis::run()?;
        if report.analysis.is_none() {
            report.remarks.push("the analysis of real pages is left out: there are none here".to_owned());
        }
    }
    if args.wants(Part::ClusterCost) {
        report.cluster = Some(cluster_cost::crawl(&web, &args.contender()?, work.path()).await?);
    }
    if args.wants(Part::Scaling) {
        report.scaling = scaling::run(&args.seine_program()?, work.path()).await?;
    }
    if args.wants(Part::Chaos) {
        report.chaos = Some(chaos::run(&args.seine_program()?, work.path()).await);
    }
    if args.wants(Part::StoreChaos) {
        report.store_chaos = chaos::run_over_store(&args.seine_program()?, work.path()).await;
        if report.store_chaos.is_none() {
            report.remarks.push("a cluster over a store under faults is left out: there is none here".to_owned());
        }
    }
    if args.wants(Part::Refresh) {
        eprintln!("refresh policies on a simulated clock");
        report.refresh = refresh_simulation::compare(refresh_simulation::Settings::default());
    }
    Ok(report)
}
