//! Runs CPU work off the async threads, on as many threads as the machine has cores.
//!
//! The threads are its own: a busy one takes the next piece of work without sleeping in between, which a limit in front
//! of the runtime's shared pool would make it do for every page. Callers bound how much work waits. A panic of the work
//! is an error for its caller and for nobody else. Clones share the threads; they end with the last clone.
//!
//! The threads give way to others: a crawl takes all the machine has, but nobody waits for a page of it, while somebody
//! may wait for a search.

use std::sync::Arc;

use seine_common::panics;
use seine_node::limits::Limit;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::Error;

/// How much the threads give way, on the scale of nice(1).
const NICENESS: i32 = 10;

#[derive(Clone, Debug)]
pub(crate) struct CpuPool {
    threads: Handle,
    limit: Option<Arc<Limit>>,
    _owner: Arc<Owner>,
}

#[derive(Debug)]
struct Owner(Option<Runtime>);

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // May be dropped on an async thread, where waiting for the work under way is not allowed.
            runtime.shutdown_background();
        }
    }
}

impl CpuPool {
    /// `name` is that of the threads.
    pub fn new(name: &str) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Only its pool of blocking threads is used; that of the caller's runtime has hundreds of them.
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(cores)
            .thread_name(name)
            .on_thread_start(give_way)
            .build();
        let runtime = runtime.expect("a runtime without timers and sockets needs nothing from the system");
        Self { threads: runtime.handle().clone(), limit: None, _owner: Arc::new(Owner(Some(runtime))) }
    }

    /// With no more threads at work at once than that allows.
    pub fn limited(self, limit: Arc<Limit>) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub async fn run<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let place = match &self.limit {
            // All threads may work: nobody is made to wait twice.
            Some(limit) if limit.is_at_ceiling() => Some(limit.enter()),
            Some(limit) => Some(limit.acquire().await),
            None => None,
        };
        let work = move || {
            // Until the work is done, whoever still waits for it.
            let _place = place;
            work()
        };
        self.threads.spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => Error::Panicked(panics::message(panic.as_ref())),
            // The pool ends, and the process with it.
            Err(_) => Error::Closed,
        })
    }
}

/// Linux counts niceness by thread, whatever the name of the call says.
fn give_way() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "a thread cannot lower its own priority");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_for_its_caller_and_frees_its_place() {
        let pool = CpuPool::new("test");
        for _ in 0..64 {
            let result: Result<(), Error> = pool.run(|| panic!("on purpose")).await;
            assert!(matches!(result, Err(Error::Panicked(message)) if message == "on purpose"));
        }
        assert_eq!(pool.run(|| 1).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn no_more_threads_run_than_there_are_cores() {
        let pool = CpuPool::new("test");
        let work = (0..100).map(|_| pool.run(|| std::thread::current().id()));
        let threads: HashSet<_> = futures::future::join_all(work).await.into_iter().map(Result::unwrap).collect();
        assert!(threads.len() <= std::thread::available_parallelism().unwrap().get());
    }
}
