//! Several filesavers and analysers work at once, and are one archive and one index to whoever asks.

use std::collections::BTreeSet;
use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

use crate::archive::records_of;
use crate::killing::COMMON_WORD;

const HOSTS: usize = 4;
const PAGES: u32 = 60;
const DEADLINE: Duration = Duration::from_secs(120);

/// A directory for each process; the query reads the indexer's.
#[derive(Default)]
struct Directories {
    monitor: Seine,
    savers: [Seine; 2],
    analysers: [Seine; 2],
    index: Seine,
    collector: Seine,
}

/// Everything but the query; ends when it is dropped.
struct Cluster {
    directories: Directories,
    join: String,
    savers: [Option<Running>; 2],
    _others: Vec<Running>,
}

impl Cluster {
    fn start() -> Self {
        let directories = Directories::default();
        let monitor = directories.monitor.start(&["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"]);
        let join = monitor.listen();
        let node = |seine: &Seine, roles: &str| seine.start_node(&directories.monitor, &join, roles, &[]);
        let savers = [0, 1].map(|number| Some(node(&directories.savers[number], "filesaver")));
        let mut others: Vec<Running> =
            directories.analysers.iter().map(|analyser| node(analyser, "analyser")).collect();
        others.push(node(&directories.index, "indexer"));
        others.push(node(&directories.collector, "collector"));
        others.push(monitor);
        Self { directories, join, savers, _others: others }
    }

    fn start_saver(&mut self, number: usize) {
        let Directories { monitor, savers, .. } = &self.directories;
        self.savers[number] = Some(savers[number].start_node(monitor, &self.join, "filesaver", &[]));
    }

    /// As `kill -9` does.
    fn kill_saver(&mut self, number: usize) {
        self.savers[number] = None;
    }

    fn start_query(&self) -> Running {
        let Directories { monitor, index, .. } = &self.directories;
        index.start_node(monitor, &self.join, "query", &["--http", "127.0.0.1:0"])
    }

    fn run(&self, words: &[&str]) -> Result<String, String> {
        let output = self.directories.monitor.run(words);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// URLs of all documents, each as often as it is there.
    fn indexed(&self) -> Vec<String> {
        self.directories.index.documents(COMMON_WORD).into_iter().map(|document| document.url).collect()
    }

    /// Waits until exactly these are there, once each.
    async fn has_indexed(&self, urls: &[String], what: &str) {
        eventually(DEADLINE, what, async || {
            let found = self.indexed();
            if found == urls { Ok(()) } else { Err(format!("{} of {}", found.len(), urls.len())) }
        })
        .await;
    }

    fn exported(&self) -> Vec<String> {
        let mut urls: Vec<String> = self.run(&["export", "urls"]).unwrap().lines().map(str::to_owned).collect();
        urls.sort();
        urls
    }
}

fn web(latency: Duration) -> FakeWeb {
    let small = FakeWebConfig::small(PAGES).with_port_hosts(HOSTS);
    FakeWeb::start(FakeWebConfig { cross_host_links: 3, latency, ..small })
}

/// What the crawl asked for, once each: `/robots.txt` is no page.
fn fetched(web: &FakeWeb) -> Vec<String> {
    let urls: Vec<String> = web
        .requests()
        .iter()
        .filter(|request| &*request.path != "/robots.txt")
        .map(|request| format!("http://{}{}", request.host, request.path))
        .collect();
    let distinct: BTreeSet<String> = urls.iter().cloned().collect();
    assert_eq!(urls.len(), distinct.len(), "no page is fetched twice");
    assert!(distinct.len() >= HOSTS * PAGES as usize, "{} pages", distinct.len());
    distinct.into_iter().collect()
}

/// Pages in a WARC file, each as often as it is there.
fn pages_of(file: &std::path::Path, pages: &[String]) -> Vec<String> {
    let records = records_of(file);
    let mut found: Vec<String> = records
        .split("WARC-Type: response\r\n")
        .skip(1)
        .filter_map(|record| record.split("WARC-Target-URI: ").nth(1)?.split("\r\n").next())
        .map(str::to_owned)
        .filter(|url| pages.binary_search(url).is_ok())
        .collect();
    found.sort();
    found
}

async fn get(server: &Running, path: &str) -> (u16, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let response = reqwest::get(format!("http://{}{path}", server.http())).await.expect("the server answers");
    (response.status().as_u16(), response.text().await.expect("the body is text"))
}

/// URL and id of every hit.
async fn hits(query: &Running, most: usize) -> Vec<(String, String)> {
    let mut hits = Vec::new();
    while hits.len() < most {
        let path = format!("/api/v1/search?q={COMMON_WORD}&limit=100&offset={}", hits.len());
        let answer: Value = serde_json::from_str(&get(query, &path).await.1).expect("JSON");
        let page = answer["hits"].as_array().expect("hits are a list");
        if page.is_empty() {
            break;
        }
        let text = |hit: &Value, key: &str| hit[key].as_str().unwrap_or_default().to_owned();
        hits.extend(page.iter().map(|hit| (text(hit, "url"), text(hit, "id"))));
    }
    hits
}

/// Statuses of the cached copies, in the order of the ids.
async fn copies(query: &Running, hits: &[(String, String)]) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    for (_, id) in hits {
        answers.push(get(query, &format!("/cached/{id}")).await);
    }
    answers
}

