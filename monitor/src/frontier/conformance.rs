//! What every implementation of [`Frontier`] must do. Each promise is a function over the trait; the RocksDB one runs
//! them all below, and reopens its directory where a promise is about restarts.

use proptest::prelude::*;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::monitor::v1::OutcomeKind;

use super::record::{CrawlRecord, HostRecord, LeaseRecord};
use super::tests_support::{candidate, crawl, outcome};
use super::{CrawlId, Frontier, Known, RocksFrontier, Settlement};

const CRAWL: CrawlId = CrawlId(1);

fn rocks() -> (tempfile::TempDir, RocksFrontier) {
    let dir = tempfile::tempdir().unwrap();
    let mut frontier = RocksFrontier::open(dir.path()).unwrap();
    let settings = crawl("c", &["http://a.test/"]);
    frontier.put_crawl(&CrawlRecord { id: 1, settings, ..CrawlRecord::default() }).unwrap();
    (dir, frontier)
}

fn host(name: &str) -> HostKey {
    HostKey::from_stored(name.to_owned())
}

fn urls(frontier: &dyn Frontier, name: &str) -> Vec<String> {
    let stretch = frontier.stretch(CRAWL, &host(name), None, 1000).unwrap();
    assert!(stretch.exhausted);
    stretch.urls.into_iter().map(|queued| queued.entry.url).collect()
}

#[test]
fn a_url_enters_a_crawl_once_and_another_crawl_on_its_own() {
    let (_dir, mut frontier) = rocks();
    let first = [
        candidate("http://a.test/1", 1, 1, 0),
        candidate("http://a.test/1", 1, 1, 1),
        candidate("http://a.test/2", 1, 1, 2),
    ];
    assert_eq!(frontier.admit(CRAWL, &first, 0).unwrap(), [true, false, true]);
    assert_eq!(frontier.admit(CRAWL, &first, 0).unwrap(), [false, false, false]);
    assert_eq!(frontier.admit(CrawlId(2), &first[..1], 0).unwrap(), [true]);
    assert_eq!(frontier.progress(CRAWL).queued, 2);
}

#[test]
fn a_settled_url_never_enters_again() {
    let (_dir, mut frontier) = rocks();
    let page = candidate("http://a.test/1", 1, 1, 0);
    frontier.admit(CRAWL, std::slice::from_ref(&page), 0).unwrap();
    let done = Settlement::Done(outcome(OutcomeKind::Saved));
    assert!(frontier.settle(CRAWL, &page.host, page.place, done.clone()).unwrap());
    assert!(!frontier.settle(CRAWL, &page.host, page.place, done).unwrap());
    assert_eq!(frontier.admit(CRAWL, &[candidate("http://a.test/1", 0, 9, 0)], 0).unwrap(), [false]);
    let progress = frontier.progress(CRAWL);
    assert_eq!((progress.queued, progress.pages, progress.bytes), (0, 1, 10));
}

#[test]
fn a_shallower_rediscovery_lowers_the_depth_and_keeps_the_place() {
    let (_dir, mut frontier) = rocks();
    frontier.admit(CRAWL, &[candidate("http://a.test/1", 5, 1, 0), candidate("http://a.test/2", 4, 2, 0)], 0).unwrap();
    frontier.admit(CRAWL, &[candidate("http://a.test/1", 2, 3, 0)], 0).unwrap();
    let stretch = frontier.stretch(CRAWL, &host("a.test"), None, 10).unwrap();
    let order: Vec<_> = stretch.urls.iter().map(|queued| (queued.entry.url.as_str(), queued.entry.depth)).collect();
    assert_eq!(order, [("http://a.test/1", 2), ("http://a.test/2", 4)]);
}

