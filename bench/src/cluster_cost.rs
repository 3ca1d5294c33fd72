//! The same crawl by five processes, each with one tier (the last with indexer and query): what all of them cost together.
//!
//! Between them everything is sent by gRPC over mutual TLS, which within one process stays in memory.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};
use serde::Deserialize;

use crate::measure;
use crate::report::CrawlerRun;
use crate::seine::Contender;
use crate::web::TestWeb;

const TIME_LIMIT: Duration = Duration::from_secs(900);
const ROLES: [&str; 4] = ["collector", "analyser", "filesaver", "indexer,query"];

#[derive(Debug, Deserialize)]
struct Summary {
    pages: u64,
    indexed: u64,
}

pub async fn crawl(web: &TestWeb, contender: &Contender, work: &Path) -> anyhow::Result<CrawlerRun> {
    let directory = || Seine::of(contender.program().to_owned(), work);
    let server = directory();
    let monitor = server.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
    let start = |roles: &&str| {
        let node = directory();
        let flags: &[&str] = if roles.contains("query") { &["--http", "127.0.0.1:0"] } else { &[] };
        let running = node.start_node(&server, &monitor.listen(), roles, flags);
        (node, running)
    };
    let nodes: Vec<_> = ROLES.iter().map(start).collect();
    web.forget_requests();
    eprintln!("five processes crawl {} pages", web.pages());
    // It hands the crawl over to the Monitor, and returns when everything is in the index.
    let mut command = server.command(&["crawl", &web.home(), "--delay", "0", "--json"]);
    command.args(ALLOW_LOOPBACK).args(contender.flags());
    let finished = measure::run("five-processes", &mut command, work, TIME_LIMIT).await?.must_succeed()?;
    let line = finished.stdout.lines().last().unwrap_or_default();
    let summary: Summary = serde_json::from_str(line)
        .with_context(|| format!("seine crawl --json ended with {line:?}, which is no summary"))?;
    let mut cost = measure::Cost { seconds: finished.cost.seconds, ..measure::Cost::default() };
    for process in [monitor.pid()].into_iter().chain(nodes.iter().map(|(_, running)| running.pid())) {
        cost.add(&measure::so_far(process)?);
    }
    Ok(CrawlerRun {
        name: "seine, five processes".to_owned(),
        does: "saves, indexes".to_owned(),
        pages: summary.pages,
        indexed: Some(summary.indexed),
        capped: false,
        cost,
        seen: web.sighting(),
    })
}
