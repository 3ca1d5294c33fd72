//! What is forgotten leaves every tier, whatever dies on the way.

use std::process::Stdio;
use std::time::Duration;

use seine_tests::sandbox::{Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};

use crate::killing::COMMON_WORD;

const HOSTS: usize = 2;
const PAGES: u32 = 20;
const LONG: Duration = Duration::from_secs(60);

/// Two filesavers, each with a log of its own; the index in a process of its own.
#[derive(Default)]
struct Directories {
    monitor: Seine,
    savers: [Seine; 2],
    index: Seine,
}

impl Directories {
    fn serve(&self, listen: &str) -> Running {
        let roles = "monitor,collector,analyser";
        self.monitor.start(&["serve", "--roles", roles, "--grpc", "127.0.0.1:0", "--listen", listen])
    }

    fn found(&self) -> Vec<String> {
        self.index.documents(COMMON_WORD).into_iter().map(|document| document.url).collect()
    }

    /// The name of a filesaver's log.
    fn log_of(&self, node: &str) -> String {
        self.shown(node)["log"].as_str().expect("it has a log").to_owned()
    }

    fn shown(&self, node: &str) -> serde_json::Value {
        let shown = self.monitor.run(&["nodes", "show", node, "--json"]);
        serde_json::from_slice(&shown.stdout).unwrap_or_default()
    }

    /// Waits until the Monitor hears of the node.
    async fn is_back(&self, node: &str) {
        eventually(LONG, "the node is back", async || {
            let shown = self.shown(node);
            if matches!(shown["state"].as_str(), Some("idle" | "working")) { Ok(()) } else { Err(shown.to_string()) }
        })
        .await;
    }

    /// Waits until nothing of the host is found, and nothing else is missing.
    async fn has_only(&self, left: &[String]) {
        eventually(LONG, "what is forgotten is not found any more", async || {
            let found = self.found();
            if found == left { Ok(()) } else { Err(format!("{} of {}", found.len(), left.len())) }
        })
        .await;
    }
}

#[tokio::test]
async fn a_forgetting_ends_in_all_logs_and_the_index_although_the_monitor_dies_in_it() {
    let web =
        FakeWeb::start(FakeWebConfig { cross_host_links: 3, ..FakeWebConfig::small(PAGES).with_port_hosts(HOSTS) });
    let directories = Directories::default();
    let server = directories.serve("127.0.0.1:0");
    let join = server.listen();
    let node = |seine: &Seine, roles: &str| seine.start_node(&directories.monitor, &join, roles, &[]);
    let savers = [0, 1].map(|number| node(&directories.savers[number], "filesaver"));
    let _indexer = node(&directories.index, "indexer");
    let run = directories.monitor.crawl(&web.host_url(0, "/"), &["--delay", "0", "--scope", "any"]);
    assert_eq!((run.code, run.count("indexed")), (0, (u64::from(PAGES) + 1) * HOSTS as u64), "{run:?}");
    let host = web.host_addr(1).to_string();
    let (gone, left): (Vec<String>, Vec<String>) =
        directories.found().into_iter().partition(|url| url.starts_with(&format!("http://{host}/")));
    assert_eq!((gone.len(), left.len()), (PAGES as usize + 1, PAGES as usize + 1));

    // One of the logs cannot be told now, so that the command waits; then the Monitor dies.
    savers[1].signal("STOP");
    let mut command = directories.monitor.command(&["index", "forget", &host]);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("seine can be started");
    eventually(LONG, "the Monitor has forgotten", async || {
        let said = directories.monitor.run(&["explain", &gone[0], "--json"]);
        String::from_utf8_lossy(&said.stdout).contains("forgotten")
    })
    .await;
    drop(server);
    assert!(!command.wait().expect("the command can be awaited").success(), "it cannot have been done");
    savers[1].signal("CONT");

    // Nobody asks again: the next Monitor does the rest.
    let _server = directories.serve(&join);
    directories.has_only(&left).await;

    // Whoever waits for one that is taken back is not kept waiting. Nobody waits for a filesaver that is away.
    directories.is_back(&savers[1].node()).await;
    savers[1].signal("STOP");
    let page = &left[1];
    let mut command = directories.monitor.command(&["index", "forget", page]);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("seine can be started");
    eventually(LONG, "the page is forgotten", async || {
        let said = directories.monitor.run(&["explain", page, "--json"]);
        String::from_utf8_lossy(&said.stdout).contains("forgotten")
    })
    .await;
    let undone = directories.monitor.run(&["index", "forget", "--undo", page]);
    assert!(undone.status.success(), "{undone:?}");
    savers[1].signal("CONT");
    eventually(LONG, "the command has ended", async || command.try_wait().expect("it can be awaited").is_some()).await;
    assert!(!command.wait().expect("it has ended").success(), "it was taken back");
    directories.has_only(&left).await;

    // A log whose filesaver is away is told when that is back, and the command says so.
    let [first, second] = savers;
    let logs = [&first, &second].map(|saver| directories.log_of(&saver.node()));
    drop(second);
    let host = web.host_addr(0).to_string();
    let forgotten = directories.monitor.run(&["index", "forget", &host]);
    let said = String::from_utf8_lossy(&forgotten.stderr).into_owned();
    assert!(forgotten.status.success() && said.contains(&logs[1]) && said.contains("told when it does"), "{said}");
    directories.has_only(&[]).await;
    let _second = node(&directories.savers[1], "filesaver");
    drop(first);
    // The other log alone knows it too: made from nothing else, the index stays empty.
    eventually(LONG, "the log is told", async || {
        let rebuilt = directories.monitor.run(&["index", "rebuild", "--without", &logs[0], "--json"]);
        let said = String::from_utf8_lossy(&rebuilt.stdout).into_owned();
        if said.trim() == r#"{"documents":0}"# { Ok(()) } else { Err(format!("{said} {rebuilt:?}")) }
    })
    .await;
    assert!(!directories.savers[1].archives().is_empty(), "it had pages");
}
