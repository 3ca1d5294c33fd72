//! Serves the search page over a small index in several languages, for looking at it in a browser.
//!
//! `cargo build --release --workspace --examples`, then `dev_page [address] [index]`, where the index is `empty` or the
//! directory of one that a crawl has made.

use seine_common::config::WebConfig;
use seine_indexer::entry::{Entry, Page};
use seine_indexer::writer::DocumentWriter;
use seine_indexer::{Indexer, IndexerConfig, publish};
use seine_query::{QueryConfig, QueryService};
use tokio_util::sync::CancellationToken;

/// One page per paragraph: address, title, language (`-` for none), then its text.
const PAGES: &str = include_str!("dev_page.txt");

fn pages() -> impl Iterator<Item = Page> {
    let written = PAGES.split("\n\n").map(|page| {
        let mut lines = page.trim().lines();
        let mut line = || lines.next().filter(|line| *line != "-").unwrap_or_default().to_owned();
        let (url, title, lang) = (line(), line(), line());
        let text = lines.collect::<Vec<_>>().join("\n");
        let content_type = if url.ends_with(".pdf") { "application/pdf" } else { "text/html" }.to_owned();
        Page { url, title, lang, text, content_type, ..Page::default() }
    });
    let numbered = (1..=60).map(|number| Page {
        url: format!("https://gauges.example/station/{number}"),
        title: format!("River gauge no. {number}"),
        lang: "en".to_owned(),
        text: format!("Water level of the river at station {number}, measured every fifteen minutes since 1987."),
        ..Page::default()
    });
    written.chain(numbered)
}

fn fill(writer: &mut DocumentWriter) -> Result<(), seine_indexer::IndexerError> {
    const DAY_MS: i64 = 86_400_000;
    for (page, day) in pages().zip(0..) {
        let (fetched_at_ms, date_ms) = (1_772_000_000_000 + day * DAY_MS, 1_600_000_000_000 + day * 23 * DAY_MS);
        let page = Page { crawl: "demo".to_owned(), fetched_at_ms, date_ms, ..page };
        writer.apply(Entry::Page(Box::new(page)))?;
    }
    writer.commit()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("127.0.0.1:8080".to_owned());
    let made = tempfile::tempdir()?;
    let mut index = made.path().to_owned();
    match arguments.next().as_deref() {
        Some("empty") => {}
        Some(directory) => index = directory.into(),
        None => {
            Indexer::open(&index, IndexerConfig::default())?;
            let current = publish::current(&index)?.ok_or("no index")?;
            fill(&mut DocumentWriter::open(&current, &IndexerConfig::default())?)?;
        }
    }
    let service = QueryService::open(&index, QueryConfig::default())?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{}/", listener.local_addr()?);
    service.serve_http(listener, None, &WebConfig::default(), CancellationToken::new()).await;
    Ok(())
}
