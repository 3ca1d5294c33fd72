//! `docs/grpc.md` is true: its Python is taken out of the page and run against a real server by Google's own client.

use std::process::Command;

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;

const PAGE: &str = include_str!("../../../docs/grpc.md");

/// The code of the page, one block after the other.
fn code() -> Vec<&'static str> {
    let blocks = PAGE.split("```python\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default()).collect()
}

fn replaced(text: &str, what: &str, by: &str) -> String {
    assert!(text.contains(what), "the page does not say {what} any more");
    text.replace(what, by)
}

#[test]
fn the_python_of_the_page_adds_a_crawl_waits_searches_and_explains() {
    let Ok(python) = std::env::var("SEINE_PYTHON") else {
        println!("skipped: SEINE_PYTHON does not name a Python with grpcio-reflection; `make test` installs one");
        return;
    };
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "the first page tells of river boats", &["/other"]);
    web.put("/other", "the other page tells of trains that go along the river", &[]);
    let seine = Seine::new();
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);

    // What it finds here instead of the things that the page speaks of.
    let mut script = code().join("\n");
    script = replaced(&script, "127.0.0.1:7070", &server.grpc());
    script = replaced(&script, "/srv/seine", seine.data().to_str().unwrap());
    script = replaced(&script, "https://example.org/", &web.url("/"));
    script = replaced(&script, "\"max_pages\": 1000,", "\"max_pages\": 1000, \"allow_net\": [\"127.0.0.0/8\"],");
    // A page that was just fetched is found some seconds later.
    let wait =
        "while call(\"seine.query.v1.Query\", \"Search\", query=\"river\").total < 2:\n    time.sleep(0.1)\nfound =";
    script = replaced(&script, "found =", wait);
    let output = Command::new("timeout").arg("60").arg(python).args(["-c", &script]).output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{said}{wrong}");
    assert!(said.contains("example is new\n") && said.contains("2 pages\n"), "{said}");
    let explained = format!("{} ", web.url("/"));
    assert!(said.contains(&explained) && said.contains("example saved"), "{said}");
    assert!(said.contains("INVALID_ARGUMENT limit is 1000"), "{said}");
}
