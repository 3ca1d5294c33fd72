//! Against a real server on a real port.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::testing::TestIndex;

const DEADLINE: Duration = Duration::from_secs(30);

struct Server {
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
    _index: TestIndex,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        lines
            .filter_map(|line| line.split_once(": "))
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

async fn serve(index: TestIndex) -> Server {
    let router = index.service().http_router(None);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Server { address, serving, _index: index }
}

impl Server {
    async fn ask(&self, method: &str, target: &str) -> Answer {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            let request = format!("{method} {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            String::from_utf8(answer).unwrap()
        };
        let answer = tokio::time::timeout(DEADLINE, exchange).await.expect("an answer in time");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target).await
    }
}

fn rivers() -> TestIndex {
    TestIndex::of(&[
        ("http://a.example/seine", "The <Seine> & more", "The river Seine flows through <b>Paris</b>."),
        ("http://b.example/vltava", "Vltava", "The river Vltava flows through Prague."),
        ("http://b.example:8080/none", "", "A river without a name."),
    ])
}

#[tokio::test]
async fn the_json_answer_has_exactly_the_fields_of_the_contract() {
    let server = serve(rivers()).await;
    let answer = server.get("/api/v1/search?q=river+seine&limit=2").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["cursor", "hits", "took_ms", "total"], "there is a third hit to page to");
    assert_eq!(json["total"], 3);
    assert_eq!(json["hits"].as_array().unwrap().len(), 2);
    let first = &json["hits"][0];
    assert_eq!(keys(first), ["fetched_at", "has_cached", "id", "lang", "score", "snippet", "title", "url"]);
    assert_eq!(first["url"], "http://a.example/seine");
    assert_eq!(first["title"], "The <Seine> & more");
    let snippet = "The <mark>river</mark> <mark>Seine</mark> flows through &lt;b&gt;Paris&lt;/b&gt;.";
    assert_eq!(first["snippet"], snippet);
    assert_eq!(first["lang"], Value::Null);
    assert_eq!(first["fetched_at"], "2023-11-14T22:13:20.001Z");
    let site = server.get("/api/v1/search?q=river&site=b.example:8080").await.json();
    assert_eq!(site["total"], 1);
    assert_eq!(site["hits"][0]["title"], "http://b.example:8080/none");
}

#[tokio::test]
async fn wrong_parameters_are_told_apart_and_unknown_ones_ignored() {
    let server = serve(rivers()).await;
    for (target, code) in [
        ("/api/v1/search", "missing_query"),
        ("/api/v1/search?q=x&limit=0", "invalid_limit"),
        ("/api/v1/search?q=x&limit=101", "invalid_limit"),
        ("/api/v1/search?q=x&limit=ten", "invalid_limit"),
        ("/api/v1/search?q=x&offset=-1", "invalid_offset"),
        ("/api/v1/search?q=x&offset=10001", "invalid_offset"),
        ("/api/v1/search?q=x&site=http://a.example", "invalid_site"),
        ("/api/v1/search?q=x&lang=english", "invalid_lang"),
        ("/api/v1/search?q=x&per_host=many", "invalid_per_host"),
        ("/api/v1/search?q=x&type=a%20b", "invalid_type"),
        ("/api/v1/search?q=x&after=soon", "invalid_after"),
        ("/api/v1/search?q=x&before=2024-13", "invalid_before"),
        ("/api/v1/search?q=x&sort=size", "invalid_sort"),
        ("/api/v1/search?q=x&facets=some", "invalid_facets"),
        ("/api/v1/suggest", "missing_query"),
        ("/api/v1/suggest?q=x&limit=21", "invalid_limit"),
    ] {
        let answer = server.get(target).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (400, Some(code)), "{target}");
        assert!(!answer.json()["error"]["message"].as_str().unwrap().is_empty());
    }
    let long = server.get(&format!("/api/v1/search?q={}", "x".repeat(1_025))).await;
    assert_eq!((long.status, long.json()["error"]["code"].as_str()), (400, Some("query_too_long")));
    assert_eq!(server.get("/api/v1/search?q=river&utm_source=x").await.json()["total"], 3);
    for blank in ["/api/v1/search?q=", "/api/v1/search?q=+%20"] {
        let answer = server.get(blank).await;
        assert_eq!((answer.status, answer.json()["total"].as_u64()), (200, Some(0)), "{blank}");
    }
    let nowhere = server.get("/api/v2/search?q=river").await;
    assert_eq!((nowhere.status, nowhere.json()["error"]["code"].as_str()), (404, Some("not_found")));
}

