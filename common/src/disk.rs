//! How full a disk is, and whether that is a reason to stop fetching before anything fails to be written.
//!
//! Fetching stops below a share of free space, or of free inodes, and goes on when there is clearly more again, so that it
//! does not stop and go all the time. Pure, but for [`DiskWatch::space`].

use std::path::PathBuf;

/// How much more must be free, as a share of the limit, before fetching goes on.
const MARGIN: f64 = 0.2;
/// On a large disk a small share is plenty: with so much free nothing is stopped.
const PLENTY_OF_BYTES: u64 = 20 << 30;
const PLENTY_OF_INODES: u64 = 1 << 20;

/// How much there is of something, and how much of it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    pub free: u64,
    /// 0 where the file system does not count it.
    pub total: u64,
}

impl Supply {
    fn free_percent(&self) -> f64 {
        self.free as f64 * 100.0 / self.total.max(1) as f64
    }

    fn is_short(&self, plenty: u64, min_free_percent: f64) -> bool {
        self.total > 0 && self.free < plenty && self.free_percent() < min_free_percent.min(100.0)
    }
}

/// What a file system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub bytes: Supply,
    pub inodes: Supply,
}

impl Space {
    /// What there is too little of, in words. `resting` when there was too little already.
    pub fn shortage(&self, min_free_percent: f64, resting: bool) -> Option<String> {
        let limit = if resting { min_free_percent * (1.0 + MARGIN) } else { min_free_percent };
        if self.bytes.is_short(PLENTY_OF_BYTES, limit) {
            return Some(format!("{:.1} % free", self.bytes.free_percent()));
        }
        let inodes_short = self.inodes.is_short(PLENTY_OF_INODES, limit);
        inodes_short.then(|| format!("{:.1} % of its inodes free", self.inodes.free_percent()))
    }
}

/// Watches the disk that holds a directory.
#[derive(Debug)]
pub struct DiskWatch {
    path: PathBuf,
    min_free_percent: f64,
    resting: bool,
}

impl DiskWatch {
    pub fn new(path: PathBuf, min_free_percent: f64) -> Self {
        Self { path, min_free_percent, resting: false }
    }

    /// What there is; `None` when the system does not say.
    pub fn space(&self) -> Option<Space> {
        let found = rustix::fs::statvfs(&self.path).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Space {
            bytes: Supply { free: bytes(found.f_bavail), total: bytes(found.f_blocks) },
            inodes: Supply { free: found.f_favail, total: found.f_files },
        })
    }

    /// Why fetching should rest with so much; `None` too when that is not known.
    pub fn judge(&mut self, space: Option<Space>) -> Option<String> {
        let space = space?;
        let shortage = space.shortage(self.min_free_percent, self.resting);
        self.resting = shortage.is_some();
        shortage.map(|shortage| format!("paused: the disk of {} has {shortage}", self.path.display()))
    }

    /// Looks and judges.
    pub fn look(&mut self) -> Option<String> {
        self.judge(self.space())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: Supply = Supply { free: 40 << 30, total: 80 << 30 };

    fn percent(free: u64) -> Supply {
        Supply { free: free << 10, total: 100 << 10 }
    }

    #[test]
    fn fetching_rests_below_the_limit_and_goes_on_clearly_above_it() {
        for space in [
            |free| Space { bytes: percent(free), inodes: PLENTY },
            |free| Space { bytes: PLENTY, inodes: percent(free) },
        ] {
            assert!(space(4).shortage(5.0, false).is_some_and(|shortage| shortage.starts_with("4.0 %")));
            assert_eq!(space(5).shortage(5.0, false), None);
            assert!(space(5).shortage(5.0, true).is_some(), "not enough more yet");
            assert_eq!(space(6).shortage(5.0, true), None);
        }
        let large = Space { bytes: Supply { free: 30 << 30, total: 10 << 40 }, inodes: PLENTY };
        assert_eq!(large.shortage(5.0, false), None, "plenty on a large disk");
        let uncounted = Space { bytes: PLENTY, inodes: Supply { free: 0, total: 0 } };
        assert_eq!(uncounted.shortage(5.0, false), None, "some file systems make inodes as they need them");
    }

    #[test]
    fn the_disk_that_holds_a_directory_is_named() {
        let mut watch = DiskWatch::new(".".into(), 0.0);
        assert_eq!(watch.look(), None);
        assert_eq!(DiskWatch::new("/there/is/no/such/directory".into(), 5.0).look(), None);
    }
}
