//! What filters promise: the first rule that matches decides, and the first phase never contradicts the second.

use proptest::prelude::*;

use super::*;

fn filter(rules: &[&str]) -> Filter {
    let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
    Filter::compile(&FilterSettings { rules, ..FilterSettings::open("f") }).unwrap()
}

fn problem(rule: &str) -> String {
    let settings = FilterSettings { rules: vec![rule.to_owned()], ..FilterSettings::open("f") };
    Filter::compile(&settings).map(drop).unwrap_err().to_string()
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn facts<'a>(url: &'a CanonicalUrl, page: Option<PageFacts<'a>>) -> Facts<'a> {
    Facts { url, depth: 2, enumeration: "e", generation: "f", ip: page.as_ref().map(|_| "192.0.2.7"), page }
}

fn article<'a>(metas: &'a [(String, String)]) -> PageFacts<'a> {
    PageFacts {
        charset: "utf-8",
        encoding: "gzip",
        content_length: 5_000,
        content_type: "text/html",
        expires_ms: 0,
        // 2024-05-06, at noon.
        last_modified_ms: 1_714_996_800_000,
        metas,
        lang: "cs",
        title: "Rock and Roll",
        usability: 0.5,
        value: 0.25,
    }
}

/// Whether the condition is met by the article at `http://Example.org:8080/Docs/a.html?q=1`.
fn met(condition: &str) -> bool {
    let metas = [("author".to_owned(), "Jana Nováková".to_owned()), ("author".to_owned(), "Petr".to_owned())];
    let url = url("http://example.org:8080/Docs/a.html?q=1");
    let filter = filter(&[&format!("deny {condition}")]);
    let verdict = filter.decide(&facts(&url, Some(article(&metas)))).verdict;
    assert_ne!(verdict, Verdict::Open, "{condition}: everything is known");
    verdict == Verdict::Deny
}

#[test]
fn every_attribute_can_be_asked_for() {
    for condition in [
        "url = http://example.org:8080/Docs/a.html?q=1",
        "protocol = http",
        "host = EXAMPLE.org:8080",
        "ip glob 192.0.2.*",
        "path = /Docs/a.html",
        "query regex ^q=[0-9]$",
        "depth = 2",
        "enumeration-filter = e",
        "generation-filter = f",
        "charset = UTF-8",
        "encoding = gzip",
        "content-length in 1000..5000",
        "type = text/html",
        "content-type glob text/*",
        "expires != 2024-01-01",
        "last-modified = 2024-05-06",
        "last-modified in 2024-05-06..2024-05-06",
        "meta.author glob 'jana*'",
        "META.Author = petr",
        "meta.missing = ''",
        "lang in {en, cs}",
        "title = 'rock AND roll'",
        "usability >= 0.5",
        "value < 0.3",
        "path glob /Docs/* and depth > 1",
    ] {
        assert!(met(condition), "{condition}");
    }
}

#[test]
fn what_is_not_met_does_not_match() {
    for condition in [
        "path = /docs/a.html",
        "host = example.org",
        "content-length > 5000",
        "content-length in {1, 2..4999}",
        "last-modified < 2024-05-06",
        "last-modified > 2024-05-06",
        // Nothing compares with what was not stated.
        "expires < 2100-01-01",
        "lang not in {en, cs}",
        "meta.author not glob P*",
        "path glob /Docs/* and depth > 2",
    ] {
        assert!(!met(condition), "{condition}");
    }
}

#[test]
fn the_first_rule_that_matches_decides_and_is_named() {
    let filter = filter(&["allow path = /keep", "deny path glob /*", "allow depth = 2"]);
    let (kept, denied) = (url("http://a.test/keep"), url("http://a.test/other"));
    let decide = |url| filter.decide(&facts(url, None));
    assert_eq!((decide(&kept).verdict, decide(&denied).verdict), (Verdict::Allow, Verdict::Deny));
    assert_eq!(decide(&kept).to_string(), "f rule 1: allow path = /keep");
    assert_eq!(decide(&denied).to_string(), "f rule 2: deny path glob /*");
}

