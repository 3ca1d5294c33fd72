//! Time as a value that tests can move.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// How long the machine has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinceBoot {
    /// Names this run of the machine: times of two are not comparable.
    pub boot: String,
    /// Rounded down to hundredths of a second.
    pub ms: i64,
}

impl SinceBoot {
    fn of_the_kernel() -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        let seconds: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        Some(Self { boot: boot.trim().to_owned(), ms: (seconds * 1000.0) as i64 })
    }
}

/// Tells the time in milliseconds.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    pub fn manual(start_ms: i64) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start_ms)))
    }

    /// Unix time.
    pub fn now_ms(&self) -> i64 {
        match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
            Self::Manual(now) => now.load(Ordering::SeqCst),
        }
    }

    /// Milliseconds since some moment, never going back: for measuring how long something lasted.
    pub fn monotonic_ms(&self) -> i64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Self::System => i64::try_from(START.elapsed().as_millis()).unwrap_or(i64::MAX),
            Self::Manual(_) => self.now_ms(),
        }
    }

    /// Where that can be known: measures how long something lasted also when the process was restarted in between, whatever
    /// was done to the date.
    pub fn since_boot(&self) -> Option<SinceBoot> {
        match self {
            Self::System => SinceBoot::of_the_kernel(),
            Self::Manual(_) => Some(SinceBoot { boot: "manual".to_owned(), ms: self.now_ms() }),
        }
    }

    /// Moves a manual clock; the system's cannot be moved.
    pub fn advance(&self, milliseconds: i64) {
        match self {
            Self::System => panic!("the system clock cannot be moved"),
            Self::Manual(now) => {
                now.fetch_add(milliseconds, Ordering::SeqCst);
            }
        }
    }
}
