//! The time in which nothing can be saved, because no analyser answers or none that does can save.
//!
//! Pure. An analyser whose stream is only being opened is waited for, and so is the first one to appear: a collector that
//! starts, or a stream that breaks for a moment, is no outage.

use std::time::{Duration, Instant};

/// How long no analyser at all may be known.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of all analysers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prospect {
    /// At least one saves.
    Good,
    /// One is being opened.
    Unknown,
    Bad,
    /// There is none.
    Nobody,
}

#[derive(Debug, Default)]
pub(super) struct Outage {
    is_on: bool,
    /// Of the last failure.
    reason: String,
    nobody_since: Option<Instant>,
}

impl Outage {
    /// Why nothing can be saved; `None` while something can.
    pub fn reason(&self) -> Option<&str> {
        self.is_on.then_some(&self.reason)
    }

    /// Something failed, which is the reason if it comes to an outage.
    pub fn failed(&mut self, reason: String) {
        self.reason = reason;
    }

    pub fn judge(&mut self, prospect: Prospect, now: Instant) {
        self.nobody_since = (prospect == Prospect::Nobody).then(|| self.nobody_since.unwrap_or(now));
        match prospect {
            Prospect::Good => self.is_on = false,
            Prospect::Unknown => {}
            Prospect::Bad => self.is_on = true,
            Prospect::Nobody => {
                if self.nobody_since.is_some_and(|since| now >= since + PATIENCE) {
                    self.is_on = true;
                    self.reason = "no analyser runs".to_owned();
                }
            }
        }
    }

    /// When it begins if nothing happens.
    pub fn begins_at(&self) -> Option<Instant> {
        let since = self.nobody_since.filter(|_| !self.is_on)?;
        Some(since + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_when_nobody_appears_in_time_and_ends_with_the_first_that_saves() {
        let (start, mut outage) = (Instant::now(), Outage::default());
        outage.judge(Prospect::Nobody, start);
        assert_eq!((outage.reason(), outage.begins_at()), (None, Some(start + PATIENCE)));
        outage.judge(Prospect::Nobody, start + PATIENCE);
        assert_eq!((outage.reason(), outage.begins_at()), (Some("no analyser runs"), None));
        outage.judge(Prospect::Unknown, start + PATIENCE);
        assert!(outage.reason().is_some(), "one that is being opened ends nothing yet");
        outage.judge(Prospect::Good, start + PATIENCE);
        assert_eq!((outage.reason(), outage.begins_at()), (None, None));
        outage.failed("no room".to_owned());
        outage.judge(Prospect::Unknown, start + PATIENCE);
        assert_eq!(outage.reason(), None, "nor does it begin anything");
        outage.judge(Prospect::Bad, start + PATIENCE);
        assert_eq!(outage.reason(), Some("no room"));
    }
}
