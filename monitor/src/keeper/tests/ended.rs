//! Whoever asks a Monitor whose keeper has ended is answered, and does not wait for it.

use std::sync::Arc;

use tokio::time::timeout;

use super::*;
use crate::store::SharedStore;
use crate::tests_support::Valkey;

async fn assert_refused(monitor: &Monitor) {
    let asked = timeout(DEADLINE, monitor.ask(|answer| Command::Crawls { answer })).await;
    let error = asked.expect("it is answered").expect_err("nobody is there");
    assert!(matches!(error, MonitorError::Closed | MonitorError::Stopped(_)), "{error}");
}

#[tokio::test]
async fn who_asks_a_monitor_that_was_closed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::Disk(dir.path().to_owned());
    let nodes = NodeTable::new(Clock::System);
    let monitor = Monitor::open(&home, MonitorConfig::default(), Clock::System, nodes).unwrap();
    assert!(monitor.ask(|answer| Command::Crawls { answer }).await.unwrap().is_empty());
    monitor.close().await;
    assert_refused(&monitor).await;
}

#[tokio::test]
async fn who_asks_a_monitor_whose_frontier_another_has_taken_is_refused() {
    let Some(valkey) = Valkey::take() else { return };
    let own = || {
        let shared = SharedStore::connect(&valkey.settings()).unwrap();
        let ownership = Arc::new(shared.try_own("a test", "").unwrap().expect("nobody else wants it"));
        (shared, ownership)
    };
    let (shared, ownership) = own();
    let home = Home::Shared(shared, ownership);
    let monitor = Monitor::open(&home, MonitorConfig::default(), Clock::System, NodeTable::new(Clock::System)).unwrap();
    let _taken = own();
    // Whatever it writes next is refused, and that is its end.
    let request = AddCrawlRequest { crawl: Some(crawl("one", &["http://a.test/"])), again: false };
    let add = |answer| Command::AddCrawl { request: Box::new(request), answer };
    timeout(DEADLINE, monitor.ask(add)).await.expect("it is answered").expect_err("it was not written");
    timeout(DEADLINE, monitor.ended()).await.expect("it ends").expect_err("it was not asked to");
    assert_refused(&monitor).await;
}
