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
use seine_proto::common::v1::Withdrawn;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{DamagedStretch, WithdrawRequest};
use seine_proto::indexer::v1::indexer_client::IndexerClient;
use seine_proto::indexer::v1::{FlushRequest, StatusRequest};
use seine_proto::monitor::v1::{ForgetProgress, forget_request};
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Response, Status};

use crate::frontier::record::ForgettingRecord;
use crate::keeper::Command;
use crate::{Monitor, MonitorError};

/// Between two attempts at what could not be carried through.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How long another tier may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Clones are the same.
#[derive(Clone)]
pub struct Forgetting {
    monitor: Monitor,
    filesavers: Filesavers,
    indexer: IndexerClient<Channel>,
    wake: Arc<Notify>,
    /// How far those are that somebody waits for.
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
        // Held, so that it is not over before it is watched.
        let mut watched = self.watched.lock().await;
        let record = self.monitor.ask(|answer| Command::BeginForgetting { what, answer }).await?;
        let (progress, told) = watch::channel(ForgetProgress::default());
        watched.insert(record.id, progress);
        self.wake.notify_one();
        Ok(told)
    }

    /// Works until told to stop.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Infallible> {
        let mut changes = self.filesavers.changes();
        loop {
            let is_all_done = tokio::select! {
                is_all_done = self.carry_all_through() => is_all_done,
                () = stop.cancelled() => return Ok(()),
            };
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                // A filesaver has come or gone.
                _ = changes.changed() => {}
                () = self.wake.notified() => {}
                () = tokio::time::sleep(AGAIN_AFTER), if !is_all_done => {}
            }
        }
    }

    /// False when something is to be tried again.
    async fn carry_all_through(&self) -> bool {
        let mut is_all_done = true;
        for record in self.records().await {
            let untold = self.untold(&record);
            if untold.is_empty() && record.logs.is_empty() {
                let waits_for = "no node runs the filesaver; start one with `seine node --roles filesaver`";
                self.tell(record.id, |progress| waits_for.clone_into(&mut progress.waits_for)).await;
                continue;
            }
            if let Err(Stop::Failed(reason)) = self.carry_through(&record, untold).await {
                tracing::warn!(url = record.url, host = record.host, reason, "cannot be forgotten yet; trying again");
                self.tell(record.id, |progress| progress.waits_for = reason).await;
                is_all_done = false;
            }
        }
        is_all_done
    }

    async fn records(&self) -> Vec<ForgettingRecord> {
        let mut watched = self.watched.lock().await;
        // An error means that the keeper has ended, and with it this process.
        let records = self.monitor.ask(|answer| Command::Forgettings { answer }).await.unwrap_or_default();
        watched.retain(|id, _| records.iter().any(|record| record.id == *id));
        records
    }

    fn untold(&self, record: &ForgettingRecord) -> KnownPeers {
        self.filesavers.all().into_iter().filter(|(log_id, _)| !record.logs.contains(log_id)).collect()
    }

    async fn carry_through(&self, record: &ForgettingRecord, untold: KnownPeers) -> Result<(), Stop> {
        let mut damaged = Vec::new();
        if !untold.is_empty() {
            let ends = self.withdraw(record, &untold).await?;
            damaged = self.flush(ends).await?;
        }
        let mut told: BTreeSet<String> = record.logs.iter().cloned().collect();
        told.extend(untold.into_keys());
        let away: Vec<String> = self.logs().await?.into_iter().filter(|log_id| !told.contains(log_id)).collect();
        let id = record.id;
        match away.is_empty() {
            true => self.monitor.ask(|answer| Command::EndForgetting { id, answer }).await?,
            false => {
                let logs = told.into_iter().collect();
                self.monitor.ask(|answer| Command::ToldLogs { id, logs, answer }).await?;
            }
        }
        tracing::info!(url = record.url, host = record.host, ?away, "forgotten");
        self.tell(id, |progress| {
            *progress = ForgetProgress { done: true, pages: progress.pages, away, damaged, ..ForgetProgress::default() }
        })
        .await;
        self.watched.lock().await.remove(&id);
        Ok(())
    }

    /// The frontier forgets first, so that nothing brings a page back. Gives the ends of the logs.
    async fn withdraw(&self, record: &ForgettingRecord, logs: &KnownPeers) -> Result<BTreeMap<String, u64>, Stop> {
        let (id, mut cursor, mut ends, mut count) = (record.id, Vec::new(), BTreeMap::new(), 0);
        loop {
            let found = self.monitor.ask(|answer| Command::ForgetSome { id, cursor, answer }).await?;
            let found = found.ok_or(Stop::Over)?;
            count += found.urls.len() as u64;
            let (at_ms, epoch, token) = (Clock::System.now_ms(), found.epoch, found.token);
            let pages: Vec<Withdrawn> =
                found.urls.into_iter().map(|url| Withdrawn { url, at_ms, token, epoch }).collect();
            // Into every log, so that each tells it by itself.
            for (log_id, route) in logs {
                let mut client = FilesaverClient::new(route.channel.clone());
                let request = WithdrawRequest { pages: pages.clone() };
                let answer = answered(&format!("filesaver with log {log_id}"), client.withdraw(request)).await?;
                ends.insert(log_id.clone(), answer.end_offset);
            }
            self.tell(id, |progress| *progress = ForgetProgress { pages: count, ..ForgetProgress::default() }).await;
            cursor = found.cursor;
            if cursor.is_empty() {
                return Ok(ends);
            }
        }
    }

    async fn flush(&self, ends: BTreeMap<String, u64>) -> Result<Vec<DamagedStretch>, Stop> {
        let mut damaged = Vec::new();
        for (log_id, until_offset) in ends {
            let mut indexer = self.indexer.clone();
            damaged.extend(answered("indexer", indexer.flush(FlushRequest { log_id, until_offset })).await?.damaged);
        }
        Ok(damaged)
    }

    /// Those that run, and those that the index has pages of.
    async fn logs(&self) -> Result<BTreeSet<String>, Stop> {
        let mut logs: BTreeSet<String> = self.filesavers.all().into_keys().collect();
        let status = answered("indexer", self.indexer.clone().status(StatusRequest::default())).await?;
        logs.extend(status.committed.into_iter().filter(|(_, offset)| *offset > 0).map(|(log_id, _)| log_id));
        Ok(logs)
    }

    async fn tell(&self, id: u64, change: impl FnOnce(&mut ForgetProgress)) {
        if let Some(progress) = self.watched.lock().await.get(&id) {
            progress.send_modify(change);
        }
    }
}

async fn answered<T>(who: &str, call: impl Future<Output = Result<Response<T>, Status>>) -> Result<T, Stop> {
    match timeout(PATIENCE, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(Stop::Failed(format!("the {who}: {}", status.message()))),
        Err(_) => Err(Stop::Failed(format!("the {who} does not answer"))),
    }
}
