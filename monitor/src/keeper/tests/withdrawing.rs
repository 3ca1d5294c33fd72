//! A page that two crawls have stays in the index until neither wants it.

use seine_proto::monitor::v1::{Admission, Revisit};

use super::*;

const PAGE: &str = "http://a.test/page";

fn save_all(bench: &mut Bench, settings: Crawl) {
    bench.add(settings);
    let lease = bench.hear_lease();
    for url in urls(&lease) {
        bench.settle(lease.token, &url, saved());
        bench.hear_settled();
    }
    bench.give_back(lease.token, None);
}

/// Begins a round under a rule that excludes the page, and gives what it is to find out.
fn exclude(bench: &mut Bench, name: &str) -> Revisit {
    let deny_urls = vec!["*/page".to_owned()];
    let admission = Some(Admission { deny_urls, ..Admission::default() });
    let settings = Crawl { admission, ..crawl(name, &["http://a.test/"]) };
    bench.keeper.add_crawl(AddCrawlRequest { crawl: Some(settings), again: true }).unwrap();
    bench.keeper.grant_ready().unwrap();
    let lease = bench.hear_lease();
    let mut revisit = None;
    for url in urls(&lease) {
        let withdraws = url.revisit.as_ref().is_some_and(|revisit| !revisit.withdraw.is_empty());
        let kind = if withdraws { OutcomeKind::Excluded } else { OutcomeKind::NotModified };
        bench.settle(lease.token, &url, Outcome { withdrawn: withdraws, ..outcome(kind) });
        bench.hear_settled();
        revisit = url.revisit.filter(|_| url.url == PAGE).or(revisit);
    }
    bench.give_back(lease.token, None);
    revisit.expect("the page is visited again")
}

#[test]
fn a_rule_of_one_crawl_leaves_the_document_that_another_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    for name in ["first", "second"] {
        save_all(&mut bench, crawl(name, &["http://a.test/", PAGE]));
    }
    let first = exclude(&mut bench, "first");
    assert!(first.keep_document && !first.withdraw.is_empty(), "{first:?}");
    let second = exclude(&mut bench, "second");
    assert!(!second.keep_document && !second.withdraw.is_empty(), "nobody wants it any more: {second:?}");
    let verdicts = bench.keeper.explain(PAGE).unwrap().crawls;
    assert!(verdicts.iter().all(|verdict| verdict.state == "excluded"), "{verdicts:?}");
}
