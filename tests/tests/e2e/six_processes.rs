//! Every command works against a cluster of six processes through one address, by `--server` and by `--data`.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine, binary};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

use crate::killing::COMMON_WORD;

const LONG: Duration = Duration::from_secs(60);
const PAGES: u32 = 20;

/// Each tier in a process of its own.
struct Six {
    monitor: Seine,
    index: Seine,
    server: Running,
    query: Running,
    collector: String,
    _others: Vec<(Seine, Running)>,
    _indexer: Running,
}

impl Six {
    fn start() -> Self {
        let (monitor, index) = (Seine::new(), Seine::new());
        let server = monitor.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
        let join = server.listen();
        let node = |roles: &str| {
            let seine = Seine::new();
            let running = seine.start_node(&monitor, &join, roles, &[]);
            (seine, running)
        };
        let others = vec![node("collector"), node("analyser"), node("filesaver")];
        let indexer = index.start_node(&monitor, &join, "indexer", &[]);
        let query = index.start_node(&monitor, &join, "query", &["--http", "127.0.0.1:0"]);
        let collector = others[0].1.node();
        Self { monitor, index, server, query, collector, _others: others, _indexer: indexer }
    }

    /// As a person on the server's machine, or as one who has only its address and token.
    fn run(&self, by_server: bool, words: &[&str]) -> Output {
        if !by_server {
            return self.monitor.run(words);
        }
        let token = std::fs::read_to_string(self.monitor.data().join("admin-token")).unwrap();
        let mut command = Command::new(binary("seine"));
        command.current_dir(self.index.data()).args(words).args(["--server", &self.server.grpc()]);
        command.env("SEINE_TOKEN", token.trim()).stdin(Stdio::null()).output().expect("seine can be started")
    }

    fn text(&self, by_server: bool, words: &[&str]) -> String {
        let output = self.run(by_server, words);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{words:?}, by_server {by_server}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn json(&self, by_server: bool, words: &[&str]) -> Value {
        let text = self.text(by_server, &[words, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error} in {text}"))
    }
}

#[tokio::test]
async fn every_command_works_with_six_processes_through_one_address() {
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let six = Six::start();
    let url = web.url("/");
    let pages = u64::from(PAGES) + 1;
    // By the data directory a crawl is handed over and followed to its end.
    let run = six.monitor.crawl(&url, &["--delay", "0", "--name", "first"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, pages, pages), "{run:?}");
    for by_server in [false, true] {
        let name = if by_server { "by-server" } else { "by-data" };
        let add = [&["crawls", "add", &url, "--name", name, "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
        six.json(by_server, &add);
        eventually(LONG, "the crawl is finished", async || {
            let shown = six.json(by_server, &["crawls", "show", name]);
            if shown["state"] == "finished" { Ok(()) } else { Err(shown.to_string()) }
        })
        .await;
        assert!(six.text(by_server, &["crawls", "list"]).contains(name));
        six.json(by_server, &["crawls", "set", name, "--delay", "0.01"]);
        six.json(by_server, &["crawls", "pause", name]);
        six.json(by_server, &["crawls", "resume", name]);
        six.json(by_server, &["crawls", "refresh", name]);
        six.json(by_server, &["crawls", "stop", name]);
        assert!(
            six.text(by_server, &["explain", &url]).contains("saved"),
            "{}",
            six.text(by_server, &["explain", &url])
        );
        six.text(by_server, &["hosts", "list"]);
        let host = web.addr().to_string();
        six.text(by_server, &["hosts", "show", &host]);
        six.text(by_server, &["hosts", "block", "blocked.test"]);
        six.text(by_server, &["hosts", "unblock", "blocked.test"]);
        for kind in ["urls", "descriptions", "links"] {
            let exported = six.text(by_server, &["export", kind]);
            assert!(exported.lines().count() as u64 >= pages, "{kind}: {}", exported.lines().count());
        }
        assert!(six.text(by_server, &["export", "text"]).lines().count() as u64 >= pages);
        let out = tempfile::tempdir().unwrap();
        let path = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
        six.text(by_server, &["export", "warc", &path("all.warc.gz")]);
        assert!(std::fs::metadata(out.path().join("all.warc.gz")).unwrap().len() > 1000);
        six.text(by_server, &["export", "mirror", &path("mirror")]);
        let rebuilt = six.json(by_server, &["index", "rebuild"]);
        assert_eq!(rebuilt["documents"].as_u64(), Some(pages), "{rebuilt}");
        let nodes = six.json(by_server, &["nodes", "list"]);
        assert_eq!(nodes.as_array().unwrap().len(), 6, "{nodes}");
        six.json(by_server, &["nodes", "show", &six.collector]);
        six.json(by_server, &["nodes", "label", &six.collector, "room=3"]);
        six.json(by_server, &["nodes", "set", &six.collector, "--log", "info"]);
        six.json(by_server, &["nodes", "drain", &six.collector]);
        six.json(by_server, &["nodes", "drain", &six.collector, "--undo"]);
        let token = six.json(by_server, &["nodes", "token", "create"]);
        assert!(six.text(by_server, &["nodes", "token", "list"]).contains(token["id"].as_str().unwrap()));
        six.json(by_server, &["nodes", "token", "revoke", token["id"].as_str().unwrap()]);
    }
    let page = web.url(&format!("/{}", 3));
    let searched = |limit: &str| {
        let server = format!("http://{}", six.query.http());
        let output = Command::new(binary("seine"))
            .args(["search", "--json", "--limit", limit, "--server", &server, COMMON_WORD])
            .output()
            .unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["total"].as_u64().unwrap()
    };
    assert_eq!(searched("1"), pages);
    // Forgotten by the Monitor, the log and the index.
    let known = six.text(false, &["export", "urls"]);
    let some = known.lines().find(|line| **line != url).unwrap_or(&page).to_owned();
    assert_eq!(six.json(true, &["index", "forget", &some])["forgotten"], 1);
    eventually(LONG, "it is not found any more", async || searched("1") == pages - 1).await;
    assert!(!six.text(false, &["export", "urls"]).lines().any(|line| line == some));
    assert!(six.text(true, &["nodes", "rotate-ca"]).contains("new root"));
    // Without the token none of that can be had.
    for words in [&["export", "urls"][..], &["index", "rebuild"], &["nodes", "list"], &["index", "forget", &url]] {
        let output = Command::new(binary("seine"))
            .args(words)
            .args(["--server", &six.server.grpc()])
            .env_remove("SEINE_TOKEN")
            .current_dir(six.index.data())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("needs the admin token"), "{words:?}: {said}");
    }
}
