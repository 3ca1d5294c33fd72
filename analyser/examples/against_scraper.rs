//! The whole analysis beside `scraper`'s parse alone, on the same real pages in the same run.
//!
//! `against_scraper CASES [ROUNDS]`, where CASES holds `html/*.html.gz`. Takes the pages of 50 to 100 kB; prints MB of
//! HTML per second of CPU for both, best of the rounds, and the ratio.

use std::io::Read;
use std::path::PathBuf;

use seine_analyser::{AnalyserConfig, analyse};
use seine_proto::common::v1::{FetchedPage, Header};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cases = PathBuf::from(arguments.next().expect("the folder of cases"));
    let rounds: usize = arguments.next().map_or(5, |rounds| rounds.parse().expect("a number"));
    let pages: Vec<FetchedPage> = pages(&cases);
    let texts: Vec<String> = pages.iter().map(|page| String::from_utf8_lossy(&page.body).into_owned()).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} pages, {} kB", pages.len(), bytes / 1000);
    let config = AnalyserConfig::default();
    let (mut parse, mut whole) = (f64::MAX, f64::MAX);
    for _ in 0..rounds {
        parse = parse.min(cpu_seconds(|| {
            for text in &texts {
                std::hint::black_box(scraper::Html::parse_document(text));
            }
        }));
        whole = whole.min(cpu_seconds(|| {
            for page in &pages {
                std::hint::black_box(analyse(page, &config).expect("a valid page"));
            }
        }));
    }
    let speed = |seconds: f64| bytes as f64 / 1e6 / seconds;
    println!("scraper's parse alone: {:.1} MB/s", speed(parse));
    println!("the whole analysis: {:.1} MB/s, {:.2} of it", speed(whole), parse / whole);
}

fn pages(cases: &std::path::Path) -> Vec<FetchedPage> {
    let files = std::fs::read_dir(cases.join("html")).expect("a folder of pages");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    paths.sort();
    let pages = paths.iter().filter_map(|path| {
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?).read_to_end(&mut body).ok()?;
        if !(50_000..=100_000).contains(&body.len()) {
            return None;
        }
        let headers = vec![Header { name: "content-type".into(), value: "text/html".into() }];
        let url = "http://example.org/path/page.html".to_owned();
        Some(FetchedPage { url, status: 200, headers, body: body.into(), ..FetchedPage::default() })
    });
    pages.collect()
}

/// Time that this thread spends on a CPU.
fn cpu_seconds(work: impl FnOnce()) -> f64 {
    let now = || -> f64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
        text.split(' ').next().and_then(|text| text.parse().ok()).expect("nanoseconds")
    };
    let start = now();
    work();
    (now() - start) / 1e9
}
