use std::collections::HashSet;
use std::fs;

use proptest::prelude::*;
use seine_indexer::publish;

use super::*;
use crate::testing::{TestIndex, page};

fn urls(response: &SearchResponse) -> Vec<&str> {
    response.hits.iter().map(|hit| hit.url.as_str()).collect()
}

fn found(service: &QueryService, query: &str) -> Vec<String> {
    let response = service.search(&SearchRequest { limit: 100, ..SearchRequest::new(query) }).unwrap();
    assert_eq!(response.total as usize, response.hits.len());
    response.hits.into_iter().map(|hit| hit.url).collect()
}

#[test]
fn documents_with_all_words_come_first_whatever_their_score() {
    let index = TestIndex::of(&[
        ("http://a.example/often", "River river", &"river ".repeat(50)),
        (
            "http://a.example/all",
            "",
            &format!("{} one river and one bank {}", "word ".repeat(200), "word ".repeat(200)),
        ),
        ("http://a.example/bank", "Bank", "bank"),
        ("http://a.example/none", "Other", "nothing of it"),
    ]);
    let response = index.service().search(&SearchRequest::new("river bank")).unwrap();
    assert_eq!(response.total, 3);
    assert_eq!(urls(&response)[0], "http://a.example/all");
    assert!(response.hits[0].score < response.hits[1].score, "the order is not the score's alone");
}

#[test]
fn a_word_in_the_title_counts_more_than_in_the_text() {
    let index = TestIndex::of(&[
        ("http://a.example/1", "Other", "about the river here"),
        ("http://a.example/2", "River", "about the other here"),
    ]);
    assert_eq!(found(&index.service(), "river"), ["http://a.example/2", "http://a.example/1"]);
}

#[test]
fn words_are_found_in_any_language_and_form() {
    let index = TestIndex::of(&[
        ("http://a.example/cs", "Řeka Vltava", "Příliš žluťoučký kůň"),
        ("http://a.example/zh", "中国科学院", "他在北京大学学习计算机科学"),
    ]);
    let service = index.service();
    for query in ["řeka", "REKA", "vltava", "zlutoucky", "kůň", "příliš žluťoučký"] {
        assert_eq!(found(&service, query), ["http://a.example/cs"], "{query}");
    }
    for query in ["科学院", "科学", "北京大学", "大学", "计算机", "北京 计算机"] {
        assert_eq!(found(&service, query), ["http://a.example/zh"], "{query}");
    }
}

#[test]
fn quoted_words_must_stand_together() {
    let index = TestIndex::of(&[
        ("http://a.example/1", "", "the river bank is steep"),
        ("http://a.example/2", "", "the bank by the river"),
        ("http://a.example/3", "River bank", "as a title"),
        ("http://a.example/4", "", "他在中国科学院工作"),
    ]);
    let service = index.service();
    assert_eq!(found(&service, "\"river bank\"").len(), 2);
    assert_eq!(found(&service, "river bank").len(), 3);
    assert_eq!(found(&service, "\"中国科学院 工作\""), ["http://a.example/4"]);
    assert_eq!(found(&service, "\"工作 中国科学院\""), Vec::<String>::new());
}

#[test]
fn a_site_is_a_host_with_its_subdomains_and_its_port() {
    let index = TestIndex::of(&[
        ("http://example.org/", "", "river"),
        ("https://www.example.org/", "", "river"),
        ("http://example.org:8080/", "", "river"),
        ("http://notexample.org/", "", "river"),
    ]);
    let service = index.service();
    let of = |site: &str| {
        let request = SearchRequest { site: Some(site.to_owned()), ..SearchRequest::new("river") };
        let mut urls: Vec<String> = service.search(&request).unwrap().hits.into_iter().map(|hit| hit.url).collect();
        urls.sort();
        urls
    };
    assert_eq!(of("example.org"), ["http://example.org/", "https://www.example.org/"]);
    assert_eq!(of("Example.org:443"), of("example.org"));
    assert_eq!(of("www.example.org"), ["https://www.example.org/"]);
    assert_eq!(of("example.org:8080"), ["http://example.org:8080/"]);
}

