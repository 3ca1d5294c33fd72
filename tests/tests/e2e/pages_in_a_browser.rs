//! The search page in a real Chromium, over a crawl of the demo web. What is checked is in `tests/browser/`; screenshots
//! are kept in `output/screenshots/`, to be looked at.

use std::path::Path;
use std::process::Command;

use seine_tests::demo_web::{DemoWeb, HOST_COUNT};
use seine_tests::sandbox::{Running, Seine};

fn serve(seine: &Seine) -> Running {
    seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_search_page_works_in_a_browser() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checks = tests.join("browser");
    let Ok(chromium) = std::env::var("SEINE_CHROMIUM") else {
        println!("skipped: SEINE_CHROMIUM does not name a browser; `make test` installs one");
        return;
    };
    assert!(checks.join("node_modules").exists(), "Playwright is missing; run `make deps-test`");
    let web = DemoWeb::start([0; HOST_COUNT]).await.unwrap();
    let (full, empty) = (Seine::new(), Seine::new());
    for url in web.urls() {
        let (crawl, url) = (&full, url.as_str());
        let run = tokio::task::block_in_place(|| crawl.crawl(url, &["--delay", "0"]));
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let (served, nothing) = (serve(&full), serve(&empty));
    let output = tokio::task::spawn_blocking(move || {
        Command::new("node")
            .args(["--test-reporter=spec", "run.mjs"])
            .current_dir(&checks)
            .env("SEINE_PAGE", format!("http://{}", served.http()))
            .env("SEINE_EMPTY_PAGE", format!("http://{}", nothing.http()))
            .env("SEINE_CHROMIUM", chromium)
            .env("SEINE_SCREENSHOTS", tests.join("../output/screenshots"))
            .output()
            .expect("node can be started")
    });
    let output = output.await.unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{report}");
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    web.shutdown().await;
}