#[test]
fn before_the_page_is_there_only_what_no_rule_could_allow_is_denied() {
    let url = url("http://a.test/x");
    let verdict = |rules: &[&str]| filter(rules).decide(&facts(&url, None)).verdict;
    assert_eq!(verdict(&["deny path = /x", "data allow type = text/html"]), Verdict::Deny);
    assert_eq!(verdict(&["allow type = text/html", "deny path = /x"]), Verdict::Open);
    assert_eq!(verdict(&["deny type = text/html", "deny path = /x"]), Verdict::Deny);
    assert_eq!(verdict(&["deny type = text/html"]), Verdict::Open);
    assert_eq!(verdict(&["allow path = /y and type = text/html", "deny path = /x"]), Verdict::Deny);
    assert_eq!(verdict(&["data deny path = /x"]), Verdict::Open, "the phase was asked for");
    assert_eq!(verdict(&["allow ip glob 10.*", "deny path = /x"]), Verdict::Open, "the address is not known yet");
}

#[test]
fn a_url_is_excluded_when_it_would_be_neither_followed_nor_indexed() {
    let settings = |name: &str, rules: &[&str]| FilterSettings {
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        ..FilterSettings::open(name)
    };
    let print = &["deny path glob */print/*"][..];
    let excluded = |enumeration: &[&str], generation: &[&str]| {
        let filters = Filters::compile(&settings("links", enumeration), &settings("pages", generation)).unwrap();
        filters.excludes(&url("http://a.test/print/1"), 1)
    };
    assert_eq!(excluded(print, &[]), None);
    assert_eq!(excluded(&[], print), None);
    let both = excluded(print, print).unwrap();
    assert_eq!(both, "filters links rule 1: deny path glob */print/*; pages rule 1: deny path glob */print/*");
    let same = Filters::compile(&settings("f", print), &settings("f", print)).unwrap();
    assert_eq!(same.excludes(&url("http://a.test/print/1"), 1).unwrap(), "filter f rule 1: deny path glob */print/*");
}

#[test]
fn conditions_on_the_whole_page_come_before_the_rules() {
    let settings = FilterSettings {
        rules: vec!["allow depth >= 0".to_owned()],
        content_type: "text/html".to_owned(),
        min_value: 0.2,
        ..FilterSettings::open("f")
    };
    let filter = Filter::compile(&settings).unwrap();
    let url = url("http://a.test/x");
    let words = |page| filter.decide(&facts(&url, page)).to_string();
    assert_eq!(words(None), "f: decided when the page is there");
    assert_eq!(words(Some(article(&[]))), "f rule 1: allow depth >= 0");
    assert_eq!(
        words(Some(PageFacts { content_type: "application/pdf", ..article(&[]) })),
        "f: content_type is not text/html"
    );
    assert_eq!(words(Some(PageFacts { value: 0.1, ..article(&[]) })), "f: value is below 0.2");
}

#[test]
fn a_wrong_rule_is_refused_with_the_word_and_what_is_possible() {
    for (rule, words) in [
        ("forbid path = /x", &["\"forbid\"", "allow or deny"][..]),
        ("deny", &["no attribute", "content-length"]),
        ("deny lenght > 5", &["rule 1", "\"lenght\"", "\"content-length\""]),
        ("deny pth = /x", &["did you mean \"path\""]),
        ("deny path like /x", &["\"like\"", "glob, regex"]),
        ("deny depth glob 3*", &["\"glob\"", "<="]),
        ("deny depth > many", &["\"many\"", "a number"]),
        ("deny expires < tomorrow", &["\"tomorrow\"", "2024-05-31"]),
        ("deny path regex (", &["\"(\"", "regular expression"]),
        ("deny path regex (\\w{1,900}){1,900}", &["too large"]),
        ("deny path glob", &["needs one pattern"]),
        ("deny title = Rock and Roll", &["\"Roll\"", "not an attribute"]),
        ("deny title = Rock Roll", &["\"Roll\"", "quotes"]),
        ("deny title = 'Rock", &["' is opened"]),
        ("deny lang in en", &["\"en\"", "{en, cs}"]),
        ("deny lang in {en,}", &["{en, }"]),
        ("metadata deny type = text/html", &["once the page is fetched"]),
    ] {
        let problem = problem(rule);
        assert!(words.iter().all(|word| problem.contains(word)), "{rule}: {problem}");
    }
    assert!(problem(&format!("deny path = /{}", "x".repeat(3000))).contains("too long"));
    let named = Filter::compile(&FilterSettings::open("a b")).map(drop).unwrap_err().to_string();
    assert!(named.contains("\"a b\""), "{named}");
    let typed = FilterSettings { content_type: "html".to_owned(), ..FilterSettings::open("f") };
    assert!(Filter::compile(&typed).map(drop).unwrap_err().to_string().contains("text/html"));
}

