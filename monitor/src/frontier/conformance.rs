//! Promises of the frontier, over each kind of store; where one is about restarts, the frontier is opened again.

use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Revisit};

use super::{Candidate, Frontier, Known, Settlement};
use crate::place::{Class, Place};
use crate::record::{CrawlId, CrawlRecord, HostRecord, LeaseRecord, UrlRecord};
use crate::tests_support::{candidate, crawl, on_each_store, outcome, settled};

const CRAWL: CrawlId = CrawlId(1);

/// Opens a frontier and adds a crawl to it.
fn with_crawl(open: &dyn Fn() -> Frontier) -> Frontier {
    let mut frontier = open();
    let settings = crawl("c", &["http://a.test/"]);
    frontier.put_crawl(&CrawlRecord { id: 1, settings, ..CrawlRecord::default() }).unwrap();
    frontier
}

fn host(name: &str) -> HostKey {
    HostKey::from_stored(name.to_owned())
}

fn done(page: &Candidate, kind: OutcomeKind) -> Settlement {
    Settlement::Done(Box::new(settled(page, outcome(kind))))
}

fn urls(frontier: &Frontier, name: &str) -> Vec<String> {
    let stretch = frontier.stretch(CRAWL, &host(name), None, 1000).unwrap();
    assert!(stretch.exhausted);
    stretch.urls.into_iter().map(|queued| queued.entry.url).collect()
}

#[test]
fn a_url_enters_a_crawl_once_and_another_crawl_on_its_own() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let first = [
            candidate("http://a.test/1", 1, 1, 0),
            candidate("http://a.test/1", 1, 1, 1),
            candidate("http://a.test/2", 1, 1, 2),
        ];
        assert_eq!(frontier.admit(CRAWL, &first, 0).unwrap(), [true, false, true]);
        assert_eq!(frontier.admit(CRAWL, &first, 0).unwrap(), [false, false, false]);
        assert_eq!(frontier.admit(CrawlId(2), &first[..1], 0).unwrap(), [true]);
        assert_eq!(frontier.progress(CRAWL).queued, 2);
    });
}

#[test]
fn a_settled_url_never_enters_again() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let page = candidate("http://a.test/1", 1, 1, 0);
        frontier.admit(CRAWL, std::slice::from_ref(&page), 0).unwrap();
        let done = done(&page, OutcomeKind::Saved);
        assert!(frontier.settle(CRAWL, &page.host, page.place, done.clone()).unwrap());
        assert!(!frontier.settle(CRAWL, &page.host, page.place, done).unwrap());
        assert_eq!(frontier.admit(CRAWL, &[candidate("http://a.test/1", 0, 9, 0)], 0).unwrap(), [false]);
        let progress = frontier.progress(CRAWL);
        assert_eq!((progress.queued, progress.pages, progress.bytes), (0, 1, 10));
    });
}

#[test]
fn a_shallower_rediscovery_lowers_the_depth_and_keeps_the_place() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        frontier
            .admit(CRAWL, &[candidate("http://a.test/1", 5, 1, 0), candidate("http://a.test/2", 4, 2, 0)], 0)
            .unwrap();
        frontier.admit(CRAWL, &[candidate("http://a.test/1", 2, 3, 0)], 0).unwrap();
        let stretch = frontier.stretch(CRAWL, &host("a.test"), None, 10).unwrap();
        let order: Vec<_> = stretch.urls.iter().map(|queued| (queued.entry.url.as_str(), queued.entry.depth)).collect();
        assert_eq!(order, [("http://a.test/1", 2), ("http://a.test/2", 4)]);
    });
}

#[test]
fn stretches_join_without_gap_or_repeat() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
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
    });
}

#[test]
fn a_retry_comes_back_to_its_own_place_when_it_is_due() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
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
    });
}

#[test]
fn hosts_become_ready_in_the_order_of_their_times() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let pages = [candidate("http://a.test/", 0, 1, 0), candidate("http://b.test/", 0, 1, 1)];
        frontier.admit(CRAWL, &pages, 100).unwrap();
        frontier.requeue_host(CRAWL, &pages[0].host, 900).unwrap();
        let ready = frontier.ready(CRAWL, 10).unwrap();
        assert_eq!(ready, [(100, host("b.test")), (900, host("a.test"))]);
        // An empty host leaves the index; one with a retry waits for it.
        frontier.settle(CRAWL, &pages[1].host, pages[1].place, done(&pages[1], OutcomeKind::NotFound)).unwrap();
        frontier.requeue_host(CRAWL, &pages[1].host, 200).unwrap();
        let retry = Settlement::Retry { due_ms: 5_000, outcome: outcome(OutcomeKind::Timeout) };
        frontier.settle(CRAWL, &pages[0].host, pages[0].place, retry).unwrap();
        frontier.requeue_host(CRAWL, &pages[0].host, 200).unwrap();
        assert_eq!(frontier.ready(CRAWL, 10).unwrap(), [(5_000, host("a.test"))]);
    });
}

