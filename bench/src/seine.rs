//! `seine crawl` on the whole test web: fetch, parse, save, index, and the final commit.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::measure;
use crate::report::CrawlerRun;
use crate::web::TestWeb;

const TIME_LIMIT: Duration = Duration::from_secs(900);

/// What the bench reads of the line that `seine crawl --json` ends with.
#[derive(Debug, Deserialize)]
struct Summary {
    pages: u64,
    indexed: u64,
}

pub async fn crawl(web: &TestWeb, program: &Path, work: &Path) -> anyhow::Result<CrawlerRun> {
    let data = work.join("seine-data");
    web.forget_requests();
    eprintln!("seine crawls {} pages", web.pages());
    let mut command = Command::new(program);
    command.arg("crawl").arg(web.home()).args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--json", "--data"]);
    let finished = measure::run("seine", command.arg(&data), work, TIME_LIMIT).await?.must_succeed()?;
    let line = finished.stdout.lines().last().unwrap_or_default();
    let summary: Summary = serde_json::from_str(line)
        .with_context(|| format!("seine crawl --json ended with {line:?}, which is no summary"))?;
    std::fs::remove_dir_all(&data).ok();
    Ok(CrawlerRun {
        name: "seine".to_owned(),
        does: "saves, indexes".to_owned(),
        pages: summary.pages,
        indexed: Some(summary.indexed),
        capped: false,
        cost: finished.cost,
        seen: web.sighting(),
    })
}
