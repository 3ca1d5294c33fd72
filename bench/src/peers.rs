//! Other crawlers on the same web: Scrapy and the spider crate, which parse but neither save nor index, and wget2, which
//! parses and saves.
//!
//! Their pages are counted by the server, because they do not report them alike. One that is not there or
//! fails is left out with a remark.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::measure;
use crate::report::CrawlerRun;
use crate::web::TestWeb;

/// Scrapy is slow enough that a part of the web tells its speed.
const SCRAPY_PAGES: u32 = 3_000;
const TIME_LIMIT: Duration = Duration::from_secs(300);
const CONNECTIONS: u32 = 16;
const WGET2: &str = "/usr/bin/wget2";
/// wget2 ends so when some pages are missing on the server.
const WGET2_SERVER_ERRORS: i32 = 8;
const WGET2_PAGES: &str = "wget2-pages";
/// The Makefile says here where the Python environment has it.
const SCRAPY_VARIABLE: &str = "SEINE_SCRAPY";
const SCRAPY_SPIDER: &str = include_str!("../peers/site_spider.py");
/// The Makefile says here where it built the program in `peers/spider`.
const SPIDER_VARIABLE: &str = "SEINE_SPIDER";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Wget2,
    Scrapy,
    Spider,
}

/// What a crawler shall fetch, and how.
#[derive(Debug)]
pub struct Goal<'a> {
    /// The first page of each host; all that links lead to on these hosts shall be fetched.
    pub homes: &'a [String],
    /// To each host at the same time, where the crawler can tell hosts apart; otherwise as many to all together.
    pub connections: u32,
    /// When to stop, for crawlers that can.
    pub pages: Option<u32>,
}

impl Peer {
    pub const ALL: [Self; 3] = [Self::Wget2, Self::Scrapy, Self::Spider];

    pub fn name(self) -> &'static str {
        match self {
            Self::Wget2 => "wget2",
            Self::Scrapy => "scrapy",
            Self::Spider => "spider",
        }
    }

    /// Beyond fetching pages and finding links.
    pub fn does(self) -> &'static str {
        match self {
            Self::Wget2 => "saves",
            Self::Scrapy | Self::Spider => "links only",
        }
    }

    /// Exit codes after a crawl that went well.
    pub fn good_codes(self) -> &'static [i32] {
        match self {
            Self::Wget2 => &[0, WGET2_SERVER_ERRORS],
            Self::Scrapy | Self::Spider => &[0],
        }
    }

    /// An error when it is not there.
    pub fn command(self, goal: &Goal, work: &Path) -> anyhow::Result<Command> {
        match self {
            Self::Wget2 => wget2(goal, work),
            Self::Scrapy => scrapy(goal, work),
            Self::Spider => spider(goal),
        }
    }

    /// Removes what it saved.
    pub fn clean_up(self, work: &Path) {
        std::fs::remove_dir_all(work.join(WGET2_PAGES)).ok();
    }
}

impl Goal<'_> {
    fn all_connections(&self) -> u32 {
        self.connections * self.homes.len() as u32
    }
}

pub async fn crawl(web: &TestWeb, work: &Path, remarks: &mut Vec<String>) -> Vec<CrawlerRun> {
    let mut done = Vec::new();
    for peer in [Peer::Wget2, Peer::Scrapy] {
        match run(peer, web, work).await {
            Ok(run) => done.push(run),
            Err(error) => remarks.push(format!("{} is left out: {error:#}", peer.name())),
        }
    }
    done
}

async fn run(peer: Peer, web: &TestWeb, work: &Path) -> anyhow::Result<CrawlerRun> {
    let pages = (peer == Peer::Scrapy).then(|| web.pages().min(SCRAPY_PAGES));
    let mut command = peer.command(&Goal { homes: &[web.home()], connections: CONNECTIONS, pages }, work)?;
    web.forget_requests();
    eprintln!("{} crawls {} pages", peer.name(), pages.unwrap_or(web.pages()));
    let finished = measure::run(peer.name(), &mut command, work, TIME_LIMIT).await;
    peer.clean_up(work);
    let cost = finished?.must_end_with(peer.good_codes())?.cost;
    let seen = web.sighting();
    let (name, does) = (peer.name().to_owned(), peer.does().to_owned());
    Ok(CrawlerRun { name, does, pages: seen.pages, indexed: None, capped: pages.is_some(), cost, seen })
}

fn wget2(goal: &Goal, work: &Path) -> anyhow::Result<Command> {
    ensure!(Path::new(WGET2).exists(), "there is no {WGET2}; apt-get install wget2 brings it");
    let mut command = Command::new(WGET2);
    command.args(["--quiet", "--recursive", "--level=inf", "--tries=1", "--no-config"]);
    command.arg(format!("--max-threads={}", goal.all_connections()));
    command.arg("--directory-prefix").arg(work.join(WGET2_PAGES)).args(goal.homes);
    Ok(command)
}

fn scrapy(goal: &Goal, work: &Path) -> anyhow::Result<Command> {
    let program = from_makefile(SCRAPY_VARIABLE)?;
    let spider = work.join("site_spider.py");
    std::fs::write(&spider, SCRAPY_SPIDER)?;
    let mut command = Command::new(program);
    command.current_dir(work).arg("runspider").arg(&spider).arg("-a").arg(format!("homes={}", goal.homes.join(" ")));
    let mut set = |name: &str, value: u32| {
        command.arg("-s").arg(format!("{name}={value}"));
    };
    set("CONCURRENT_REQUESTS", goal.all_connections());
    set("CONCURRENT_REQUESTS_PER_DOMAIN", goal.connections);
    if let Some(pages) = goal.pages {
        set("CLOSESPIDER_PAGECOUNT", pages);
    }
    Ok(command)
}

fn spider(goal: &Goal) -> anyhow::Result<Command> {
    let program = from_makefile(SPIDER_VARIABLE)?;
    ensure!(Path::new(&program).exists(), "there is no {}; make deps-real builds it", program.display());
    let mut command = Command::new(program);
    command.arg(goal.connections.to_string()).args(goal.homes);
    Ok(command)
}

fn from_makefile(variable: &str) -> anyhow::Result<OsString> {
    std::env::var_os(variable).with_context(|| format!("{variable} does not say where it is; make bench does"))
}
