//! Archives are replayed by pywb, which knows nothing of Seine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use seine_tests::sandbox::Seine;
use seine_tests::{LiveWeb, eventually};

/// pywb's server; ends with the test.
struct Wayback {
    program: String,
    collections: PathBuf,
    port: u16,
    server: Child,
}

impl Wayback {
    fn start(program: String, collections: &Path) -> Self {
        let port = free_port();
        let server = Command::new(&program)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .current_dir(collections)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("wayback can be started");
        Self { program, collections: collections.to_owned(), port, server }
    }

    /// Where it listens. Another test may have taken its port before it did, which ends it: then it is started again.
    fn address(&mut self) -> String {
        if self.server.try_wait().is_ok_and(|ended| ended.is_some()) {
            *self = Self::start(self.program.clone(), &self.collections);
        }
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Wayback {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
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
    let mut wayback = Wayback::start(format!("{pywb}/wayback"), collections.path());

    let _ = rustls::crypto::ring::default_provider().install_default();
    // The two captures of the first page may be of one second, which is as exactly as replays are told apart.
    for (path, words) in [
        ("/", "to /one"),
        ("/one", "words of windmills"),
        ("/two", "words of windmills"),
        // Followed within the archive.
        ("/moved", "words of windmills"),
    ] {
        eventually(Duration::from_secs(60), "pywb replays the page", async || {
            let address = format!("{}/crawl/mp_/{}", wayback.address(), web.url(path));
            let response = reqwest::get(&address).await.map_err(|error| error.to_string())?;
            let (status, text) = (response.status(), response.text().await.unwrap_or_default());
            if status.is_success() && text.contains(words) { Ok(()) } else { Err(format!("{path}: {status} {text}")) }
        })
        .await;
    }
}
