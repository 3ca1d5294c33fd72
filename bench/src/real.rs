//! Crawls as a user has them: real documentation behind nginx, one large host, and many hosts that answer late.
//!
//! Each [`row`](Row) is one web. Seine, its [`fetching`] alone and the other crawlers take it one after the other, with as many
//! connections each, and the server counts their pages ([`seen`]). With a second Seine program the two take each row in turns,
//! without the others.

mod seen;
mod nginx;
mod row;
mod quarters;
mod crawl;
mod fetching;
mod table;

use std::path::Path;

use serde::Serialize;

use crate::args::Args;
use crate::pairs::{self, Pair};
use crate::peers::Peer;
use crate::seine::Contender;

pub use crawl::RowRun;
pub use fetching::run_here as fetch_here;
use row::Row;
pub use row::RowName;

/// What one row came to: either runs or pairs.
#[derive(Debug, Serialize)]
pub struct RowReport {
    pub row: RowName,
    pub title: String,
    /// Seine first.
    pub runs: Vec<RowRun>,
    pub pairs: Vec<Pair<RowRun>>,
}

pub async fn run(args: &Args, work: &Path, remarks: &mut Vec<String>) -> anyhow::Result<Vec<RowReport>> {
    let mut reports = Vec::new();
    for name in RowName::ALL.into_iter().filter(|name| args.wants_row(*name)) {
        let Some(row) = start(name, args, work, remarks).await? else { continue };
        let mut seine = args.contender()?;
        if let Some(directory) = &args.profile {
            seine = seine.recorded(directory.join(format!("{}.perf", name.text())));
        }
        let mut runs = vec![crawl::by_seine(&row, &seine, work).await?];
        if args.profile.is_none() {
            runs.push(crawl::by_fetching(&row, work).await?);
        }
        for peer in Peer::ALL.into_iter().filter(|_| !args.no_peers && args.profile.is_none()) {
            match crawl::by_peer(&row, peer, work).await {
                Ok(run) => runs.push(run),
                Err(error) => remarks.push(format!("{} is left out of row {name:?}: {error:#}", peer.name())),
            }
        }
        reports.push(RowReport { row: name, title: row.title, runs, pairs: Vec::new() });
    }
    Ok(reports)
}

/// The rows by two Seine programs in turns.
pub async fn compare(
    args: &Args,
    now: &Contender,
    before: &Contender,
    work: &Path,
    remarks: &mut Vec<String>,
) -> anyhow::Result<Vec<RowReport>> {
    let mut reports = Vec::new();
    for name in RowName::ALL.into_iter().filter(|name| args.wants_row(*name)) {
        let Some(row) = start(name, args, work, remarks).await? else { continue };
        let pairs = pairs::compare(&row, now, before, args.pairs, work, crawl::by_seine).await?;
        reports.push(RowReport { row: name, title: row.title, runs: Vec::new(), pairs });
    }
    Ok(reports)
}

/// None, with a remark, when there are no real pages here.
async fn start(name: RowName, args: &Args, work: &Path, remarks: &mut Vec<String>) -> anyhow::Result<Option<Row>> {
    let row = Row::start(name, args.pages, args.hosts, work).await?;
    if row.is_none() {
        let variable = nginx::PACKAGES_VARIABLE;
        remarks
            .push(format!("row {name:?} is left out: {variable} does not say where real pages are; make bench does"));
    }
    Ok(row)
}