#[test]
fn a_leased_host_is_not_ready_whatever_links_to_it() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
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
    });
}

#[test]
fn every_epoch_is_higher_than_all_before_and_than_those_of_other_frontiers() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        assert_eq!((frontier.begin_epoch(0).unwrap(), frontier.begin_epoch(0).unwrap()), (1, 2));
        drop(frontier);
        let mut frontier = open();
        assert_eq!((frontier.begin_epoch(40).unwrap(), frontier.begin_epoch(7).unwrap()), (41, 42));
    });
}

#[test]
fn pages_with_equal_text_are_counted_as_duplicates() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let pages = [candidate("http://a.test/1", 1, 1, 0), candidate("http://a.test/2", 1, 1, 1)];
        frontier.admit(CRAWL, &pages, 0).unwrap();
        for page in &pages {
            frontier.settle(CRAWL, &page.host, page.place, done(page, OutcomeKind::Saved)).unwrap();
        }
        assert_eq!((frontier.progress(CRAWL).pages, frontier.progress(CRAWL).duplicates), (2, 1));
    });
}

#[test]
fn everything_is_there_after_a_restart() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let pages = [candidate("http://a.test/1", 1, 1, 0), candidate("http://a.test/2", 1, 1, 1)];
        frontier.next_sequence(CRAWL);
        frontier.admit(CRAWL, &pages, 70).unwrap();
        frontier.settle(CRAWL, &pages[0].host, pages[0].place, done(&pages[0], OutcomeKind::Saved)).unwrap();
        let token = frontier.next_token().unwrap();
        let (progress, ready) = (frontier.progress(CRAWL), frontier.ready(CRAWL, 9).unwrap());
        drop(frontier);
        let mut frontier = open();
        assert_eq!(frontier.progress(CRAWL), progress);
        assert_eq!(frontier.ready(CRAWL, 9).unwrap(), ready);
        assert_eq!(urls(&frontier, "a.test"), ["http://a.test/2"]);
        assert!(frontier.next_token().unwrap() > token);
        assert_eq!(frontier.admit(CRAWL, &pages, 0).unwrap(), [false, false]);
        assert!(matches!(frontier.known(CRAWL, &pages[0].url).unwrap(), Some(Known::Settled(_))));
        assert_eq!(frontier.settled_urls(CRAWL).unwrap().len(), 1);
    });
}

#[test]
fn an_unknown_url_is_not_known() {
    on_each_store(|open| {
        let frontier = with_crawl(open);
        assert!(frontier.known(CRAWL, &CanonicalUrl::parse("http://a.test/x").unwrap()).unwrap().is_none());
    });
}

#[test]
fn a_known_url_comes_back_when_it_is_due_and_counts_once() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let page = candidate("http://a.test/1", 1, 1, 0);
        frontier.admit(CRAWL, std::slice::from_ref(&page), 0).unwrap();
        let record = UrlRecord { next_visit_ms: 500, ..settled(&page, outcome(OutcomeKind::Saved)) };
        frontier.settle(CRAWL, &page.host, page.place, Settlement::Done(Box::new(record))).unwrap();
        assert!(frontier.due_visits(CRAWL, 500, 9).unwrap().is_empty());
        assert_eq!(frontier.next_due(CRAWL).unwrap(), Some(500));
        let due = frontier.due_visits(CRAWL, 501, 9).unwrap();
        assert_eq!(due.len(), 1);
        let mut again = Candidate { place: Place::in_turn(Class::Revisit, 9, 0), ..page.clone() };
        again.entry.revisit = Some(Revisit { saved: true, ..Revisit::default() });
        frontier.revisit(CRAWL, vec![again.clone()], 600).unwrap();
        frontier.revisit(CRAWL, vec![again.clone()], 600).unwrap();
        assert_eq!((frontier.progress(CRAWL).queued, frontier.progress(CRAWL).revisits_queued), (1, 1));
        assert_eq!(frontier.next_due(CRAWL).unwrap(), None);
        drop(frontier);
        let mut frontier = open();
        assert_eq!(urls(&frontier, "a.test"), ["http://a.test/1"]);
        assert!(frontier.record(CRAWL, &page.url).unwrap().is_some(), "what is known stays known meanwhile");
        let gone = settled(&page, outcome(OutcomeKind::Gone));
        frontier.settle(CRAWL, &page.host, again.place, Settlement::Done(Box::new(gone))).unwrap();
        let progress = frontier.progress(CRAWL);
        assert_eq!((progress.pages, progress.gone, progress.queued, progress.revisits_queued), (0, 1, 0, 0));
    });
}