#[test]
fn stretches_join_without_gap_or_repeat() {
    let (_dir, mut frontier) = rocks();
    let all: Vec<_> = (0..25).map(|i| candidate(&format!("http://a.test/{i}"), 1, 1, i)).collect();
    frontier.admit(CRAWL, &all, 0).unwrap();
    let (mut after, mut read) = (None, Vec::new());
    loop {
        let stretch = frontier.stretch(CRAWL, &host("a.test"), after, 7).unwrap();
        after = stretch.urls.last().map(|queued| queued.place).or(after);
        read.extend(stretch.urls.into_iter().map(|queued| queued.entry.url));
        if stretch.exhausted {
            break;
        }
    }
    assert_eq!(read, all.iter().map(|c| c.url.as_str().to_owned()).collect::<Vec<_>>());
}

#[test]
fn a_retry_comes_back_to_its_own_place_when_it_is_due() {
    let (_dir, mut frontier) = rocks();
    let pages = [candidate("http://a.test/1", 1, 1, 0), candidate("http://a.test/2", 1, 1, 1)];
    frontier.admit(CRAWL, &pages, 0).unwrap();
    let retry = Settlement::Retry { due_ms: 500, outcome: outcome(OutcomeKind::Timeout) };
    frontier.settle(CRAWL, &pages[0].host, pages[0].place, retry).unwrap();
    assert_eq!(urls(&frontier, "a.test"), ["http://a.test/2"]);
    assert_eq!(frontier.progress(CRAWL).queued, 2);
    frontier.promote_retries(CRAWL, &pages[0].host, 499).unwrap();
    assert_eq!(urls(&frontier, "a.test").len(), 1);
    frontier.promote_retries(CRAWL, &pages[0].host, 500).unwrap();
    assert_eq!(urls(&frontier, "a.test"), ["http://a.test/1", "http://a.test/2"]);
    let Some(Known::Queued(queued)) = frontier.known(CRAWL, &pages[0].url).unwrap() else { panic!("it waits") };
    assert_eq!(queued.entry.attempts, 1);
}

#[test]
fn hosts_become_ready_in_the_order_of_their_times() {
    let (_dir, mut frontier) = rocks();
    let pages = [candidate("http://a.test/", 0, 1, 0), candidate("http://b.test/", 0, 1, 1)];
    frontier.admit(CRAWL, &pages, 100).unwrap();
    frontier.requeue_host(CRAWL, &pages[0].host, 900).unwrap();
    let ready = frontier.ready(CRAWL, 10).unwrap();
    assert_eq!(ready, [(100, host("b.test")), (900, host("a.test"))]);
    // An empty host leaves the index; one with a retry waits for it.
    frontier.settle(CRAWL, &pages[1].host, pages[1].place, Settlement::Done(outcome(OutcomeKind::NotFound))).unwrap();
    frontier.requeue_host(CRAWL, &pages[1].host, 200).unwrap();
    let retry = Settlement::Retry { due_ms: 5_000, outcome: outcome(OutcomeKind::Timeout) };
    frontier.settle(CRAWL, &pages[0].host, pages[0].place, retry).unwrap();
    frontier.requeue_host(CRAWL, &pages[0].host, 200).unwrap();
    assert_eq!(frontier.ready(CRAWL, 10).unwrap(), [(5_000, host("a.test"))]);
}

#[test]
fn a_leased_host_is_not_ready_whatever_links_to_it() {
    let (_dir, mut frontier) = rocks();
    frontier.admit(CRAWL, &[candidate("http://a.test/", 0, 1, 0)], 0).unwrap();
    let token = frontier.next_token().unwrap();
    let lease = LeaseRecord { token, crawl: 1, host: "a.test".into(), ..LeaseRecord::default() };
    let record = HostRecord { host: "a.test".into(), lease_token: token, ..HostRecord::default() };
    frontier.grant(&lease, &record).unwrap();
    frontier.admit(CRAWL, &[candidate("http://a.test/more", 1, 2, 0)], 0).unwrap();
    assert_eq!(frontier.ready(CRAWL, 10).unwrap(), []);
    frontier.release(token, &HostRecord { lease_token: 0, ..record }).unwrap();
    frontier.requeue_host(CRAWL, &host("a.test"), 50).unwrap();
    assert_eq!(frontier.ready(CRAWL, 10).unwrap(), [(50, host("a.test"))]);
    assert_eq!(frontier.leases().unwrap(), []);
}

