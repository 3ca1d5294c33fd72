//! Somebody who searches all the time, and what is in the index at the end.
//!
//! Searches run on a thread of their own, so that what a test waits for does not count as slowness of theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{FakeWeb, eventually};

/// A word of every page.
const COMMON_WORD: &str = "fake";
/// Hits of one answer.
const MOST: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);
const ANSWER_TAKES: Duration = Duration::from_secs(30);
/// How many failures are shown.
const SHOWN: usize = 5;

/// Ends when it is dropped.
pub struct Searches {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Searched>>,
}

#[derive(Debug, Default)]
pub struct Searched {
    pub took: Vec<Duration>,
    pub failed: usize,
    /// The first of them.
    pub failures: Vec<String>,
}

impl Searches {
    /// Waits for the first answer.
    pub async fn start(address: &str) -> Self {
        let client = client();
        eventually(ANSWER_TAKES, "searches are answered", async || ask(&client, address, "").await).await;
        let is_over = Arc::new(AtomicBool::new(false));
        let (address, ends) = (address.to_owned(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a thread can have a runtime").block_on(search(&address, &ends))
        });
        Self { is_over, thread: Some(thread) }
    }

    pub fn stop(mut self) -> Searched {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().expect("it is taken once").join().expect("searching does not panic")
    }
}

impl Drop for Searches {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Searched {
    /// How long the fastest of this share of all took at most.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut took = self.took.clone();
        took.sort();
        let at = (took.len() as f64 * share) as usize;
        took.get(at.min(took.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

async fn search(address: &str, is_over: &AtomicBool) -> Searched {
    let client = client();
    let mut searched = Searched::default();
    while !is_over.load(Ordering::Relaxed) {
        let started = Instant::now();
        match ask(&client, address, "").await {
            Ok(_) => searched.took.push(started.elapsed()),
            Err(error) => {
                searched.failed += 1;
                searched.failures.push(error);
                searched.failures.truncate(SHOWN);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    searched
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().timeout(ANSWER_TAKES).build().expect("a client needs nothing")
}

async fn ask(client: &reqwest::Client, address: &str, further: &str) -> Result<Value, String> {
    let url = format!("http://{address}/api/v1/search?q={COMMON_WORD}{further}");
    let response = client.get(&url).send().await.map_err(|error| format!("{error:?}"))?;
    let status = response.status();
    let text = response.text().await.map_err(|error| format!("{error:?}"))?;
    if !status.is_success() {
        return Err(format!("{status}: {text}"));
    }
    serde_json::from_str(&text).map_err(|error| format!("{error} in {text}"))
}

/// URLs of all documents, each as often as it is there; waits until there are as many as the web has pages.
pub async fn indexed(address: &str, web: &FakeWeb, deadline: Duration) -> Vec<String> {
    let client = client();
    let mut urls = Vec::new();
    for host in 0..web.config().hosts.len() {
        let pages = web.config().pages as usize + 1;
        urls.extend(
            eventually(deadline, "the pages of a host are in the index", async || {
                let found = of_host(&client, address, &web.host_addr(host).to_string()).await?;
                if found.len() >= pages { Ok(found) } else { Err(format!("{} of {pages}", found.len())) }
            })
            .await,
        );
    }
    urls.sort();
    urls
}

/// One host has few enough pages to be read without a deep offset.
async fn of_host(client: &reqwest::Client, address: &str, host: &str) -> Result<Vec<String>, String> {
    let mut urls = Vec::new();
    loop {
        let answer = ask(client, address, &format!("&site={host}&limit={MOST}&offset={}", urls.len())).await?;
        let hits = answer["hits"].as_array().ok_or("the hits are no list")?;
        urls.extend(hits.iter().map(|hit| hit["url"].as_str().unwrap_or_default().to_owned()));
        if hits.len() < MOST {
            return Ok(urls);
        }
    }
}
