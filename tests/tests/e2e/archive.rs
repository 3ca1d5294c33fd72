//! Archives are WARC that others can read.

use std::path::Path;
use std::process::Command;

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig, LiveWeb};

/// Runs `warcio check` on every archive file; skipped with a printed reason where warcio is not installed.
pub fn assert_archives_pass_warcio(seine: &Seine) {
    let archives = seine.archives();
    assert!(!archives.is_empty(), "there is no archive file");
    for archive in archives {
        assert_passes_warcio(&archive);
    }
}

pub fn assert_passes_warcio(archive: &Path) {
    let Ok(warcio) = std::env::var("SEINE_WARCIO") else {
        println!("skipped: SEINE_WARCIO does not name warcio; `make test` installs it");
        return;
    };
    let output = Command::new(&warcio).args(["check", "-v"]).arg(archive).output().expect("warcio can be started");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {text}", archive.display());
    assert!(text.contains("digest pass"), "{}: nothing was checked: {text}", archive.display());
}

/// All records of a file, one behind the other.
pub fn records_of(archive: &Path) -> String {
    let file = std::fs::File::open(archive).unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(file), &mut text).expect("every member is whole");
    String::from_utf8_lossy(&text).into_owned()
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
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".open")));
    assert_eq!(open.count(), 0, "archive files are closed when the crawl returns");

    let text: String = seine.archives().iter().map(|archive| records_of(archive)).collect();
    let records = |kind: &str| text.matches(&format!("WARC-Type: {kind}\r\n")).count() as u64;
    let captures = records("response") + records("revisit");
    assert_eq!((captures, records("request")), (run.count("pages"), run.count("pages")));
    assert!(records("metadata") > 0 && text.contains("\r\n\r\ncrawl: "), "crawl, charset and language are told");
    let lines: usize = seine.archives().iter().map(|archive| index_of(archive).lines().count()).sum();
    assert_eq!(lines as u64, captures, "every capture is in the index beside its file");
    assert!(text.contains(&format!("WARC-Target-URI: {}\r\n", web.url("/p/7.html"))));
}

fn index_of(archive: &Path) -> String {
    let path = archive.to_string_lossy().replace(".warc.gz", ".cdxj");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn a_visit_that_was_answered_not_modified_is_recorded() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "a page that stays as it is", &["/other"]);
    web.put("/other", "a page that will change", &[]);
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).count("pages"), 2);
    web.put("/other", "a page that has changed", &[]);
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--again"]);
    assert_eq!((run.code, run.count("pages")), (0, 2), "{run:?}");

    let archives = seine.archives();
    let records = archives.iter().flat_map(|archive| split_records(&records_of(archive))).collect::<Vec<_>>();
    let of = |kind: &str, path: &str| -> Vec<&String> {
        let (kind, target) = (format!("WARC-Type: {kind}\r\n"), format!("WARC-Target-URI: {}\r\n", web.url(path)));
        records.iter().filter(|record| record.contains(&kind) && record.contains(&target)).collect()
    };
    let [original] = of("response", "/")[..] else { panic!("{records:?}") };
    let [visit] = of("revisit", "/")[..] else { panic!("{records:?}") };
    let date = original.lines().find_map(|line| line.strip_prefix("WARC-Date: ")).unwrap();
    for line in [
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified".to_owned(),
        format!("WARC-Refers-To-Target-URI: {}", web.url("/")),
        format!("WARC-Refers-To-Date: {date}"),
    ] {
        assert!(visit.lines().any(|found| found == line), "{line} in {visit}");
    }
    assert!(visit.contains("\r\n\r\nHTTP/1.1 304 Not Modified\r\n"), "{visit}");
    assert!(of("request", "/")[1].contains("if-none-match: "), "{records:?}");
    assert_eq!((of("revisit", "/other").len(), of("response", "/other").len()), (0, 2));
    assert_archives_pass_warcio(&seine);
    let lines: String = archives.iter().map(|archive| index_of(archive)).collect();
    assert_eq!(lines.lines().count(), 3, "the index says where copies are: {lines}");

    // Whoever reads the archive gets the page.
    let output = seine.run(&["export", "descriptions"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2, "{output:?}");
    let mirror = seine.data().join("mirror");
    assert!(seine.run(&["export", "mirror", mirror.to_str().unwrap()]).status.success());
    let page = mirror.join(web.host().replace(':', "_")).join("index.html");
    assert!(std::fs::read_to_string(page).unwrap().contains("stays as it is"));
    assert!(seine.run(&["index", "rebuild"]).status.success());
    assert_eq!(seine.search("stays", &[])["total"], 1);
}

/// Each with its header and its block.
fn split_records(text: &str) -> Vec<String> {
    text.split("WARC/1.1\r\n").skip(1).map(str::to_owned).collect()
}

#[test]
fn content_that_comes_again_is_kept_once() {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "start", &["/one"]);
    let page = format!("<title>Twins</title><p>{}</p>", "The same words under two addresses. ".repeat(50));
    web.put_file("/one", "text/html", page.as_bytes());
    web.put_file("/two", "text/html", page.as_bytes());
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).count("pages"), 2);
    // In another process: what is in the archive is known there too.
    web.put("/", "start again", &["/one", "/two"]);
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--again"]);
    assert_eq!((run.code, run.count("pages")), (0, 3), "{run:?}");
    let text: String = seine.archives().iter().map(|archive| records_of(archive)).collect();
    assert_eq!(text.matches("revisit/identical-payload-digest\r\n").count(), 1, "{text}");
    assert!(text.contains(&format!("WARC-Refers-To-Target-URI: {}\r\n", web.url("/one"))), "{text}");
    assert_eq!(text.matches("<title>Twins</title>").count(), 1, "{text}");
    assert_archives_pass_warcio(&seine);
}
