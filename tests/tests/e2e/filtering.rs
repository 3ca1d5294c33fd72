//! Following and indexing are decided separately, by rules that people write, and Seine tells which rule decided.

use std::path::PathBuf;
use std::process::Output;

use seine_tests::LiveWeb;
use seine_tests::sandbox::{CrawlRun, Seine};
use serde_json::Value;

/// A crawl of the web from `/` with these settings, at no delay.
fn crawl(seine: &Seine, web: &LiveWeb, settings: &str, flags: &[&str]) -> CrawlRun {
    let file = write(seine, settings);
    let run = seine.crawl(&web.url("/"), &[&["--delay", "0", "--config", file.to_str().unwrap()], flags].concat());
    assert_eq!(run.code, 0, "{run:?}");
    run
}

fn write(seine: &Seine, settings: &str) -> PathBuf {
    let file = seine.data().join("settings.toml");
    std::fs::write(&file, settings).expect("the file can be written");
    file
}

fn check(seine: &Seine, settings: &str, words: &[&str]) -> Output {
    let file = write(seine, settings);
    let mut command = std::process::Command::new(seine_tests::sandbox::binary("seine"));
    command.current_dir(seine.data()).args(["config", "check", file.to_str().unwrap()]).args(words);
    command.output().expect("seine can be started")
}

fn asked(web: &LiveWeb) -> Vec<String> {
    let mut paths: Vec<String> = web.take_requests().into_iter().map(|request| request.path).collect();
    paths.retain(|path| path != "/robots.txt");
    paths.sort();
    paths
}

/// Paths of the documents that have the word.
fn indexed(seine: &Seine, web: &LiveWeb, word: &str) -> Vec<String> {
    let start = web.url("");
    seine.documents(word).into_iter().map(|document| document.url.replace(&start, "")).collect()
}

