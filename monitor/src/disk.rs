//! How full the disk is, and whether that is a reason to stop fetching before anything fails to be written.
//!
//! Fetching stops below a share of free space and goes on when there is clearly more again, so that it does not stop and
//! go all the time. Pure, but for [`space_at`].

use std::path::Path;

/// How much more must be free, as a share of the limit, before fetching goes on.
const MARGIN: f64 = 0.2;
/// On a large disk a small share is plenty: with so many bytes free nothing is stopped.
const ALWAYS_ENOUGH_BYTES: u64 = 20 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub free_bytes: u64,
    pub total_bytes: u64,
}

/// The file system that holds the path; `None` when the system does not say.
pub fn space_at(path: &Path) -> Option<Space> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(Space {
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
    })
}

impl Space {
    pub fn free_percent(&self) -> f64 {
        self.free_bytes as f64 * 100.0 / self.total_bytes.max(1) as f64
    }
}

/// Whether fetching should rest now.
pub fn too_full(space: Space, min_free_percent: f64, resting: bool) -> bool {
    let limit = if resting { min_free_percent * (1.0 + MARGIN) } else { min_free_percent };
    space.free_bytes < ALWAYS_ENOUGH_BYTES && space.free_percent() < limit.min(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(free: u64) -> Space {
        Space { free_bytes: free << 20, total_bytes: 100 << 20 }
    }

    #[test]
    fn fetching_rests_below_the_limit_and_goes_on_clearly_above_it() {
        assert!(too_full(percent(4), 5.0, false));
        assert!(!too_full(percent(5), 5.0, false));
        assert!(too_full(percent(5), 5.0, true), "not enough more yet");
        assert!(!too_full(percent(6), 5.0, true));
        assert!(!too_full(Space { free_bytes: 30 << 30, total_bytes: 10 << 40 }, 5.0, false), "plenty on a large disk");
    }

    #[test]
    fn the_disk_that_holds_a_directory_has_a_size() {
        let space = space_at(Path::new(".")).unwrap();
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes);
    }
}
