//! `seine export`: what was gathered, for other programs and for reading without a server.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use seine_tests::sandbox::{Seine, interrupt};
use seine_tests::{FakeWeb, FakeWebConfig, LiveWeb};
use serde_json::Value;

use crate::archive::assert_passes_warcio;

fn web() -> LiveWeb {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "a page in English about rivers and the boats that go up and down on them", &["/a", "/dir/b?x=1#y"]);
    web.put("/a", "the first version of this page speaks of locks and of the people who open them", &["/", "/a/below"]);
    web.put("/dir/b?x=1", "another page in English with a query in its address and a link home", &["../a", "/gone"]);
    web.put("/a/below", "a page below another page, as a file below a directory of the same name", &["../"]);
    web
}

fn crawled() -> (LiveWeb, Seine) {
    let (web, seine) = (web(), Seine::new());
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 4), "{run:?}");
    (web, seine)
}

fn export(seine: &Seine, words: &[&str]) -> Vec<u8> {
    let output = seine.run(&[&["export"], words].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn lines(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

fn urls(seine: &Seine, flags: &[&str]) -> BTreeSet<String> {
    let output = export(seine, &[&["urls"], flags].concat());
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_description_holds_what_the_contract_names() {
    let (web, seine) = crawled();
    let pages = lines(&export(&seine, &["descriptions"]));
    assert_eq!(pages.len(), 4);
    let page = pages.iter().find(|page| page["url"] == web.url("/a")).expect("the page is there");
    for key in ["url", "content_type", "charset", "title", "description", "main_text", "full_text", "fetched_at"] {
        assert!(page[key].is_string(), "{key} in {page}");
    }
    assert_eq!((page["status"].as_u64(), page["lang"].as_str()), (Some(200), Some("en")), "{page}");
    for key in ["fingerprint", "simhash"] {
        let digits = page[key].as_str().unwrap();
        assert!(digits.len() == 16 && u64::from_str_radix(digits, 16).is_ok(), "{page}");
    }
    assert!(page["usability"].is_number() && page["fetched_at"].as_str().unwrap().ends_with('Z'), "{page}");
    assert_eq!(page["links"][0]["url"], web.url("/"), "{page}");
    assert_eq!((page["links"][0]["text"].as_str(), page["links"][0]["kind"].as_str()), (Some("to /"), Some("anchor")));
    assert!(page["main_text"].as_str().unwrap().contains("locks"), "{page}");
}

#[test]
fn the_newest_version_counts_and_withdrawn_pages_are_left_out() {
    let (web, seine) = crawled();
    web.put("/a", "the second version of this page speaks of ferries", &[]);
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0", "--again"]).code, 0);
    assert!(seine.run(&["index", "forget", &web.url("/a/below")]).status.success());
    let pages = lines(&export(&seine, &["text"]));
    let text = |path: &str| {
        let found: Vec<_> = pages.iter().filter(|page| page["url"] == web.url(path)).collect();
        assert!(found.len() < 2, "{path} is there twice");
        found.first().map(|page| page["text"].as_str().unwrap().to_owned())
    };
    assert!(text("/a").unwrap().contains("ferries"));
    assert_eq!((pages.len(), text("/a/below")), (3, None));
}

#[test]
fn pages_are_chosen_by_site_language_time_and_crawl() {
    let (web, seine) = crawled();
    let all = urls(&seine, &[]);
    assert_eq!(all.len(), 4);
    assert_eq!(urls(&seine, &["--site", &web.host()]), all);
    assert_eq!(urls(&seine, &["--site", "example.org"]).len(), 0);
    assert_eq!(urls(&seine, &["--since", "2020-01-01", "--until", "2999-12-31"]), all);
    let objects = lines(&export(&seine, &["urls", "--json"]));
    assert!(objects.iter().all(|page| page["status"] == 200 && page["content_type"] == "text/html"), "{objects:?}");
    let english: BTreeSet<_> = objects
        .iter()
        .filter(|page| page["lang"] == "en")
        .map(|page| page["url"].as_str().unwrap().to_owned())
        .collect();
    assert!(!english.is_empty(), "{objects:?}");
    assert_eq!(urls(&seine, &["--lang", "EN"]), english);
    assert_eq!(urls(&seine, &["--lang", "ja"]).len(), 0);
    assert_eq!(urls(&seine, &["--since", "2999-01-01"]).len(), 0);
    assert_eq!(urls(&seine, &["--until", "2020-01-01"]).len(), 0);
    let wrong = seine.run(&["export", "urls", "--since", "tomorrow"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("\"tomorrow\""), "{wrong:?}");
}

#[test]
fn links_name_both_ends_and_files_appear_when_they_are_whole() {
    let (web, seine) = crawled();
    let path = seine.data().join("links.jsonl");
    let summary = export(&seine, &["links", "--output", path.to_str().unwrap(), "--json"]);
    let links = lines(&std::fs::read(&path).unwrap());
    assert_eq!(lines(&summary)[0]["lines"].as_u64(), Some(links.len() as u64));
    assert!(links.iter().any(|link| link["from"] == web.url("/a") && link["to"] == web.url("/a/below")), "{links:?}");
    assert!(!seine.data().join("links.jsonl.partial").exists());
}

#[test]
fn an_interrupted_export_leaves_nothing_and_the_next_one_is_whole() {
    const PAGES: u32 = 1_500;
    let web = FakeWeb::start(FakeWebConfig::small(PAGES));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let (path, partial) = (seine.data().join("out.warc.gz"), seine.data().join("out.warc.gz.partial"));
    let words = ["export", "warc", path.to_str().unwrap()];
    let child = seine.command(&words).spawn().unwrap();
    // As soon as it is seen to write. It has hundreds of records to read then.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !partial.exists() {
        assert!(Instant::now() < deadline && !path.exists(), "the export was never seen to write");
        std::thread::sleep(Duration::from_millis(1));
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted: nothing was written to ") && said.contains("out.warc.gz"), "{said}");
    assert!(!path.exists() && !partial.exists());
    // What a killed process leaves.
    std::fs::write(&partial, vec![b'x'; 1 << 20]).unwrap();
    export(&seine, &words[1..]);
    assert!(path.exists() && !partial.exists());
    assert_passes_warcio(&path);
}

#[test]
fn a_running_server_exports_the_same() {
    let (_web, seine) = crawled();
    let alone = urls(&seine, &[]);
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    assert_eq!(urls(&seine, &[]), alone, "through the endpoint file");
    let output = Command::new(seine_tests::sandbox::binary("seine"))
        .args(["export", "urls", "--server", &server.grpc()])
        .env("SEINE_TOKEN", std::fs::read_to_string(seine.data().join("admin-token")).unwrap().trim())
        .output()
        .unwrap();
    let found: BTreeSet<_> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(found, alone);
}

#[test]
fn an_export_whose_reader_has_seen_enough_ends_quietly() {
    let (_web, seine) = crawled();
    let mut child = seine.command(&["export", "descriptions"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn texts_are_files_named_after_their_pages() {
    let (web, seine) = crawled();
    let directory = seine.data().join("texts");
    export(&seine, &["text", "--output", directory.to_str().unwrap()]);
    let list = lines(&std::fs::read(directory.join("pages.jsonl")).unwrap());
    assert_eq!(list.len(), 4);
    let entry = list.iter().find(|entry| entry["url"] == web.url("/a/below")).unwrap();
    let text = std::fs::read_to_string(directory.join(entry["file"].as_str().unwrap())).unwrap();
    assert!(text.contains("below another page"), "{text}");
}

/// All `href="…"` of a file.
fn links_of(file: &Path) -> Vec<String> {
    let html = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn a_mirror_can_be_walked_from_file_to_file() {
    let (web, seine) = crawled();
    web.put_file("/style.css", "text/css", b"p { color: green }");
    let mirror = seine.data().join("mirror");
    export(&seine, &["mirror", mirror.to_str().unwrap()]);
    let host = mirror.join(web.host().replace(':', "_"));
    let (mut seen, mut open) = (BTreeSet::new(), vec![host.join("index.html").canonicalize().unwrap()]);
    while let Some(file) = open.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        for link in links_of(&file) {
            if link.starts_with("http") {
                assert_eq!(link, web.url("/gone"), "a link to a page of the mirror leads out of it");
                continue;
            }
            let path = link.split('#').next().unwrap();
            open.push(
                file.parent().unwrap().join(path).canonicalize().unwrap_or_else(|_| panic!("{link} leads nowhere")),
            );
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn records_of_selected_pages_make_a_warc_file_of_their_own() {
    let (web, seine) = crawled();
    let path = seine.data().join("out.warc.gz");
    export(&seine, &["warc", path.to_str().unwrap(), "--site", &web.host()]);
    let text = crate::archive::records_of(&path);
    let records = |kind: &str| text.matches(&format!("WARC-Type: {kind}\r\n")).count();
    // Four pages, robots.txt, and a link that leads nowhere.
    assert_eq!((records("warcinfo"), records("response"), records("request")), (1, 6, 6), "{text}");
    assert!(text.contains(&format!("WARC-Target-URI: {}\r\n", web.url("/dir/b?x=1"))), "{text}");
    assert_passes_warcio(&path);
}

#[test]
fn a_crawl_that_does_not_exist_is_an_error_that_names_those_that_do() {
    let (web, seine) = (web(), Seine::new());
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0", "--name", "rivers"]).code, 0);
    let file = seine.data().join("pages.jsonl");
    let output = seine.run(&["export", "urls", "--crawl", "nope", "--output", file.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("\"nope\"") && text.contains("\"rivers\""), "{text}");
    assert!(!file.exists(), "nothing is written");
    assert_eq!(urls(&seine, &["--crawl", "rivers"]).len(), 4);
}
