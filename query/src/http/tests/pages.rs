//! The pages for people, as they are sent.

use super::{TestIndex, rivers, serve};
use crate::http::assets;
use crate::testing::page;

#[tokio::test]
async fn the_page_shows_results_and_nothing_of_them_becomes_markup() {
    let server = serve(rivers()).await;
    let page = server.get("/search?q=seine+%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<html lang=\"en\">"));
    assert!(page.body.contains("href=\"http://a.example/seine\""));
    assert!(page.body.contains("<mark>Seine</mark>"));
    assert!(!page.body.contains("<script>alert"), "{}", page.body);
    assert!(!page.body.contains("<Seine>"));
    assert!(!page.body.contains("<b>Paris"));
}

#[tokio::test]
async fn pages_say_what_to_do_when_there_is_nothing_to_show() {
    let empty = serve(TestIndex::absent()).await;
    for target in ["/", "/search?q=river"] {
        let page = empty.get(target).await;
        assert_eq!(page.status, 200);
        assert!(page.body.contains("seine crawl https://"), "{target}");
    }
    let server = serve(rivers()).await;
    assert!(server.get("/").await.body.contains("3 pages in the index"));
    assert!(server.get("/search?q=absent").await.body.contains("No page has this word"));
    assert!(server.get("/search?q=river&page=7").await.body.contains("no more results"));
    let blank = server.get("/search?q=+").await;
    assert_eq!((blank.status, blank.header("location")), (303, Some("/")));
    assert_eq!(server.get("/search?q=river&page=0").await.status, 400);
    assert_eq!(server.get("/search?q=river&page=1002").await.status, 400);
    assert_eq!(server.get("/nowhere").await.status, 404);
}

#[tokio::test]
async fn the_page_limits_hosts_only_while_others_fill_it() {
    let urls: Vec<String> = (0..15).map(|n| format!("http://one.example/{n}")).collect();
    let mut pages: Vec<(&str, &str, &str)> = urls.iter().map(|url| (url.as_str(), "", "river")).collect();
    let single = serve(TestIndex::of(&pages)).await;
    let page = single.get("/search?q=river").await.body;
    assert_eq!(page.matches("<article>").count(), 10, "one host alone fills the page");
    assert!(page.contains("Page 1 of 2"));
    assert_eq!(single.get("/search?q=river&page=2").await.body.matches("<article>").count(), 5);

    let others: Vec<String> = (0..12).map(|n| format!("http://other{n}.example/")).collect();
    pages.extend(others.iter().map(|url| (url.as_str(), "", "river")));
    let many = serve(TestIndex::of(&pages)).await;
    let both: String = many.get("/search?q=river").await.body + &many.get("/search?q=river&page=2").await.body;
    assert_eq!(both.matches("href=\"http://one.example/").count(), 2);
    assert_eq!(both.matches("More from one.example").count(), 1);
    assert!(both.contains("13 more of the same hosts are left out"));
    let all = many.get("/search?q=river&per_host=0").await.body;
    assert!(all.contains("Page 1 of 3") && all.contains("per_host=0") && !all.contains("left out"));
    assert!(
        both.contains("/search?q=river&amp;site=one.example") || both.contains("/search?q=river&#38;site=one.example")
    );
}

#[tokio::test]
async fn every_answer_keeps_the_browser_from_doing_more_than_show_it() {
    let server = serve(rivers()).await;
    for target in ["/", "/search?q=river", "/nowhere", "/api/v1/search?q=river", "/assets/seine.css", "/favicon.svg"] {
        let answer = server.get(target).await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{target}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{target}");
        assert!(answer.header("referrer-policy").is_some(), "{target}");
        assert!(
            !answer.body.contains(" style=\"") && !answer.body.contains(" onclick"),
            "{target}: the policy forbids it"
        );
    }
    let style = server.get(&format!("/assets/seine.css?v={}", assets::stamp())).await;
    assert!(style.header("cache-control").unwrap().contains("immutable"));
    let other = server.get("/assets/seine.css?v=of-the-next-version").await;
    assert_eq!(other.header("cache-control"), Some("no-cache"));
    assert!(style.header("content-type").unwrap().starts_with("text/css"));
}

#[tokio::test]
async fn pages_speak_the_language_of_the_browser_and_links_keep_a_choice() {
    let server = serve(rivers()).await;
    let czech = server.ask_with("GET", "/search?q=river", "accept-language: cs-CZ,cs;q=0.9,en;q=0.8\r\n").await;
    assert!(czech.body.contains("<html lang=\"cs\">") && czech.body.contains("3 výsledky"), "{}", czech.body);
    assert_eq!((czech.header("content-language"), czech.header("vary")), (Some("cs"), Some("accept-language")));
    assert!(
        !czech.body.contains("ui=cs&amp;") && !czech.body.contains("name=\"ui\""),
        "what was not chosen is not kept"
    );

    let chinese = server.ask_with("GET", "/search?q=river&ui=zh", "accept-language: cs\r\n").await;
    assert!(chinese.body.contains("<html lang=\"zh-Hans\">") && chinese.body.contains("3 条结果"));
    assert!(chinese.body.contains("<input type=\"hidden\" name=\"ui\" value=\"zh\">"));
    assert!(chinese.body.contains("sort=date&#38;ui=zh") || chinese.body.contains("sort=date&amp;ui=zh"));
    assert_eq!(server.get("/search?q=&ui=zh").await.header("location"), Some("/?ui=zh"));
    let nowhere = server.ask_with("GET", "/nowhere", "accept-language: zh\r\n").await;
    assert!(nowhere.body.contains("没有这个页面"));
}

#[tokio::test]
async fn facets_and_chips_are_links_that_narrow_and_widen() {
    let mut index = rivers();
    index.add([seine_indexer::entry::Page {
        lang: "cs".to_owned(),
        content_type: "application/pdf".to_owned(),
        ..page("http://c.example/reka.pdf", "Řeka", "river")
    }]);
    let server = serve(index).await;
    let unescaped = |body: &str| body.replace("&#38;", "&").replace("&amp;", "&");
    let all = unescaped(&server.get("/search?q=river").await.body);
    assert!(all.contains("href=\"/search?q=river&site=a.example\""), "{all}");
    assert!(all.contains("<span class=\"badge\">PDF</span><span class=\"badge\">Czech</span>"), "{all}");
    let narrowed = unescaped(&server.get("/search?q=river&site=a.example&sort=date").await.body);
    assert!(narrowed.contains("aria-label=\"Remove the filter a.example\""), "{narrowed}");
    assert!(narrowed.contains("href=\"/search?q=river&sort=date\""), "{narrowed}");
    assert!(narrowed.contains("<input type=\"hidden\" name=\"site\" value=\"a.example\">"));
    assert!(narrowed.contains("1 result ") && narrowed.matches("<article>").count() == 1);
}

#[tokio::test]
async fn a_misspelled_word_is_shown_as_understood_and_can_be_insisted_on() {
    let server = serve(rivers()).await;
    let page = server.get("/search?q=rivver").await.body;
    assert!(page.contains("Showing results for") && page.contains("<b>river</b>"), "{page}");
    assert!(page.contains("href=\"/search?q=%22rivver%22\""), "{page}");
    assert!(server.get("/search?q=%22rivver%22").await.body.contains("No page has this word"));
}
