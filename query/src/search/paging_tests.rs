use std::collections::HashSet;

use seine_indexer::entry::Page;

use super::*;
use crate::testing::{TestIndex, page};

const LIMIT: usize = 7;

/// Sixty pages in groups of equal rank.
fn pages() -> Vec<Page> {
    let text = |number: usize| format!("river {}", "water ".repeat(number / 6));
    (0..60).map(|number| page(&format!("http://a.example/{number}"), "", &text(number))).collect()
}

fn next(service: &QueryService, cursor: Option<String>) -> SearchResponse {
    service.search(&SearchRequest { limit: LIMIT, cursor, ..SearchRequest::new("river") }).unwrap()
}

fn urls(response: &SearchResponse) -> Vec<String> {
    response.hits.iter().map(|hit| hit.url.clone()).collect()
}

#[test]
fn pages_by_cursor_neither_skip_nor_repeat_while_the_index_changes() {
    let mut index = TestIndex::absent();
    index.add(pages());
    let service = index.service();
    let all = service.search(&SearchRequest { limit: 100, ..SearchRequest::new("river") }).unwrap();
    assert_eq!((all.hits.len(), &all.cursor), (60, &None), "nothing comes after the last hit");
    let (mut seen, mut cursor) = (Vec::new(), None);
    for round in 0.. {
        let response = next(&service, cursor);
        seen.extend(urls(&response));
        cursor = response.cursor;
        if cursor.is_none() {
            break;
        }
        // Better ones come, and some that were or will be shown go.
        index.add([page(&format!("http://new.example/{round}"), "River", "river river")]);
        index.withdraw(&format!("http://a.example/{}", round * 5));
    }
    assert_eq!(seen, urls(&all));
    assert!(urls(&next(&service, None))[0].starts_with("http://new.example/"), "a new search sees what is new");
}

#[test]
fn a_cursor_of_a_view_that_is_gone_goes_on_after_the_last_rank() {
    let mut index = TestIndex::absent();
    index.add(pages());
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        // Another process each time.
        let response = next(&index.service(), cursor);
        seen.extend(urls(&response));
        cursor = response.cursor;
        if cursor.is_none() {
            break;
        }
        index.add([page(&format!("http://new.example/{}", seen.len()), "River", "river river")]);
    }
    let old: HashSet<&String> = seen.iter().filter(|url| url.contains("a.example")).collect();
    assert_eq!((old.len(), seen.len()), (60, 60), "{seen:?}");
}

#[test]
fn a_cursor_with_other_words_or_an_offset_is_refused() {
    let mut index = TestIndex::absent();
    index.add(pages());
    let service = index.service();
    let cursor = next(&service, None).cursor;
    for request in [
        SearchRequest { cursor: cursor.clone(), ..SearchRequest::new("water") },
        SearchRequest { cursor, offset: 3, ..SearchRequest::new("river") },
        SearchRequest { cursor: Some("x".to_owned()), ..SearchRequest::new("river") },
    ] {
        assert_eq!(service.search(&request).unwrap_err().code(), "invalid_cursor", "{request:?}");
    }
}

#[test]
fn the_newer_of_two_pages_comes_first_when_freshness_is_asked_for() {
    const DAY_MS: i64 = 86_400_000;
    let mut index = TestIndex::absent();
    let now = View::new(empty_searcher(), 0).unwrap().seen_at_ms;
    let dated = |url: &str, text: &str, days: i64| Page { date_ms: now - days * DAY_MS, ..page(url, "", text) };
    index.add([
        dated("http://a.example/old", "the river and some water", 3_000),
        dated("http://a.example/new", "the river and some more water", 2),
        dated("http://a.example/other", "water and water", 1),
    ]);
    let ask = |freshness| SearchRequest { freshness, ..SearchRequest::new("river") };
    let service = index.service();
    let order = |freshness| urls(&service.search(&ask(freshness)).unwrap());
    assert_eq!(order(None), ["http://a.example/old", "http://a.example/new"]);
    assert_eq!(order(Some(30)), ["http://a.example/new", "http://a.example/old"]);
    assert_eq!(service.search(&ask(Some(0))).unwrap_err().code(), "invalid_freshness");
}

fn empty_searcher() -> Searcher {
    tantivy::Index::create_in_ram(schema::schema().0).reader().unwrap().searcher()
}
