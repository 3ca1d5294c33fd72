//! Reads of the archive that run at the same time: a bounded number, because each may take as much memory as the largest
//! page, several times over.
//!
//! Invariant: a permit is held by the work and not by whoever waits for it, so that no more than so many run, whatever
//! clients do. Work that nobody waits for any more is told so.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

#[derive(Debug)]
pub(crate) struct Readers {
    permits: Arc<Semaphore>,
}

impl Readers {
    pub fn new(count: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(count)) }
    }

    /// Runs what blocks on a thread for it, when a permit is free. Dropping the future cancels the token that the work was
    /// given; the permit comes back when the work ends.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let cancelled = CancellationToken::new();
        let _cancels_when_dropped = cancelled.clone().drop_guard();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&cancelled)
        });
        done.await.map_err(|error| Error::Panicked(error.to_string()))?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_keeps_its_permit_until_it_ends_and_is_told_to_end() {
        let readers = Readers::new(1);
        let (started, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let work = move |cancelled: &CancellationToken| {
            started.send(cancelled.clone()).unwrap();
            may_go_on.recv().unwrap();
            Ok(())
        };
        let waiting = tokio::time::timeout(Duration::from_millis(20), readers.run(work)).await;
        assert!(waiting.is_err(), "the client has given up");
        let cancelled = has_started.recv_timeout(Duration::from_secs(60)).expect("the work has begun");
        assert!(cancelled.is_cancelled());
        assert_eq!(readers.permits.available_permits(), 0, "the work still runs");
        go_on.send(()).unwrap();
        let next = tokio::time::timeout(Duration::from_secs(60), readers.run(|_| Ok(1))).await;
        assert_eq!(next.expect("its turn comes").unwrap(), 1);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_for_its_client_and_frees_the_permit() {
        let readers = Readers::new(1);
        let panicked = readers.run(|_| -> Result<(), Error> { panic!("on purpose") }).await;
        assert!(matches!(panicked, Err(Error::Panicked(_))));
        assert_eq!(readers.permits.available_permits(), 1);
    }
}
