//! Tells every few seconds how far the index is behind each description log.

use std::sync::Arc;
use std::time::Duration;

use seine_node::membership::Filesavers;
use seine_node::transport::Channel;
use seine_proto::filesaver::v1::LogEndRequest;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use tokio::time::{sleep, timeout};

use crate::indexer::Shared;
use crate::metrics;

const SAMPLE_EVERY: Duration = Duration::from_secs(5);
/// A filesaver that takes longer is away, and nothing is told of its log.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Until it is dropped.
pub(crate) async fn sample(shared: Arc<Shared>, filesavers: Filesavers) {
    loop {
        let mut lag = Vec::new();
        for (log_id, route) in filesavers.all() {
            // Asked for first: what is committed meanwhile must not count twice.
            let Some(end) = log_end(route.channel).await else { continue };
            let committed = shared.committed().get(&log_id).map_or(0, |log| log.offset);
            lag.push((log_id, end.saturating_sub(committed) as f64));
        }
        metrics::set_lag(lag);
        let committed = shared.committed().into_iter().map(|(log_id, log)| (log_id, log.offset as f64));
        metrics::set_committed(committed.collect());
        sleep(SAMPLE_EVERY).await;
    }
}

async fn log_end(filesaver: Channel) -> Option<u64> {
    let mut filesaver = FilesaverClient::new(filesaver);
    let answer = timeout(ANSWER_TIMEOUT, filesaver.log_end(LogEndRequest {})).await.ok()?.ok()?;
    Some(answer.into_inner().end_offset)
}
