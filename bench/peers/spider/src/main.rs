//! `bench-spider CONNECTIONS URL…`: follows all links of each site with the `spider` crate, all sites at once, and does nothing
//! else with the pages. At most so many requests at a time are under way to each site.

use spider::tokio;
use spider::website::Website;

const USAGE: &str = "usage: bench-spider CONNECTIONS URL…";

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1);
    let connections: usize = words.next().and_then(|word| word.parse().ok()).expect(USAGE);
    let mut sites = tokio::task::JoinSet::new();
    for url in words {
        let mut site = Website::new(&url);
        site.with_respect_robots_txt(true).with_delay(0).with_concurrency_limit(Some(connections));
        sites.spawn(async move {
            site.crawl_raw().await;
            site.get_size().await
        });
    }
    let mut pages = 0;
    while let Some(found) = sites.join_next().await {
        pages += found.expect("a crawl does not panic");
    }
    println!("{pages}");
}