#[test]
fn other_alphabets_match_urls_as_they_are_written() {
    let filter = filter(&["deny path glob /řeka/*"]);
    assert_eq!(filter.decide(&facts(&url("http://a.test/řeka/1"), None)).verdict, Verdict::Deny);
}

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec!["path = /a", "path glob /a*", "path regex b$", "depth < 2", "depth in 1..2"])
            .prop_map(str::to_owned),
        prop::sample::select(vec!["type = text/html", "lang in {en}", "value >= 0.5", "content-length > 100"])
            .prop_map(str::to_owned),
        prop::sample::select(vec!["ip glob 1*", "meta.a = x", "lang != en"]).prop_map(str::to_owned),
    ]
}

fn rule() -> impl Strategy<Value = String> {
    let conditions = prop::collection::vec(condition(), 1..3);
    (prop::sample::select(vec!["", "data "]), prop::bool::ANY, conditions).prop_map(|(phase, deny, conditions)| {
        let verb = if deny { "deny" } else { "allow" };
        format!("{phase}{verb} {}", conditions.join(" and "))
    })
}

proptest! {
    #[test]
    fn what_is_decided_before_the_page_is_there_holds_when_it_is(
        rules in prop::collection::vec(rule(), 0..5),
        otherwise_deny in prop::bool::ANY,
        path in prop::sample::select(vec!["/a", "/ab", "/b", "/c"]),
        depth in 0u32..4,
        page in (prop::sample::select(vec!["en", "cs"]), 0u64..200, 0.0f32..1.0, prop::bool::ANY),
    ) {
        let settings = FilterSettings { rules, otherwise_deny, ..FilterSettings::open("f") };
        let filter = Filter::compile(&settings).unwrap();
        let url = url(&format!("http://a.test{path}"));
        let (lang, content_length, value, is_html) = page;
        let content_type = if is_html { "text/html" } else { "text/plain" };
        let page = PageFacts { lang, content_length, value, content_type, ..PageFacts::default() };
        let before = Facts { depth, ..facts(&url, None) };
        let after = Facts { depth, ip: Some("127.0.0.1"), page: Some(page), ..before.clone() };
        let decided = filter.decide(&after);
        prop_assert!(decided.verdict != Verdict::Open);
        // The first match, found the plain way.
        let first = filter.rules.iter().find(|rule| rule.matches(&after) == Some(true));
        let denied = first.map_or(otherwise_deny, |rule| rule.deny);
        prop_assert_eq!(decided.verdict == Verdict::Deny, denied);
        let early = filter.decide(&before).verdict;
        prop_assert!(early == Verdict::Open || early == decided.verdict, "{:?} then {:?}", early, decided.verdict);
    }

    #[test]
    fn no_rule_makes_it_panic(text in ".{0,60}", words in prop::collection::vec("[a-z=<>{}'., ]{0,10}", 0..8)) {
        for rule in [text, format!("deny {}", words.join(" ")), format!("data allow path {}", words.join(" "))] {
            let _ = Filter::compile(&FilterSettings { rules: vec![rule], ..FilterSettings::open("f") });
        }
    }

    #[test]
    fn numbers_compare_as_numbers(limit in 0u32..50, depth in 0u32..50) {
        let url = url("http://a.test/");
        let denies = |condition: String| {
            let filter = filter(&[&format!("deny depth {condition}")]);
            filter.decide(&Facts { depth, ..facts(&url, None) }).verdict == Verdict::Deny
        };
        prop_assert_eq!(denies(format!("< {limit}")), depth < limit);
        prop_assert_eq!(denies(format!("<= {limit}")), depth <= limit);
        prop_assert_eq!(denies(format!("> {limit}")), depth > limit);
        prop_assert_eq!(denies(format!(">= {limit}")), depth >= limit);
        prop_assert_eq!(denies(format!("!= {limit}")), depth != limit);
        prop_assert_eq!(denies(format!("in ..{limit}")), depth <= limit);
    }
}
