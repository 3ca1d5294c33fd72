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

/// Half a megabyte of one line; where it says `#`, each has a number of its own.
fn numbered_file(line: &str) -> String {
    let mut file = String::from("user-agent: *\n");
    let lines = (0..).map(|number: u32| line.replace('#', &number.to_string()));
    for line in lines {
        if file.len() + line.len() >= crate::robots::MAX_ROBOTS_BYTES {
            break;
        }
        file.push_str(&line);
    }
    file
}

/// Whatever is written, a check goes through the path at most so many times.
const MOST_SEARCHES: usize = 1_001;

#[test]
fn no_file_makes_a_check_cost_more_than_a_bounded_number_of_searches() {
    let path = format!("/ab{}", "a".repeat(4000));
    let stars = "*a".repeat(60);
    for line in [
        "disallow: /*a*aab#\n",
        "allow: *a*a*a*a*a*a*a*a*ab#$\n",
        &format!("disallow: /{stars}#$\n"),
        "disallow: /#\n",
        "disallow: /\n",
        "user-agent: a\n",
        "\r",
        "x",
    ] {
        let started = Instant::now();
        let rules = Rules::parse(numbered_file(line).as_bytes(), "bot");
        let parsed = started.elapsed();
        let cost = rules.decision(&path).cost;
        println!("{line:?}: parsed in {parsed:?}, checked in {:?}, cost {cost}", started.elapsed() - parsed);
        assert!(cost <= MOST_SEARCHES * path.len() + 16 * 10_000, "{line:?}: {cost}");
    }
}

#[test]
fn rules_that_cannot_match_cost_next_to_nothing() {
    let file: String = (0..900).map(|number| format!("disallow: /*/tag{number}/*?sort=\n")).collect();
    let rules = Rules::parse(format!("user-agent: *\n{file}").as_bytes(), "bot");
    let path = "/articles/2024/a-title.html";
    assert_eq!(rules.decision(path), Decision { allow: true, line: None, cost: path.len() });
    assert!(!rules.allow("/articles/tag7/x?sort=up"));
}

#[test]
fn beyond_the_bound_a_wildcard_forbids_rather_more() {
    let file = numbered_file("disallow: /private/*x\n") + "allow: /private/*y\n";
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

/// Every rule is tried, and the best of those that match decides: slow, and obviously what RFC 9309 says.
fn by_definition(rules: &[(bool, String)], path: &str) -> bool {
    let path = crate::robots::pattern::normal_form(path.as_bytes());
    let matching = rules.iter().filter_map(|(allow, text)| {
        let pattern = crate::robots::pattern::Pattern::parse(text.as_bytes());
        (!text.is_empty() && pattern.matches(&path)).then(|| (pattern.length(), *allow))
    });
    matching.max().is_none_or(|(_, allow)| allow)
}

proptest! {
    #[test]
    fn looking_up_and_trying_in_order_decides_as_trying_all_does(
        rules in prop::collection::vec((any::<bool>(), "/?[ab*]{0,5}\\$?"), 0..12), path in "/[ab]{0,7}",
    ) {
        let line = |(allow, text): &(bool, String)| format!("{}: {text}\n", if *allow { "allow" } else { "disallow" });
        let file: String = std::iter::once("user-agent: *\n".to_owned()).chain(rules.iter().map(line)).collect();
        prop_assert_eq!(allowed(&file, "bot", &path), by_definition(&rules, &path));
    }

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