#[tokio::test]
async fn an_index_that_cannot_be_read_is_not_ready_everywhere() {
    let index = rivers();
    let current = seine_indexer::publish::current(&index.path()).unwrap().unwrap();
    std::fs::write(current.join("meta.json"), "{").unwrap();
    let server = serve(index).await;
    for target in ["/readyz", "/api/v1/search?q=river"] {
        let answer = server.get(target).await;
        assert_eq!((answer.status, answer.json()["error"]["code"].as_str()), (503, Some("not_ready")), "{target}");
    }
    assert_eq!(server.get("/search?q=river").await.status, 503);
    assert_eq!(server.get("/").await.status, 200);
    assert_eq!(server.get("/healthz").await.status, 200);
}

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
    let style = server.get("/assets/seine.css").await;
    assert!(style.header("cache-control").unwrap().contains("immutable"));
    assert!(style.header("content-type").unwrap().starts_with("text/css"));
}

#[tokio::test]
async fn the_description_of_the_interface_is_true() {
    let server = serve(rivers()).await;
    let description = server.get("/openapi.json").await.json();
    assert_eq!(description["openapi"], "3.1.0");
    for (path, operations) in description["paths"].as_object().unwrap() {
        let asks = path.ends_with("search") || path.ends_with("suggest");
        let target = if asks { format!("{path}?q=river") } else { path.clone() };
        let answer = server.get(&target).await;
        assert_eq!(answer.status, 200, "{path}");
        let described = &operations["get"]["responses"]["200"];
        let described = match described["$ref"].as_str() {
            Some(reference) => &description["components"]["responses"][reference.rsplit('/').next().unwrap()],
            None => described,
        };
        let types: Vec<&String> = described["content"].as_object().unwrap().keys().collect();
        let served = answer.header("content-type").unwrap();
        assert!(
            types.iter().any(|described| served.starts_with(described.as_str())),
            "{path}: {served}, not {types:?}"
        );
        assert_eq!(server.ask("POST", &target).await.status, 405, "{path}");
    }
    let schemas = &description["components"]["schemas"];
    let answer = server.get("/api/v1/search?q=river").await.json();
    for (schema, value) in [("SearchResponse", &answer), ("Hit", &answer["hits"][0])] {
        let mut required: Vec<&str> =
            schemas[schema]["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        required.sort_unstable();
        let served: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(served, required, "{schema}");
    }
    let full = server.get("/api/v1/search?q=rivver&facets=true&limit=1").await.json();
    let suggested = server.get("/api/v1/suggest?q=riv").await.json();
    let facets = &full["facets"];
    for (schema, value) in [
        ("SearchResponse", &full),
        ("Facets", facets),
        ("FacetCount", &facets["site"][0]),
        ("SuggestResponse", &suggested),
    ] {
        let mut described: Vec<&String> = schemas[schema]["properties"].as_object().unwrap().keys().collect();
        described.sort_unstable();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), described, "{schema}");
    }
    let parameters = description["paths"]["/api/v1/search"]["get"]["parameters"].as_array().unwrap();
    let codes = &schemas["Error"]["properties"]["error"]["properties"]["code"]["enum"];
    for parameter in parameters.iter().filter(|parameter| parameter["name"] != "q") {
        let name = parameter["name"].as_str().unwrap();
        let code = Value::from(format!("invalid_{name}"));
        assert!(codes.as_array().unwrap().contains(&code), "{code}");
        let wrong = server.get(&format!("/api/v1/search?q=river&{name}=%C2%A7%2F")).await;
        assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (400, &code), "{name} is read");
        for example in parameter["schema"]["examples"].as_array().into_iter().flatten() {
            let target = format!("/api/v1/search?q=river&{name}={}", example.as_str().unwrap());
            assert_eq!(server.get(&target).await.status, 200, "{target}");
        }
    }
    for parameter in parameters {
        let name = parameter["name"].as_str().unwrap();
        for (limit, change) in [("minimum", -1i64), ("maximum", 1)] {
            let Some(bound) = parameter["schema"][limit].as_i64() else { continue };
            let at = |value: i64| format!("/api/v1/search?q=river&{name}={value}");
            assert_eq!(server.get(&at(bound)).await.status, 200, "{name} {limit}");
            assert_eq!(server.get(&at(bound + change)).await.status, 400, "{name} beyond its {limit}");
        }
    }
}
