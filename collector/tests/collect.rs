//! The whole collector between a Monitor and an analyser of the test's own, against a real web site on loopback.

#[path = "support/analyser.rs"]
mod analyser;
#[path = "support/monitor.rs"]
mod monitor;
#[path = "support/web.rs"]
mod web;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use analyser::LineAnalyser;
use bytes::Bytes;
use monitor::{FakeMonitor, Service, Settings};
use seine_collector::{Collector, CollectorConfig};
use seine_node::membership::Analysers;
use seine_node::transport;
use seine_proto::analyser::v1::analyser_server::AnalyserServer;
use seine_proto::monitor::v1::work_server::WorkServer;
use seine_proto::monitor::v1::{Crawl, OutcomeKind};
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use web::{Answer, Web};

fn settings(web: &Web) -> Settings {
    let crawl = Crawl {
        name: "test".into(),
        connections_per_host: Some(1),
        user_agent: Some("Seine/0.1".into()),
        allow_net: vec!["127.0.0.0/8".into()],
        ignore_robots: Some(true),
        max_body_bytes: Some(1 << 20),
        ..Crawl::default()
    };
    Settings { crawl, host: web.address.to_string(), urls_at_once: 3, ..Settings::default() }
}

struct Bench {
    monitor: Arc<FakeMonitor>,
    analyser: Arc<LineAnalyser>,
    shutdown: CancellationToken,
    collector: JoinHandle<Result<(), seine_collector::CollectorError>>,
}

fn start(settings: Settings, web: &Web, analyser: LineAnalyser) -> Bench {
    start_on(&tokio::runtime::Handle::current(), settings, web, analyser)
}

fn start_on(runtime: &tokio::runtime::Handle, settings: Settings, web: &Web, analyser: LineAnalyser) -> Bench {
    start_with(runtime, FakeMonitor::new(settings, &[web.url("/")]), analyser)
}

fn start_with(runtime: &tokio::runtime::Handle, monitor: Arc<FakeMonitor>, analyser: LineAnalyser) -> Bench {
    let analyser = Arc::new(analyser);
    let (dialer, listener) = transport::in_memory();
    let shutdown = CancellationToken::new();
    let work = WorkServer::new(Service(monitor.clone()));
    let routes = tonic::service::Routes::new(work).add_service(AnalyserServer::from_arc(analyser.clone()));
    tokio::spawn(transport::serve(routes, listener, CancellationToken::new()));
    let stop = shutdown.clone();
    let collector = runtime.spawn(async move {
        let analysers = Analysers::of([("only".to_owned(), dialer.channel())]);
        Collector::new(CollectorConfig::default(), dialer.channel(), analysers).run(stop).await
    });
    Bench { monitor, analyser, shutdown, collector }
}

impl Bench {
    async fn done(&self) {
        self.monitor.until("the end of the crawl", |state| state.is_done()).await;
        assert_eq!(self.monitor.state().settled_twice, 0);
    }

    async fn stop(self) {
        self.shutdown.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(15), self.collector).await;
        ended.expect("it stops in time").expect("it does not panic").expect("it does not fail");
    }
}