#[test]
fn what_waits_on_a_host_can_be_settled_at_once() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let pages: Vec<_> = (0..25).map(|i| candidate(&format!("http://a.test/{i}"), 1, 1, i)).collect();
        frontier.admit(CRAWL, &pages, 0).unwrap();
        let retry = Settlement::Retry { due_ms: 9_000, outcome: outcome(OutcomeKind::Timeout) };
        frontier.settle(CRAWL, &pages[3].host, pages[3].place, retry).unwrap();
        let failed = outcome(OutcomeKind::HostFailed);
        assert_eq!(frontier.settle_rest(CRAWL, &pages[0].host, &failed, 0, 20).unwrap(), 20);
        assert_eq!(frontier.settle_rest(CRAWL, &pages[0].host, &failed, 0, 20).unwrap(), 5);
        assert_eq!((frontier.progress(CRAWL).queued, frontier.progress(CRAWL).failed), (0, 25));
    });
}

#[test]
fn a_forgotten_url_is_told_if_it_was_saved_and_never_comes_back() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let pages: Vec<_> = (0..3).map(|i| candidate(&format!("http://a.test/{i}"), 1, 1, i)).collect();
        frontier.admit(CRAWL, &pages, 0).unwrap();
        let archived = Outcome { archive: Some(ArchivePosition::default()), ..outcome(OutcomeKind::Saved) };
        let record = UrlRecord { next_visit_ms: 5, ..settled(&pages[0], archived) };
        frontier.settle(CRAWL, &pages[0].host, pages[0].place, Settlement::Done(Box::new(record))).unwrap();
        assert!(!frontier.forget_url(CRAWL, &pages[1].url).unwrap(), "it waited only");
        let told = frontier.forget(CRAWL, &pages[0].host, &[], 100).unwrap();
        assert_eq!((told.saved, told.next), (vec!["http://a.test/0".to_owned()], Vec::new()));
        let progress = frontier.progress(CRAWL);
        assert_eq!((progress.queued, progress.pages), (0, 0));
        assert_eq!(frontier.next_due(CRAWL).unwrap(), None);
        assert_eq!(frontier.admit(CRAWL, &pages, 0).unwrap(), [false, false, false]);
    });
}

#[test]
fn a_forgotten_sitemap_is_no_page_less() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let page = candidate("http://a.test/page", 1, 1, 0);
        let mut sitemap = candidate("http://a.test/sitemap.xml", 1, 1, 1);
        sitemap.entry.sitemap_level = 1;
        frontier.admit(CRAWL, &[page.clone(), sitemap.clone()], 0).unwrap();
        for failed in [&page, &sitemap] {
            frontier.settle(CRAWL, &failed.host, failed.place, done(failed, OutcomeKind::NotFound)).unwrap();
        }
        assert_eq!(frontier.progress(CRAWL).failed, 1);
        frontier.forget_url(CRAWL, &sitemap.url).unwrap();
        assert_eq!(frontier.progress(CRAWL).failed, 1);
    });
}

#[test]
fn deferred_urls_are_taken_up_before_ordinary_ones() {
    on_each_store(|open| {
        let mut frontier = with_crawl(open);
        let deferred: Vec<_> = (0..4)
            .map(|i| Candidate {
                place: Place::in_turn(Class::Deferred, 7, i),
                ..candidate(&format!("http://a.test/d{i}"), 2, 7, i)
            })
            .collect();
        frontier.admit(CRAWL, &[candidate("http://a.test/o", 1, 1, 0)], 0).unwrap();
        frontier.admit(CRAWL, &deferred, 0).unwrap();
        assert_eq!(urls(&frontier, "a.test")[0], "http://a.test/o");
        assert_eq!(frontier.promote_deferred(CRAWL, &host("a.test"), 3).unwrap(), 3);
        assert_eq!(
            urls(&frontier, "a.test"),
            ["d0", "d1", "d2", "o", "d3"].map(|name| format!("http://a.test/{name}"))
        );
        assert_eq!((frontier.progress(CRAWL).deferred, frontier.progress(CRAWL).breadth_queued), (1, 3));
    });
}
