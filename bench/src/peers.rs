//! Other crawlers on the same web: Scrapy, which parses but neither saves nor indexes, and wget2, which parses and saves.
//!
//! Their pages are counted by the server, because they do not report them alike. One that is not there or
//! fails is left out with a remark.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::measure::{self, Cost};
use crate::report::CrawlerRun;
use crate::web::TestWeb;

/// Scrapy is slow enough that a part of the web tells its speed.
const SCRAPY_PAGES: u32 = 3_000;
const SCRAPY_TIME_LIMIT: Duration = Duration::from_secs(180);
const WGET2_TIME_LIMIT: Duration = Duration::from_secs(300);
const WGET2: &str = "/usr/bin/wget2";
/// The Makefile says here where the Python environment has it.
const SCRAPY_VARIABLE: &str = "SEINE_SCRAPY";
const SPIDER: &str = include_str!("../peers/site_spider.py");

pub async fn crawl(web: &TestWeb, work: &Path, remarks: &mut Vec<String>) -> Vec<CrawlerRun> {
    let runs = [("wget2", wget2(web, work).await), ("scrapy", scrapy(web, work).await)];
    let mut done = Vec::new();
    for (name, run) in runs {
        match run {
            Ok(run) => done.push(run),
            Err(error) => remarks.push(format!("{name} is left out: {error:#}")),
        }
    }
    done
}

async fn wget2(web: &TestWeb, work: &Path) -> anyhow::Result<CrawlerRun> {
    ensure!(Path::new(WGET2).exists(), "there is no {WGET2}; apt-get install wget2 brings it");
    let saved = work.join("wget2-pages");
    web.forget_requests();
    eprintln!("wget2 crawls {} pages", web.pages());
    let mut command = Command::new(WGET2);
    command.args(["--quiet", "--recursive", "--level=inf", "--tries=1", "--no-config", "--directory-prefix"]);
    // Version 1.99 leaves the port out of the Host field by itself, and would be sent links without it.
    command.arg(&saved).arg("--header").arg(format!("Host: {}", web.authority())).arg(web.home());
    let finished = measure::run("wget2", &mut command, work, WGET2_TIME_LIMIT).await?;
    std::fs::remove_dir_all(&saved).ok();
    Ok(run("wget2", "saves", finished.must_succeed()?.cost, web))
}

async fn scrapy(web: &TestWeb, work: &Path) -> anyhow::Result<CrawlerRun> {
    let program = std::env::var_os(SCRAPY_VARIABLE);
    let program = program.with_context(|| format!("{SCRAPY_VARIABLE} does not say where it is; make bench does"))?;
    let spider = work.join("site_spider.py");
    std::fs::write(&spider, SPIDER)?;
    let pages = web.pages().min(SCRAPY_PAGES);
    web.forget_requests();
    eprintln!("scrapy crawls {pages} pages");
    let mut command = Command::new(program);
    command.current_dir(work).arg("runspider").arg(&spider).arg("-a").arg(format!("home={}", web.home()));
    command.arg("-s").arg(format!("CLOSESPIDER_PAGECOUNT={pages}"));
    let finished = measure::run("scrapy", &mut command, work, SCRAPY_TIME_LIMIT).await?;
    Ok(CrawlerRun { capped: true, ..run("scrapy", "links only", finished.must_succeed()?.cost, web) })
}

fn run(name: &str, does: &str, cost: Cost, web: &TestWeb) -> CrawlerRun {
    let seen = web.sighting();
    let (name, does) = (name.to_owned(), does.to_owned());
    CrawlerRun { name, does, pages: seen.pages, indexed: None, capped: false, cost, seen }
}
