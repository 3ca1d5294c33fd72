//! `seine crawl` on the whole test web: fetch, parse, save, index, and the final commit.

use std::path::{Path, PathBuf};
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

/// A seine program and the flags that its crawls get besides those of the bench.
#[derive(Debug)]
pub struct Contender {
    program: PathBuf,
    flags: Vec<String>,
}

impl Contender {
    /// Flags are parted at spaces.
    pub fn new(program: PathBuf, flags: &str) -> Self {
        Self { program, flags: flags.split_whitespace().map(str::to_owned).collect() }
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn flags(&self) -> &[String] {
        &self.flags
    }
}

pub async fn crawl(web: &TestWeb, contender: &Contender, work: &Path) -> anyhow::Result<CrawlerRun> {
    let data = work.join("seine-data");
    web.forget_requests();
    eprintln!("seine crawls {} pages", web.pages());
    let mut command = Command::new(&contender.program);
    command.arg("crawl").arg(web.home()).args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--json"]);
    command.args(&contender.flags).arg("--data").arg(&data);
    let finished = measure::run("seine", &mut command, work, TIME_LIMIT).await?.must_succeed()?;
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
