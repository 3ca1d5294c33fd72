//! The search page in a real Chromium. Screenshots are kept as test output, to be looked at.

use std::path::PathBuf;
use std::process::Command;

use seine_tests::sandbox::{Running, Seine};
use seine_tests::{FakeWeb, FakeWebConfig};

/// Chromium without anything that would reach outside this machine.
fn chromium(program: &str) -> Command {
    let mut command = Command::new(program);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--virtual-time-budget=3000",
    ]);
    command
}

fn document(program: &str, url: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = chromium(program)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--dump-dom", url])
        .output()
        .expect("chromium can be started");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn screenshot(program: &str, url: &str, name: &str, size: &str) -> PathBuf {
    let profile = tempfile::tempdir().unwrap();
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../output/screenshots");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    let _ = std::fs::remove_file(&path);
    let output = chromium(program)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={size}"))
        .arg(format!("--screenshot={}", path.display()))
        .arg(url)
        .output()
        .expect("chromium can be started");
    assert!(path.exists(), "no screenshot: {}", String::from_utf8_lossy(&output.stderr));
    path
}

fn url(server: &Running, path: &str) -> String {
    format!("http://{}{path}", server.http())
}

#[test]
fn the_search_page_shows_results_in_a_browser() {
    let Ok(program) = std::env::var("SEINE_CHROMIUM") else {
        println!("skipped: SEINE_CHROMIUM does not name a browser; `make test` installs one");
        return;
    };
    let web = FakeWeb::start(FakeWebConfig::small(30));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);

    let word = FakeWebConfig::unique_word(0, 11);
    let results = document(&program, &url(&server, &format!("/search?q={word}")));
    assert!(results.contains(&web.url("/p/11.html")), "the hit's link is in the page: {results}");
    assert!(results.contains("<mark>"), "the match is marked");
    let home = document(&program, &url(&server, "/"));
    assert!(home.contains("<input") && home.contains("name=\"q\""), "{home}");
    let none = document(&program, &url(&server, "/search?q=nosuchwordanywhere"));
    assert!(!none.contains("<mark>"));
    let script = document(&program, &url(&server, "/search?q=%3Cscript%3Edocument.title%3D1%3C%2Fscript%3E"));
    assert!(!script.contains("<script>document.title=1"), "what is typed is escaped");

    for (name, size) in [("phone", "390,844"), ("desktop", "1280,800")] {
        screenshot(&program, &url(&server, "/"), &format!("home-{name}.png"), size);
        screenshot(&program, &url(&server, "/search?q=fake"), &format!("results-{name}.png"), size);
    }
}