#[test]
fn a_language_narrows_and_an_unknown_one_is_null() {
    let mut index = TestIndex::absent();
    let mut czech = page("http://a.example/cs", "", "most");
    czech.lang = "cs".to_owned();
    index.add([czech, page("http://a.example/unknown", "", "most")]);
    let service = index.service();
    let czech = service.search(&SearchRequest { lang: Some("CS".to_owned()), ..SearchRequest::new("most") }).unwrap();
    assert_eq!(urls(&czech), ["http://a.example/cs"]);
    assert_eq!(czech.total, 1);
    let all = service.search(&SearchRequest::new("most")).unwrap();
    let langs: HashSet<Option<&str>> = all.hits.iter().map(|hit| hit.lang.as_deref()).collect();
    assert_eq!(langs, HashSet::from([None, Some("cs")]));
}

#[test]
fn a_page_without_a_title_is_called_by_its_address() {
    let index =
        TestIndex::of(&[("http://a.example/x", " \n ", "river"), ("http://a.example/y", "Two\n\tlines ", "bank")]);
    let service = index.service();
    assert_eq!(service.search(&SearchRequest::new("river")).unwrap().hits[0].title, "http://a.example/x");
    assert_eq!(service.search(&SearchRequest::new("bank")).unwrap().hits[0].title, "Two lines");
}

#[test]
fn hosts_can_be_limited_to_their_best_pages() {
    let mut pages: Vec<_> = (0..6).map(|n| (format!("http://a.example/{n}"), "river ".repeat(6 - n))).collect();
    pages.extend((0..3).map(|n| (format!("http://b.example/{n}"), format!("river {}", "word ".repeat(50 + n)))));
    let mut index = TestIndex::absent();
    index.add(pages.iter().map(|(url, text)| page(url, "", text)));
    let service = index.service();
    let request = SearchRequest { per_host: 2, ..SearchRequest::new("river") };
    let limited = service.search(&request).unwrap();
    assert_eq!(limited.total, 9, "every match counts");
    let unlimited = service.search(&SearchRequest::new("river")).unwrap();
    for host in ["http://a.example/", "http://b.example/"] {
        let of = |response: &SearchResponse| -> Vec<String> {
            response.hits.iter().filter(|hit| hit.url.starts_with(host)).take(2).map(|hit| hit.url.clone()).collect()
        };
        assert_eq!(of(&limited), of(&unlimited), "the best two of {host}");
    }
    assert_eq!(limited.hits.len(), 4);
    let second_page = service.search(&SearchRequest { offset: 3, limit: 3, ..request }).unwrap();
    assert_eq!(urls(&second_page), urls(&limited)[3..]);
}

#[test]
fn a_query_without_words_matches_nothing() {
    let index = TestIndex::of(&[("http://a.example/", "", "river")]);
    let service = index.service();
    for query in ["", "  ", "…?!", "\"\""] {
        let response = service.search(&SearchRequest::new(query)).unwrap();
        assert_eq!((response.total, response.hits.len()), (0, 0), "{query:?}");
    }
}

#[test]
fn an_index_that_appears_later_and_every_commit_to_it_is_seen_at_once() {
    let mut index = TestIndex::absent();
    let service = index.service();
    assert_eq!(found(&service, "river"), Vec::<String>::new());
    assert!(service.check_ready().is_ok());
    index.add([page("http://a.example/1", "", "river")]);
    assert_eq!(found(&service, "river").len(), 1);
    index.add([page("http://a.example/2", "", "river")]);
    assert_eq!(found(&service, "river").len(), 2);
    index.add([page("http://a.example/2", "", "changed")]);
    assert_eq!(found(&service, "river"), ["http://a.example/1"]);
    index.withdraw("http://a.example/1");
    assert_eq!(found(&service, "river"), Vec::<String>::new());
    assert_eq!(service.documents().unwrap(), 1);
}

