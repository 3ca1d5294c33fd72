//! One trace follows a lease from its grant to the index, over all processes that have a part in it.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use seine_tests::otlp_receiver::{OtlpReceiver, ReceivedSpan};
use seine_tests::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig, eventually};

const DEADLINE: Duration = Duration::from_secs(60);
const PAGES: u32 = 8;

fn settings(seine: &Seine, lines: &str) {
    std::fs::write(seine.data().join("seine.toml"), format!("[telemetry]\n{lines}\n")).unwrap();
}

/// From a span up to where its trace begins.
fn upwards<'s>(from: &'s ReceivedSpan, spans: &HashMap<&[u8], &'s ReceivedSpan>) -> Vec<&'s ReceivedSpan> {
    let mut way = vec![from];
    while let Some(above) = way.last().and_then(|span| spans.get(span.parent.as_slice())) {
        way.push(above);
    }
    way
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_trace_leads_from_the_lease_over_all_processes_to_the_index() {
    let receiver = OtlpReceiver::start();
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let directories: [Seine; 3] = Default::default();
    for directory in &directories {
        settings(directory, &format!("otlp = \"{}\"", receiver.url()));
    }
    let [one, two, three] = &directories;
    let monitor = one.start(&["serve", "--roles", "monitor,filesaver", "--grpc", "127.0.0.1:0"]);
    let join = monitor.listen();
    let fetching = two.start_node(one, &join, "collector,analyser", &[]);
    let indexing = three.start_node(one, &join, "indexer", &[]);
    let url = web.url("/");
    let add = [&["crawls", "add", &url, "--name", "site", "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
    assert!(one.run(&add).status.success());
    let pages = PAGES as usize + 1;
    let count = |spans: &[ReceivedSpan], name: &str| spans.iter().filter(|span| span.name == name).count();
    eventually(DEADLINE, "every page is indexed and its lease is over", async || {
        let spans = receiver.spans();
        let counts = ["lease", "fetch", "analyse", "save", "index"].map(|name| count(&spans, name));
        if counts[0] >= 1 && counts[4] >= pages { Ok(()) } else { Err(counts) }
    })
    .await;
    // The lease that fetched may end after the last page can be found.
    let processes = [&monitor, &fetching, &indexing].map(|process| process.process().to_string());
    let spans = eventually(DEADLINE, "each page's way can be followed", async || {
        let spans = receiver.spans();
        let known: HashMap<&[u8], &ReceivedSpan> = spans.iter().map(|span| (span.id.as_slice(), span)).collect();
        let ways = spans.iter().filter(|span| span.name == "index").map(|span| upwards(span, &known));
        let whole = ways.filter(|way| way.len() == 5).count();
        if whole >= pages { Ok(spans.clone()) } else { Err(format!("{whole} of {pages}: {spans:#?}")) }
    })
    .await;
    let known: HashMap<&[u8], &ReceivedSpan> = spans.iter().map(|span| (span.id.as_slice(), span)).collect();
    let mut urls = HashSet::new();
    for index in spans.iter().filter(|span| span.name == "index") {
        let way = upwards(index, &known);
        let names: Vec<&str> = way.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["index", "save", "analyse", "fetch", "lease"]);
        let [index, save, analyse, fetch, lease] = way[..] else { unreachable!("there are five names") };
        assert!(way.iter().all(|span| span.trace == lease.trace) && lease.parent.is_empty(), "{way:#?}");
        assert!(way.iter().all(|span| span.fields.get("crawl").is_some_and(|crawl| crawl == "site")), "{way:#?}");
        let same = |field: &str, spans: &[&ReceivedSpan]| {
            let values: HashSet<_> = spans.iter().map(|span| &span.fields[field]).collect();
            assert_eq!(values.len(), 1, "{field} in {way:#?}");
        };
        same("lease", &[index, save, analyse, fetch, lease]);
        same("url", &[index, save, analyse, fetch]);
        same("host", &[fetch, lease]);
        assert_eq!((&*lease.fields["host"], &*fetch.fields["status"]), (&*web.addr().to_string(), "200"));
        assert!(lease.nanoseconds >= fetch.nanoseconds && fetch.nanoseconds > 0, "{way:#?}");
        let ran_in = [lease, fetch, index].map(|span| span.process.clone());
        assert_eq!(ran_in, processes);
        assert_eq!((&save.process, &analyse.process), (&lease.process, &fetch.process));
        urls.insert(index.fields["url"].clone());
    }
    assert_eq!(urls.len(), pages);
    for process in [indexing, fetching, monitor] {
        assert_eq!(process.interrupt(), 130);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_spans_are_sent_before_a_process_ends_and_none_when_no_lease_is_sampled() {
    let receiver = OtlpReceiver::start();
    let web = FakeWeb::start(FakeWebConfig::small(3));
    let crawl = |sample: &str| {
        let seine = Seine::new();
        settings(&seine, &format!("otlp = \"{}\"\nsample = {sample}", receiver.url()));
        let (url, output) = (web.url("/"), seine.crawl_command(&web.url("/"), &["--delay", "0"]).output());
        let output = output.unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    };
    tokio::task::block_in_place(|| crawl("0.0"));
    assert_eq!(receiver.spans().len(), 0);
    tokio::task::block_in_place(|| crawl("1"));
    let names: Vec<String> = receiver.spans().into_iter().map(|span| span.name).collect();
    for name in ["lease", "fetch", "analyse", "save", "index"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
}

fn stop(server: Running) -> Duration {
    let begun = Instant::now();
    assert_eq!(server.interrupt(), 130);
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_away_or_silent_costs_nothing() {
    // Takes connections and says nothing, as a machine does that is stuck.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for receiver in [silent.local_addr().unwrap(), away] {
        let web = FakeWeb::start(FakeWebConfig::small(20));
        let seine = Seine::new();
        settings(&seine, &format!("otlp = \"http://{receiver}\""));
        let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
        let url = web.url("/");
        let add = [&["crawls", "add", &url, "--name", "site", "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
        assert!(seine.run(&add).status.success());
        eventually(DEADLINE, "the crawl goes on", async || {
            let asked = web.requests().len();
            if asked > 20 { Ok(()) } else { Err(asked) }
        })
        .await;
        let took = stop(server);
        assert!(took < Duration::from_secs(15), "{receiver}: {took:?}");
    }
}
