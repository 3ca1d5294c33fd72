//! The matcher against hand-picked files, hostile ones, and the cases that others collected.

use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn allowed(file: &str, agent: &str, path: &str) -> bool {
    Rules::parse(file.as_bytes(), agent).allow(path)
}

#[test]
fn the_longest_match_decides_and_allow_wins_ties() {
    let file = "user-agent: *\ndisallow: /a\nallow: /a/b\ndisallow: /a/b/c\nallow: /x\ndisallow: /x\n";
    assert!(!allowed(file, "bot", "/a/z") && allowed(file, "bot", "/a/b/z") && !allowed(file, "bot", "/a/b/c"));
    assert!(allowed(file, "bot", "/x") && allowed(file, "bot", "/elsewhere"));
}

#[test]
fn groups_that_name_the_robot_are_merged_and_alone_count() {
    let file = "user-agent: bot\ndisallow: /a\n\nuser-agent: *\ndisallow: /\n\nuser-agent: other\nuser-agent: BOT/2.0\ndisallow: /b\n";
    assert!(!allowed(file, "bot", "/a") && !allowed(file, "bot", "/b") && allowed(file, "bot", "/c"));
    assert!(!allowed(file, "third", "/c"));
    assert!(allowed("user-agent: bot\n", "bot", "/") && allowed("disallow: /\n", "bot", "/"));
}

#[test]
fn delays_are_clamped_and_the_longest_counts() {
    let delay = |file: &str| Rules::parse(file.as_bytes(), "bot").crawl_delay();
    assert_eq!(delay("user-agent: *\ncrawl-delay: 1.5"), Some(Duration::from_millis(1500)));
    assert_eq!(delay("user-agent: *\ncrawl-delay: 99999999999"), Some(MAX_CRAWL_DELAY));
    assert_eq!(delay("user-agent: *\ncrawl-delay: inf\ncrawl-delay: -3"), None);
    assert_eq!(delay("user-agent: bot\ncrawl-delay: 2\ncrawl-delay: 4"), Some(Duration::from_secs(4)));
    assert_eq!(delay("user-agent: a\ncrawl-delay: 9\nuser-agent: bot\ncrawl-delay: 2"), Some(Duration::from_secs(2)));
}

/// Half a megabyte of the worst: every rule must be searched for in the whole path.
fn hostile_file(line: &str) -> String {
    let mut file = String::from("user-agent: *\n");
    while file.len() + line.len() < crate::robots::MAX_ROBOTS_BYTES {
        file.push_str(line);
    }
    file
}

#[test]
fn hostile_files_cost_milliseconds() {
    let path = format!("/ab{}", "a".repeat(4000));
    for line in ["disallow: /*a*aab\n", "allow: *a*a*a*a*a*a*a*a*ab$\n", "disallow: /\n", "user-agent: a\n", "\r", "x"]
    {
        let file = hostile_file(line);
        let started = Instant::now();
        let rules = Rules::parse(file.as_bytes(), "bot");
        let parsed = started.elapsed();
        rules.allow(&path);
        println!("{line:?}: parsed in {parsed:?}, checked in {:?}", started.elapsed() - parsed);
        // Generous, for a machine that does other things: without the bounds it would be minutes.
        assert!(started.elapsed() < Duration::from_secs(5), "{line:?}");
    }
}

#[test]
fn beyond_the_bound_a_wildcard_forbids_rather_more() {
    let file = hostile_file("disallow: /private/*x\n") + "allow: /private/*y\n";
    let rules = Rules::parse(file.as_bytes(), "bot");
    assert!(!rules.allow("/private/z") && !rules.allow("/private/y") && rules.allow("/public"));
}

#[derive(Default)]
struct Share {
    right: u32,
    of: u32,
}

impl Share {
    fn count(&mut self, right: bool) {
        self.right += u32::from(right);
        self.of += 1;
    }
}

/// Cases collected from the test suites of four other parsers. Where all agree, there is no excuse.
#[test]
fn agreed_cases_of_other_parsers_are_all_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases/robots-dev.json");
    let Ok(text) = std::fs::read(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_slice(&text).expect("the cases are JSON");
    let (mut all, mut agreed) = (Share::default(), Share::default());
    let mut failures = String::new();
    for case in &cases {
        let agents = case["user_agents"].as_array().expect("cases have agents");
        let agent = match agents.as_slice() {
            [agent] => agent.as_str().expect("agents are texts"),
            [] => "*",
            // Ours has one name.
            _ => continue,
        };
        let file =
            data_encoding::BASE64.decode(case["robots_b64"].as_str().expect("files").as_bytes()).expect("base64");
        let rules = Rules::parse(&file, agent);
        let right = match (case["allowed"].as_bool(), case["crawl_delay_s"].as_f64()) {
            (Some(allowed), _) => rules.allow(&path_of(case["url"].as_str().expect("urls"))) == allowed,
            (None, Some(seconds)) => rules.crawl_delay().map(|delay| delay.as_secs_f64()) == Some(seconds),
            (None, None) => case["sitemaps"] == serde_json::json!(crate::robots::sitemaps(&file)),
        };
        all.count(right);
        if case["consensus"] == true {
            agreed.count(right);
        }
        if !right {
            let file = String::from_utf8_lossy(&file);
            failures += &format!("{} {agent} {} {} {:?}\n", case["consensus"], case["url"], case["allowed"], file);
        }
    }
    println!("{failures}agreed: {} of {}; all: {} of {}", agreed.right, agreed.of, all.right, all.of);
    assert!(agreed.of > 400 && agreed.right == agreed.of);
}

/// The cases name whole URLs (of any scheme), paths and nothing at all.
fn path_of(text: &str) -> String {
    let path = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    let url = url::Url::parse(text).or_else(|_| url::Url::parse(&format!("http://example.org{path}")));
    url.map_or(path, |url| url[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

proptest! {
    #[test]
    fn no_file_makes_the_parser_panic(file: Vec<u8>, path in "/.{0,40}") {
        let rules = Rules::parse(&file, "bot");
        rules.allow(&path);
        prop_assert!(rules.crawl_delay().is_none_or(|delay| delay <= MAX_CRAWL_DELAY));
    }

    #[test]
    fn a_file_of_rule_like_lines_is_read_without_panic(
        file in "((user-agent|allow|disallow|crawl-delay)[: ][ */a$%0-9.]{0,9}[\r\n]){0,12}", path in "/[a/$*%]{0,9}",
    ) {
        Rules::parse(file.as_bytes(), "a").allow(&path);
    }
}
