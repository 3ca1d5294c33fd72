//! Watches the disks of the tiers in this process and reports those that are nearly full, before anything fails to be
//! written. What follows from that is the Monitor's to decide.

use std::path::PathBuf;
use std::time::Duration;

use seine_common::disk::{DiskWatch, Space};
use seine_node::health::{Condition, HealthBoard, Reporter};
use seine_node::telemetry::families::set_gauges;
use tokio_util::sync::CancellationToken;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks at the directories of these tiers until told to stop.
pub fn watch(
    tiers: Vec<(&'static str, PathBuf)>,
    min_free_percent: f64,
    board: &HealthBoard,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), String>> + Send + 'static {
    let watched = |(tier, path)| Watched {
        tier,
        disk: DiskWatch::new(path, min_free_percent),
        reporter: board.reporter(tier, "disk"),
    };
    let mut disks: Vec<_> = tiers.into_iter().map(watched).collect();
    async move {
        loop {
            let looking = tokio::task::spawn_blocking(move || {
                let spaces = disks.iter_mut().map(|watched| (watched.tier, watched.look())).collect::<Vec<_>>();
                tell(&spaces);
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

struct Watched {
    tier: &'static str,
    disk: DiskWatch,
    reporter: Reporter,
}

impl Watched {
    fn look(&mut self) -> Option<Space> {
        let space = self.disk.space();
        self.reporter.report(match self.disk.judge(space) {
            Some(reason) => Condition::Pausing(reason),
            None => Condition::Well,
        });
        space
    }
}

/// For `/metrics`.
fn tell(spaces: &[(&'static str, Option<Space>)]) {
    let series = |bytes: fn(&Space) -> u64| {
        let known = spaces.iter().filter_map(|(tier, space)| Some((*tier, space.as_ref()?)));
        known.map(|(tier, space)| (tier.to_owned(), bytes(space) as f64)).collect()
    };
    let (free, total) = (series(|space| space.bytes.free), series(|space| space.bytes.total));
    set_gauges("seine_disk_free_bytes", "Free on the disk that holds the tier's data.", "tier", free);
    set_gauges("seine_disk_total_bytes", "Size of the disk that holds the tier's data.", "tier", total);
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
