//! Searching and indexing beside tantivy alone, in one run on the same documents, queries and cores.
//!
//! [`corpus`] makes documents of about 10 kB; [`indexing`] writes some of them by Seine's writer and by tantivy's own with the
//! same schema and analysis. The whole corpus is indexed once and kept in the work directory. `seine serve` answers
//! searches and completions in it over HTTP ([`server`], [`client`]), [`bare`] does the same search and its snippets in this process. At last the same
//! searches are asked while `seine crawl` runs at full speed.

pub mod corpus;
pub mod indexing;
mod bare;
pub mod client;
pub mod server;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use seine_tests::{FakeWeb, FakeWebConfig};
use serde::Serialize;

use self::bare::Bare;
use self::client::Client;
use self::corpus::Corpus;
use self::indexing::Speeds;
use self::server::Server;
use crate::measure::KilledOnDrop;

const QUERIES: usize = 200;
const CLIENTS: usize = 16;
/// How long many clients ask at once.
const LOAD_LASTS: Duration = Duration::from_secs(5);
/// Documents written for the comparison of indexing speeds.
const INDEXED_TWICE: u32 = 20_000;
/// Requests after which a crawl is taken to run at full speed.
const CRAWL_RUNS_AFTER: usize = 300;
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Serialize)]
pub struct SearchReport {
    pub documents: u32,
    pub indexing: Speeds,
    pub seine: Latencies,
    pub tantivy: Latencies,
    pub clients: usize,
    pub seine_queries_per_second: f64,
    pub tantivy_queries_per_second: f64,
    /// The same searches while a crawl runs.
    pub crawling: Latencies,
    pub crawled_pages_per_second: f64,
    /// What somebody types, letter after letter.
    pub completions: Latencies,
}

/// In milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latencies {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

impl Latencies {
    pub fn of(mut took: Vec<Duration>) -> Self {
        took.sort_unstable();
        let at = |share: f64| match took.len() {
            0 => 0.0,
            count => took[((count - 1) as f64 * share).round() as usize].as_secs_f64() * 1e3,
        };
        Self { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }
}

/// Blocks until all is measured.
pub fn run(seine: &Path, documents: u32, kept: &Path, work: &Path) -> anyhow::Result<SearchReport> {
    let corpus = Corpus::new();
    eprintln!("indexing {} documents by seine and by tantivy alone", documents.min(INDEXED_TWICE));
    let indexing = indexing::compare(&corpus, documents.min(INDEXED_TWICE), work)?;
    let data = kept.join(format!("search-{documents}"));
    indexing::ensure_index(&corpus, documents, &data)?;
    let queries = corpus.queries(QUERIES);

    let server = Server::start(seine, &data, &["--roles", "query"])?;
    let bare = Bare::open(&data.join("index"))?;
    eprintln!("asking {QUERIES} queries, one client and {CLIENTS}");
    let tantivy = Latencies::of(warm(&queries, |query| bare.search(query).map(drop))?);
    let mut client = Client::connect(&server.http)?;
    let seine_alone = Latencies::of(warm(&queries, |query| client.search(query).map(drop))?);
    let completions = Latencies::of(warm(&corpus::typed(&queries), |typed| client.suggest(typed).map(drop))?);
    let tantivy_queries_per_second = load(&queries, || Ok(|query: &str| bare.search(query).map(drop)))?;
    let seine_queries_per_second = load(&queries, || {
        let mut client = Client::connect(&server.http)?;
        Ok(move |query: &str| client.search(query).map(drop))
    })?;
    let (crawling, crawled_pages_per_second) = while_crawling(seine, work, &queries, &mut client)?;
    Ok(SearchReport {
        documents,
        indexing,
        seine: seine_alone,
        tantivy,
        clients: CLIENTS,
        seine_queries_per_second,
        tantivy_queries_per_second,
        crawling,
        crawled_pages_per_second,
        completions,
    })
}

/// All queries twice; the times of the second round.
fn warm(queries: &[String], mut ask: impl FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::with_capacity(queries.len());
    for round in 0..2 {
        for query in queries {
            let started = Instant::now();
            ask(query)?;
            if round == 1 {
                took.push(started.elapsed());
            }
        }
    }
    Ok(took)
}

/// Queries per second of many clients that each ask one after the other.
fn load<A>(queries: &[String], client: impl Fn() -> anyhow::Result<A> + Sync) -> anyhow::Result<f64>
where
    A: FnMut(&str) -> anyhow::Result<()>,
{
    let started = Instant::now();
    let ask_until_done = |number: usize| -> anyhow::Result<u64> {
        let mut ask = client()?;
        let mut asked = 0;
        for query in queries.iter().cycle().skip(number * queries.len() / CLIENTS) {
            if started.elapsed() >= LOAD_LASTS {
                break;
            }
            ask(query)?;
            asked += 1;
        }
        Ok(asked)
    };
    let asked = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || ask_until_done(number))).collect();
        clients.into_iter().map(|client| client.join().expect("a client does not panic")).sum::<anyhow::Result<u64>>()
    })?;
    Ok(asked as f64 / started.elapsed().as_secs_f64())
}

fn while_crawling(
    seine: &Path,
    work: &Path,
    queries: &[String],
    client: &mut Client,
) -> anyhow::Result<(Latencies, f64)> {
    eprintln!("asking them again while a crawl runs");
    let web = FakeWeb::try_start(FakeWebConfig { pages: 50_000, ..FakeWebConfig::default() })?;
    let mut command = Command::new(seine);
    command.arg("crawl").arg(web.url("/")).args(["--allow-net", "127.0.0.0/8", "--delay", "0", "--json", "--data"]);
    command.arg(work.join("crawled-meanwhile")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut crawl = KilledOnDrop(command.spawn().context("cannot start seine crawl")?);
    let started = Instant::now();
    while web.requests().len() < CRAWL_RUNS_AFTER {
        ensure!(started.elapsed() < PATIENCE, "the crawl made no {CRAWL_RUNS_AFTER} requests in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (before, started) = (web.requests().len(), Instant::now());
    let took = warm(queries, |query| client.search(query).map(drop))?;
    let pages_per_second = (web.requests().len() - before) as f64 / started.elapsed().as_secs_f64();
    ensure!(crawl.0.try_wait()?.is_none(), "the crawl was over before the searches were; make its web larger");
    Ok((Latencies::of(took), pages_per_second))
}
