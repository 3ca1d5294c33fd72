//! `seine frontier`: a crawled frontier is sound, what a store lost is found and put back, and a frontier can be moved.

use std::time::Duration;

use futures::executor::block_on;
use seine_monitor::store::{Batch, Slot, Table};
use seine_test_stores::{Setup, StoreCluster};
use seine_tests::sandbox::{Seine, frontier_in};
use seine_tests::{FakeWeb, FakeWebConfig};
use serde_json::Value;

use crate::killing::COMMON_WORD;
use crate::stores::store_of;

const PAGES: u32 = 120;

/// Exit code, and what stands in the line of JSON.
fn frontier(seine: &Seine, words: &[&str]) -> (i32, Value, String) {
    let output = seine.run(&[&["frontier"], words, &["--json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap_or(-1), json, stderr)
}

fn assert_sound(seine: &Seine, when: &str) {
    let (code, report, stderr) = frontier(seine, &["check"]);
    assert_eq!((code, &report["sound"]), (0, &Value::Bool(true)), "{when}: {report} {stderr}");
}

/// Deletes every so many-th entry of some tables, as if a part of the store were lost.
fn lose_some(seine: &Seine, tables: &[(Table, usize)]) {
    let mut store = store_of(seine);
    for (table, one_of) in tables {
        let walked = store.walk(*table, &[], usize::MAX).expect("the table is readable");
        let mut batch = Batch::at(Slot::HOME);
        for (slot, (key, _)) in walked.entries.iter().step_by(*one_of) {
            batch.turn_to(slot.unwrap_or(Slot::HOME));
            batch.delete(*table, key);
        }
        store.write(batch).expect("the table is writable");
    }
    block_on(store.syncer().sync()).expect("the disk is there");
}

#[test]
fn a_crawled_frontier_is_sound_finished_or_killed() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    let mut child = seine.crawl_command(&web.url("/"), &["--delay", "0.01"]).spawn().expect("seine can be started");
    while web.request_count() < 40 {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("the process runs");
    child.wait().expect("it can be awaited");
    assert_sound(&seine, "killed");
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    assert_sound(&seine, "finished");
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0", "--again"]).code, 0);
    assert_sound(&seine, "after a round");
    let page = web.url("/p/3.html");
    assert!(seine.run(&["index", "forget", &page]).status.success());
    assert_sound(&seine, "after a page was forgotten");
}

#[test]
fn what_a_store_lost_is_found_and_put_back_and_the_crawl_ends_with_all_its_pages() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    let documents = seine.documents(COMMON_WORD);
    lose_some(&seine, &[(Table::Records, 3), (Table::Seen, 2), (Table::Visits, 5), (Table::Uses, 1)]);
    let (code, found, stderr) = frontier(&seine, &["check"]);
    assert_eq!(code, 3, "{found} {stderr}");
    let kinds: Vec<&str> =
        found["damage"].as_array().unwrap().iter().filter_map(|kind| kind["kind"].as_str()).collect();
    for kind in ["lost", "page_without_record", "record_unknown", "visit_missing", "counter"] {
        assert!(kinds.contains(&kind), "no {kind}: {kinds:?}");
    }

    let (code, repaired, stderr) = frontier(&seine, &["repair"]);
    assert_eq!((code, &repaired["repaired"]), (0, &Value::Bool(true)), "{repaired} {stderr}");
    assert_sound(&seine, "repaired");
    let again = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((again.code, again.count("pages")), (0, run.count("pages")), "{again:?}");
    assert_eq!(seine.documents(COMMON_WORD), documents);
    assert_sound(&seine, "crawled on");
}

#[test]
fn a_frontier_moves_into_a_cluster_and_back_and_its_crawl_goes_on() {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { return };
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--max-pages", "50"]);
    assert_eq!((run.code, run.count("pages")), (0, 50), "{run:?}");
    let [(_, _), nodes] = frontier_in(&cluster);
    let in_cluster = |words: &[&str]| {
        let mut command = seine.command(&[words, &["--json"]].concat());
        let output = command.envs(frontier_in(&cluster)).output().expect("seine can be started");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {stderr}");
        json
    };
    let mut copy = seine.command(&["frontier", "copy", "--to", "redis", "--json"]);
    let copied = copy.envs([nodes]).output().expect("seine can be started");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(in_cluster(&["frontier", "check"])["sound"], true);
    let url = web.url("/");
    let crawl = ["crawl", &url, "--delay", "0", "--allow-net", "127.0.0.0/8", "--max-pages", "90"];
    assert_eq!(in_cluster(&crawl)["pages"], 90);
    assert_eq!(in_cluster(&["frontier", "check"])["sound"], true);
    // The directory still has what was copied, and takes no other frontier before that is out of the way.
    std::fs::remove_dir_all(seine.data().join("monitor")).expect("the old frontier can be removed");
    in_cluster(&["frontier", "copy", "--to", "rocksdb"]);
    assert_sound(&seine, "back on the disk");
    let rest = seine.crawl(&url, &["--delay", "0"]);
    assert_eq!((rest.code, rest.count("pages")), (0, u64::from(PAGES) + 1), "{rest:?}");
    let visits = crate::completeness::visits(&web.requests());
    let twice: Vec<_> = visits.iter().filter(|(path, visits)| *path != "/robots.txt" && **visits > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn a_frontier_is_copied_into_another_directory_and_stays_where_it_was() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let (seine, other) = (Seine::new(), Seine::new());
    if seine.store().is_some() {
        return println!("skipped: it is about directories");
    }
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let to = format!("rocksdb:{}", other.data().display());
    let (code, copied, stderr) = frontier(&seine, &["copy", "--to", &to]);
    assert_eq!((code, &copied["left_out"]), (0, &Value::from(0)), "{copied} {stderr}");
    assert!(copied["entries"]["seen"].as_u64().unwrap() > u64::from(PAGES), "{copied}");
    assert_sound(&seine, "copied");
    assert_sound(&other, "the copy");
    let crawls = |seine: &Seine| String::from_utf8(seine.run(&["crawls", "list", "--json"]).stdout).unwrap();
    assert_eq!(crawls(&seine), crawls(&other));

    let (code, _, stderr) = frontier(&seine, &["copy", "--to", &to]);
    assert!(code == 1 && stderr.contains("has a frontier already"), "{code}: {stderr}");
    let (code, _, stderr) = frontier(&seine, &["copy", "--to", "rocksdb"]);
    assert!(code == 2 && stderr.contains("kept there already"), "{code}: {stderr}");
    let (code, _, stderr) = frontier(&seine, &["copy", "--to", "redis"]);
    assert!(code == 2 && stderr.contains("[frontier] nodes"), "{code}: {stderr}");
}

#[test]
fn a_frontier_that_somebody_holds_or_that_is_none_is_refused() {
    let seine = Seine::new();
    if seine.store().is_some() {
        return println!("skipped: it is about directories");
    }
    let (code, _, stderr) = frontier(&seine, &["check"]);
    assert!(code == 1 && stderr.contains("no data directory"), "{code}: {stderr}");
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    for words in [&["check"][..], &["repair"], &["copy", "--to", "rocksdb:/nowhere"]] {
        let (code, _, stderr) = frontier(&seine, words);
        assert!(code == 1 && stderr.contains(&server.pid().to_string()), "{words:?}: {code}: {stderr}");
    }
    drop(server);
    let (code, _, stderr) = frontier(&seine, &["check", "--config", "missing.toml"]);
    assert!(code == 2 && stderr.contains("missing.toml"), "{code}: {stderr}");
}
