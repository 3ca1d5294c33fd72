//! Tells when a query has no index to read: it reads the files of an indexer, and those are on the indexer's machine.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use seine_node::health::Reporter;
use tokio_util::sync::CancellationToken;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks for it until told to stop; what is missing is told once, and is the trouble of the tier meanwhile.
pub async fn watch(index: PathBuf, health: Reporter, stop: CancellationToken) -> Result<(), Infallible> {
    let mut was_missing = false;
    loop {
        let is_missing = !tokio::fs::try_exists(&index).await.unwrap_or(true);
        if is_missing != was_missing {
            if is_missing {
                let data = index.parent().unwrap_or(&index).display();
                let reason = format!(
                    "there is no index in {data}, so nothing is found here; start the query on the indexer's machine with the \
                     indexer's --data, or run an indexer here with --roles indexer --data {data}"
                );
                tracing::warn!("{reason}");
                health.unwell(reason);
            } else {
                tracing::info!("there is an index now");
                health.well();
            }
            was_missing = is_missing;
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}
