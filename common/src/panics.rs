//! Threads and tasks that panic: what they said, and threads whose end can be awaited.

use std::any::Any;
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use tokio::sync::watch;

/// What a panic said.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// How a thread ended. Clones tell of the same one.
#[derive(Clone, Debug)]
pub struct ThreadEnd(watch::Receiver<Option<Result<(), String>>>);

impl ThreadEnd {
    /// Returns when the thread has ended: the error it ended with, or what it said when it panicked.
    pub async fn wait(mut self) -> Result<(), String> {
        match self.0.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or(Ok(())),
            Err(_) => Err("it was cut off".to_owned()),
        }
    }
}

/// Starts a thread whose end can be awaited.
pub fn spawn_thread<E: Display>(
    name: &str,
    work: impl FnOnce() -> Result<(), E> + Send + 'static,
) -> io::Result<(JoinHandle<()>, ThreadEnd)> {
    let (told, end) = watch::channel(None);
    let thread = Builder::new().name(name.to_owned()).spawn(move || {
        let result = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(panic) => Err(panicked(panic.as_ref())),
        };
        told.send_replace(Some(result));
    })?;
    Ok((thread, ThreadEnd(end)))
}

/// The reason for the end of what panicked, for a person.
pub fn panicked(panic: &(dyn Any + Send)) -> String {
    format!("it panicked: {}; please report this with what stands above it in the log", message(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_thread_tells_its_error_or_its_panic() {
        let end = |work: fn() -> Result<(), String>| spawn_thread("test", work).unwrap().1.wait();
        assert_eq!(end(|| Ok(())).await, Ok(()));
        assert_eq!(end(|| Err("no disk".to_owned())).await, Err("no disk".to_owned()));
        let said = end(|| panic!("number {}", 7)).await.unwrap_err();
        assert!(said.contains("number 7"), "{said}");
        let said = end(|| std::panic::panic_any(7)).await.unwrap_err();
        assert!(said.contains("no message"), "{said}");
    }
}
