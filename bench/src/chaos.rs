//! The whole forms of the cluster under faults; the tests run small ones. See [`seine_tests::chaos`].

use std::path::Path;

use seine_tests::chaos::{self, Form, Verdict};

/// Its figures, and what was broken.
pub async fn run(seine: &Path, work: &Path) -> Verdict {
    let form = Form::whole();
    eprintln!(
        "{} pages over {} hosts by a cluster whose processes are killed and cut off",
        form.pages_in_all(),
        form.hosts
    );
    chaos::run(&form, seine.to_owned(), work, chaos::seed()).await
}

/// The same by two Monitors over a store; `None` on a machine without one.
pub async fn run_over_store(seine: &Path, work: &Path) -> Option<Verdict> {
    let form = Form::whole_over_store();
    eprintln!(
        "{} pages over {} hosts by two Monitors over a store, while both and that are harmed",
        form.pages_in_all(),
        form.hosts
    );
    chaos::run_over_store(&form, seine.to_owned(), work, chaos::seed()).await
}
