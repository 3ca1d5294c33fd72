//! Forgetting is taken back: what crawls knew is visited again, what they did not know is unknown again.

use seine_proto::monitor::v1::{UnforgetRequest, forget_request, unforget_request};

use super::*;

#[derive(Clone)]
enum What {
    Url(String),
    Host(String),
}

impl What {
    fn forget(self) -> Option<forget_request::What> {
        Some(match self {
            Self::Url(url) => forget_request::What::Url(url),
            Self::Host(host) => forget_request::What::Host(host),
        })
    }

    fn unforget(self) -> UnforgetRequest {
        let what = Some(match self {
            Self::Url(url) => unforget_request::What::Url(url),
            Self::Host(host) => unforget_request::What::Host(host),
        });
        UnforgetRequest { what, ..UnforgetRequest::default() }
    }
}

fn forget(bench: &mut Bench, what: What, undo: bool) -> Vec<String> {
    let urls = if undo {
        bench.keeper.unforget(&what.unforget()).unwrap().urls
    } else {
        let id = bench.keeper.begin_forgetting(what.forget()).unwrap().id;
        bench.keeper.forget_some(id, &[]).unwrap().unwrap().urls
    };
    bench.keeper.grant_ready().unwrap();
    urls
}

fn save_all(bench: &mut Bench) -> Vec<String> {
    let lease = bench.hear_lease();
    let mut fetched = Vec::new();
    for url in urls(&lease) {
        bench.settle(lease.token, &url, saved());
        bench.hear_settled();
        fetched.push(url.url);
    }
    bench.give_back(lease.token, None);
    fetched.sort_unstable();
    fetched
}

#[test]
fn a_page_that_is_let_back_in_is_fetched_again_and_counts_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://a.test/x"]));
    save_all(&mut bench);
    let page = || What::Url("http://a.test/x".to_owned());
    let state = |bench: &Bench| bench.keeper.explain("http://a.test/x").unwrap().crawls.remove(0);
    forget(&mut bench, page(), false);
    assert_eq!((state(&bench).reason.as_str(), state(&bench).rule.as_str()), ("forgotten", "forgotten"));
    assert!(state(&bench).forgotten && bench.keeper.status(CrawlId(1)).unwrap().pages == 1);
    assert_eq!(forget(&mut bench, page(), true), ["http://a.test/x"]);
    assert_eq!(bench.state("c"), CrawlState::Running, "a finished crawl goes on");
    assert_eq!(save_all(&mut bench), ["http://a.test/x"]);
    let status = bench.keeper.status(CrawlId(1)).unwrap();
    assert_eq!((status.state(), status.pages, status.duplicates), (CrawlState::Finished, 2, 0));
    assert!(state(&bench).state == "saved" && !state(&bench).forgotten);
    assert_eq!(forget(&mut bench, page(), true), Vec::<String>::new(), "there is nothing to take back twice");
}

#[test]
fn a_host_that_is_let_back_in_brings_its_waiting_urls_too_and_its_links_count_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    bench.discover(lease.token, &root, &["http://a.test/waits"], false);
    bench.settle(lease.token, &root, saved());
    bench.hear_settled();
    let host = || What::Host("a.test".to_owned());
    forget(&mut bench, host(), false);
    let monitor_message::Message::Revoke(_) = bench.hear() else { panic!("its lease ends") };
    bench.give_back(lease.token, None);
    // A seed of a forgotten host does not come in by being named again.
    bench.add(crawl("c", &["http://a.test/", "http://a.test/new"]));
    assert!(bench.silent());
    assert_eq!(bench.state("c"), CrawlState::Finished);
    let refusal = bench.keeper.unforget(&What::Url("http://a.test/".to_owned()).unforget());
    assert!(refusal.unwrap_err().to_string().contains("--undo a.test"));
    assert_eq!(forget(&mut bench, host(), true).len(), 2);
    assert_eq!(save_all(&mut bench), ["http://a.test/", "http://a.test/waits"]);
}

#[test]
fn a_url_that_no_crawl_knew_is_unknown_again_after_it_was_forgotten_and_let_back_in() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    let other = || What::Url("http://b.test/y".to_owned());
    forget(&mut bench, other(), false);
    assert_eq!(forget(&mut bench, other(), true), Vec::<String>::new());
    let url = seine_common::url::CanonicalUrl::parse("http://b.test/y").unwrap();
    assert!(bench.keeper.frontier.known(CrawlId(1), &url).unwrap().is_none());
    bench.settle(lease.token, &root, saved());
    bench.hear_settled();
    bench.give_back(lease.token, None);
    assert_eq!(bench.state("c"), CrawlState::Finished);
}

#[test]
fn a_forgetting_is_kept_until_it_is_carried_through_taken_back_or_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://a.test/x"]));
    save_all(&mut bench);
    let (page, host) = (What::Url("http://a.test/x".to_owned()), What::Host("a.test".to_owned()));
    let first = bench.keeper.begin_forgetting(page.clone().forget()).unwrap().id;
    let is_wanted = |bench: &mut Bench, id| bench.keeper.forget_some(id, &[]).unwrap().is_some();
    assert!(is_wanted(&mut bench, first));
    bench.keeper.told_logs(first, vec!["log-1".to_owned()]).unwrap();
    drop(bench);

    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let kept = bench.keeper.frontier.forgettings().unwrap();
    assert_eq!((kept.len(), kept[0].id, &kept[0].logs[..]), (1, first, &["log-1".to_owned()][..]));
    assert!(is_wanted(&mut bench, first));
    let second = bench.keeper.begin_forgetting(page.forget()).unwrap().id;
    assert!(!is_wanted(&mut bench, first) && is_wanted(&mut bench, second));
    let third = bench.keeper.begin_forgetting(host.clone().forget()).unwrap().id;
    bench.keeper.unforget(&host.unforget()).unwrap();
    assert!(!is_wanted(&mut bench, second) && !is_wanted(&mut bench, third), "both are taken back");
    assert!(bench.keeper.begin_forgetting(None).is_err() && bench.keeper.frontier.forgettings().unwrap().is_empty());
}
