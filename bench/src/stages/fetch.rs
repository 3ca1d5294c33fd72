//! Fetching: the collector's HTTP client over as many connections as a crawl with delay 0 opens, and nothing around it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, anyhow};
use seine_collector::CollectorConfig;
use seine_collector::fetch::http::{Http, OriginClient};
use seine_collector::fetch::{FetchLimits, Known};
use seine_collector::gate::Gate;
use seine_common::limits::MAX_BODY_BYTES;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::FetchedPage;
use seine_tests::fake_web::page_path;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// What `--connections-per-host` is when the delay is 0.
const CONNECTIONS: usize = 8;
const TIMEOUT: Duration = Duration::from_secs(30);
const LIMITS: FetchLimits =
    FetchLimits { max_body_bytes: MAX_BODY_BYTES as u64, any_type: false, keeps_answers: true, timeout: TIMEOUT };

/// Every page of the web, in the order of their numbers.
pub fn urls(home: &str, pages: u32) -> anyhow::Result<Vec<CanonicalUrl>> {
    let home = CanonicalUrl::parse(home)?;
    let others = (0..pages).map(|page| Ok(CanonicalUrl::join(home.as_url(), &page_path(page))?));
    std::iter::once(Ok(home.clone())).chain(others).collect()
}

pub fn run(runtime: &Runtime, urls: Vec<CanonicalUrl>) -> anyhow::Result<Vec<FetchedPage>> {
    let address = urls.first().and_then(|url| url.as_url().host_str()).context("there is nothing to fetch")?;
    let client = Http::new(TIMEOUT)?.client(address.parse()?, "Seine-bench", CONNECTIONS, Arc::default())?;
    let waiting = Arc::new(Mutex::new(urls.into_iter()));
    runtime.block_on(async {
        let mut connections = JoinSet::new();
        for _ in 0..CONNECTIONS {
            connections.spawn(fetch_while_any_wait(client.clone(), waiting.clone()));
        }
        let mut pages = Vec::new();
        while let Some(fetched) = connections.join_next().await {
            pages.append(&mut fetched??);
        }
        Ok(pages)
    })
}

async fn fetch_while_any_wait(
    client: OriginClient,
    waiting: Arc<Mutex<impl Iterator<Item = CanonicalUrl>>>,
) -> anyhow::Result<Vec<FetchedPage>> {
    let gate = Gate::new(CONNECTIONS, CollectorConfig::default().body_bytes);
    let mut pages = Vec::new();
    let mut request = 0;
    loop {
        let next = waiting.lock().expect("nothing panics while it is locked").next();
        let Some(url) = next else { return Ok(pages) };
        request += 1;
        let mut permit = gate.acquire().await;
        let page = client.fetch(&url, &Known::default(), request, LIMITS, &mut permit.body).await;
        let page = page.map_err(|ending| anyhow!("{url} could not be fetched: {ending:?}"))?;
        pages.push(FetchedPage {
            lease: None,
            url: url.as_str().to_owned(),
            depth: 0,
            fetched_at_ms: page.fetched_at_ms,
            ip: client.address().to_string(),
            request_head: page.request_head,
            response_head: page.response_head,
            status: page.status.into(),
            headers: page.headers,
            body: page.body,
            ..FetchedPage::default()
        });
    }
}
