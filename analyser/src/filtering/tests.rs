//! What the filters of a crawl do to pages that were read for real.

use seine_proto::common::v1::Header;

use super::*;
use crate::analyse::{AnalyserConfig, analyse};

const PAGE: &str = "<html lang=en><head><title>River boats</title><meta name=Author content='Jana'>\
    <meta property=article:section content=Rivers></head><body><p>All about boats on the river.</p>\
    <a href=/1>one</a><a href=/2>two</a><a href=/3>three</a></body></html>";

fn filter(rules: &[&str]) -> v1::Filter {
    let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
    v1::Filter { name: "f".into(), rules, ..v1::Filter::default() }
}

fn page(enumeration: Option<v1::Filter>, generation: Option<v1::Filter>) -> FetchedPage {
    FetchedPage {
        url: "http://example.org/docs/a.html".into(),
        depth: 2,
        status: 200,
        ip: "192.0.2.1".into(),
        headers: vec![
            Header { name: "content-type".into(), value: "text/html".into() },
            Header { name: "last-modified".into(), value: "Mon, 06 May 2024 07:08:09 GMT".into() },
        ],
        body: PAGE.as_bytes().to_vec().into(),
        keywords: vec!["river".into()],
        enumeration,
        generation,
        ..FetchedPage::default()
    }
}

fn filtered(page: &FetchedPage) -> Analysis {
    let mut analysis = analyse(page, &AnalyserConfig::default()).unwrap();
    apply(page, &mut analysis, &CompiledFilters::default());
    analysis
}

#[test]
fn following_and_indexing_are_decided_separately() {
    let deny = || Some(filter(&["deny path glob /docs/*"]));
    for (enumeration, generation, links, generate) in
        [(None, None, 3, true), (deny(), None, 0, true), (None, deny(), 3, false), (deny(), deny(), 0, false)]
    {
        let analysis = filtered(&page(enumeration, generation));
        assert_eq!((analysis.follow.len(), analysis.description.generate), (links, generate));
        assert_eq!(analysis.description.links.len(), 3, "the description tells what stands on the page");
    }
}

#[test]
fn the_rule_that_decided_is_recorded() {
    let rules =
        filter(&["deny lang = cs", "allow meta.author = jana and last-modified > 2024-01-01", "deny depth > 0"]);
    let analysis = filtered(&page(None, Some(rules)));
    assert!(analysis.description.generate);
    assert_eq!(
        analysis.description.generation_rule,
        "f rule 2: allow meta.author = jana and last-modified > 2024-01-01"
    );
    assert_eq!(analysis.description.enumeration_rule, "");
    let long = filter(&[&format!("deny path != /{}", "x".repeat(900))]);
    let recorded = filtered(&page(None, Some(long))).description.generation_rule;
    assert!(recorded.starts_with("f rule 1: deny") && recorded.len() < 220, "{recorded}");
}

#[test]
fn every_meta_can_be_asked_for() {
    for (rule, denied) in [
        ("deny meta.article:section = rivers", true),
        ("deny meta.article:section = lakes", false),
        ("deny meta.missing = ''", true),
        ("deny title regex ^river", true),
        ("deny ip = 192.0.2.1", true),
        ("deny value < 0.5", false),
        ("deny content-length < 10", false),
    ] {
        assert_eq!(!filtered(&page(None, Some(filter(&[rule])))).description.generate, denied, "{rule}");
    }
}

#[test]
fn links_are_taken_in_page_order_up_to_the_limit() {
    let limited = v1::Filter { max_links: 2, ..filter(&[]) };
    let analysis = filtered(&page(Some(limited), None));
    assert_eq!(analysis.follow, ["http://example.org/1", "http://example.org/2"]);
    assert_eq!(analysis.description.enumeration_rule, "f: max_links 2 of 3 links");
}

#[test]
fn only_the_content_type_that_is_asked_for_passes() {
    let plain = v1::Filter { content_type: "text/plain".into(), ..filter(&[]) };
    let analysis = filtered(&page(Some(plain.clone()), Some(plain)));
    assert!(analysis.follow.is_empty() && !analysis.description.generate);
    assert_eq!(analysis.description.generation_rule, "f: content_type is not text/plain");
}

#[test]
fn no_filter_permits_what_the_page_forbids() {
    let everything = || Some(filter(&["allow depth >= 0"]));
    let body = PAGE.replace("<head>", "<head><meta name=robots content='noindex,nofollow'>");
    let analysis = filtered(&FetchedPage { body: body.into_bytes().into(), ..page(everything(), everything()) });
    assert!(analysis.follow.is_empty() && !analysis.description.generate);
    assert_eq!(analysis.description.generation_rule, "the page says noindex");
    assert_eq!(analysis.description.enumeration_rule, "the page says nofollow");
}

#[test]
fn a_filter_that_cannot_be_read_lets_nothing_through() {
    let analysis = filtered(&page(None, Some(filter(&["deny colour = red"]))));
    assert!(analysis.follow.is_empty() && !analysis.description.generate);
    assert!(analysis.description.generation_rule.contains("colour"), "{:?}", analysis.description.generation_rule);
}

#[test]
fn filters_are_compiled_once_and_few_are_remembered() {
    let compiled = CompiledFilters::default();
    let of = |name: &str| {
        let named = v1::Filter { name: name.into(), ..filter(&["deny depth = 0"]) };
        compiled.of(&page(Some(named), None)).unwrap()
    };
    assert!(Arc::ptr_eq(&of("a"), &of("a")));
    for number in 0..2 * REMEMBERED {
        of(&format!("f{number}"));
    }
    assert_eq!(compiled.known.lock().unwrap().len(), REMEMBERED);
}
