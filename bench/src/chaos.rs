//! The whole form of the cluster under faults; the tests run a small one. See [`seine_tests::chaos`].

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