#[test]
fn another_index_that_takes_the_place_of_the_current_one_is_searched_next() {
    let index = TestIndex::of(&[("http://a.example/old", "", "river")]);
    let rebuilt = TestIndex::of(&[("http://a.example/new", "", "river")]);
    let service = index.service();
    assert_eq!(found(&service, "river"), ["http://a.example/old"]);
    let old = publish::current(&index.path()).unwrap().unwrap();
    fs::rename(publish::current(&rebuilt.path()).unwrap().unwrap(), index.path().join("generation-9")).unwrap();
    fs::write(index.path().join("next"), "generation-9\n").unwrap();
    fs::rename(index.path().join("next"), publish::current_file(&index.path())).unwrap();
    fs::remove_dir_all(old).unwrap();
    assert_eq!(found(&service, "river"), ["http://a.example/new"]);
}

#[test]
fn a_damaged_index_is_reported_as_not_ready_instead_of_empty() {
    let index = TestIndex::of(&[("http://a.example/", "", "river")]);
    let current = publish::current(&index.path()).unwrap().unwrap();
    fs::write(current.join("meta.json"), "{").unwrap();
    let service = index.service();
    assert!(matches!(service.search(&SearchRequest::new("river")), Err(QueryError::NotReady(_))));
    assert!(service.check_ready().is_err());
}

fn small_text() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["ant", "bee", "cat", "dog", "elk", "fox"]), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn order_and_total_are_as_promised(
        texts in prop::collection::vec((small_text(), small_text()), 1..25),
        query in prop::collection::vec(prop::sample::select(vec!["ant", "bee", "cat", "gnu"]), 1..4),
        page_size in 1usize..7,
    ) {
        let mut index = TestIndex::absent();
        let url = |number: usize| format!("http://h{}.example/{number}", number % 3);
        let (first, second) = texts.split_at(texts.len() / 2);
        for (start, part) in [(0, first), (first.len(), second)] {
            index.add(part.iter().enumerate().map(|(number, (title, text))| {
                page(&url(start + number), &title.join(" "), &text.join(" "))
            }));
        }
        let service = index.service();
        let has = |number: usize, word: &str| texts[number].0.contains(&word) || texts[number].1.contains(&word);
        let matching: HashSet<String> =
            (0..texts.len()).filter(|&number| query.iter().any(|word| has(number, word))).map(url).collect();
        let complete: HashSet<String> =
            (0..texts.len()).filter(|&number| query.iter().all(|word| has(number, word))).map(url).collect();

        let whole = SearchRequest { limit: 100, ..SearchRequest::new(query.join(" ")) };
        let response = service.search(&whole).unwrap();
        prop_assert_eq!(response.total as usize, matching.len());
        let ordered: Vec<String> = response.hits.iter().map(|hit| hit.url.clone()).collect();
        prop_assert_eq!(ordered.iter().cloned().collect::<HashSet<_>>(), matching);
        let (first, rest) = response.hits.split_at(complete.len());
        prop_assert_eq!(first.iter().map(|hit| hit.url.clone()).collect::<HashSet<_>>(), complete);
        for tier in [first, rest] {
            prop_assert!(tier.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }

        let mut paged = Vec::new();
        for offset in (0..ordered.len()).step_by(page_size) {
            let request = SearchRequest { limit: page_size, offset, ..whole.clone() };
            paged.extend(service.search(&request).unwrap().hits.into_iter().map(|hit| hit.url));
        }
        prop_assert_eq!(paged, ordered);
    }

    #[test]
    fn nothing_typed_panics_or_fails(queries in prop::collection::vec(any::<String>(), 1..40)) {
        let index = TestIndex::of(&[("http://a.example/", "<b>Title</b> 中国", "Řeka & <script> 中国科学院 \"quoted\" text")]);
        let service = index.service();
        for query in queries {
            for query in [query.clone(), format!("\"{query} river\" {query}"), format!("{query}中国科学院{query}")] {
                prop_assert!(service.search(&SearchRequest::new(query)).is_ok());
            }
        }
    }
}
