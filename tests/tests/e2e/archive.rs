//! Archives are WARC that others can read.

use std::process::Command;

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig};

/// Runs `warcio check` on every archive file; skipped with a printed reason where warcio is not installed.
pub fn assert_archives_pass_warcio(seine: &Seine) {
    let archives = seine.archives();
    assert!(!archives.is_empty(), "there is no archive file");
    let Ok(warcio) = std::env::var("SEINE_WARCIO") else {
        println!("skipped: SEINE_WARCIO does not name warcio; `make test` installs it");
        return;
    };
    for archive in archives {
        let output = Command::new(&warcio).args(["check", "-v"]).arg(&archive).output().expect("warcio can be started");
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {text}", archive.display());
        assert!(text.contains("digest pass"), "{}: nothing was checked: {text}", archive.display());
    }
}

#[test]
fn archives_hold_every_page_with_request_and_response_and_pass_warcio_check() {
    let faults = ["/fault/gzip/valid", "/fault/chunked", "/fault/gzip/broken", "/fault/empty"];
    let fault_links = faults.map(str::to_owned).to_vec();
    let web = FakeWeb::start(FakeWebConfig { fault_links, ..FakeWebConfig::small(50) });
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_archives_pass_warcio(&seine);
    let directory = seine.data().join("filesaver/archive");
    let open = std::fs::read_dir(directory)
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(|entry| !entry.file_name().to_string_lossy().ends_with(".warc.gz")));
    assert_eq!(open.count(), 0, "archive files are closed when the crawl returns");

    let mut text = Vec::new();
    for archive in seine.archives() {
        let file = std::fs::File::open(archive).unwrap();
        std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(file), &mut text)
            .expect("every member is whole");
    }
    let text = String::from_utf8_lossy(&text);
    let records = |kind: &str| text.matches(&format!("WARC-Type: {kind}\r\n")).count() as u64;
    assert_eq!((records("response"), records("request")), (run.count("pages"), run.count("pages")));
    assert!(text.contains(&format!("WARC-Target-URI: {}\r\n", web.url("/p/7.html"))));
}
