//! Carries through what a person wants forgotten: it leaves the frontier, every log and the index.
//!
//! The keeper has it as a durable record before anything is done, and drops that at the end. In between this task asks for the
//! pages, withdraws them in the logs that do not have it yet, and waits until the index has taken that in. Broken off anywhere
//! it begins again, in the next process if need be: every step may be done twice. A log whose filesaver does not run is told
//! when that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use seine_common::clock::Clock;
use seine_node::membership::{Filesavers, KnownPeers};
use seine_node::transport::Channel;
use seine_proto::common::v1::Withdrawn;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{DamagedStretch, WithdrawRequest};
use seine_proto::indexer::v1::indexer_client::IndexerClient;
use seine_proto::indexer::v1::{FlushRequest, StatusRequest};
use seine_proto::monitor::v1::{ForgetProgress, forget_request};
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::{Response, Status};

use crate::keeper::Command;
use crate::record::ForgettingRecord;
use crate::{Monitor, MonitorError};

/// Between two attempts at what could not be carried through: from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest that another tier may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Clones are the same.
#[derive(Clone)]
pub struct Forgetting {
    monitor: Monitor,
    filesavers: Filesavers,
    indexer: IndexerClient<Channel>,
    wake: Arc<Notify>,
    /// Progress of those that somebody waits for.
    watched: Arc<Mutex<BTreeMap<u64, watch::Sender<ForgetProgress>>>>,
}

/// Why one was not carried through.
enum Stop {
    /// It is not wanted any more.
    Over,
    Failed(String),
}

