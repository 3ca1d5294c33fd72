//! Each stage of Seine alone, on the same pages: what the whole pipeline is compared with.
//!
//! A child process takes the stages one after the other, each on what those before it made, and nothing else runs in it
//! meanwhile. So the CPU time of the process from the start of a stage to its end is that of the stage, with all threads
//! it uses. Stages run as they do in Seine: same settings, same durability.
//!
//! Not part of any stage: what carries pages and links from one to the next. That is what the comparison shows.

mod fetch;
mod parse;
mod frontier;
mod save;
mod index;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::measure;
use crate::report::Stage;
use crate::web::TestWeb;

const TIME_LIMIT: Duration = Duration::from_secs(900);

pub async fn run_in_child(web: &TestWeb, work: &Path) -> anyhow::Result<Vec<Stage>> {
    web.forget_requests();
    eprintln!("stages run alone on {} pages", web.pages());
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--stages-of").arg(web.home()).arg("--pages").arg(web.pages().to_string());
    command.arg("--work-dir").arg(work);
    let finished = measure::run("stages", &mut command, work, TIME_LIMIT).await?.must_succeed()?;
    serde_json::from_str(&finished.stdout).context("the stages ended without figures")
}

/// What the child does.
pub fn run_here(home: &str, pages: u32, work: &Path) -> anyhow::Result<()> {
    let mut stages = Vec::new();
    let runtime = tokio::runtime::Runtime::new()?;

    let urls = fetch::urls(home, pages)?;
    let fetched = alone("fetch", &mut stages, || fetch::run(&runtime, urls))?;
    let analyses = alone("parse", &mut stages, || parse::run(&fetched))?;
    let site = frontier::Site::of(home, &analyses)?;
    alone("frontier", &mut stages, || frontier::run(site, &work.join("frontier")))?;
    let descriptions: Vec<_> = analyses.into_iter().map(|analysis| analysis.description).collect();
    let requests = save::requests(fetched, &descriptions);
    alone("save", &mut stages, || save::run(&runtime, requests, &work.join("filesaver")))?;
    alone("index", &mut stages, || index::run(descriptions, &work.join("index")))?;

    for stage in &mut stages {
        // One more than asked for: `/` comes on top.
        stage.pages = u64::from(pages) + 1;
    }
    println!("{}", serde_json::to_string(&stages)?);
    Ok(())
}

fn alone<T>(name: &str, stages: &mut Vec<Stage>, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let (started, cpu_before) = (Instant::now(), measure::own_cpu_seconds()?);
    let made = work().with_context(|| format!("the stage {name} failed"))?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu_seconds = measure::own_cpu_seconds()? - cpu_before;
    stages.push(Stage { name: name.to_owned(), pages: 0, seconds, cpu_seconds });
    Ok(made)
}
