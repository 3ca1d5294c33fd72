//! Watches the disks of the tiers in this process and reports those that are nearly full, before anything fails to be
//! written. What follows from that is the Monitor's to decide.

use std::path::PathBuf;
use std::time::Duration;

use seine_common::disk::DiskWatch;
use seine_node::health::{Condition, HealthBoard, Reporter};
use tokio_util::sync::CancellationToken;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks at the directories of these tiers until told to stop.
pub fn watch(
    tiers: Vec<(&'static str, PathBuf)>,
    min_free_percent: f64,
    board: &HealthBoard,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), String>> + Send + 'static {
    let watched = |(tier, path)| (DiskWatch::new(path, min_free_percent), board.reporter(tier, "disk"));
    let mut disks: Vec<_> = tiers.into_iter().map(watched).collect();
    async move {
        loop {
            let looking = tokio::task::spawn_blocking(move || {
                disks.iter_mut().for_each(|(disk, reporter)| look(disk, reporter));
                disks
            });
            disks = looking.await.map_err(|error| error.to_string())?;
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}

fn look(disk: &mut DiskWatch, reporter: &Reporter) {
    reporter.report(match disk.look() {
        Some(reason) => Condition::Pausing(reason),
        None => Condition::Well,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_disk_of_each_tier_is_watched() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let board = HealthBoard::default();
        let tiers = vec![("filesaver", one.path().to_owned()), ("indexer", other.path().to_owned())];
        let stop = CancellationToken::new();
        // No disk has so much free, unless it is one of those on which a share says nothing.
        let watching = tokio::spawn(watch(tiers, 100.0, &board, stop.clone()));
        let plenty = |path: &std::path::Path| DiskWatch::new(path.to_owned(), 100.0).look().is_none();
        let mut changes = board.changes();
        for (tier, path) in [("filesaver", one.path()), ("indexer", other.path())] {
            while board.tier(tier) == Condition::Well && !plenty(path) {
                tokio::time::timeout(Duration::from_secs(10), changes.next()).await.expect("it is reported");
            }
            let condition = board.tier(tier);
            assert!(plenty(path) || condition.reason().contains(&path.display().to_string()), "{tier}: {condition}");
        }
        stop.cancel();
        watching.await.unwrap().unwrap();
    }
}