#[test]
fn pages_with_equal_text_are_counted_as_duplicates() {
    let (_dir, mut frontier) = rocks();
    let pages = [candidate("http://a.test/1", 1, 1, 0), candidate("http://a.test/2", 1, 1, 1)];
    frontier.admit(CRAWL, &pages, 0).unwrap();
    for page in &pages {
        frontier.settle(CRAWL, &page.host, page.place, Settlement::Done(outcome(OutcomeKind::Saved))).unwrap();
    }
    assert_eq!((frontier.progress(CRAWL).pages, frontier.progress(CRAWL).duplicates), (2, 1));
}

#[test]
fn everything_is_there_after_a_restart() {
    let (dir, mut frontier) = rocks();
    let pages = [candidate("http://a.test/1", 1, 1, 0), candidate("http://a.test/2", 1, 1, 1)];
    frontier.next_sequence(CRAWL);
    frontier.admit(CRAWL, &pages, 70).unwrap();
    frontier.settle(CRAWL, &pages[0].host, pages[0].place, Settlement::Done(outcome(OutcomeKind::Saved))).unwrap();
    let token = frontier.next_token().unwrap();
    let (progress, ready) = (frontier.progress(CRAWL), frontier.ready(CRAWL, 9).unwrap());
    drop(frontier);
    let mut frontier = RocksFrontier::open(dir.path()).unwrap();
    assert_eq!(frontier.progress(CRAWL), progress);
    assert_eq!(frontier.ready(CRAWL, 9).unwrap(), ready);
    assert_eq!(urls(&frontier, "a.test"), ["http://a.test/2"]);
    assert!(frontier.next_token().unwrap() > token);
    assert_eq!(frontier.admit(CRAWL, &pages, 0).unwrap(), [false, false]);
    assert!(matches!(frontier.known(CRAWL, &pages[0].url).unwrap(), Some(Known::Settled(_))));
    assert_eq!(frontier.settled_urls(CRAWL).unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Against the obvious model: a set of seen URLs and a sorted map of waiting ones.
    #[test]
    fn the_frontier_behaves_like_a_set_and_a_sorted_map(steps in prop::collection::vec((0u8..3, 0u32..40, 0u32..4), 1..80)) {
        let (_dir, mut frontier) = rocks();
        let mut seen = std::collections::BTreeSet::new();
        let mut waiting = std::collections::BTreeMap::new();
        for (sequence, (action, number, depth)) in steps.into_iter().enumerate() {
            let page = candidate(&format!("http://a.test/{number}"), depth, sequence as u64, 0);
            if action < 2 {
                let new = seen.insert(number);
                prop_assert_eq!(frontier.admit(CRAWL, std::slice::from_ref(&page), 0).unwrap(), vec![new]);
                if new {
                    waiting.insert(page.place, page.url.as_str().to_owned());
                }
            } else if let Some((place, _)) = waiting.pop_first() {
                let done = Settlement::Done(outcome(OutcomeKind::Saved));
                prop_assert!(frontier.settle(CRAWL, &page.host, place, done).unwrap());
            }
            prop_assert_eq!(urls(&frontier, "a.test"), waiting.values().cloned().collect::<Vec<_>>());
            prop_assert_eq!(frontier.progress(CRAWL).queued, waiting.len() as u64);
        }
    }
}

#[test]
fn an_unknown_url_is_not_known() {
    let (_dir, frontier) = rocks();
    assert!(frontier.known(CRAWL, &CanonicalUrl::parse("http://a.test/x").unwrap()).unwrap().is_none());
}
