//! CPU time of analysing and of saving pages like those of the project's bench: 20 kB, 30 links, about 30 % text.
//!
//! `cargo build --release --workspace --examples`, then run `stages` from the target directory's `release/examples`.
//! Prints microseconds of CPU per page for each stage on one thread, then pages per second and CPU through both
//! services over in-memory gRPC with everything synced.

use std::fmt::Write;
use std::time::{Duration, Instant};

use seine_analyser::filesaver::{Durability, Filesaver, FilesaverConfig};
use seine_analyser::rpc::AnalyserService;
use seine_analyser::{AnalyserConfig, analyse};
use seine_node::membership::Filesavers;
use seine_node::transport;
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::{AnalyseRequest, analyse_response::Event};
use seine_proto::common::v1::{FetchedPage, Header, LeaseRef};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

const PAGES: u64 = 2000;
const PAGE_BYTES: usize = 20_000;
const LINKS: usize = 30;

fn main() {
    let pages: Vec<FetchedPage> = (0..PAGES).map(page).collect();
    let config = AnalyserConfig::default();
    let bytes: usize = pages.iter().map(|page| page.body.len()).sum();
    let text: usize =
        pages.iter().map(|page| analyse(page, &config).expect("a valid page").description.text.len()).sum();
    println!("{PAGES} pages of {} bytes, {} % text", bytes / pages.len(), 100 * text / bytes);

    let took = thread_cpu(|| {
        for page in &pages {
            std::hint::black_box(analyse(page, &config).expect("a valid page"));
        }
    });
    report("analyse", took, bytes);

    for durability in [Durability::Sync, Durability::Os] {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let (cpu, start) = (process_cpu(), Instant::now());
        runtime.block_on(through_services(&pages, durability));
        let (cpu, wall) = (process_cpu() - cpu, start.elapsed());
        println!(
            "both services, {durability:?}: {:.0} pages/s, {:.0} µs CPU per page",
            PAGES as f64 / wall.as_secs_f64(),
            cpu.as_secs_f64() * 1e6 / PAGES as f64
        );
    }
}

fn report(stage: &str, took: Duration, bytes: usize) {
    let per_page = took.as_secs_f64() * 1e6 / PAGES as f64;
    println!("{stage}: {per_page:.1} µs CPU per page, {:.0} MB/s", bytes as f64 / 1e6 / took.as_secs_f64());
}

async fn through_services(pages: &[FetchedPage], durability: Durability) {
    let dir = tempfile::tempdir().expect("a directory");
    let filesaver =
        Filesaver::open(dir.path(), FilesaverConfig { durability, ..FilesaverConfig::default() }).expect("opens");
    let (dialer, listener) = transport::in_memory();
    let analyser =
        AnalyserService::new(Filesavers::of([("log".to_owned(), dialer.channel())]), AnalyserConfig::default());
    let routes = Routes::new(filesaver.service()).add_service(analyser.into_server());
    tokio::spawn(transport::serve(routes, listener, CancellationToken::new()));
    let requests: Vec<AnalyseRequest> = (0..)
        .zip(pages)
        .map(|(page_id, page)| AnalyseRequest { page_id, page: Some(page.clone()), withdrawn: None })
        .collect();
    let mut client = AnalyserClient::new(dialer.channel());
    let mut stream = client.analyse(futures::stream::iter(requests)).await.expect("answers").into_inner();
    let mut saved = 0;
    while let Some(answer) = stream.message().await.expect("an answer") {
        saved += u64::from(matches!(answer.event, Some(Event::Saved(_))));
    }
    assert_eq!(saved, PAGES);
    filesaver.close().await.expect("closes");
}

/// Time this thread spends on a CPU.
fn thread_cpu(work: impl FnOnce()) -> Duration {
    let now = || -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
        text.split(' ').next().and_then(|text| text.parse().ok()).expect("nanoseconds")
    };
    let start = now();
    work();
    Duration::from_nanos(now() - start)
}

/// Time all threads have spent, user and system, in ticks of 10 ms.
fn process_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = text.rsplit(')').next().expect("a name in brackets");
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|i| fields[*i].parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(10 * ticks)
}

fn page(number: u64) -> FetchedPage {
    let headers = [("content-type", "text/html; charset=utf-8"), ("server", "bench"), ("connection", "keep-alive")];
    FetchedPage {
        lease: Some(LeaseRef { token: 1, crawl: "bench".into(), epoch: 1 }),
        url: format!("http://bench.example:8080/section/{}/page-{number}.html", number % 97),
        fetched_at_ms: 1_700_000_000_000 + number as i64,
        ip: "127.0.0.1".into(),
        request_head: format!("GET /section/{}/page-{number}.html HTTP/1.1\r\nhost: bench.example:8080\r\nuser-agent: seine/0.1\r\naccept: */*\r\n\r\n", number % 97).into(),
        response_head: "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nserver: bench\r\n\r\n".into(),
        status: 200,
        headers: headers.iter().map(|(name, value)| Header { name: (*name).into(), value: (*value).into() }).collect(),
        body: html(number).into(),
        ..FetchedPage::default()
    }
}

const WORDS: &str = "river harbour old town winter market bridge people water north garden stone morning letter window \
    children travel summer market road music story house light field history paper school forest island mountain \
    the of and to in is that it was for on are with as they at be this from have or by one had not but what all were \
    when we there can an your which their said if do will each about how up out them then she many some so these would";

fn html(number: u64) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut sentence =
        move |length: usize| (0..length).map(|_| words[random(words.len())]).collect::<Vec<_>>().join(" ");
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Page {number}: {}</title>\n\
         <meta name=\"description\" content=\"{}\">\n<link rel=\"stylesheet\" href=\"/static/site.css?v=12\">\n\
         <script>window.config = {{ page: {number}, items: [1, 2, 3], track: \"<a href='/no'>\" }};</script>\n</head>\n<body>\n",
        sentence(4),
        sentence(12)
    );
    for i in 0..LINKS {
        let target = (number * 7 + i as u64 * 13) % 20_000;
        let _ = writeln!(
            html,
            "<div class=\"card card--wide\" id=\"c{i}\" data-track=\"click:{target}:{i}\"><h2 class=\"card__title\">\
             <a class=\"link link--primary\" href=\"/section/{}/page-{target}.html\">{}</a></h2>\
             <p class=\"card__text\">{}&nbsp;&amp; {}.</p></div>",
            target % 97,
            sentence(3),
            sentence(13),
            sentence(13),
        );
    }
    let mut i = 0;
    while html.len() < PAGE_BYTES - 20 {
        let _ =
            writeln!(html, "<span class=\"icon icon--{i}\" aria-hidden=\"true\" style=\"left: {}px\"></span>", i * 3);
        i += 1;
    }
    html.push_str("</body></html>");
    html
}
