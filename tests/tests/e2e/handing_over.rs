//! `seine crawl` on a directory that a server holds: the server does the crawl, the command follows it.

use std::process::{Child, Stdio};
use std::time::Duration;

use seine_tests::sandbox::{Running, Seine, crawl_run, interrupt};
use seine_tests::{FakeWeb, FakeWebConfig, LiveWeb, eventually};
use serde_json::Value;

const SERVE: [&str; 5] = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
const LONG: Duration = Duration::from_secs(120);

fn serve(seine: &Seine) -> Running {
    seine.start(&SERVE)
}

fn shown(seine: &Seine, name: &str) -> Value {
    let output = seine.run(&["crawls", "show", name, "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// A crawl that is followed, once the web has seen it.
async fn followed(seine: &Seine, web: &FakeWeb, flags: &[&str]) -> Child {
    let child = seine.crawl_command(&web.url("/"), flags).spawn().expect("seine can be started");
    eventually(LONG, "the crawl begins", async || web.requests().len() > 5).await;
    child
}

#[test]
fn a_crawl_on_a_directory_that_a_server_holds_is_done_by_it_and_can_be_searched_when_it_returns() {
    let web = FakeWeb::start(FakeWebConfig::small(40));
    let seine = Seine::new();
    let server = serve(&seine);
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 41, 41), "{run:?}");
    assert!(run.stderr.contains("handing the crawl to the server"), "{}", run.stderr);
    assert_eq!(seine.documents("fake").len(), 41);
    assert!(!seine.archives().is_empty(), "the archive files are closed");
    crate::completeness::assert_complete_and_exact(&web);

    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 41), "{run:?}");
    assert!(run.stderr.contains("--again"), "{}", run.stderr);
    let nothing = seine.crawl("http://127.0.0.1:2/", &["--delay", "0", "--attempts", "1"]);
    assert_eq!((nothing.code, nothing.count("failed")), (1, 1), "{nothing:?}");
    drop(server);
}

#[test]
fn again_and_changed_settings_reach_the_server_and_those_of_the_process_are_named() {
    let web = LiveWeb::new();
    web.put("/", "start", &["/one"]);
    web.put("/one", "the first page speaks of rivers", &[]);
    let seine = Seine::new();
    let _server = serve(&seine);
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    web.put("/one", "the first page speaks of lakes", &["/two"]);
    web.put("/two", "the second page speaks of boats", &[]);
    let file = seine.data().join("mine.toml");
    std::fs::write(&file, "[crawl]\nmax_pages = 7\n[fetch]\nmax_in_flight = 3\n").unwrap();
    let file = file.to_str().unwrap().to_owned();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--again", "--config", &file]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 3, 3), "{run:?}");
    assert!(run.stderr.contains("max_pages was unlimited, now 7"), "{}", run.stderr);
    assert!(run.stderr.contains("fetch.max_in_flight"), "{}", run.stderr);
    assert_eq!(seine.search("lakes", &[])["total"], 1);
}

#[tokio::test]
async fn ctrl_c_leaves_a_handed_over_crawl_running_and_says_so() {
    let web = FakeWeb::start(FakeWebConfig::small(120));
    let seine = Seine::new();
    let _server = serve(&seine);
    let child = followed(&seine, &web, &["--delay", "0.02", "--name", "site"]).await;
    interrupt(&child);
    let run = crawl_run(&child.wait_with_output().unwrap());
    let asked = web.requests().len();
    assert_eq!(run.code, 130, "{run:?}");
    assert!(run.count("pages") < 121 && run.count("indexed") <= run.count("pages"), "{run:?}");
    assert!(run.stderr.contains("goes on at the server"), "{}", run.stderr);
    assert!(asked < 120, "it was over before it was interrupted");
    assert_eq!(shown(&seine, "site")["state"], "running");
    eventually(LONG, "the server finishes the crawl", async || {
        let shown = shown(&seine, "site");
        if shown["state"] == "finished" { Ok(()) } else { Err(shown) }
    })
    .await;
    crate::completeness::assert_complete_and_exact(&web);
}

#[tokio::test]
async fn two_crawls_at_once_on_one_server_both_end_with_their_own_line() {
    let webs = [FakeWeb::start(FakeWebConfig::small(30)), FakeWeb::start(FakeWebConfig::small(50))];
    let seine = Seine::new();
    let _server = serve(&seine);
    let children = webs.each_ref().map(|web| seine.crawl_command(&web.url("/"), &["--delay", "0.01"]).spawn().unwrap());
    for ((child, web), pages) in children.into_iter().zip(&webs).zip([31, 51]) {
        let run = crawl_run(&child.wait_with_output().unwrap());
        assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, pages, pages), "{run:?}");
        assert_eq!(seine.search("fake", &["--site", &web.addr().to_string()])["total"], pages);
    }
}

#[tokio::test]
async fn a_server_that_goes_away_under_a_crawl_is_told_in_a_sentence_and_the_same_command_goes_on() {
    let web = FakeWeb::start(FakeWebConfig::small(60));
    let seine = Seine::new();
    for killed in [true, false] {
        let server = serve(&seine);
        let before = web.requests().len();
        let mut command = seine.crawl_command(&web.url("/"), &["--delay", "0.05"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        eventually(LONG, "the crawl goes on", async || web.requests().len() > before + 3).await;
        match killed {
            true => drop(server),
            false => assert_eq!(server.interrupt(), 130),
        }
        let run = crawl_run(&child.wait_with_output().unwrap());
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("went away") && run.stderr.contains("the same command"), "{}", run.stderr);
    }
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 61, 61), "{run:?}");
}

#[test]
fn a_crawl_is_handed_over_where_the_tiers_run_in_several_processes() {
    let web = FakeWeb::start(FakeWebConfig::small(10));
    let (monitor, rest) = (Seine::new(), Seine::new());
    let server = monitor.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
    let _node = rest.start_node(&monitor, &server.listen(), "collector,analyser,filesaver,indexer", &[]);
    let run = monitor.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 11, 11), "{run:?}");
    assert_eq!(rest.documents("fake").len(), 11);
}
