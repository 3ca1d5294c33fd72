//! Cached copies: what the archive has of a search hit, shown so that it can do no harm.

use seine_tests::LiveWeb;
use seine_tests::sandbox::{Running, Seine};
use serde_json::Value;

struct Answer {
    status: u16,
    policy: String,
    text: String,
}

async fn get(server: &Running, path: &str) -> Answer {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let response = reqwest::get(format!("http://{}{path}", server.http())).await.expect("the server answers");
    let policy = response.headers().get("content-security-policy").map(|value| value.to_str().unwrap().to_owned());
    Answer {
        status: response.status().as_u16(),
        policy: policy.unwrap_or_default(),
        text: response.text().await.expect("the body is text"),
    }
}

/// The id of the only page with a word.
async fn id_of(server: &Running, word: &str) -> String {
    let answer: Value = serde_json::from_str(&get(server, &format!("/api/v1/search?q={word}")).await.text).unwrap();
    assert_eq!(answer["total"], 1, "{answer}");
    answer["hits"][0]["id"].as_str().expect("a hit has an id").to_owned()
}

#[tokio::test]
async fn a_copy_is_shown_without_scripts_in_a_sandbox_with_a_banner() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["/page", "/private", "/notes.txt"]);
    let page = "<!doctype html><title>A page</title><p onclick='steal()'>It speaks of lighthouses.</p>\
        <script>steal()</script><form action=/post><input></form><a href=next>next</a>";
    web.put_file("/page", "text/html", page.as_bytes());
    let private = "<meta name=robots content=noarchive><p>It speaks of treasures.</p>";
    web.put_file("/private", "text/html", private.as_bytes());
    web.put_file("/notes.txt", "text/plain", b"Notes of <b>mermaids</b>.");
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 4), "{run:?}");
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);

    let copy = get(&server, &format!("/cached/{}", id_of(&server, "lighthouses").await)).await;
    assert_eq!(copy.status, 200, "{}", copy.text);
    assert!(copy.policy.starts_with("sandbox; default-src 'none';"), "{}", copy.policy);
    assert!(copy.text.contains("It speaks of lighthouses.") && copy.text.contains(" UTC"), "{}", copy.text);
    assert!(copy.text.contains(&format!("href=\"{}\"", web.url("/page"))), "the banner links the original");
    assert!(copy.text.contains(&format!("href=\"{}\"", web.url("/next"))), "links are absolute: {}", copy.text);
    for gone in ["steal", "<script", "<form", "onclick"] {
        assert!(!copy.text.contains(gone), "{gone} in {}", copy.text);
    }

    let text = get(&server, &format!("/cached/{}", id_of(&server, "mermaids").await)).await;
    assert_eq!(text.status, 200, "{}", text.text);
    assert!(text.text.contains("mermaids") && !text.text.contains("<b>mermaids"), "{}", text.text);

    let refused = get(&server, &format!("/cached/{}", id_of(&server, "treasures").await)).await;
    assert_eq!(refused.status, 404, "noarchive is respected");
    assert!(!refused.text.contains("It speaks of treasures"), "{}", refused.text);
    for path in ["/cached/00000000000000000000000000000000", "/cached/..%2fsecret", "/cached/x"] {
        assert_eq!(get(&server, path).await.status, 404, "{path}");
    }
}

/// The id of the page with a word on a host.
async fn id_on(server: &Running, word: &str, host: &str) -> String {
    let path = format!("/api/v1/search?q={word}&site={host}");
    let answer: Value = serde_json::from_str(&get(server, &path).await.text).unwrap();
    assert_eq!(answer["total"], 1, "{answer}");
    answer["hits"][0]["id"].as_str().expect("a hit has an id").to_owned()
}

#[tokio::test]
async fn pages_that_nest_and_repeat_without_end_are_shown_and_the_process_lives() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["/deep", "/storm"]);
    let deep = format!("<p>It speaks of abysses.</p>{}", "<noscript>".repeat(12_000));
    web.put_file("/deep", "text/html", deep.as_bytes());
    let storm = format!("<p>It speaks of tempests.</p><style>{}", "url(".repeat(1 << 20));
    web.put_file("/storm", "text/html", storm.as_bytes());
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 3), "{run:?}");
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    for word in ["abysses", "tempests"] {
        let path = format!("/cached/{}", id_of(&server, word).await);
        let copies = futures::future::join_all((0..3).map(|_| get(&server, &path))).await;
        for copy in copies {
            assert_eq!(copy.status, 200, "{word}");
            assert!(copy.text.contains(&format!("It speaks of {word}.")), "{word}");
        }
        assert_eq!(get(&server, "/healthz").await.status, 200, "the process lives after {word}");
    }
}

#[tokio::test]
async fn links_of_a_copy_lead_to_its_own_host_although_another_had_the_same_page_first() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    let words = "It is a page about lighthouses, long enough for the archive to keep it once. ".repeat(10);
    let page = format!("<!doctype html><title>Bank</title><p>{words}</p><a href=/pay>pay</a><img src=a.png>");
    web.put_file("/", "text/html", page.as_bytes());
    let (seine, port) = (Seine::new(), web.host().rsplit(':').next().unwrap().to_owned());
    let hosts = ["phishing.test", "bank.test"].map(|name| format!("{name}:{port}"));
    for host in &hosts {
        let run = seine.crawl(&format!("http://{host}/"), &["--delay", "0", "--resolve", &format!("{host}:127.0.0.1")]);
        assert_eq!((run.code, run.count("pages")), (0, 1), "{run:?}");
    }
    let mirror = seine.data().join("mirror");
    assert!(seine.run(&["export", "mirror", mirror.to_str().unwrap()]).status.success());
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    for host in &hosts {
        let copy = get(&server, &format!("/cached/{}", id_on(&server, "lighthouses", host).await)).await;
        assert_eq!(copy.status, 200, "{}", copy.text);
        let file = std::fs::read_to_string(mirror.join(host.replace(':', "_")).join("index.html")).unwrap();
        for (what, text) in [("the cached copy", &copy.text), ("the mirror", &file)] {
            assert!(text.contains(&format!("href=\"http://{host}/pay\"")), "{what} of {host}: {text}");
            let mut others = hosts.iter().filter(|other| *other != host);
            assert!(others.all(|other| !text.contains(other.as_str())), "{what} of {host}: {text}");
        }
    }
}