const TREE: &[(&str, &[&str])] = &[
    ("/", &["/a", "/b", "/c"]),
    ("/a", &["/a/1", "/a/2", "/"]),
    ("/a/1", &["/a/1/x", "/b"]),
    ("/a/1/x", &[]),
    ("/a/2", &["/a/1", "/missing"]),
    ("/b", &["/b/1", "/b/2", "/b/3", "/b/4"]),
    ("/b/1", &[]),
    ("/b/2", &["/b/2/y"]),
    ("/b/2/y", &["/"]),
    ("/b/3", &[]),
    ("/b/4", &[]),
    ("/c", &["/a", "/b"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_walks_depth_first_and_asks_once_for_each_page() {
    let web = Web::of_pages(TREE, "").await;
    let bench = start(settings(&web), &web, LineAnalyser::default());
    bench.done().await;
    let expected =
        ["/", "/a", "/a/1", "/a/1/x", "/a/2", "/missing", "/b", "/b/1", "/b/2", "/b/2/y", "/b/3", "/b/4", "/c"];
    assert_eq!(web.paths(), expected);
    {
        let state = bench.monitor.state();
        assert_eq!((state.count(OutcomeKind::Saved), state.count(OutcomeKind::NotFound)), (12, 1));
        assert_eq!((state.pins.as_slice(), state.returned.len()), (["127.0.0.1".to_owned()].as_slice(), 1));
    }
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_sees_the_delay_and_the_robots_rules_kept() {
    let web = Web::of_pages(TREE, "user-agent: seine\ndisallow: /b\nallow: /b/2$\n").await;
    let mut settings = settings(&web);
    settings.crawl =
        Crawl { delay_ms: Some(20), connections_per_host: Some(4), ignore_robots: Some(false), ..settings.crawl };
    let bench = start(settings, &web, LineAnalyser::default());
    bench.done().await;
    let mut paths = web.paths();
    assert_eq!(paths.remove(0), "/robots.txt");
    paths.sort();
    assert_eq!(paths, ["/", "/a", "/a/1", "/a/1/x", "/a/2", "/c", "/missing"]);
    assert!(shortest_distance(&web) >= Duration::from_millis(20));
    assert_eq!(bench.monitor.state().count(OutcomeKind::RefusedByRobots), 1);
    assert_eq!(bench.monitor.state().robots_found, 1);
    bench.stop().await;
}

fn shortest_distance(web: &Web) -> Duration {
    let shortest = web.times().windows(2).map(|pair| pair[1] - pair[0]).min().expect("there were requests");
    println!("shortest distance between {} requests: {shortest:?}", web.times().len());
    shortest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_delay_is_kept_over_many_pages_and_leases() {
    let web = endless().await;
    let mut settings = Settings { page_allowance: 20, ..settings(&web) };
    settings.crawl.delay_ms = Some(20);
    let bench = start(settings, &web, LineAnalyser::default());
    bench.monitor.until("many pages", |state| state.settled.len() >= 100).await;
    assert!(shortest_distance(&web) >= Duration::from_millis(20));
    assert!(bench.monitor.state().returned.len() >= 4);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_is_not_allowed_is_never_contacted() {
    let web = Web::of_pages(TREE, "").await;
    let mut settings = settings(&web);
    settings.crawl.allow_net.clear();
    let bench = start(settings, &web, LineAnalyser::default());
    bench.done().await;
    assert!(web.paths().is_empty());
    assert_eq!(bench.monitor.state().count(OutcomeKind::AddressNotAllowed), 1);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_pages_are_saved_than_the_lease_allows() {
    let web = Web::of_pages(TREE, "").await;
    let mut settings = Settings { page_allowance: 5, ..settings(&web) };
    settings.crawl.connections_per_host = Some(8);
    let bench = start(settings, &web, LineAnalyser::default());
    bench.monitor.until("the return of the lease", |state| !state.returned.is_empty()).await;
    assert_eq!(bench.monitor.state().saved_at_return[0], 5);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_goes_back_with_work_left_is_continued_by_the_next() {
    let web = Web::of_pages(TREE, "").await;
    let bench = start(Settings { page_allowance: 4, ..settings(&web) }, &web, LineAnalyser::default());
    bench.done().await;
    // Twelve pages to save, four a lease.
    assert_eq!((web.paths().len(), bench.monitor.state().returned.len()), (13, 3));
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_nothing_can_be_saved_nothing_is_fetched_and_no_page_is_fetched_twice() {
    let web = Web::of_pages(TREE, "").await;
    // More than once, so that the page that is tried again is refused too.
    let bench = start(settings(&web), &web, LineAnalyser { refusals: Arc::new(2.into()), ..LineAnalyser::default() });
    bench.done().await;
    assert_eq!(bench.analyser.refusals.load(Ordering::SeqCst), 0);
    assert_eq!(bench.analyser.pages_while_refusing.load(Ordering::SeqCst), 1, "the page that is tried, and no other");
    let mut paths = web.paths();
    paths.sort();
    paths.dedup();
    assert_eq!((web.paths().len(), paths.len()), (13, 13), "each once");
    assert_eq!(bench.monitor.state().count(OutcomeKind::Saved), 12);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_cannot_be_kept_has_an_outcome_of_its_own_and_stops_no_other() {
    let web = Web::of_pages(TREE, "").await;
    let bench = start(settings(&web), &web, LineAnalyser { failures: 1.into(), ..LineAnalyser::default() });
    bench.done().await;
    let count = |kind| bench.monitor.state().count(kind);
    assert_eq!((count(OutcomeKind::NotKept), count(OutcomeKind::Saved)), (1, 11));
    assert_eq!(web.paths().len(), 13);
    bench.stop().await;
}

/// A site without end, slow enough that something is always left to do.
async fn endless() -> Web {
    Web::start(Arc::new(|path| {
        let number: u64 = path.rsplit('/').next().and_then(|last| last.parse().ok()).unwrap_or(0);
        Answer::page(&[format!("/{}", number * 2 + 1), format!("/{}", number * 2 + 2)])
    }))
    .await
}

fn paced(web: &Web) -> Settings {
    let mut settings = settings(web);
    settings.crawl.delay_ms = Some(5);
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_settles_what_is_under_way_and_returns_the_lease() {
    let web = endless().await;
    let bench = start(paced(&web), &web, LineAnalyser::default());
    bench.monitor.until("some pages", |state| state.settled.len() >= 10).await;
    let monitor = bench.monitor.clone();
    bench.stop().await;
    monitor.until("the return of the lease", |state| state.returned.len() == 1).await;
    let (state, asked) = (monitor.state(), web.paths().len());
    assert_eq!((state.settled.len(), state.settled_twice), (asked, 0), "every request was settled");
    assert!(state.returned[0].since_last_request_ms.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_lease_comes_back_and_can_be_given_again() {
    let web = endless().await;
    let bench = start(paced(&web), &web, LineAnalyser::default());
    bench.monitor.until("some pages", |state| state.settled.len() >= 5).await;
    bench.monitor.revoke();
    bench.monitor.until("the return", |state| state.returned.len() == 1).await;
    bench.monitor.until("more pages", |state| state.settled.len() >= 10).await;
    assert_eq!(bench.monitor.state().settled_twice, 0);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_goodbye_or_a_broken_stream_the_collector_goes_on_with_its_lease_and_fetches_nothing_twice() {
    let web = endless().await;
    let bench = start(paced(&web), &web, LineAnalyser::default());
    for streams in 2..8 {
        let settled = bench.monitor.state().settled.len();
        bench.monitor.until("more pages", |state| state.settled.len() >= settled + 10).await;
        match streams % 2 {
            0 => bench.monitor.say_goodbye(),
            _ => bench.monitor.break_stream(),
        }
        bench.monitor.until("another stream", |state| state.streams == streams).await;
    }
    let settled = bench.monitor.state().settled.len();
    bench.monitor.until("more pages", |state| state.settled.len() >= settled + 10).await;
    let mut paths = web.paths();
    let asked = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!((paths.len(), bench.monitor.state().returned.len()), (asked, 0), "each once, under one lease");
    assert!(shortest_distance(&web) >= Duration::from_millis(5));
    assert_eq!(bench.monitor.state().settled_twice, 0);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_the_monitor_no_longer_has_is_dropped_and_another_is_worked_on() {
    let web = endless().await;
    let bench = start(paced(&web), &web, LineAnalyser::default());
    bench.monitor.until("some pages", |state| state.settled.len() >= 5).await;
    bench.monitor.forget_lease();
    bench.monitor.break_stream();
    bench.monitor.until("another stream", |state| state.streams == 2).await;
    let settled = bench.monitor.state().settled.len();
    bench.monitor.until("more pages", |state| state.settled.len() >= settled + 10).await;
    assert_eq!(bench.monitor.state().settled_twice, 0);
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unrenewed_lease_ends_with_its_connections_closed_in_the_middle_of_a_request_and_goes_on_when_renewed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let web = Web::of_pages(&[], "").await;
    let slow = Settings { host: listener.local_addr().unwrap().to_string(), lease_ms: 1_000, ..settings(&web) };
    let monitor = FakeMonitor::new(slow, &[format!("http://{}/", listener.local_addr().unwrap())]);
    let bench = start_with(&tokio::runtime::Handle::current(), monitor, LineAnalyser::default());
    let (mut asked, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 4096];
    assert!(asked.read(&mut request).await.unwrap() > 0);
    // It is renewed for as long as the Monitor hears, however long the server takes.
    let still_open = tokio::time::timeout(Duration::from_secs(3), asked.read(&mut request)).await;
    assert!(still_open.is_err(), "the connection was closed while the lease was renewed");
    bench.monitor.hear_heartbeats(false);
    let closed = tokio::time::timeout(Duration::from_secs(9), asked.read(&mut request)).await;
    assert_eq!(closed.expect("the connection is closed").unwrap_or(0), 0);
    let another = tokio::time::timeout(Duration::from_millis(500), listener.accept()).await;
    assert!(another.is_err(), "nothing is asked under a lease that is over");
    // It breaks the stream and shows the lease on the next one.
    bench.monitor.hear_heartbeats(true);
    let again = tokio::time::timeout(Duration::from_secs(30), listener.accept()).await;
    let (mut asked, _) = again.expect("the request is made again").unwrap();
    assert!(asked.read(&mut request).await.unwrap() > 0);
    assert!(bench.monitor.state().settled.is_empty());
    bench.collector.abort();
}

/// `cargo test --release --workspace pages_per_second -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn pages_per_second() {
    const PAGES: u64 = 20_000;
    let filler = "text ".repeat(3_800);
    let web = Web::start(Arc::new(move |path| {
        let number: u64 = path[1..].parse().unwrap_or(0);
        let links = (1..=30).map(|link| format!("/{}\n", (number * 30 + link * 7) % PAGES)).collect::<String>();
        Answer { status: 200, headers: "Content-Type: text/html\r\n".into(), body: Bytes::from(links + &filler) }
    }))
    .await;
    for connections in [1, 8] {
        let mut settings = Settings { urls_at_once: 512, ..settings(&web) };
        settings.crawl.connections_per_host = Some(connections);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(COLLECTOR_THREADS)
            .enable_all()
            .build()
            .expect("a second runtime can be made");
        let started = Instant::now();
        let bench = start_on(runtime.handle(), settings, &web, LineAnalyser::default());
        bench.done().await;
        let seconds = started.elapsed().as_secs_f64();
        let (user, kernel) = collector_cpu_seconds();
        let pages = bench.monitor.state().count(OutcomeKind::Saved) as f64;
        println!(
            "{connections} connections: {pages} pages in {seconds:.2} s, {:.0} pages/s; the collector's threads took {:.0} µs a page and {:.0} µs in the kernel",
            pages / seconds,
            user * 1e6 / pages,
            kernel * 1e6 / pages
        );
        bench.stop().await;
        runtime.shutdown_background();
    }
}

const COLLECTOR_THREADS: &str = "fetching";

/// CPU time of the collector's own threads: user, kernel.
fn collector_cpu_seconds() -> (f64, f64) {
    let (mut user, mut kernel) = (0.0, 0.0);
    for task in std::fs::read_dir("/proc/self/task").expect("this is Linux").flatten() {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let Some((name, numbers)) = stat.rsplit_once(") ") else { continue };
        if name.ends_with(COLLECTOR_THREADS) {
            let ticks: Vec<f64> = numbers.split(' ').filter_map(|word| word.parse().ok()).collect();
            // Fields 14 and 15; the state is no number.
            user += ticks[10] / 100.0;
            kernel += ticks[11] / 100.0;
        }
    }
    (user, kernel)
}