fn explain(seine: &Seine, url: &str) -> Value {
    let output = seine.run(&["explain", url, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    answer["crawls"][0].clone()
}

fn exclusion(seine: &Seine, rule: &str) -> Value {
    let output = seine.run(&["crawls", "list", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let rules = list[0]["exclusions"].as_array().expect("exclusions are a list").clone();
    rules.into_iter().find(|known| known["rule"].as_str().unwrap().contains(rule)).unwrap_or(list)
}

/// A list of articles below `/list/`, and the articles.
fn articles() -> LiveWeb {
    let web = LiveWeb::new();
    web.put("/", "word start", &["/list/1", "/list/2"]);
    web.put("/list/1", "word list one", &["/article/1", "/article/2"]);
    web.put("/list/2", "word list two", &["/article/3"]);
    for number in 1..=3 {
        web.put(&format!("/article/{number}"), &format!("word article {number}"), &[&format!("/below/{number}")]);
        web.put(&format!("/below/{number}"), &format!("word below {number}"), &[]);
    }
    web
}

#[test]
fn follow_but_do_not_index_is_one_line() {
    let (seine, web) = (Seine::new(), articles());
    crawl(&seine, &web, "[filters.generation-default]\nrules = [\"deny path glob /list/*\"]", &[]);
    assert_eq!(asked(&web).len(), 9, "everything is fetched");
    let documents = indexed(&seine, &web, "word");
    assert!(
        documents.contains(&"/article/3".to_owned()) && documents.contains(&"/below/3".to_owned()),
        "{documents:?}"
    );
    assert!(!documents.iter().any(|path| path.starts_with("/list")), "{documents:?}");
    let list = explain(&seine, &web.url("/list/1"));
    assert_eq!(list["state"], "saved", "{list}");
    assert_eq!(list["generation"], "generation-default rule 1: deny path glob /list/*", "{list}");
    assert_eq!(list["in_index"], false, "{list}");
    let article = explain(&seine, &web.url("/article/1"));
    assert_eq!(article["generation"], "generation-default: allowed, no rule denies it", "{article}");
}

#[test]
fn index_but_do_not_follow_is_one_line() {
    let (seine, web) = (Seine::new(), articles());
    let settings = "[filters.articles]\nrules = [\"deny path regex ^/article/[0-9]+$\"]";
    crawl(&seine, &web, settings, &["--enumeration", "articles"]);
    assert!(!asked(&web).iter().any(|path| path.starts_with("/below")));
    assert_eq!(indexed(&seine, &web, "word").len(), 6);
    let article = explain(&seine, &web.url("/article/1"));
    assert_eq!(article["enumeration"], "articles rule 1: deny path regex ^/article/[0-9]+$", "{article}");
    assert_eq!((article["in_index"].as_bool(), article["generation"].as_str()), (Some(true), None), "{article}");
}

#[test]
fn what_would_be_neither_followed_nor_indexed_is_not_fetched_and_is_counted() {
    let (seine, web) = (Seine::new(), articles());
    let settings = "[crawl]\nenumeration = \"near\"\ngeneration = \"near\"\n\
        [filters.near]\nrules = [\"allow path = /list/2\", \"deny path glob /list/*\", \"deny depth > 2\"]";
    crawl(&seine, &web, settings, &[]);
    assert_eq!(asked(&web), ["/", "/article/3", "/list/2"]);
    let counted = exclusion(&seine, "filter near rule 2");
    assert_eq!(counted["links"], 1, "{counted}");
    assert_eq!(counted["example"], web.url("/list/1"), "{counted}");
    let excluded = explain(&seine, &web.url("/list/1"));
    assert_eq!(excluded["state"], "excluded", "{excluded}");
    assert_eq!(excluded["rule"], "filter near rule 2: deny path glob /list/*", "{excluded}");
    let start = seine.crawl(&web.url("/list/1"), &["--config", write(&seine, settings).to_str().unwrap()]);
    assert!(start.code != 0 && start.stderr.contains("rule 2"), "{start:?}");
}

#[test]
fn a_filter_looks_at_type_length_headers_and_metas_of_a_page() {
    let web = LiveWeb::new();
    let links = ["/plain", "/draft", "/large", "/english", "/no-author"];
    web.put("/", "word start", &links);
    web.put_file("/plain", "text/plain; charset=utf-8", b"word plain text");
    let page = |head: &str, text: &str| format!("<!doctype html>{head}<p>word {text}</p><a href=/far>far</a>");
    let author = "<meta name=Author content=Jana>";
    web.put_file("/draft", "text/html", page(&format!("{author}<meta name=status content=Draft>"), "draft").as_bytes());
    web.put_file("/large", "text/html", page(author, &"large ".repeat(2_000)).as_bytes());
    web.put_file("/english", "text/html; charset=utf-8", page(author, "kept").as_bytes());
    web.put_file("/no-author", "text/html", page("", "anonymous").as_bytes());
    let seine = Seine::new();
    let settings = "[crawl]\ngeneration = \"pages\"\n[filters.pages]\nrules = [\n\
          \"deny meta.status = draft\",\n  # long ones are lists\n  \"deny content-length in 5000..\",\n\
          \"allow meta.author in {Jana, Petr} and charset = utf-8\",\n]\n\
        otherwise = \"deny\"\ncontent_type = \"text/html\"";
    crawl(&seine, &web, settings, &[]);
    assert_eq!(indexed(&seine, &web, "word"), ["/english"]);
    for (path, rule) in [
        ("/plain", "pages: content_type is not text/html"),
        ("/draft", "pages rule 1: deny meta.status = draft"),
        ("/large", "pages rule 2: deny content-length in 5000.."),
        ("/english", "pages rule 3: allow meta.author in {Jana, Petr} and charset = utf-8"),
        ("/no-author", "pages: otherwise deny"),
    ] {
        let page = explain(&seine, &web.url(path));
        assert_eq!(page["generation"], rule, "{path}: {page}");
    }
    let words = String::from_utf8(seine.run(&["explain", &web.url("/draft")]).stdout).unwrap();
    assert!(words.contains("index: pages rule 1: deny meta.status = draft"), "{words}");
}

#[test]
fn no_more_links_than_allowed_are_taken_from_one_page_in_its_order() {
    let (seine, web) = (Seine::new(), LiveWeb::new());
    let links: Vec<String> = (0..20).map(|number| format!("/{number:02}")).collect();
    web.put("/", "word", &links.iter().map(String::as_str).collect::<Vec<_>>());
    for link in &links {
        web.put(link, link, &[]);
    }
    let settings = "[filters.enumeration-default]\nmax_links = 3\ncontent_type = \"text/html\"";
    crawl(&seine, &web, settings, &[]);
    assert_eq!(asked(&web), ["/", "/00", "/01", "/02"]);
    let start = explain(&seine, &web.url("/"));
    assert_eq!(start["enumeration"], "enumeration-default: max_links 3 of 20 links", "{start}");
}

#[test]
fn a_changed_filter_holds_at_the_next_visit_even_for_pages_that_did_not_change() {
    let (seine, web) = (Seine::new(), articles());
    crawl(&seine, &web, "", &[]);
    assert_eq!(indexed(&seine, &web, "word").len(), 9);
    let settings = "[filters.generation-default]\nrules = [\"deny path glob /list/*\"]";
    let run = crawl(&seine, &web, settings, &["--again"]);
    assert!(
        run.stderr.contains("generation was everything, now generation-default: deny path glob /list/*"),
        "{run:?}"
    );
    assert_eq!(indexed(&seine, &web, "word").len(), 7);
    web.take_requests();
    crawl(&seine, &web, settings, &["--again"]);
    let statuses: Vec<u16> = web
        .take_requests()
        .iter()
        .filter(|request| request.path != "/robots.txt")
        .map(|request| request.status)
        .collect();
    assert_eq!(statuses, [304; 9], "once judged, they are asked for conditionally again");
}

#[test]
fn only_pages_of_interest_are_kept_and_the_way_to_them_is_followed() {
    let (seine, web) = (Seine::new(), LiveWeb::new());
    web.put("/", "word nothing of interest", &["/between"]);
    web.put("/between", "word nothing either", &["/found"]);
    web.put("/found", "word boats and boats, boats on the river, many boats", &[]);
    crawl(&seine, &web, "", &["--keyword", "boats", "--keep-only-valuable"]);
    assert_eq!(indexed(&seine, &web, "word"), ["/found"]);
    let start = explain(&seine, &web.url("/between"));
    assert_eq!(start["generation"], "generation-default: value is below 0.3", "{start}");
}

const SENTENCES: &str = "The river rises in the hills and flows through several old towns before it reaches the sea. \
    On its way it passes mills, bridges and gardens, and boats carry people from one bank to the other all day long.";

#[test]
fn links_of_an_unusable_page_are_followed_once() {
    let (seine, web) = (Seine::new(), LiveWeb::new());
    let text = SENTENCES.repeat(4);
    web.put("/", &text, &["/menu"]);
    web.put("/menu", "menu", &["/second-menu", "/good"]);
    web.put("/second-menu", "menu again", &["/lost", "/found"]);
    web.put("/good", &format!("{text} Good."), &["/found"]);
    web.put("/found", &format!("{text} Found."), &[]);
    web.put("/lost", &format!("{text} Lost."), &[]);
    crawl(&seine, &web, "[crawl]\nunusable_below = 0.1", &["--connections-per-host", "1"]);
    assert_eq!(asked(&web), ["/", "/found", "/good", "/menu", "/second-menu"]);
    let counted = exclusion(&seine, "unusable-below 0.1");
    assert_eq!(counted["links"], 2, "{counted}");
    let usability = |path: &str| explain(&seine, &web.url(path))["usability"].as_f64().unwrap();
    assert!(usability("/menu") < 0.1 && usability("/good") > 0.1, "{} {}", usability("/menu"), usability("/good"));
}

#[test]
fn text_in_a_language_that_is_not_wanted_is_unusable() {
    let (seine, web) = (Seine::new(), LiveWeb::new());
    web.put("/", &SENTENCES.repeat(4), &["/next"]);
    web.put("/next", &format!("{} Next.", SENTENCES.repeat(4)), &["/further"]);
    web.put("/further", "further", &[]);
    crawl(&seine, &web, "[crawl]\nunusable_below = 0.1\n[analyse]\nlanguages = [\"cs\"]", &[]);
    assert_eq!(asked(&web), ["/", "/next"], "two pages in a row are not Czech");
    let usable = Seine::new();
    crawl(&usable, &web, "[crawl]\nunusable_below = 0.1\n[analyse]\nlanguages = [\"cs\", \"en\"]", &[]);
    assert_eq!(asked(&web), ["/", "/further", "/next"]);
}

#[test]
fn config_check_lists_filters_and_tells_what_decides() {
    let seine = Seine::new();
    let settings = "[crawl]\ngeneration = \"articles\"\n[filters.articles]\n\
        rules = [\"deny path glob */print/*\", \"data deny lang != en\"]\nmax_links = 5";
    let output = check(&seine, settings, &["--url", "https://example.org/print/1", "--depth", "2"]);
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words}");
    for line in [
        "the settings are valid",
        "filter articles",
        "  rule 1 (metadata): deny path glob */print/*",
        "  rule 2 (data): data deny lang != en",
        "  at most 5 links of a page",
        "https://example.org/print/1 at depth 2",
        "  links: enumeration-default: allowed, no rule denies it",
        "  index: articles rule 1: deny path glob */print/*",
    ] {
        assert!(words.lines().any(|known| known == line), "{line:?} is missing in {words}");
    }
    let output = check(&seine, settings, &["--url", "https://example.org/x"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("index: articles: decided when the page is there"));
}

#[test]
fn a_wrong_rule_is_refused_before_anything_is_fetched() {
    let (seine, web) = (Seine::new(), articles());
    let settings = "[filters.articles]\nrules = [\"deny depth > 3\", \"deny pth = /x\"]";
    let output = check(&seine, settings, &[]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    for word in ["articles", "rule 2", "\"pth\"", "did you mean \"path\"?"] {
        assert!(words.contains(word), "{word} is missing in {words}");
    }
    let run = seine.crawl(&web.url("/"), &["--config", write(&seine, settings).to_str().unwrap()]);
    assert_eq!(run.code, 2, "{run:?}");
    let run = seine.crawl(&web.url("/"), &["--generation", "articles"]);
    assert!(run.code == 2 && run.stderr.contains("\"articles\""), "{run:?}");
    assert!(web.take_requests().is_empty());
}
