//! The test web as a program, for benchmarks and for trying things by hand.
//!
//! Prints `ready http://127.0.0.1:PORT/` (one URL per listener) when it answers, serves until SIGINT or SIGTERM, and
//! then writes the rest of its log.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use seine_tests::fake_web::{FakeWeb, FakeWebConfig, HostConfig, Lang, RobotsMode, fault, write_lines};
use tokio::signal::unix::{SignalKind, signal};

const LOG_INTERVAL: Duration = Duration::from_millis(100);

/// Serves deterministic pages and deliberate faults on 127.0.0.1.
#[derive(Debug, Parser)]
struct Args {
    /// Where the first host listens; 0 takes any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Threads that serve
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Another seed gives another web
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Hosts, each on a port of its own
    #[arg(long, default_value_t = 1)]
    hosts: usize,
    /// Tell hosts apart by the Host header (host0.test, host1.test, …) on one port
    #[arg(long)]
    named: bool,
    /// Pages of each host
    #[arg(long, default_value_t = 20_000)]
    pages: u32,
    /// Links on each page
    #[arg(long, default_value_t = 30)]
    links: u32,
    /// Links on each page that lead to another host
    #[arg(long, default_value_t = 0)]
    cross_host_links: u32,
    /// Do not link to the disallowed pages under /private/
    #[arg(long)]
    no_private_links: bool,
    /// Size of a page in bytes, as MIN-MAX
    #[arg(long, default_value = "10000-30000", value_parser = parse_range)]
    page_bytes: RangeInclusive<usize>,
    /// Share of visible text in a page's bytes
    #[arg(long, default_value_t = 0.3)]
    text_share: f64,
    /// Languages of the pages with their weights, such as en:3,zh:1,cs:1
    #[arg(long, default_value = "en:1", value_delimiter = ',', value_parser = parse_lang)]
    lang: Vec<(Lang, u32)>,
    /// Milliseconds waited before each answer
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// How hosts answer for robots.txt: rules, redirect, huge, garbage, reset, slow:SECONDS or a status such as 404;
    /// given several times, for one host after the other, the last for all further ones
    #[arg(long, default_value = "rules")]
    robots: Vec<RobotsMode>,
    /// Crawl-delay in robots.txt, in seconds
    #[arg(long)]
    crawl_delay: Option<f64>,
    /// Fault paths linked on /
    #[arg(long, value_enum, default_value_t = Faults::None)]
    faults: Faults,
    /// One more fault path linked on /
    #[arg(long)]
    fault: Vec<String>,
    /// Retry-After of 503 and 429, in seconds
    #[arg(long, default_value_t = 1)]
    retry_after: u64,
    /// Size of the huge bodies
    #[arg(long, default_value_t = 256 << 20)]
    huge_bytes: u64,
    /// Write one JSON line per request to this file
    #[arg(long)]
    log: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Faults {
    None,
    /// Those that a crawler is done with soon
    Quick,
    All,
}

fn parse_range(text: &str) -> anyhow::Result<RangeInclusive<usize>> {
    let (min, max) = text.split_once('-').context("give two sizes as MIN-MAX")?;
    Ok(min.parse()?..=max.parse()?)
}

fn parse_lang(text: &str) -> anyhow::Result<(Lang, u32)> {
    let (code, weight) = text.split_once(':').unwrap_or((text, "1"));
    Ok((code.parse()?, weight.parse()?))
}

impl Args {
    fn hosts(&self) -> Vec<HostConfig> {
        (0..self.hosts)
            .map(|number| HostConfig {
                name: self.named.then(|| format!("host{number}.test")),
                robots: self.robots.get(number).or(self.robots.last()).cloned().unwrap_or(RobotsMode::Rules),
                crawl_delay: self.crawl_delay,
                ..HostConfig::default()
            })
            .collect()
    }

    fn config(&self) -> FakeWebConfig {
        let mut fault_links = match self.faults {
            Faults::None => Vec::new(),
            Faults::Quick => fault::quick_paths(),
            Faults::All => fault::all_paths(),
        };
        fault_links.extend(self.fault.iter().cloned());
        FakeWebConfig {
            port: self.port,
            threads: self.threads,
            seed: self.seed,
            hosts: self.hosts(),
            pages: self.pages,
            links: self.links,
            cross_host_links: self.cross_host_links,
            private_links: !self.no_private_links,
            page_bytes: self.page_bytes.clone(),
            text_share: self.text_share,
            langs: self.lang.clone(),
            latency: Duration::from_millis(self.latency),
            fault_links,
            retry_after: self.retry_after,
            huge_bytes: self.huge_bytes,
            record: self.log.is_some(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fake-web: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut log = args.log.as_deref().map(open_log).transpose()?;
    let web = FakeWeb::try_start(args.config())?;
    announce(&web)?;

    let mut tick = tokio::time::interval(LOG_INTERVAL);
    loop {
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            _ = tick.tick(), if log.is_some() => flush(&web, &mut log)?,
        }
    }
    flush(&web, &mut log)?;
    web.shutdown().await;
    Ok(())
}

fn open_log(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write the log {}", path.display()))?;
    Ok(BufWriter::new(file))
}

fn flush(web: &FakeWeb, log: &mut Option<BufWriter<File>>) -> anyhow::Result<()> {
    if let Some(log) = log {
        write_lines(&web.take_requests(), &mut *log)?;
        log.flush()?;
    }
    Ok(())
}

fn announce(web: &FakeWeb) -> anyhow::Result<()> {
    let mut urls: Vec<String> =
        (0..web.config().hosts.len()).map(|host| format!("http://{}/", web.host_addr(host))).collect();
    urls.dedup();
    let mut out = std::io::stdout();
    writeln!(out, "ready {}", urls.join(" "))?;
    Ok(out.flush()?)
}
