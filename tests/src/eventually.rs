//! Waits until something becomes true, with a deadline.
//!
//! Tests of a running system must neither sleep for a guessed time nor hang. [`eventually`] asks again and again, in
//! growing intervals, and panics at the deadline with what was awaited and what was last seen. A probe that hangs is
//! cut off at the deadline too.

use std::fmt::Debug;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

const FIRST_INTERVAL: Duration = Duration::from_millis(1);
const LONGEST_INTERVAL: Duration = Duration::from_millis(100);

/// What a probe may answer: `bool`, `Option<T>`, or `Result<T, S>` where `S` is the state to show when time is up.
pub trait Observation {
    type Value;

    /// The awaited value, or the state that was seen instead of it.
    fn settled(self) -> Result<Self::Value, String>;
}

impl Observation for bool {
    type Value = ();

    fn settled(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("false".into()) }
    }
}

impl<T> Observation for Option<T> {
    type Value = T;

    fn settled(self) -> Result<T, String> {
        self.ok_or_else(|| "None".into())
    }
}

impl<T, S: Debug> Observation for Result<T, S> {
    type Value = T;

    fn settled(self) -> Result<T, String> {
        self.map_err(|state| format!("{state:?}"))
    }
}

/// Polls `probe` until it answers with a value, and gives that value back.
///
/// Panics when `deadline` has passed, naming `what`, the caller and the last state.
#[track_caller]
pub fn eventually<P, O>(deadline: Duration, what: &str, mut probe: P) -> impl Future<Output = O::Value>
where
    P: AsyncFnMut() -> O,
    O: Observation,
{
    let caller = Location::caller();
    async move {
        let end = Instant::now() + deadline;
        let mut interval = FIRST_INTERVAL;
        let mut last_state = "the probe never answered".to_owned();
        while let Ok(observation) = timeout_at(end, probe()).await {
            match observation.settled() {
                Ok(value) => return value,
                Err(state) => last_state = state,
            }
            if Instant::now() >= end {
                break;
            }
            sleep(interval.min(end - Instant::now())).await;
            interval = (interval * 3 / 2).min(LONGEST_INTERVAL);
        }
        panic!("{caller}: not within {deadline:?}: {what}; last state: {last_state}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn gives_the_value_of_the_first_probe_that_has_one() {
        let mut asked = 0;
        let value = eventually(Duration::from_secs(5), "three probes", async || {
            asked += 1;
            (asked == 3).then_some(asked)
        })
        .await;
        assert_eq!(value, 3);
        assert_eq!(asked, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "five pages; last state: \"4 pages\"")]
    async fn panics_at_the_deadline_with_what_and_the_last_state() {
        eventually(Duration::from_millis(20), "five pages", async || Err::<(), _>("4 pages")).await;
    }

    #[tokio::test]
    #[should_panic(expected = "an answer; last state: the probe never answered")]
    async fn a_probe_that_hangs_is_cut_off_at_the_deadline() {
        eventually(Duration::from_millis(20), "an answer", async || std::future::pending::<bool>().await).await;
    }

    #[tokio::test]
    async fn the_last_probe_is_made_at_the_deadline() {
        let deadline = Duration::from_millis(60);
        let start = Instant::now();
        eventually(deadline, "the deadline itself", async || start.elapsed() >= deadline).await;
    }
}
