//! The newest version of every page, read from all description logs in two passes.
//!
//! The first pass notes for each URL which entry is its newest, by a fingerprint of the URL and the entry's number, counted
//! through one log after the other; the second hands out just those entries that describe a page. So memory holds some 60
//! bytes for a page, whatever its length. What is logged after the first pass is not looked at.

use std::collections::BTreeSet;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use seine_indexer::version::Version;
use seine_proto::common::v1::{ArchivePosition, Description};
use seine_proto::filesaver::v1::{FollowRequest, FollowResponse, LogEntry, log_entry::Entry};
use tonic::Streaming;

use super::selection::Selection;
use super::url_map::UrlMap;
use crate::connect::FilesaverCalls;
use crate::failure::{Failure, Result};
use crate::filesavers::Answering;
use crate::output::damage_text;

pub struct Pages {
    /// Each with where the first pass ends in its log.
    filesavers: Vec<Answering>,
    selection: Selection,
    newest: Newest,
    pass: Pass,
    /// Where damage begins that was told, by log.
    told: BTreeSet<(usize, u64)>,
    progress: ProgressBar,
}

/// One walk over the logs.
#[derive(Default)]
struct Pass {
    /// The log that is read.
    log: usize,
    /// Absent before the first batch of it.
    batches: Option<Streaming<FollowResponse>>,
    offset: u64,
    /// Number of the next entry.
    next: u64,
    /// Bytes of the logs before it.
    before: u64,
}

impl Pages {
    /// Does the first pass.
    pub async fn find(filesavers: Vec<Answering>, selection: Selection) -> Result<Self> {
        let progress = progress(filesavers.iter().map(|filesaver| filesaver.end_offset).sum());
        let (newest, pass, told) = (Newest::default(), Pass::default(), BTreeSet::new());
        let mut pages = Self { filesavers, selection, newest, pass, told, progress };
        let mut crawls = BTreeSet::new();
        while let Some((first, batch)) = pages.next_entries().await? {
            for (number, entry) in (first..).zip(&batch) {
                if let Some(Entry::Description(page)) = &entry.entry
                    && !crawls.contains(&page.crawl)
                {
                    crawls.insert(page.crawl.clone());
                }
                if pages.selection.considers(entry) {
                    pages.newest.note(number, entry);
                }
            }
        }
        pages.selection.check_crawl(&crawls)?;
        Ok(pages)
    }

    /// The next pages; a new pass begins after `None`.
    pub async fn next_batch(&mut self) -> Result<Option<Vec<Description>>> {
        let Some((first, batch)) = self.next_entries().await? else { return Ok(None) };
        let pages = (first..).zip(batch).filter_map(|(number, entry)| match entry.entry {
            Some(Entry::Description(page)) => Some((number, page)),
            _ => None,
        });
        let wanted = pages.filter(|(number, page)| self.newest.is(*number, &page.url) && self.selection.takes(page));
        Ok(Some(wanted.map(|(_, page)| page).collect()))
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// All, for reading their archives beside the logs.
    pub fn filesavers(&self) -> impl Iterator<Item = FilesaverCalls> {
        self.filesavers.iter().map(|filesaver| filesaver.client.clone())
    }

    /// The one that has what stands at a position.
    pub fn filesaver(&self, position: &ArchivePosition) -> Result<FilesaverCalls> {
        let named = self.filesavers.iter().find(|filesaver| filesaver.log_id == position.filesaver);
        let found = named.map(|filesaver| filesaver.client.clone());
        found.ok_or_else(|| {
            Failure::failed(format!("the filesaver with log {} went away; try again", position.filesaver))
        })
    }

    /// The next entries up to the end, and the number of the first of them.
    async fn next_entries(&mut self) -> Result<Option<(u64, Vec<LogEntry>)>> {
        let pass = &mut self.pass;
        let filesaver = loop {
            let Some(filesaver) = self.filesavers.get_mut(pass.log) else {
                self.progress.finish_and_clear();
                *pass = Pass::default();
                return Ok(None);
            };
            if pass.offset < filesaver.end_offset {
                break filesaver;
            }
            let before = pass.before + filesaver.end_offset;
            *pass = Pass { log: pass.log + 1, next: pass.next, before, ..Pass::default() };
        };
        let batches = match &mut pass.batches {
            Some(batches) => batches,
            None => pass.batches.insert(filesaver.client.follow(FollowRequest::default()).await?.into_inner()),
        };
        let batch = batches.message().await?;
        let batch = batch.ok_or_else(|| Failure::failed("the server stopped before the export was done; try again"))?;
        for stretch in batch.damaged.iter().filter(|stretch| self.told.insert((pass.log, stretch.start))) {
            eprintln!("{}; it is left out", damage_text(stretch));
        }
        let first = pass.next;
        pass.next += batch.entries.len() as u64;
        pass.offset = batch.end_offset;
        self.progress.set_position(pass.before + pass.offset.min(filesaver.end_offset));
        self.progress.set_message(format!("{} entries", HumanCount(pass.next)));
        Ok(Some((first, batch.entries)))
    }
}

/// On standard error, and only on a terminal.
fn progress(end: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(end), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:24} {bytes}/{total_bytes} of the logs, {msg}");
    bar.with_style(style.expect("the template is valid").progress_chars("█▓░"))
}

