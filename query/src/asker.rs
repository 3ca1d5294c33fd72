//! Whether anybody still waits for an answer: a search that nobody waits for, because its deadline has passed or the
//! connection is gone, ends at the next opportunity instead of keeping a core busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::TantivyError;

/// Asked by the one that works. By default somebody waits for ever.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    has_gone: Arc<AtomicBool>,
}

/// Held by the one that waits; dropping it says that nobody does.
#[derive(Default)]
pub struct Waiting {
    asker: Asker,
}

impl Asker {
    /// An error when nobody waits, which therefore nobody sees.
    pub fn check(&self) -> tantivy::Result<()> {
        match self.has_gone.load(Ordering::Relaxed) {
            true => Err(TantivyError::InternalError("nobody waits for this search any more".to_owned())),
            false => Ok(()),
        }
    }
}

impl Waiting {
    pub fn asker(&self) -> Asker {
        self.asker.clone()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.asker.has_gone.store(true, Ordering::Relaxed);
    }
}
