//! Waiting with a deadline.

use std::thread;
use std::time::{Duration, Instant};

const FIRST_INTERVAL: Duration = Duration::from_millis(2);
const LONGEST_INTERVAL: Duration = Duration::from_millis(50);

/// Probes in growing intervals until there is a value; at the deadline gives what the last probe saw instead of one.
pub fn wait<T>(deadline: Duration, mut probe: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let end = Instant::now() + deadline;
    let mut interval = FIRST_INTERVAL;
    loop {
        match probe() {
            Ok(value) => return Ok(value),
            Err(state) if Instant::now() >= end => return Err(state),
            Err(_) => {}
        }
        thread::sleep(interval);
        interval = (interval * 3 / 2).min(LONGEST_INTERVAL);
    }
}
