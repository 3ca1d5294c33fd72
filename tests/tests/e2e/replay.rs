//! Archives are replayed by pywb, which knows nothing of Seine.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use seine_tests::sandbox::Seine;
use seine_tests::{LiveWeb, eventually};

/// Ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port is free")
        .port()
}

#[tokio::test]
async fn pywb_replays_crawled_pages_and_those_whose_content_was_known() {
    let Ok(pywb) = std::env::var("SEINE_PYWB") else {
        println!("skipped: SEINE_PYWB does not name the directory of pywb's programs; `make test` installs them");
        return;
    };
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["/one"]);
    let twin = format!("<title>Twins</title><p>{}</p>", "The same words of windmills under two addresses. ".repeat(50));
    web.put_file("/one", "text/html", twin.as_bytes());
    web.put_file("/two", "text/html", twin.as_bytes());
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).count("pages"), 2);
    // Its content is in the archive by now, so the second address only refers to it.
    web.put("/", "the first page speaks of lanterns", &["/one", "/two"]);
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--again"]);
    assert_eq!((run.code, run.count("pages")), (0, 3), "{run:?}");
    assert!(seine.archives().iter().any(|archive| crate::archive::records_of(archive).contains("WARC-Type: revisit")));

    let collections = tempfile::tempdir().unwrap();
    let manage = |words: &[&str], files: &[std::path::PathBuf]| {
        let mut command = Command::new(format!("{pywb}/wb-manager"));
        let output =
            command.args(words).args(files).current_dir(collections.path()).output().expect("wb-manager starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    manage(&["init", "crawl"], &[]);
    manage(&["add", "crawl"], &seine.archives());
    let port = free_port();
    let wayback = Command::new(format!("{pywb}/wayback"))
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .current_dir(collections.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Server(wayback.expect("wayback can be started"));

    let _ = rustls::crypto::ring::default_provider().install_default();
    // The two captures of the first page may be of one second, which is as exactly as replays are told apart.
    for (path, words) in [("/", "to /one"), ("/one", "words of windmills"), ("/two", "words of windmills")] {
        let address = format!("http://127.0.0.1:{port}/crawl/mp_/{}", web.url(path));
        eventually(Duration::from_secs(60), "pywb replays the page", async || {
            let response = reqwest::get(&address).await.map_err(|error| error.to_string())?;
            let (status, text) = (response.status(), response.text().await.unwrap_or_default());
            if status.is_success() && text.contains(words) { Ok(()) } else { Err(format!("{path}: {status} {text}")) }
        })
        .await;
    }
}