#[tokio::test]
async fn two_filesavers_are_one_index_one_archive_and_one_export() {
    let web = web(Duration::ZERO);
    let mut cluster = Cluster::start();
    let run = cluster.directories.monitor.crawl(&web.host_url(0, "/"), &["--scope", "any", "--delay", "0"]);
    let pages = fetched(&web);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, pages.len() as u64, 0), "{run:?}");
    assert_eq!(run.count("indexed"), pages.len() as u64, "everything is indexed when the command returns: {run:?}");
    cluster.has_indexed(&pages, "each page is in the index once").await;
    let saved = cluster.directories.savers.each_ref().map(|saver| {
        let sealed = saver.archives();
        assert!(!sealed.is_empty(), "the archives are closed when the command returns");
        sealed.iter().map(|file| pages_of(file, &pages).len()).sum::<usize>()
    });
    assert!(saved.iter().all(|count| *count > 0) && saved.iter().sum::<usize>() == pages.len(), "{saved:?}");

    let warc = cluster.directories.monitor.data().join("all.warc.gz");
    assert_eq!(cluster.exported(), pages);
    cluster.run(&["export", "warc", warc.to_str().unwrap()]).unwrap();
    assert_eq!(pages_of(&warc, &pages), pages, "each page is in the export once");

    let query = cluster.start_query();
    let mut found = hits(&query, pages.len()).await;
    found.sort();
    assert_eq!(found.iter().map(|(url, _)| url.clone()).collect::<Vec<_>>(), pages);
    eventually(DEADLINE, "cached copies answer", async || copies(&query, &found[..1]).await[0].0 == 200).await;
    for ((url, _), (status, text)) in found.iter().zip(copies(&query, &found).await) {
        assert_eq!(status, 200, "{url}: {text}");
        assert!(text.contains(url.as_str()), "{url}: {text}");
    }
    assert_eq!(cluster.run(&["index", "rebuild", "--json"]), Ok(format!("{{\"documents\":{}}}\n", pages.len())));
    // Pages are still written again for what others call them, which moves hits from one page of answers to another.
    cluster.has_indexed(&pages, "a rebuild gives the same").await;

    // Without one of them: what it has is not to be had, and nothing else is given for it.
    cluster.kill_saver(1);
    eventually(DEADLINE, "copies of the other say that it does not run", async || {
        let answers = copies(&query, &found).await;
        let (shown, away): (Vec<_>, Vec<_>) = answers.iter().partition(|(status, _)| *status == 200);
        let says_why = away.iter().all(|(status, text)| *status == 503 && text.contains("does not run"));
        if says_why && [shown.len(), away.len()] == saved { Ok(()) } else { Err((shown.len(), away.len())) }
    })
    .await;
    let refused = cluster.run(&["index", "rebuild"]).unwrap_err();
    assert!(refused.contains("--without"), "{refused}");
    cluster.has_indexed(&pages, "nothing is lost by that").await;
    cluster.start_saver(1);
    eventually(DEADLINE, "all copies answer again", async || {
        copies(&query, &found).await.iter().all(|(status, _)| *status == 200)
    })
    .await;

    // A page, then a whole host: gone from index and export, also after a rebuild.
    cluster.run(&["index", "forget", &pages[0]]).unwrap();
    let host = web.host_addr(HOSTS - 1).to_string();
    cluster.run(&["index", "forget", &host]).unwrap();
    let of_host = format!("http://{host}/");
    let left: Vec<String> = pages[1..].iter().filter(|url| !url.starts_with(&of_host)).cloned().collect();
    assert!(left.len() < pages.len() - PAGES as usize, "{} left", left.len());
    assert_eq!(cluster.exported(), left);
    cluster.has_indexed(&left, "what was forgotten is gone").await;
    assert_eq!(cluster.run(&["index", "rebuild", "--json"]), Ok(format!("{{\"documents\":{}}}\n", left.len())));
    cluster.has_indexed(&left, "and stays so after a rebuild").await;
}

#[tokio::test]
async fn a_filesaver_that_is_killed_and_restarted_during_a_crawl_loses_nothing() {
    let web = web(Duration::from_millis(20));
    let mut cluster = Cluster::start();
    let url = web.host_url(0, "/");
    let flags = ["--name", "killed", "--scope", "any", "--delay", "0.05"];
    cluster.run(&[&["crawls", "add", &url], &flags[..], &ALLOW_LOOPBACK].concat()).unwrap();
    eventually(DEADLINE, "the crawl is under way", async || web.requests().len() > 40).await;
    cluster.kill_saver(0);
    let asked = web.requests().len();
    eventually(DEADLINE, "the crawl goes on with the other", async || web.requests().len() > asked + 40).await;
    cluster.start_saver(0);
    let status = eventually(DEADLINE, "the crawl finishes", async || {
        let shown = cluster.run(&["crawls", "show", "killed", "--json"])?;
        if shown.contains("\"state\":\"finished\"") { Ok(shown) } else { Err(shown) }
    })
    .await;
    let status: Value = serde_json::from_str(&status).unwrap();
    let pages = fetched(&web);
    assert_eq!((status["pages"].as_u64(), status["failed"].as_u64()), (Some(pages.len() as u64), Some(0)), "{status}");
    cluster.has_indexed(&pages, "every page is found once").await;
    assert_eq!(cluster.exported(), pages);
}
