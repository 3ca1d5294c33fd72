//! Words in the forms of their languages, in parts, and misspelled.

use std::collections::HashSet;

use seine_indexer::entry::Page;

use super::tests::{found, urls};
use super::*;
use crate::testing::{TestIndex, page};

#[test]
fn of_a_lone_character_only_itself_is_marked() {
    let index = TestIndex::of(&[("http://a.example/", "", "他在河边。大河")]);
    let answer = index.service().search(&SearchRequest::new("河")).unwrap();
    assert_eq!(answer.hits[0].snippet, "他在<mark>河</mark>边。大<mark>河</mark>");
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

fn pages_in(lang: &str, pages: &[(&str, &str, &str)]) -> TestIndex {
    let mut index = TestIndex::absent();
    index.add(pages.iter().map(|(url, title, text)| Page { lang: lang.to_owned(), ..page(url, title, text) }));
    index
}

#[test]
fn all_forms_of_a_word_are_found_by_any() {
    let english =
        pages_in("en", &[("http://a.example/1", "", "the rivers flowed"), ("http://a.example/2", "", "stones")]);
    let czech =
        pages_in("cs", &[("http://a.example/1", "", "Bydlím v Praze u řeky"), ("http://a.example/2", "", "kámen")]);
    for (index, query) in
        [(&english, "river"), (&english, "RIVERS flowing"), (&czech, "praha"), (&czech, "řekami"), (&czech, "reka")]
    {
        assert_eq!(found(&index.service(), query), ["http://a.example/1"], "{query}");
    }
}

#[test]
fn every_language_of_an_index_finds_its_own_forms() {
    let mut index = pages_in("en", &[("http://a.example/en", "", "old castles")]);
    index.add([Page { lang: "cs".to_owned(), ..page("http://a.example/cs", "", "staré hrady") }]);
    index.add([page("http://a.example/unknown", "", "castles hrady")]);
    let service = index.service();
    assert_eq!(found(&service, "castle"), ["http://a.example/en"]);
    assert_eq!(found(&service, "hrad"), ["http://a.example/cs"]);
    let of_both: HashSet<String> = found(&service, "castles").into_iter().collect();
    assert_eq!(of_both, HashSet::from(["http://a.example/en".to_owned(), "http://a.example/unknown".to_owned()]));
}

#[test]
fn code_and_numbers_are_found_whole_and_in_parts() {
    let index = TestIndex::of(&[
        ("http://a.example/1", "", "call snake_case_name with an HttpClient"),
        ("http://a.example/2", "", "written in C++ since version 3.14"),
        ("http://a.example/3", "", "an HTTP client for 1,000 users in C"),
    ]);
    let service = index.service();
    for (query, expected) in [
        ("snake_case_name", &["1"][..]),
        ("snake name", &["1"]),
        ("HttpClient", &["1", "3"]),
        ("httpclient", &["1"]),
        ("c++", &["2"]),
        ("3.14", &["2"]),
        ("1000", &["3"]),
    ] {
        let mut urls = found(&service, query);
        urls.sort();
        let expected: Vec<String> = expected.iter().map(|number| format!("http://a.example/{number}")).collect();
        assert_eq!(urls, expected, "{query}");
    }
}

#[test]
fn nothing_of_a_chinese_japanese_or_korean_text_is_out_of_reach() {
    let text = "他在中国科学院研究塞雷茨基的历史";
    let index = TestIndex::of(&[
        ("http://a.example/zh", "", text),
        ("http://a.example/ja", "", "東京タワーへ行きました"),
        ("http://a.example/ko", "", "한국어를 공부합니다"),
    ]);
    let service = index.service();
    let characters: Vec<char> = text.chars().collect();
    for length in 1..=4 {
        for piece in characters.windows(length) {
            let piece: String = piece.iter().collect();
            assert!(found(&service, &piece).contains(&"http://a.example/zh".to_owned()), "{piece}");
            assert!(found(&service, &format!("\"{piece}\"")).contains(&"http://a.example/zh".to_owned()), "{piece}");
        }
    }
    assert_eq!(found(&service, "東京タワー"), ["http://a.example/ja"]);
    assert_eq!(found(&service, "한국어"), ["http://a.example/ko"]);
}

#[test]
fn a_misspelled_word_finds_what_was_meant_unless_the_index_knows_it() {
    let index = pages_in(
        "en",
        &[
            ("http://a.example/1", "", "experimental hydrology of rivers"),
            ("http://a.example/2", "", "a river bank"),
            ("http://a.example/3", "", "the riven rock"),
        ],
    );
    let service = index.service();
    let search = |query: &str| service.search(&SearchRequest::new(query)).unwrap();
    let one = search("rivr");
    assert!(one.total >= 2, "{one:?}");
    assert_eq!(one.did_you_mean.as_deref(), Some("river"));
    assert!(one.hits.iter().any(|hit| hit.snippet.contains("<mark>river")), "{one:?}");
    let two = search("experimantol hydrology");
    assert_eq!(urls(&two)[0], "http://a.example/1");
    assert_eq!(two.did_you_mean.as_deref(), Some("experimental hydrology"));
    assert_eq!(search("river").did_you_mean, None);
    assert_eq!(search("cat").total, 0, "three letters have too many neighbours");
    assert_eq!(search("river -bamk").total, 2, "what is excluded is excluded as typed");
    assert_eq!(search("\"rivr bank\"").total, 0, "a phrase is meant as typed");
}

#[test]
fn a_word_that_stands_only_around_the_text_is_not_taken_for_a_mistake() {
    let mut index = TestIndex::absent();
    let around = |url: &str, text: &str| Page { rest: "Imprint of a fake web".to_owned(), ..page(url, "", text) };
    index.add([around("http://a.example/1", "bread to bake"), around("http://a.example/fane/2", "lakes")]);
    let service = index.service();
    let answer = service.search(&SearchRequest::new("fake")).unwrap();
    assert_eq!((answer.total, answer.did_you_mean), (2, None));
    assert_eq!(found(&service, "fane"), ["http://a.example/fane/2"]);
}

#[test]
fn a_query_of_many_beginnings_and_unknown_words_is_answered() {
    let text: String = (0..2_000).map(|number| format!("ab{number} ")).collect();
    let index = TestIndex::of(&[("http://a.example/1", "", &text)]);
    let service = index.service();
    assert_eq!(service.search(&SearchRequest::new("ab* ".repeat(200))).unwrap().total, 1);
    assert_eq!(service.search(&SearchRequest::new("unknownn.unknownm.".repeat(50))).unwrap().total, 0);
}

#[test]
fn did_you_mean_is_written_as_the_documents_write_it() {
    let index = pages_in("cs", &[("http://a.example/1", "", "Vodopád na řece")]);
    let answer = index.service().search(&SearchRequest::new("vodopat")).unwrap();
    assert_eq!(answer.did_you_mean.as_deref(), Some("vodopád"));
}
