//! Followers of the log: everything durable from an offset on, then what becomes durable, as it does.
//!
//! Each follower reads the files itself, at its own pace; the writer only publishes how far they may read. A follower is
//! told what was damaged and goes on behind it.

use std::sync::Arc;

use futures::Stream;
use seine_proto::filesaver::v1::log_entry::Entry;
use seine_proto::filesaver::v1::{DamagedStretch, FollowRequest, FollowResponse, LogEntry, LogMark};
use tokio::sync::watch;

use super::Shared;
use super::description_log::reader::{Batch, EntryName, LogReader};
use crate::error::Error;

struct Follower {
    shared: Arc<Shared>,
    durable_end: watch::Receiver<u64>,
    /// Taken out while it reads on another thread.
    reader: Option<LogReader>,
    offset: u64,
    /// The last entry before the offset.
    last: Option<EntryName>,
    /// The reader was told that it has everything up to `offset`.
    told_end: bool,
}

/// Fails at once where the offset is not one that the log gave.
pub(crate) async fn follow(
    shared: Arc<Shared>,
    request: FollowRequest,
) -> Result<impl Stream<Item = Result<FollowResponse, Error>> + Send + 'static, Error> {
    let FollowRequest { from_offset: offset, mark } = request;
    let last = mark.map(|LogMark { offset, checksum }| EntryName { offset, checksum });
    let durable_end = shared.durable_end.clone();
    let end = *durable_end.borrow();
    let mut reader = LogReader::new(shared.segments.clone());
    let (reader, checked) = blocking(move || {
        let checked = reader.check(offset, last, end);
        (reader, checked)
    })
    .await?;
    checked?;
    let follower = Follower { shared, durable_end, reader: Some(reader), offset, last, told_end: false };
    Ok(futures::stream::unfold(Some(follower), |follower| async move {
        let mut follower = follower?;
        match follower.next().await {
            Ok(Some(response)) => Some((Ok(response), Some(follower))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    }))
}

impl Follower {
    /// The next batch, or `None` when the filesaver closes.
    async fn next(&mut self) -> Result<Option<FollowResponse>, Error> {
        loop {
            let end = *self.durable_end.borrow_and_update();
            if self.offset < end {
                return self.read(end).await.map(Some);
            }
            if !self.told_end {
                self.told_end = true;
                return Ok(Some(self.response(Batch::default(), true)));
            }
            tokio::select! {
                changed = self.durable_end.changed() => if changed.is_err() { return Ok(None) },
                () = self.shared.closing.cancelled() => return Ok(None),
            }
        }
    }

    async fn read(&mut self, end: u64) -> Result<FollowResponse, Error> {
        let mut reader = self.reader.take().unwrap_or_else(|| LogReader::new(self.shared.segments.clone()));
        let offset = self.offset;
        let (reader, batch) = blocking(move || {
            let batch = reader.read(offset, end);
            (reader, batch)
        })
        .await?;
        self.reader = Some(reader);
        let batch = batch?;
        self.offset = batch.end;
        self.last = batch.last.or(self.last);
        self.told_end = self.offset == *self.durable_end.borrow();
        Ok(self.response(batch, self.told_end))
    }

    fn response(&self, mut batch: Batch, at_end: bool) -> FollowResponse {
        for entry in &mut batch.entries {
            if let LogEntry { entry: Some(Entry::Description(page)) } = entry {
                page.archive = page.archive.take().map(|position| self.shared.here(position));
            }
        }
        let damaged = batch.damaged.map(|damaged| DamagedStretch {
            start: damaged.start,
            end: damaged.end,
            reason: damaged.reason.to_owned(),
        });
        FollowResponse {
            log_id: self.shared.log_id.to_string(),
            entries: batch.entries,
            end_offset: self.offset,
            at_end,
            mark: self.last.map(|last| LogMark { offset: last.offset, checksum: last.checksum }),
            damaged: damaged.into_iter().collect(),
        }
    }
}

/// Reading waits for the disk more than it computes, so it does not take a place in the CPU pool.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Panicked(error.to_string()))
}
