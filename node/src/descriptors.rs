//! File descriptors of this process: how many it may open, and which share of them servers may give to connections, so
//! that stores always find one for a file.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Nobody needs more; where the system sets no maximum, this is ours.
const ENOUGH: u64 = 1 << 16;

/// Raises the limit as far as the system lets a process do so by itself.
pub fn raise() -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })?)
}

/// One part in so many of all descriptors.
pub fn part(divisor: u64) -> usize {
    let all = getrlimit(Resource::Nofile).current.unwrap_or(ENOUGH);
    usize::try_from(all / divisor).unwrap_or(usize::MAX).max(1)
}
