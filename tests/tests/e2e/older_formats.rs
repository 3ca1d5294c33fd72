//! Data directories of older versions open, with everything in them; those of newer ones are refused.
//!
//! `fixtures/format-1.tar.gz` was written by a program whose format had the number 1: a crawl of six pages at
//! 127.0.0.1:18733 that ended after four, one of which was forgotten, and one of the others too before it was fetched.
//!
//! `fixtures/before-slots.tar.gz` was written by the last program whose frontier knew no slots: a crawl of nine pages at
//! 127.0.0.1:18734 that was killed after six, while its host was leased, with another host blocked.

use std::path::Path;
use std::process::Command;

use seine_tests::sandbox::Seine;
use serde_json::Value;

const HOST: &str = "http://127.0.0.1:18733";

fn of_format_1() -> Seine {
    unpacked("format-1.tar.gz")
}

fn unpacked(fixture: &str) -> Seine {
    let seine = Seine::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(fixture).args(["--strip-components=1", "-C"]).arg(seine.data());
    assert!(tar.status().expect("tar can be started").success());
    seine
}

fn version(seine: &Seine) -> String {
    std::fs::read_to_string(seine.data().join("VERSION")).expect("it is there").trim().to_owned()
}

fn json(seine: &Seine, words: &[&str]) -> Value {
    let output = seine.run(words);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words:?}: {output:?}"))
}

#[test]
fn a_directory_of_the_first_format_opens_with_all_that_it_holds_and_goes_on() {
    let seine = of_format_1();
    let urls = |seine: &Seine| -> Vec<String> {
        let mut urls: Vec<_> = seine.documents("river").into_iter().map(|document| document.url).collect();
        urls.sort();
        urls
    };
    let expected = ["/", "/1.html", "/2.html"].map(|path| format!("{HOST}{path}"));
    // Only looked at, by what needs no lock: the index is built anew by the first that may write it.
    let refused = seine.run(&["search", "river"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("seine index rebuild"), "{refused:?}");
    assert_eq!(version(&seine), "1");

    let shown = json(&seine, &["crawls", "show", "rivers", "--json"]);
    assert_eq!(
        (&shown["state"], &shown["queued"], &shown["seeds"][0]),
        (&"finished".into(), &1.into(), &format!("{HOST}/").into())
    );
    assert_eq!(
        version(&seine),
        seine_common::data_dir::FORMAT_VERSION.to_string(),
        "migrated by the first that holds it"
    );
    let explained = json(&seine, &["explain", &format!("{HOST}/4.html"), "--json"]);
    assert_eq!(explained["crawls"][0]["state"], "queued", "{explained}");
    let explained = json(&seine, &["explain", &format!("{HOST}/1.html"), "--json"]);
    assert_eq!(explained["crawls"][0]["state"], "saved", "{explained}");
    let exported = seine.run(&["export", "text", "--site", "127.0.0.1:18733"]);
    assert!(String::from_utf8_lossy(&exported.stdout).contains("tributary of the river Seine"), "{exported:?}");

    // The log still says which page was forgotten.
    let rebuilt = json(&seine, &["index", "rebuild", "--json"]);
    assert_eq!(rebuilt["documents"], 3);
    assert_eq!(urls(&seine), expected);

    // What waits is tried; nobody listens there.
    let run = seine.crawl(&format!("{HOST}/"), &["--name", "rivers", "--delay", "0", "--attempts", "1"]);
    assert_eq!((run.code, run.count("indexed"), run.count("failed")), (0, 3, 1), "{run:?}");
}

#[test]
fn a_frontier_of_before_there_were_slots_is_read_as_it_is_and_goes_on() {
    let seine = unpacked("before-slots.tar.gz");
    let checked = json(&seine, &["frontier", "check", "--json"]);
    assert_eq!((&checked["sound"], &checked["log_entries"]), (&true.into(), &6.into()), "{checked}");
    let shown = json(&seine, &["crawls", "show", "rivers", "--json"]);
    assert_eq!((&shown["pages"], &shown["queued"]), (&6.into(), &3.into()), "{shown}");
    let blocked = seine.run(&["hosts", "list", "--json"]);
    assert!(String::from_utf8_lossy(&blocked.stdout).contains("spam.example.org"), "{blocked:?}");
    // What waits is tried; nobody listens there.
    let flags = ["--name", "rivers", "--delay", "0", "--attempts", "1"];
    let run = seine.crawl("http://127.0.0.1:18734/", &flags);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 6, 3), "{run:?}");
    let checked = json(&seine, &["frontier", "check", "--json"]);
    assert_eq!(checked["sound"], true, "{checked}");
}

#[test]
fn a_directory_of_a_newer_format_is_refused_with_both_numbers_and_left_alone() {
    let seine = of_format_1();
    std::fs::write(seine.data().join("VERSION"), "99\n").expect("it can be written");
    for words in [&["search", "river"][..], &["crawls", "list"], &["export", "urls"], &["index", "rebuild"]] {
        let output = seine.run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {stderr}");
        let own = format!("1 to {}", seine_common::data_dir::FORMAT_VERSION);
        assert!(stderr.contains("format version 99") && stderr.contains(&own), "{words:?}: {stderr}");
    }
    assert_eq!(version(&seine), "99");
}
