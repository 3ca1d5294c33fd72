//! `seine crawl` on the whole test web: fetch, parse, save, index, and the final commit.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::measure::{self, Finished};
use crate::report::CrawlerRun;
use crate::web::TestWeb;

const TIME_LIMIT: Duration = Duration::from_secs(900);

/// What the bench reads of the line that `seine crawl --json` ends with.
#[derive(Debug, Deserialize)]
pub struct Summary {
    pub pages: u64,
    pub indexed: u64,
}

/// A seine program and the flags that its crawls get besides those of the bench.
#[derive(Debug)]
pub struct Contender {
    program: PathBuf,
    flags: Vec<String>,
    /// Where perf records its crawls.
    recording: Option<PathBuf>,
}

impl Contender {
    /// Flags are parted at spaces.
    pub fn new(program: PathBuf, flags: &str) -> Self {
        Self { program, flags: flags.split_whitespace().map(str::to_owned).collect(), recording: None }
    }

    /// Its crawls are recorded there, which costs time.
    pub fn recorded(self, recording: PathBuf) -> Self {
        Self { recording: Some(recording), ..self }
    }

    fn command(&self) -> Command {
        let Some(recording) = &self.recording else { return Command::new(&self.program) };
        let mut command = Command::new("perf");
        // By the tables for panics, because shipped programs keep no frame pointers.
        command.args(["record", "--quiet", "--freq=199", "--call-graph=dwarf,16384", "--output"]);
        command.arg(recording).arg("--").arg(&self.program);
        command
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn flags(&self) -> &[String] {
        &self.flags
    }
}

pub async fn crawl(web: &TestWeb, contender: &Contender, work: &Path) -> anyhow::Result<CrawlerRun> {
    web.forget_requests();
    eprintln!("seine crawls {} pages", web.pages());
    let (summary, finished) = crawl_from(&[web.home()], &[], contender, work, TIME_LIMIT).await?;
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

/// A whole crawl from these URLs, as fast as the servers answer; what it kept is removed.
pub async fn crawl_from(
    homes: &[String],
    flags: &[String],
    contender: &Contender,
    work: &Path,
    limit: Duration,
) -> anyhow::Result<(Summary, Finished)> {
    let data = work.join("seine-data");
    let mut command = contender.command();
    command.arg("crawl").args(homes).args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--json"]);
    command.args(flags).args(&contender.flags).arg("--data").arg(&data);
    let finished = measure::run("seine", &mut command, work, limit).await;
    std::fs::remove_dir_all(&data).ok();
    let finished = finished?.must_succeed()?;
    let line = finished.stdout.lines().last().unwrap_or_default();
    let summary = serde_json::from_str(line)
        .with_context(|| format!("seine crawl --json ended with {line:?}, which is no summary"))?;
    Ok((summary, finished))
}
