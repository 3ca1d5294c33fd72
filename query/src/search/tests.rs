use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use proptest::prelude::*;
use seine_indexer::anchors::Link;
use seine_indexer::entry::Page;
use seine_indexer::publish;

use super::*;
use crate::request::Sort;
use crate::testing::{TestIndex, page};

pub fn urls(response: &SearchResponse) -> Vec<&str> {
    response.hits.iter().map(|hit| hit.url.as_str()).collect()
}

pub fn found(service: &QueryService, query: &str) -> Vec<String> {
    let response = service.search(&SearchRequest { limit: 100, ..SearchRequest::new(query) }).unwrap();
    assert_eq!(response.total as usize, response.hits.len());
    response.hits.into_iter().map(|hit| hit.url).collect()
}

#[test]
fn a_page_is_found_by_what_others_call_it_below_those_that_say_it_themselves() {
    let mut index = TestIndex::absent();
    let links = ["http://b.example/", "http://c.example/"].map(|target| Link::new(target, "Hydrology").unwrap());
    index.add([Page { links: links.to_vec(), ..page("http://a.example/", "", "A list of pages") }]);
    let own = page("http://c.example/", "Hydrology", "Hydrology of rivers and lakes");
    index.add([page("http://b.example/", "Levels", "How high the water of rivers and lakes is"), own]);
    let service = index.service();
    assert_eq!(found(&service, "hydrology"), ["http://c.example/", "http://b.example/"]);
    assert_eq!(found(&service, "rivers -hydrology"), ["http://b.example/"]);
    assert_eq!(service.search(&SearchRequest::new("hydrology")).unwrap().did_you_mean, None);
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_ends() {
    let index = TestIndex::of(&[("http://a.example/", "", "river")]);
    let service = index.service();
    let (told, was_told) = std::sync::mpsc::channel();
    let asking = service.elsewhere(move |service| {
        let found = loop {
            match service.search(&SearchRequest::new("river")) {
                Ok(answer) => assert_eq!(answer.total, 1),
                Err(error) => break error,
            }
        };
        told.send(found.to_string()).unwrap();
        Ok(())
    });
    assert!(tokio::time::timeout(Duration::from_millis(50), asking).await.is_err());
    let why = was_told.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(why.contains("nobody waits"), "{why}");
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

#[test]
fn the_query_language_does_what_it_says() {
    let mut index = TestIndex::absent();
    let dated = |url: &str, title: &str, text: &str, kind: &str, lang: &str, date_ms: i64| Page {
        content_type: kind.to_owned(),
        lang: lang.to_owned(),
        date_ms,
        ..page(url, title, text)
    };
    index.add([
        dated("http://a.example/guide", "River guide", "all about banks", "text/html", "en", 1_700_000_000_000),
        dated(
            "http://a.example/boat",
            "Boats",
            "a river boat on the big river",
            "application/pdf",
            "en",
            1_600_000_000_000,
        ),
        dated(
            "http://b.example/hydro",
            "Water",
            "hydrology and hydraulics of a stream",
            "text/html",
            "cs",
            1_500_000_000_000,
        ),
    ]);
    let service = index.service();
    for (query, expected) in [
        ("river -boat", &["guide"][..]),
        ("river -\"river boat\"", &["guide"]),
        ("river -boats", &["guide"]),
        ("title:river", &["guide"]),
        ("url:boat", &["boat"]),
        ("river OR stream", &["boat", "guide", "hydro"]),
        ("\"big river\" OR hydrology", &["boat", "hydro"]),
        ("hydr*", &["hydro"]),
        ("river site:a.example", &["boat", "guide"]),
        ("river -site:a.example", &[]),
        ("stream lang:cs", &["hydro"]),
        ("river type:pdf", &["boat"]),
        ("river type:text", &["guide"]),
        ("river after:2023", &["guide"]),
        ("river before:2023", &["boat"]),
        ("site:b.example", &["hydro"]),
        ("type:html", &["guide", "hydro"]),
        ("-river", &[]),
        ("\"big river\" guide", &["boat"]),
    ] {
        let mut urls = found(&service, query);
        urls.sort_by_key(|url| url.rsplit('/').next().unwrap().to_owned());
        let names: Vec<&str> = urls.iter().map(|url| url.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, expected, "{query}");
    }
}

#[test]
fn matches_are_counted_by_kind_and_sorted_by_date() {
    let mut index = TestIndex::absent();
    for (number, year_ms) in [(1, 1_500_000_000_000i64), (2, 1_700_000_000_000), (3, 1_600_000_000_000)] {
        index.add([Page {
            content_type: "text/html".to_owned(),
            lang: "en".to_owned(),
            date_ms: year_ms,
            ..page(&format!("http://{}.example/{number}", if number == 2 { "b" } else { "a" }), "", "river")
        }]);
    }
    index.add([page("http://c.example/other", "", "stone")]);
    index.withdraw("http://a.example/1");
    index.add([Page { date_ms: 1_500_000_000_000, ..page("http://a.example/4", "", "river river river") }]);
    let service = index.service();
    let request = SearchRequest { facets: true, sort: Sort::Date, ..SearchRequest::new("river") };
    let answer = service.search(&request).unwrap();
    assert_eq!(urls(&answer), ["http://b.example/2", "http://a.example/3", "http://a.example/4"]);
    let facets = answer.facets.unwrap();
    let pairs = |counts: &[crate::FacetCount]| -> Vec<(String, u64)> {
        counts.iter().map(|count| (count.value.clone(), count.count)).collect()
    };
    assert_eq!(pairs(&facets.site), [("a.example".to_owned(), 2), ("b.example".to_owned(), 1)]);
    assert_eq!(pairs(&facets.lang), [("en".to_owned(), 2)]);
    assert_eq!(pairs(&facets.content_type), [("text/html".to_owned(), 2)]);
    assert_eq!(pairs(&facets.year), [("2017".to_owned(), 1), ("2020".to_owned(), 1), ("2023".to_owned(), 1)]);
    assert_eq!(service.search(&SearchRequest::new("river")).unwrap().facets, None);
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
            let operators = format!("-{query} title:{query} OR {query}* site:{query} after:{query} type:{query}");
            for query in [query.clone(), format!("\"{query} river\" {query}"), format!("{query}中国科学院{query}"), operators] {
                prop_assert!(service.search(&SearchRequest::new(query)).is_ok());
            }
        }
    }
}
