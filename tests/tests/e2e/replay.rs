//! Archives are replayed by pywb, which knows nothing of Seine.

use std::path::{Path, PathBuf};
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

/// As docs/archive.md says: the files with the indexes that Seine has made, merged.
fn add(archives: &[PathBuf], collection: &Path) {
    let mut lines = Vec::new();
    for archive in archives {
        std::fs::copy(archive, collection.join("archive").join(archive.file_name().unwrap())).unwrap();
        let index = archive.to_string_lossy().replace(".warc.gz", ".cdxj");
        lines.extend(std::fs::read_to_string(index).unwrap().lines().map(str::to_owned));
    }
    lines.sort_unstable();
    std::fs::write(collection.join("indexes/index.cdxj"), lines.join("\n") + "\n").unwrap();
}

#[tokio::test]
async fn pywb_replays_pages_those_whose_content_was_known_or_unchanged_and_redirects() {
    let Ok(pywb) = std::env::var("SEINE_PYWB") else {
        println!("skipped: SEINE_PYWB does not name the directory of pywb's programs; `make test` installs them");
        return;
    };
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["/one", "/moved"]);
    web.answer("/moved", 301, &[("location", "/one")], "");
    let twin = format!("<title>Twins</title><p>{}</p>", "The same words of windmills under two addresses. ".repeat(50));
    web.put_file("/one", "text/html", twin.as_bytes());
    web.put_file("/two", "text/html", twin.as_bytes());
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).count("pages"), 2);
    // Its content is in the archive by now, so the second address only refers to it.
    web.put("/", "the first page speaks of lanterns", &["/one", "/two", "/moved"]);
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--again"]);
    assert_eq!((run.code, run.count("pages")), (0, 3), "{run:?}");
    let records: String = seine.archives().iter().map(|archive| crate::archive::records_of(archive)).collect();
    // Of the second address, and of the visit that found the first one unchanged.
    for profile in ["identical-payload-digest", "server-not-modified"] {
        assert_eq!(records.matches(&format!("revisit/{profile}\r\n")).count(), 1, "{profile}");
    }

    let collections = tempfile::tempdir().unwrap();
    let init =
        Command::new(format!("{pywb}/wb-manager")).args(["init", "crawl"]).current_dir(collections.path()).output();
    assert!(init.as_ref().is_ok_and(|output| output.status.success()), "{init:?}");
    add(&seine.archives(), &collections.path().join("collections/crawl"));
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
    for (path, words) in [
        ("/", "to /one"),
        ("/one", "words of windmills"),
        ("/two", "words of windmills"),
        // Followed within the archive.
        ("/moved", "words of windmills"),
    ] {
        let address = format!("http://127.0.0.1:{port}/crawl/mp_/{}", web.url(path));
        eventually(Duration::from_secs(60), "pywb replays the page", async || {
            let response = reqwest::get(&address).await.map_err(|error| error.to_string())?;
            let (status, text) = (response.status(), response.text().await.unwrap_or_default());
            if status.is_success() && text.contains(words) { Ok(()) } else { Err(format!("{path}: {status} {text}")) }
        })
        .await;
    }
}
