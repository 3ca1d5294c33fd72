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
    // One more is what was answered for robots.txt.
    assert_eq!((captures, records("request")), (run.count("pages") + 1, run.count("pages") + 1));
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
    let pages = lines.lines().filter(|line| !line.contains(")/robots.txt ")).count();
    assert_eq!(pages, 3, "the index says where copies are: {lines}");

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

/// A site with a redirect, two errors and rules, crawled.
fn crawled_with_answers(keep: &str) -> (LiveWeb, Seine, Vec<String>, String) {
    let web = LiveWeb::new();
    web.answer("/robots.txt", 200, &[], "User-agent: *\nDisallow: /private\n");
    web.put("/", "the first page", &["/old", "/missing", "/broken", "/private"]);
    web.answer("/old", 301, &[("location", "/new"), ("set-cookie", "id=secret-cookie")], "It has moved.");
    web.put("/new", "the page that has moved", &[]);
    web.answer("/missing", 404, &[], &format!("<p>{}</p>", "No such page here. ".repeat(10_000)));
    web.answer("/broken", 500, &[], "Something is broken.");
    let seine = Seine::new();
    std::fs::write(seine.data().join("seine.toml"), format!("[archive]\nkeep = \"{keep}\"\n")).unwrap();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--attempts", "1", "--name", "site"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 2, 2), "{run:?}");
    let archives = seine.archives();
    let records = archives.iter().flat_map(|archive| split_records(&records_of(archive))).collect();
    let index = archives.iter().map(|archive| index_of(archive)).collect();
    (web, seine, records, index)
}

/// Those of one kind for one path.
fn records_for<'r>(records: &'r [String], kind: &str, url: &str) -> Vec<&'r String> {
    let (kind, target) = (format!("WARC-Type: {kind}\r\n"), format!("WARC-Target-URI: {url}\r\n"));
    records.iter().filter(|record| record.contains(&kind) && record.contains(&target)).collect()
}

#[test]
fn redirects_errors_and_robots_txt_are_archived_and_neither_described_nor_indexed() {
    let (web, seine, records, index) = crawled_with_answers("all");
    for (path, status, words) in [
        ("/robots.txt", "200 OK", "Disallow: /private"),
        ("/old", "301 Moved Permanently", "\r\nlocation: /new\r\n"),
        ("/missing", "404 Not Found", "No such page here."),
        ("/broken", "500 Internal Server Error", "Something is broken."),
    ] {
        let [response] = records_for(&records, "response", &web.url(path))[..] else { panic!("{path}: {records:?}") };
        assert!(response.contains(&format!("\r\n\r\nHTTP/1.1 {status}\r\n")), "{response}");
        assert!(response.contains(words), "{response}");
        let [request] = records_for(&records, "request", &web.url(path))[..] else { panic!("{path}: {records:?}") };
        assert!(request.contains(&format!("\r\n\r\nGET {path} HTTP/1.1\r\n")), "{request}");
        let [metadata] = records_for(&records, "metadata", &web.url(path))[..] else { panic!("{path}: {records:?}") };
        assert!(metadata.contains("\r\n\r\ncrawl: site\r\n"), "{metadata}");
        let line = index.lines().find(|line| line.contains(&format!("\"{}\"", web.url(path)))).unwrap();
        assert!(line.contains(&format!("\"status\":\"{}\"", &status[..3])), "{line}");
    }
    let long = records_for(&records, "response", &web.url("/missing"))[0];
    assert!(long.contains("\r\nWARC-Truncated: length\r\n") && long.len() < 70_000, "{} bytes", long.len());
    assert!(records.iter().all(|record| !record.contains("secret-cookie")), "{records:?}");
    assert_archives_pass_warcio(&seine);
    assert_eq!(String::from_utf8_lossy(&seine.run(&["export", "urls"]).stdout).lines().count(), 2);
    assert_eq!(
        (seine.search("moved", &[])["total"].clone(), seine.search("something", &[])["total"].clone()),
        (1.into(), 0.into())
    );

    // They leave with the pages, chosen in the same way.
    let responses = |flags: &[&str]| {
        let path = seine.data().join("out.warc.gz");
        let _ = std::fs::remove_file(&path);
        let output = seine.run(&[&["export", "warc", path.to_str().unwrap()], flags].concat());
        assert!(output.status.success(), "{output:?}");
        assert_passes_warcio(&path);
        records_of(&path).matches("WARC-Type: response\r\n").count()
    };
    assert_eq!((responses(&[]), responses(&["--crawl", "site"]), responses(&["--site", &web.host()])), (6, 6, 6));
    assert_eq!(responses(&["--until", "2001-01-01"]), 0);
}

#[test]
fn an_archive_that_keeps_pages_alone_holds_no_other_answers() {
    let (web, seine, records, index) = crawled_with_answers("pages");
    assert_eq!(index.lines().count(), 2, "{index}");
    for path in ["/robots.txt", "/old", "/missing", "/broken"] {
        assert!(records_for(&records, "response", &web.url(path)).is_empty(), "{path}: {records:?}");
    }
    assert_archives_pass_warcio(&seine);
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
