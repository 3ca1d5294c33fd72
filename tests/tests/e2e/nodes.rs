//! Machines that join, stay, and are cut off, as a person at a terminal sees it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use seine_tests::sandbox::{Running, Seine, binary};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

const LONG: Duration = Duration::from_secs(60);

fn serve(seine: &Seine, roles: &str, flags: &[&str]) -> Running {
    let words = [&["serve", "--roles", roles, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"], flags].concat();
    seine.start(&words)
}

/// How a node that ends by itself ended, and what it said.
fn refused(seine: &Seine, join: &str, token: &str) -> (i32, String) {
    let mut command = seine.command(&["node", "--roles", "collector", "--join", join]);
    ended(&command.env("SEINE_JOIN_TOKEN", token).output().expect("seine can be started"))
}

fn ended(output: &Output) -> (i32, String) {
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn json(seine: &Seine, words: &[&str]) -> Value {
    let output = seine.run(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one line of JSON")
}

fn state(seine: &Seine, node: &str) -> String {
    json(seine, &["nodes", "show", node])["state"].as_str().unwrap_or_default().to_owned()
}

/// A process that runs until it is dropped, with what it has said so far.
struct Told {
    child: Child,
    said: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Told {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it can be started");
        let said = std::sync::Arc::<std::sync::Mutex<String>>::default();
        let (mut pipe, kept) = (child.stderr.take().unwrap(), said.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, said }
    }

    async fn says(&self, what: &str) {
        eventually(LONG, what, async || {
            let said = self.said.lock().unwrap().clone();
            if said.contains(what) { Ok(()) } else { Err(said) }
        })
        .await;
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn three_commands_make_two_machines_of_one() {
    let web = FakeWeb::start(FakeWebConfig::small(20));
    let (first, second) = (Seine::new(), Seine::new());
    // The first command.
    let server = serve(&first, "monitor,analyser,filesaver,indexer,query", &[]);
    // The second prints the third, on standard output alone.
    let created = first.run(&["nodes", "token", "create", "--roles", "collector"]);
    let line = String::from_utf8(created.stdout).unwrap();
    assert!(line.starts_with("SEINE_JOIN_TOKEN=seine1.") && line.lines().count() == 1, "{line}");
    assert!(line.contains(&format!("seine node --join {} --roles collector", server.listen())), "{line}");
    let path = format!("{}:/usr/bin:/bin", binary("seine").parent().unwrap().display());
    let mut shell = Command::new("sh");
    let node = Told::start(
        shell.args(["-c", &format!("exec env {}", line.trim())]).current_dir(second.data()).env("PATH", path),
    );
    node.says("joining ").await;
    node.says("joined as ").await;
    let name = node.said.lock().unwrap().split("joined as ").nth(1).unwrap().lines().next().unwrap().to_owned();
    eventually(LONG, "the node is one of two", async || {
        let nodes = json(&first, &["nodes", "list"]);
        let is_there =
            nodes.as_array().unwrap().iter().any(|node| node["id"] == name.as_str() && node["state"] == "idle");
        if is_there && nodes.as_array().unwrap().len() == 2 { Ok(()) } else { Err(nodes.to_string()) }
    })
    .await;
    let run = first.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 21, 21), "{run:?}");
    // Its secret is nowhere but with whoever asked for it.
    let secret = line.split('.').nth(3).unwrap().split(' ').next().unwrap();
    let list = first.run(&["nodes", "token", "list"]);
    assert!(!String::from_utf8_lossy(&list.stdout).contains(secret));
    for seine in [&first, &second] {
        let found = Command::new("grep").args(["-rl", secret]).arg(seine.data()).output().unwrap();
        assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    }
}

#[tokio::test]
async fn a_machine_that_may_not_join_is_told_why_and_ends() {
    let (monitor, other) = (Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor", &[]);
    let join = server.listen();
    let refusal = |token: &str| {
        let (code, said) = refused(&Seine::new(), &join, token);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("refused by") && !said.contains("ready"), "{said}");
        said
    };
    let token = monitor.token(&[]);
    let last = token.chars().last().unwrap();
    let wrong = format!("{}{}", &token[..token.len() - 2], if last == 'a' { "ba" } else { "aa" });
    assert!(refusal(&wrong).contains("token"));
    // Of another cluster, so that its pin is wrong: nothing is shown to this one.
    let _elsewhere = serve(&other, "monitor", &[]);
    let foreign = other.token(&[]);
    assert!(refusal(&foreign).contains("not the one"), "{}", refusal(&foreign));
    let short = monitor.token(&["--ttl", "1s"]);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(refusal(&short).contains("expired"));
    let only = monitor.token(&["--roles", "analyser"]);
    assert!(refusal(&only).contains("collector"));
    let revoked = monitor.token(&[]);
    let id = revoked.split('.').nth(2).unwrap();
    assert!(monitor.run(&["nodes", "token", "revoke", id]).status.success());
    assert!(refusal(&revoked).contains("revoked"));
    // Used up by one that may.
    let node = Seine::new();
    let mut command = node.command(&["node", "--roles", "collector", "--join", &join]);
    let joined = Told::start(command.env("SEINE_JOIN_TOKEN", &token));
    joined.says("joined as").await;
    assert!(refusal(&token).contains("used"));
    let (code, said) = refused(&Seine::new(), &join, "seine1.short");
    assert_eq!(code, 2, "{said}");
    let nodes = json(&monitor, &["nodes", "list"]);
    assert_eq!(nodes.as_array().unwrap().len(), 2, "{nodes}");
}

#[tokio::test]
async fn a_machine_waits_for_its_server_and_comes_back_without_a_token() {
    let (monitor, node) = (Seine::new(), Seine::new());
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    drop(serve(&monitor, "monitor", &["--listen", &free]));
    // Made while nothing runs.
    let token = monitor.token(&["--host", "127.0.0.1"]);
    let words = ["node", "--roles", "collector", "--join", &free];
    let waiting = Told::start(node.command(&words).env("SEINE_JOIN_TOKEN", &token));
    waiting.says(&format!("cannot reach {free}: ")).await;
    waiting.says("trying again in").await;
    let server = serve(&monitor, "monitor", &["--listen", &free]);
    waiting.says("joined as").await;
    drop(waiting);
    // The second time neither token nor address is needed.
    let again = node.start(&["node", "--roles", "collector"]);
    let name = again.node();
    drop(server);
    let server = serve(&monitor, "monitor", &["--listen", &free]);
    eventually(LONG, "the restarted Monitor knows its node", async || {
        let now = state(&monitor, &name);
        if now == "idle" { Ok(()) } else { Err(now) }
    })
    .await;
    drop((again, server));
}

#[tokio::test]
async fn a_removed_node_is_cut_off_at_once_and_told_so_when_it_comes_back() {
    let web = FakeWeb::start(FakeWebConfig::small(400));
    let (monitor, node) = (Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor,analyser,filesaver,indexer,query", &[]);
    let running = node.start_node(&monitor, &server.listen(), "collector", &[]);
    let name = running.node();
    let mut crawling = monitor.crawl_command(&web.url("/"), &["--delay", "0.05"]).spawn().unwrap();
    eventually(LONG, "the node works", async || {
        let now = state(&monitor, &name);
        if now == "working" && web.requests().len() > 5 { Ok(()) } else { Err(now) }
    })
    .await;
    let own = json(&monitor, &["nodes", "list"]);
    let own =
        own.as_array().unwrap().iter().find(|node| node["monitor"] == true).unwrap()["id"].as_str().unwrap().to_owned();
    let refused = monitor.run(&["nodes", "remove", &own]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Monitor itself"), "{refused:?}");
    assert!(monitor.run(&["nodes", "remove", &name]).status.success());
    // It ends by itself: there is nothing that it could do.
    eventually(Duration::from_secs(10), "the node has ended", async || {
        !std::path::Path::new(&format!("/proc/{}/exe", running.pid())).exists()
    })
    .await;
    let (code, said) =
        ended(&node.command(&["node", "--roles", "collector", "--join", &server.listen()]).output().unwrap());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("was removed") && said.contains(&name), "{said}");
    assert_eq!(state(&monitor, &name), "removed");
    let _ = crawling.kill();
    let _ = crawling.wait();
}

#[tokio::test]
async fn another_root_certificate_comes_without_a_stop_and_the_one_before_ends() {
    let web = FakeWeb::start(FakeWebConfig::small(30));
    let (monitor, node) = (Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor,query", &[]);
    let running = node.start_node(&monitor, &server.listen(), "collector,analyser,filesaver,indexer", &[]);
    let before = monitor.token(&[]);
    let root = || std::fs::read_to_string(node.identity("collector,analyser,filesaver,indexer")).unwrap();
    let identity = root();
    assert!(monitor.run(&["nodes", "rotate-ca"]).status.success());
    let early = monitor.run(&["nodes", "rotate-ca", "--finish"]);
    if !early.status.success() {
        // The node had not renewed yet, and is not shut out for that.
        let said = String::from_utf8_lossy(&early.stderr).into_owned();
        assert!(said.contains(&running.node()) && said.contains("--force"), "{said}");
    }
    eventually(LONG, "the node has renewed", async || root() != identity).await;
    // Both are trusted: what is open goes on, and new connections are made.
    let run = monitor.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 31), "{run:?}");
    eventually(LONG, "all have renewed", async || monitor.run(&["nodes", "rotate-ca", "--finish"]).status.success())
        .await;
    let (code, said) = refused(&Seine::new(), &server.listen(), &before);
    assert_eq!(code, 1, "{said}");
    let new = Seine::new();
    let _joined = new.start_node(&monitor, &server.listen(), "collector", &[]);
    let name = running.node();
    drop(running);
    let again = node.start(&["node", "--roles", "collector,analyser,filesaver,indexer"]);
    assert_eq!(again.node(), name);
}

#[tokio::test]
async fn a_query_without_an_index_beside_it_says_what_is_missing_until_there_is_one() {
    let (monitor, node) = (Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor,collector,analyser,filesaver,query", &[]);
    let query = node.start_node(&monitor, &server.listen(), "query", &["--http", "127.0.0.1:0"]);
    let ready = async || {
        let answer = reqwest::get(format!("http://{}/readyz", query.http())).await.expect("it answers");
        answer.text().await.expect("with text")
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    eventually(LONG, "it says so", async || {
        let (said, data) = (ready().await, node.data().display().to_string());
        if said.contains("query: unwell") && said.contains(&data) && said.contains("--roles indexer") {
            Ok(())
        } else {
            Err(said)
        }
    })
    .await;
    let _indexer = node.start_node(&monitor, &server.listen(), "indexer", &[]);
    eventually(LONG, "it is well", async || ready().await.contains("query: well")).await;
}

/// The sockets that a process listens on.
fn listens_on(process: u32) -> Vec<SocketAddr> {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let sockets: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut found = Vec::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields[3] != "0A" || !sockets.contains(&format!("socket:[{}]", fields[9])) {
            continue;
        }
        let (address, port) = fields[1].split_once(':').unwrap();
        let address = u32::from_str_radix(address, 16).unwrap().swap_bytes();
        found.push(SocketAddr::from((std::net::Ipv4Addr::from(address), u16::from_str_radix(port, 16).unwrap())));
    }
    found
}

/// What somebody gets who speaks plainly.
fn plainly(address: SocketAddr, words: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    let _ = stream.write_all(words);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn whoever_looks_from_another_address_finds_no_port_in_clear() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    const HTTP: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    let (monitor, node) = (Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor,filesaver,indexer,query", &["--listen", "127.0.7.1:0"]);
    let running = node.start_node(&monitor, &server.listen(), "collector,analyser", &["--listen", "127.0.7.2:0"]);
    let all: Vec<SocketAddr> = [server.pid(), running.pid()].into_iter().flat_map(listens_on).collect();
    assert!(all.len() >= 4, "{all:?}");
    let reachable: Vec<SocketAddr> =
        all.into_iter().filter(|address| address.ip().to_string() != "127.0.0.1").collect();
    assert_eq!(reachable.len(), 2, "{reachable:?}");
    for address in reachable {
        for words in [PREFACE, HTTP] {
            let answer = plainly(address, words);
            // At most an alert of TLS.
            assert!(answer.is_empty() || answer[0] == 0x15, "{address}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn nodes_are_labelled_set_drained_and_shown() {
    let (monitor, node) = (Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor", &[]);
    let log = std::fs::File::create(node.data().join("log")).unwrap();
    let mut command = node.node_command(&monitor, &server.listen(), "collector,analyser", &[]);
    let running = Running::start(command.stderr(log));
    let name = running.node();
    let labelled = json(&monitor, &["nodes", "label", &name, "room=3"]);
    assert_eq!(labelled["labels"]["room"], "3");
    // What it logs follows at once, and goes back.
    let levels = || std::fs::read_to_string(node.data().join("log")).unwrap().matches("log levels changed").count();
    let set = json(&monitor, &["nodes", "set", &name, "--log", "info,collector=debug"]);
    assert_eq!(set["settings"]["log"], "info,collector=debug");
    eventually(LONG, "the node logs more", async || levels() == 1).await;
    let reset = json(&monitor, &["nodes", "set", &name, "--log", "default"]);
    assert_eq!(reset["settings"]["log"], Value::Null);
    let wrong = monitor.run(&["nodes", "set", &name, "--log", "loud"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("loud"), "{wrong:?}");
    assert_eq!(json(&monitor, &["nodes", "drain", &name])["draining"], true);
    eventually(LONG, "it is draining", async || state(&monitor, &name) == "draining").await;
    assert!(monitor.run(&["nodes", "drain", &name, "--undo"]).status.success());
    eventually(LONG, "it is idle", async || state(&monitor, &name) == "idle").await;
    let shown = json(&monitor, &["nodes", "show", &name]);
    assert!(shown["figures"]["memory_bytes"].as_u64().unwrap() > 1_000_000, "{shown}");
    assert!(
        shown["figures"]["disk_total_bytes"].as_u64().unwrap() > 0 && shown["silent_ms"].as_i64().unwrap() < 15_000
    );
    let unknown = monitor.run(&["nodes", "show", "nobody"]);
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("nobody"));
    drop(running);
    eventually(LONG, "it is missed", async || state(&monitor, &name) == "suspect").await;
    eventually(LONG, "it is given up", async || state(&monitor, &name) == "dead").await;
}

#[tokio::test]
async fn a_second_indexer_stands_by_and_takes_over_and_a_third_is_refused() {
    let web = FakeWeb::start(FakeWebConfig::small(20));
    let (monitor, first, second, third) = (Seine::new(), Seine::new(), Seine::new(), Seine::new());
    let server = serve(&monitor, "monitor,collector,analyser,filesaver", &[]);
    let join = server.listen();
    let active = first.start_node(&monitor, &join, "indexer", &[]);
    let waiting = second.start_node(&monitor, &join, "indexer", &[]);
    let standby = |node: &Running| json(&monitor, &["nodes", "show", &node.node()])["standby"] == true;
    assert!(!standby(&active) && standby(&waiting));
    let output = third.node_command(&monitor, &join, "indexer", &[]).output().unwrap();
    let (code, said) = ended(&output);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&active.node()) && said.contains(&waiting.node()) && said.contains("third"), "{said}");
    let run = monitor.crawl(&web.url("/"), &["--delay", "0", "--max-pages", "10"]);
    assert_eq!((run.code, run.count("indexed")), (0, 10), "{run:?}");
    let name = waiting.node();
    drop(active);
    eventually(LONG, "the standby has taken over", async || {
        json(&monitor, &["nodes", "show", &name])["standby"] == false
    })
    .await;
    let run = monitor.crawl(&web.url("/"), &["--delay", "0", "--max-pages", "21"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 21, 21), "{run:?}");
    assert_eq!(second.documents("fake").len(), 21);
}
