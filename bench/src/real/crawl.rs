//! One crawl of one row by one program, and what it cost.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde::Serialize;

use super::fetching;
use super::quarters::{Quarter, quarters};
use super::row::Row;
use super::seen::Seen;
use crate::measure::{self, Cost, Finished};
use crate::peers::{Goal, Peer};
use crate::seine::{self, Contender};

const SEINE_TIME_LIMIT: Duration = Duration::from_secs(900);
/// Who is not done by then is stopped, and what it did until then counts.
const PEER_TIME_LIMIT: Duration = Duration::from_secs(180);

#[derive(Debug, Serialize)]
pub struct RowRun {
    pub name: String,
    /// What it does beyond fetching pages and finding links.
    pub does: String,
    pub seen: Seen,
    pub indexed: Option<u64>,
    /// Its time was up.
    pub stopped: bool,
    pub cost: Cost,
    /// Cores that all processes kept busy, the server among them.
    pub machine_cores: f64,
    /// From the last page until the program had ended; with Seine, until everything could be searched.
    pub tail_seconds: f64,
    /// Of Seine's crawls.
    pub quarters: Option<[Quarter; 4]>,
}

pub async fn by_seine(row: &Row, contender: &Contender, work: &Path) -> anyhow::Result<RowRun> {
    row.forget()?;
    eprintln!("seine crawls {}", row.title);
    let (summary, finished) =
        seine::crawl_from(&row.homes, &row.seine_flags(), contender, work, SEINE_TIME_LIMIT).await?;
    let mut seen = row.seen()?;
    let quarters = quarters(std::mem::take(&mut seen.times), &finished.samples);
    let run = RowRun::new("seine", "saves, indexes", seen, &finished);
    ensure!(run.seen.pages > 0, "the server saw no page of a crawl that indexed {}", summary.indexed);
    Ok(RowRun { indexed: Some(summary.indexed), quarters, ..run })
}

/// By Seine's tiers that fetch, without those that keep.
pub async fn by_fetching(row: &Row, work: &Path) -> anyhow::Result<RowRun> {
    const NAME: &str = "fetching";
    row.forget()?;
    eprintln!("seine fetches {}", row.title);
    let finished = measure::run(NAME, &mut fetching::command(row, work)?, work, SEINE_TIME_LIMIT).await?;
    Ok(RowRun::new(NAME, "analyses, keeps nothing", row.seen()?, &finished.must_succeed()?))
}

pub async fn by_peer(row: &Row, peer: Peer, work: &Path) -> anyhow::Result<RowRun> {
    let goal = Goal { homes: &row.homes, connections: row.connections, pages: None };
    let mut command = peer.command(&goal, work)?;
    row.forget()?;
    eprintln!("{} crawls {}", peer.name(), row.title);
    let finished = measure::run(peer.name(), &mut command, work, PEER_TIME_LIMIT).await?;
    peer.clean_up(work);
    let stopped = finished.status.is_none();
    let finished = if stopped { finished } else { finished.must_end_with(peer.good_codes())? };
    let run = RowRun::new(peer.name(), peer.does(), row.seen()?, &finished);
    ensure!(run.seen.pages > 0, "the server saw no page of it");
    Ok(RowRun { stopped, ..run })
}

impl RowRun {
    fn new(name: &str, does: &str, seen: Seen, finished: &Finished) -> Self {
        Self {
            name: name.to_owned(),
            does: does.to_owned(),
            indexed: None,
            stopped: false,
            quarters: None,
            cost: finished.cost,
            machine_cores: finished.machine_cores(),
            tail_seconds: seen.last_page_at.map_or(0.0, |last| (finished.ended_at() - last).max(0.0)),
            seen,
        }
    }

    pub fn pages_per_second(&self) -> f64 {
        self.seen.pages as f64 / self.cost.seconds
    }

    pub fn cpu_per_1000(&self) -> f64 {
        self.cost.cpu_seconds * 1000.0 / self.seen.pages as f64
    }

    /// Part of the crawl's time in which nothing was fetched any more, in percent.
    pub fn tail_percent(&self) -> f64 {
        100.0 * self.tail_seconds / self.cost.seconds
    }
}