/// Which entry is the newest of each URL.
#[derive(Default)]
struct Newest {
    latest: UrlMap<Latest>,
}

/// Of two equal versions, the later entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Latest {
    version: Version,
    number: u64,
}

impl Newest {
    fn note(&mut self, number: u64, entry: &LogEntry) {
        let (url, version) = match &entry.entry {
            // Pages that are not for the index are exported.
            Some(Entry::Description(page)) => (&page.url, Version { gone: false, ..Version::of_page(page) }),
            Some(Entry::Withdrawn(gone)) => (&gone.url, Version::of_withdrawal(gone)),
            None => return,
        };
        let found = Latest { version, number };
        let latest = self.latest.entry(url, found);
        *latest = (*latest).max(found);
    }

    fn is(&self, number: u64, url: &str) -> bool {
        self.latest.get(url).is_some_and(|latest| !latest.version.gone && latest.number == number)
    }
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::Withdrawn;

    use super::*;

    fn page(url: &str, at_ms: i64) -> LogEntry {
        let page = Description { url: url.into(), fetched_at_ms: at_ms, ..Description::default() };
        LogEntry { entry: Some(Entry::Description(page)) }
    }

    fn gone(url: &str, at_ms: i64) -> LogEntry {
        LogEntry { entry: Some(Entry::Withdrawn(Withdrawn { url: url.into(), at_ms, ..Withdrawn::default() })) }
    }

    fn kept(log: &[LogEntry]) -> Vec<u64> {
        let mut newest = Newest::default();
        for (number, entry) in (0..).zip(log) {
            newest.note(number, entry);
        }
        let url = |entry: &LogEntry| match &entry.entry {
            Some(Entry::Description(page)) => page.url.clone(),
            _ => String::new(),
        };
        (0..).zip(log).filter(|(number, entry)| newest.is(*number, &url(entry))).map(|(number, _)| number).collect()
    }

    #[test]
    fn of_two_versions_the_later_is_kept_in_whatever_order_they_were_logged() {
        assert_eq!(kept(&[page("a", 1), page("b", 1), page("a", 2)]), [1, 2]);
        assert_eq!(kept(&[page("a", 2), page("a", 1)]), [0]);
        assert_eq!(kept(&[page("a", 1), page("a", 1)]), [1]);
    }

    #[test]
    fn a_withdrawn_page_is_left_out_until_it_is_fetched_again() {
        assert_eq!(kept(&[page("a", 1), gone("a", 1)]), [0; 0]);
        assert_eq!(kept(&[page("a", 1), gone("a", 2), page("a", 3)]), [2]);
    }
}
