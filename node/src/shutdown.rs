//! Ending politely: the first Ctrl-C (or SIGTERM) asks everything to finish, the second ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a process exits with after Ctrl-C.
pub const INTERRUPTED: i32 = 130;

/// The wish to stop, and whether a person expressed it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    pub token: CancellationToken,
    interrupted: Arc<AtomicBool>,
}

impl Shutdown {
    /// Listens for signals until the process ends.
    pub fn on_signals(on_first: impl FnOnce() + Send + 'static) -> std::io::Result<Self> {
        let shutdown = Self::default();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let signalled = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            on_first();
            signalled.interrupted.store(true, Ordering::SeqCst);
            signalled.token.cancel();
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            std::process::exit(INTERRUPTED);
        });
        Ok(shutdown)
    }

    pub fn was_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}
