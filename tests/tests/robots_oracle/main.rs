//! Our matcher for robots.txt beside another one, `texting_robots`, and beside cases that others collected.
//!
//! Where the two matchers differ, or ours differs from a case, the difference is listed with its reason; any other is an
//! error of one of them, and fails. A listed difference that is there no more fails as well.

mod known;

use std::path::Path;

use proptest::prelude::*;
use seine_common::robots::Rules;
use texting_robots::Robot;

use self::known::Known;

/// From the root of the project.
const CASES: &str = "../shared/cases/robots-dev.json";

fn ours(file: &[u8], agent: &str, path: &str) -> bool {
    Rules::parse(file, agent).allow(path)
}

fn other(file: &[u8], agent: &str, path: &str) -> bool {
    Robot::new(agent, file).expect("the other reads every file of these").allowed(path)
}

struct Case {
    agent: String,
    url: String,
    file: Vec<u8>,
    allowed: bool,
    agreed: bool,
}

/// `None`, with the reason printed, where the file is missing.
fn cases() -> Option<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(CASES);
    let Ok(text) = std::fs::read(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_slice(&text).expect("the cases are JSON");
    let case = |case: &serde_json::Value| {
        let agent = match case["user_agents"].as_array()?.as_slice() {
            [agent] => agent.as_str()?,
            [] => "*",
            // Ours has one name.
            _ => return None,
        };
        Some(Case {
            agent: agent.to_owned(),
            url: case["url"].as_str()?.to_owned(),
            file: data_encoding::BASE64.decode(case["robots_b64"].as_str()?.as_bytes()).expect("base64"),
            allowed: case["allowed"].as_bool()?,
            agreed: case["consensus"] == true,
        })
    };
    Some(cases.iter().filter_map(case).collect())
}

/// The cases name whole URLs (of any scheme), paths and nothing at all.
fn path_of(text: &str) -> String {
    let path = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
    let url = url::Url::parse(text).or_else(|_| url::Url::parse(&format!("http://example.org{path}")));
    url.map_or(path, |url| url[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

/// The differences are those that are known, each as often as it is listed.
fn assert_known(mut differences: Vec<(&str, &str)>, known: &[Known]) {
    let mut listed: Vec<(&str, &str)> = known.iter().flat_map(|known| known.cases).copied().collect();
    for known in known {
        println!("{} cases: {}", known.cases.len(), known.reason);
    }
    differences.sort_unstable();
    listed.sort_unstable();
    assert_eq!(differences, listed, "left: how it is; right: what is listed");
}

#[test]
fn the_other_matcher_decides_the_cases_as_ours_does_but_for_known_reasons() {
    let Some(cases) = cases() else { return };
    let differ = |case: &&Case| {
        let path = path_of(&case.url);
        ours(&case.file, &case.agent, &path) != other(&case.file, &case.agent, &path)
    };
    assert_known(cases.iter().filter(differ).map(|case| (&*case.agent, &*case.url)).collect(), known::OTHER);
}

#[test]
fn ours_is_right_in_all_agreed_cases_and_in_the_others_but_for_known_reasons() {
    let Some(cases) = cases() else { return };
    let differ = |case: &&Case| ours(&case.file, &case.agent, &path_of(&case.url)) != case.allowed;
    let differences: Vec<&Case> = cases.iter().filter(differ).collect();
    assert!(cases.iter().filter(|case| case.agreed).count() > 400);
    assert!(differences.iter().all(|case| !case.agreed), "where the test suites agree, there is no excuse");
    assert_known(differences.iter().map(|case| (&*case.agent, &*case.url)).collect(), known::CASES);
}

/// One of each kind, so that the reasons stay true where the cases are missing.
#[test]
fn known_differences_are_as_they_are_told() {
    for (file, agent, path, ours_allows) in [
        ("user-agent: bot/2.0\ndisallow: /\n", "bot", "/a", false),
        ("user-agent: one, bot\ndisallow: /\n", "bot", "/a", false),
        ("user-agent: *\ndisallow: /%61\n", "bot", "/a", false),
        ("user-agent: *\ndisallow: /%3c\n", "bot", "/%3C", false),
        ("user-agent: *\ndisallow: /a$/b\n", "bot", "/a$/b", false),
        ("user-agent: bot\ncrawl-delay: 1\nuser-agent: other\ndisallow: /\n", "bot", "/a", false),
        ("user-agent: *\ndisallow: /<br>\n", "bot", "/a", false),
        ("disallow: /\n", "bot", "/a", true),
        // An empty rule says nothing; the other takes it for one that allows everything.
        ("user-agent: *\ndisallow: /\ndisallow:\n", "bot", "/a", false),
        // An index page that is allowed is its directory's page too.
        ("user-agent: *\ndisallow: /\nallow: /index.html\n", "bot", "/", true),
    ] {
        assert_eq!(ours(file.as_bytes(), agent, path), ours_allows, "ours: {file:?} {path}");
        assert_eq!(other(file.as_bytes(), agent, path), !ours_allows, "the other agrees: {file:?} {path}");
    }
}

/// User agents and their rules, each allowing or not.
type Group<'a> = (Vec<&'a str>, Vec<(bool, String)>);

fn file(groups: &[Group]) -> String {
    let mut file = String::new();
    for (agents, rules) in groups {
        file.extend(agents.iter().map(|agent| format!("User-agent: {agent}\n")));
        file.extend(
            rules.iter().map(|(allow, path)| format!("{}: {path}\n", if *allow { "Allow" } else { "Disallow" })),
        );
    }
    file
}

fn group() -> impl Strategy<Value = (Vec<&'static str>, Vec<(bool, String)>)> {
    let agents = prop::collection::vec(prop::sample::select(vec!["*", "bot", "BOT", "other"]), 1..3);
    // At least one rule: a group of names alone joins the next.
    let rules = prop::collection::vec((any::<bool>(), "/[ab/*]{0,6}\\$?"), 1..6);
    (agents, rules)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Names, groups, stars, ends and lengths: where no known reason applies, both say the same.
    #[test]
    fn both_matchers_read_ordinary_files_alike(groups in prop::collection::vec(group(), 1..4), path in "/[ab/]{0,8}") {
        let file = file(&groups);
        prop_assert_eq!(ours(file.as_bytes(), "bot", &path), other(file.as_bytes(), "bot", &path), "{}", file);
    }
}
