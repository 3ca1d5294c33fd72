//! The whole analysis of real pages (decoding, links, both texts, metadata, language, fingerprints) beside what another
//! parser takes for its tree alone, on the same pages and in the same process.
//!
//! The two take turns, and of each the best turn counts: whatever else the machine does hits both alike. CPU time, on
//! one thread. The pages are no part of the project; where their folder is missing, nothing is measured.

use std::hint::black_box;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use flate2::read::GzDecoder;
use seine_analyser::{AnalyserConfig, analyse};
use seine_proto::common::v1::{FetchedPage, Header};
use serde::Serialize;

/// From the root of the project.
const PAGES: &str = "../shared/cases/content-dev/html";
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 50_000..=100_000;
const TURNS: usize = 5;
const ROUNDS_PER_TURN: usize = 5;
/// What the analysis must reach, as a share of the other's speed.
pub const REQUIRED: f64 = 0.8;

#[derive(Debug, Clone, Serialize)]
pub struct AnalysisSpeed {
    pub pages: usize,
    pub bytes: usize,
    /// Megabytes of pages per second of CPU time.
    pub analysis: f64,
    pub scraper_parse: f64,
}

impl AnalysisSpeed {
    pub fn ratio(&self) -> f64 {
        self.analysis / self.scraper_parse
    }
}

/// `None` where the pages are missing.
pub fn run() -> anyhow::Result<Option<AnalysisSpeed>> {
    let pages = pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGES))?;
    if pages.is_empty() {
        return Ok(None);
    }
    eprintln!("analysis of {} pages of 50 to 100 kB", pages.len());
    let config = AnalyserConfig::default();
    let fetched: Vec<FetchedPage> = pages.iter().map(|html| fetched(html)).collect();
    let (mut analysis, mut parse) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..TURNS {
        analysis = analysis.min(cpu_seconds(|| {
            for page in &fetched {
                black_box(analyse(page, &config)?);
            }
            Ok(())
        })?);
        parse = parse.min(cpu_seconds(|| {
            for html in &pages {
                black_box(scraper::Html::parse_document(html));
            }
            Ok(())
        })?);
    }
    let bytes: usize = pages.iter().map(String::len).sum();
    let speed = |seconds: f64| bytes as f64 * ROUNDS_PER_TURN as f64 / 1e6 / seconds;
    Ok(Some(AnalysisSpeed { pages: pages.len(), bytes, analysis: speed(analysis), scraper_parse: speed(parse) }))
}

fn cpu_seconds(mut round: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let before = thread_cpu_seconds()?;
    for _ in 0..ROUNDS_PER_TURN {
        round()?;
    }
    Ok(thread_cpu_seconds()? - before)
}

/// Of this thread so far, finer than that of the process is told.
fn thread_cpu_seconds() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("the system tells no CPU time")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}

fn fetched(html: &str) -> FetchedPage {
    let headers = vec![Header { name: "content-type".into(), value: "text/html".into() }];
    let url = "http://example.org/section/page.html".to_owned();
    FetchedPage { url, status: 200, headers, body: html.as_bytes().to_vec().into(), ..FetchedPage::default() }
}

fn pages(folder: &Path) -> anyhow::Result<Vec<String>> {
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths = files.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut pages = Vec::new();
    for path in paths {
        let mut html = Vec::new();
        let file = std::fs::File::open(&path)?;
        GzDecoder::new(file).read_to_end(&mut html).with_context(|| format!("cannot read {}", path.display()))?;
        // The other parser takes text and not bytes; nearly all of them are UTF-8.
        if let Ok(html) = String::from_utf8(html)
            && PAGE_BYTES.contains(&html.len())
        {
            pages.push(html);
        }
    }
    Ok(pages)
}
