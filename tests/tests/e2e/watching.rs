//! Every process tells how it is and what it does, by the names that docs/watching.md lists.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};
use serde_json::Value;

use crate::server::get;

const DEADLINE: Duration = Duration::from_secs(60);

/// Type and labels of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kind {
    of: String,
    labels: BTreeSet<String>,
}

/// The table of the document.
fn documented() -> BTreeMap<String, Kind> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/watching.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `seine_"));
    let kinds = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[2].split(',').map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned).collect();
        assert!(cells.len() == 5 && !cells[3].is_empty(), "a row without a meaning: {row}");
        (format!("seine_{}", cells[0].trim_end_matches('`')), Kind { of: cells[1].to_owned(), labels })
    });
    kinds.collect()
}

/// What `/metrics` says, with all labels that any series has.
fn served(text: &str) -> BTreeMap<String, Kind> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut kinds: BTreeMap<String, Kind> =
        types.map(|(name, of)| (name.to_owned(), Kind { of: of.to_owned(), labels: BTreeSet::new() })).collect();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, _)) = line.split_once("} ") else { continue };
        let (name, labels) = series.split_once('{').expect("labels begin somewhere");
        let plain = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let name = plain.filter(|plain| kinds.contains_key(*plain)).unwrap_or(name);
        let names = labels.split("\",").filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
        kinds.get_mut(name).unwrap_or_else(|| panic!("{name} has no type")).labels.extend(names.filter(|l| l != "le"));
    }
    kinds
}

pub fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test]
async fn all_metrics_are_served_as_the_document_lists_them() {
    let web = FakeWeb::start(FakeWebConfig::small(12));
    let seine = Seine::new();
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let listed = documented();
    assert!(listed.len() > 40, "{}", listed.len());
    let names = |kinds: &BTreeMap<String, Kind>| kinds.keys().cloned().collect::<BTreeSet<_>>();
    // From the beginning, so that an alert on a counter finds it before it counts.
    eventually(DEADLINE, "all metrics are there before anything is crawled", async || {
        let (_, text) = get(&server, "/metrics").await;
        let missing: Vec<_> = names(&listed).difference(&names(&served(&text))).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    })
    .await;

    let url = web.url("/");
    let add = [&["crawls", "add", &url, "--name", "site", "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
    assert!(seine.run(&add).status.success());
    let text = eventually(DEADLINE, "the crawl is over and sampled", async || {
        let (_, text) = get(&server, "/metrics").await;
        let done = value(&text, "seine_monitor_crawl_pages{crawl=\"site\"}") == Some(13.0)
            && value(&text, "seine_monitor_queue_urls{crawl=\"site\"}") == Some(0.0)
            && value(&text, "seine_indexer_documents") == Some(13.0)
            && text.lines().any(|line| line.starts_with("seine_indexer_lag_bytes{") && line.ends_with(" 0"));
        if done { Ok(text) } else { Err(text) }
    })
    .await;
    get(&server, "/api/v1/search?q=fake").await;
    let kinds = served(&text);
    for (name, kind) in &kinds {
        let listed = listed.get(name).unwrap_or_else(|| panic!("{name} is not in the document"));
        assert_eq!(kind.of, listed.of, "{name}");
        assert!(kind.labels.is_subset(&listed.labels), "{name}: {:?} and {:?}", kind.labels, listed.labels);
        let described = text.contains(&format!("# HELP {name} "));
        assert!(described && !kind.labels.contains("url") && !kind.labels.contains("host"), "{name}");
    }
    assert_eq!(names(&kinds).len(), listed.len());
    let number = |series: &str| value(&text, series).unwrap_or_else(|| panic!("{series} in {text}"));
    assert_eq!(number("seine_monitor_visits_total{outcome=\"saved\"}"), 13.0);
    assert_eq!(number("seine_collector_fetch_seconds_count"), 13.0);
    assert_eq!(number("seine_analyser_page_seconds_count"), 13.0);
    assert!(number("seine_filesaver_save_seconds_count") >= 13.0, "robots.txt is saved too");
    assert!(number("seine_monitor_lease_seconds_count") >= 1.0);
    assert_eq!((number("seine_monitor_active_leases"), number("seine_monitor_hosts_waiting")), (0.0, 0.0));
    assert!(number("seine_disk_free_bytes{tier=\"filesaver\"}") > 0.0);
    assert_eq!(number("seine_node_troubles{tier=\"monitor\"}"), 0.0);
    let committed = text.lines().find(|line| line.starts_with("seine_indexer_committed_bytes{")).unwrap();
    let end = text.lines().find(|line| line.starts_with("seine_filesaver_log_end_bytes{")).unwrap();
    assert_eq!(committed.split_once('{').unwrap().1, end.split_once('{').unwrap().1, "all of the log is in the index");
}

async fn answers(process: &Running, tier: &str, metric: &str) {
    assert_eq!(get(process, "/healthz").await, (200, "ok\n".to_owned()));
    let (status, text) = get(process, "/readyz").await;
    assert!(status == 200 && text.starts_with("ready\n") && text.contains(&format!("{tier}: well\n")), "{text}");
    let (status, text) = get(process, "/metrics").await;
    assert!(status == 200 && text.contains(metric) && text.contains("seine_build_info{version="), "{text}");
    assert!(!text.contains("seine_query_"), "{text}");
    assert_eq!(get(process, "/search").await.0, 404);
}

#[tokio::test]
async fn processes_without_the_query_tell_how_they_are_too() {
    let (one, other) = (Seine::new(), Seine::new());
    let monitor = one.start(&["serve", "--roles", "monitor,filesaver", "--grpc", "127.0.0.1:0"]);
    let node = other.start_node(&one, &monitor.listen(), "collector", &[]);
    answers(&monitor, "monitor", "seine_monitor_leases_total 0").await;
    answers(&node, "collector", "seine_collector_in_flight 0").await;
    assert_eq!(node.interrupt(), 130);
}

#[tokio::test]
async fn logs_are_objects_where_they_are_asked_for_as_such() {
    let seine = Seine::new();
    std::fs::write(seine.data().join("seine.toml"), "[log]\nformat = \"json\"\nlevel = \"warn,monitor=info\"").unwrap();
    let log = seine.data().join("log");
    let server = seine.start_logging(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"], &log);
    let line = eventually(DEADLINE, "the monitor says that its collector is there", async || {
        let text = std::fs::read_to_string(&log).unwrap();
        text.lines().find(|line| line.contains("collector attached")).map(str::to_owned).ok_or(text)
    })
    .await;
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((line["level"].as_str(), line["leases"].as_u64()), (Some("INFO"), Some(0)), "{line}");
    assert!(line["target"].as_str().is_some_and(|target| target.starts_with("seine_monitor")), "{line}");
    assert_eq!(server.interrupt(), 130);
}

#[test]
fn levels_that_do_not_exist_are_told_before_anything_starts() {
    let seine = Seine::new();
    let output = seine.command(&["serve"]).env("SEINE_LOG_LEVEL", "warn,fetcher=debug").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("log.level") && text.contains("\"fetcher\"") && text.contains("collector"), "{text}");
}
