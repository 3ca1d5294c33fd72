//! A cluster whose processes are killed, stopped, cut off and started again while it crawls: every page is in the index once,
//! nothing is fetched twice that was not in flight, every delay is kept, searches are answered.
//!
//! Also with two Monitors over a store, while masters of that die, its slots move, and the Monitor that leads is killed or stopped.
//!
//! `SEINE_CHAOS_SEED` repeats a run, `SEINE_CHAOS_LOGS` names a directory for the logs of the processes.

use seine_tests::chaos::{self, Form};
use seine_tests::sandbox::binary;

async fn keeps_every_promise(form: &Form) {
    let verdict = chaos::run(form, binary("seine"), &std::env::temp_dir(), chaos::seed()).await;
    println!("{verdict}");
    assert!(verdict.broken.is_empty(), "{verdict}");
}

#[tokio::test]
async fn a_cluster_keeps_its_promises_while_processes_die_and_a_collector_stands_still() {
    keeps_every_promise(&Form::small(chaos::Fault::StopCollector)).await;
}

#[tokio::test]
async fn a_cluster_keeps_its_promises_while_processes_die_and_a_collector_is_cut_off() {
    keeps_every_promise(&Form::small(chaos::Fault::SeverCollector)).await;
}

#[tokio::test]
async fn two_monitors_over_a_store_keep_their_promises_while_either_of_them_and_the_store_are_harmed() {
    let form = Form::small_over_store();
    let ran = chaos::run_over_store(&form, binary("seine"), &std::env::temp_dir(), chaos::seed()).await;
    let Some(verdict) = ran else { return };
    println!("{verdict}");
    assert!(verdict.broken.is_empty(), "{verdict}");
}
