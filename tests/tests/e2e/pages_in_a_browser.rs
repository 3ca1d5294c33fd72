//! The search page in a real Chromium, over a crawl of the demo web.

use seine_tests::demo_web::{DemoWeb, HOST_COUNT};
use seine_tests::sandbox::{Running, Seine};

use crate::browser::Browser;

fn serve(seine: &Seine) -> Running {
    seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_search_page_works_in_a_browser() {
    let Some(browser) = Browser::find() else { return };
    let web = DemoWeb::start([0; HOST_COUNT]).await.unwrap();
    let (full, empty) = (Seine::new(), Seine::new());
    for url in web.urls() {
        let (crawl, url) = (&full, url.as_str());
        let run = tokio::task::block_in_place(|| crawl.crawl(url, &["--delay", "0"]));
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let (served, nothing) = (serve(&full), serve(&empty));
    let page = |running: &Running| format!("http://{}", running.http());
    let settings = [("SEINE_PAGE", page(&served)), ("SEINE_EMPTY_PAGE", page(&nothing))];
    tokio::task::block_in_place(|| browser.check("run.mjs", &settings));
    web.shutdown().await;
}