impl From<MonitorError> for Stop {
    fn from(error: MonitorError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Ends of logs that the index has to reach, of each forgetting whose pages are withdrawn.
type Unread = BTreeMap<u64, BTreeMap<String, u64>>;

impl Forgetting {
    pub fn new(monitor: Monitor, filesavers: Filesavers, indexer: Channel) -> Self {
        let (wake, watched) = Default::default();
        Self { monitor, filesavers, indexer: IndexerClient::new(indexer), wake, watched }
    }

    /// Answers once it is sure to be carried through. The sender is dropped at the end.
    pub(crate) async fn begin(
        &self,
        what: Option<forget_request::What>,
    ) -> Result<watch::Receiver<ForgetProgress>, MonitorError> {
        let this = self.clone();
        // By itself: whoever asks may be gone before it is begun, and then it is carried through all the same.
        let begun = tokio::spawn(async move {
            // Held, so that it is not over before it is watched.
            let mut watched = this.watched.lock().await;
            let record = this.monitor.ask(|answer| Command::BeginForgetting { what, answer }).await?;
            let (progress, told) = watch::channel(ForgetProgress::default());
            watched.insert(record.id, progress);
            this.wake.notify_one();
            Ok(told)
        });
        begun.await.unwrap_or_else(|error| Err(MonitorError::Stopped(error.to_string())))
    }

    /// Something was taken back: whoever waits for that hears it.
    pub(crate) fn look_again(&self) {
        self.wake.notify_one();
    }

    /// Works until told to stop.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Infallible> {
        let mut changes = self.filesavers.changes();
        let (mut unread, mut is_first, mut pause) = (Unread::new(), true, FIRST_PAUSE);
        loop {
            let is_all_done = tokio::select! {
                is_all_done = self.carry_all_through(&mut unread, is_first) => is_all_done,
                () = stop.cancelled() => return Ok(()),
            };
            is_first = false;
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                // A filesaver has come or gone.
                _ = changes.changed() => pause = FIRST_PAUSE,
                () = self.wake.notified() => pause = FIRST_PAUSE,
                () = tokio::time::sleep(pause), if !is_all_done => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    /// False when something is to be tried again.
    async fn carry_all_through(&self, unread: &mut Unread, is_first: bool) -> bool {
        let mut is_all_done = true;
        let records = self.records().await;
        unread.retain(|id, _| records.iter().any(|record| record.id == *id));
        for record in records {
            let untold = self.untold(&record);
            if untold.is_empty() && record.logs.is_empty() {
                let waits_for = "no node runs the filesaver; start one with `seine node --roles filesaver`";
                self.tell(record.id, |progress| waits_for.clone_into(&mut progress.waits_for)).await;
                continue;
            }
            // What waits for filesavers that are away is looked at again when one comes, and by the next process.
            if untold.is_empty() && !unread.contains_key(&record.id) && !is_first {
                continue;
            }
            match self.carry_through(&record, untold, unread).await {
                Ok(()) => {}
                // Whoever waits for it hears that it has ended.
                Err(Stop::Over) => drop(self.watched.lock().await.remove(&record.id)),
                Err(Stop::Failed(reason)) => {
                    tracing::warn!(
                        url = record.url,
                        host = record.host,
                        reason,
                        "cannot be forgotten yet; trying again"
                    );
                    self.tell(record.id, |progress| progress.waits_for = reason).await;
                    is_all_done = false;
                }
            }
        }
        is_all_done
    }

    async fn records(&self) -> Vec<ForgettingRecord> {
        let mut watched = self.watched.lock().await;
        // An error means that the keeper has ended, and with it this process.
        let Ok(records) = self.monitor.ask(|answer| Command::Forgettings { answer }).await else { return Vec::new() };
        watched.retain(|id, _| records.iter().any(|record| record.id == *id));
        records
    }

    fn untold(&self, record: &ForgettingRecord) -> KnownPeers {
        self.filesavers.all().into_iter().filter(|(log_id, _)| !record.logs.contains(log_id)).collect()
    }

    async fn carry_through(
        &self,
        record: &ForgettingRecord,
        untold: KnownPeers,
        unread: &mut Unread,
    ) -> Result<(), Stop> {
        let (id, mut told, mut failure) = (record.id, BTreeSet::from_iter(record.logs.iter().cloned()), None);
        if !untold.is_empty() {
            let (ends, failed) = self.withdraw(id, untold).await?;
            failure = failed;
            told.extend(ends.keys().cloned());
            let logs: Vec<String> = ends.keys().cloned().collect();
            unread.entry(id).or_default().extend(ends);
            // Kept before the index is waited for, which may be far behind: no log is told twice for that.
            if !self.monitor.ask(|answer| Command::ToldLogs { id, logs, answer }).await? {
                return Err(Stop::Over);
            }
        }
        let damaged = self.flush(unread.entry(id).or_default()).await?;
        if let Some(reason) = failure {
            return Err(Stop::Failed(reason));
        }
        let away: Vec<String> = self.logs().await?.into_iter().filter(|log_id| !told.contains(log_id)).collect();
        if away.is_empty() && !self.monitor.ask(|answer| Command::EndForgetting { id, answer }).await? {
            return Err(Stop::Over);
        }
        unread.remove(&id);
        tracing::info!(url = record.url, host = record.host, ?away, "forgotten");
        self.tell(id, |progress| {
            let pages = progress.pages;
            *progress = ForgetProgress { done: true, pages, away, damaged, ..ForgetProgress::default() };
        })
        .await;
        self.watched.lock().await.remove(&id);
        Ok(())
    }

    /// The frontier forgets first, so that nothing brings a page back. Gives the ends of the logs that have all of it, and
    /// what was wrong with one that does not.
    async fn withdraw(&self, id: u64, mut logs: KnownPeers) -> Result<(BTreeMap<String, u64>, Option<String>), Stop> {
        let (mut cursor, mut ends, mut count, mut failure) = (Vec::new(), BTreeMap::new(), 0, None);
        loop {
            let found = self.monitor.ask(|answer| Command::ForgetSome { id, cursor, answer }).await?;
            let found = found.ok_or(Stop::Over)?;
            count += found.urls.len() as u64;
            let (at_ms, epoch, token) = (Clock::System.now_ms(), found.epoch, found.token);
            let pages: Vec<Withdrawn> =
                found.urls.into_iter().map(|url| Withdrawn { url, at_ms, token, epoch }).collect();
            // Into every log, so that each tells it by itself. One that cannot take it now holds up no other.
            for (log_id, route) in std::mem::take(&mut logs) {
                let mut client = FilesaverClient::new(route.channel.clone());
                let request = WithdrawRequest { pages: pages.clone() };
                match answered(&format!("filesaver with log {log_id}"), client.withdraw(request)).await {
                    Ok(answer) => {
                        ends.insert(log_id.clone(), answer.end_offset);
                        logs.insert(log_id, route);
                    }
                    Err(reason) => {
                        ends.remove(&log_id);
                        failure = Some(reason);
                    }
                }
            }
            self.tell(id, |progress| *progress = ForgetProgress { pages: count, ..ForgetProgress::default() }).await;
            cursor = found.cursor;
            if cursor.is_empty() {
                return Ok((ends, failure));
            }
        }
    }

    /// Waits until the index has what is unread, which becomes less with every log.
    async fn flush(&self, unread: &mut BTreeMap<String, u64>) -> Result<Vec<DamagedStretch>, Stop> {
        let mut damaged = Vec::new();
        while let Some((log_id, until_offset)) = unread.first_key_value().map(|(log_id, end)| (log_id.clone(), *end)) {
            let request = FlushRequest { log_id, until_offset };
            let flushed = answered("indexer", self.indexer.clone().flush(request)).await.map_err(Stop::Failed)?;
            damaged.extend(flushed.damaged);
            unread.pop_first();
        }
        Ok(damaged)
    }

    /// Those that run, and those that the index has pages of.
    async fn logs(&self) -> Result<BTreeSet<String>, Stop> {
        let mut logs: BTreeSet<String> = self.filesavers.all().into_keys().collect();
        let status = answered("indexer", self.indexer.clone().status(StatusRequest::default())).await;
        let committed = status.map_err(Stop::Failed)?.committed.into_iter();
        logs.extend(committed.filter(|(_, offset)| *offset > 0).map(|(log_id, _)| log_id));
        Ok(logs)
    }

    async fn tell(&self, id: u64, change: impl FnOnce(&mut ForgetProgress)) {
        if let Some(progress) = self.watched.lock().await.get(&id) {
            progress.send_modify(change);
        }
    }
}

/// An error says who did not answer, and why.
async fn answered<T>(who: &str, call: impl Future<Output = Result<Response<T>, Status>>) -> Result<T, String> {
    match timeout(PATIENCE, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(format!("the {who}: {}", status.message())),
        Err(_) => Err(format!("the {who} does not answer")),
    }
}
