use proptest::prelude::*;

use super::*;

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn list(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn rules(change: impl FnOnce(&mut AdmissionSettings)) -> Admission {
    let mut settings = AdmissionSettings::unlimited();
    change(&mut settings);
    Admission::compile(&settings).unwrap()
}

fn excluded(rules: &Admission, text: &str) -> Option<String> {
    rules.check(&url(text), 0).err().map(|exclusion| exclusion.to_string())
}

fn error(change: impl FnOnce(&mut AdmissionSettings)) -> String {
    let mut settings = AdmissionSettings::unlimited();
    change(&mut settings);
    Admission::compile(&settings).unwrap_err().to_string()
}

#[test]
fn a_host_pattern_is_that_host_and_a_star_its_subdomains() {
    let rules =
        rules(|s| s.deny_hosts = list(&["Example.org", "*.example.com", "a*z.net", "re:^[0-9.]+$", "b.org:81"]));
    assert_eq!(excluded(&rules, "http://example.org/").unwrap(), r#"deny-hosts "Example.org""#);
    assert_eq!(excluded(&rules, "http://www.example.org/"), None);
    assert_eq!(excluded(&rules, "http://example.org:8080/"), None);
    assert_eq!(excluded(&rules, "https://a.b.example.com/").unwrap(), r#"deny-hosts "*.example.com""#);
    assert_eq!(excluded(&rules, "https://example.com/"), None);
    assert_eq!(excluded(&rules, "https://notexample.com/"), None);
    assert_eq!(excluded(&rules, "https://abcz.net/").unwrap(), r#"deny-hosts "a*z.net""#);
    assert_eq!(excluded(&rules, "https://10.1.2.3/").unwrap(), r#"deny-hosts "re:^[0-9.]+$""#);
    assert!(excluded(&rules, "https://b.org:81/").is_some());
    assert_eq!(excluded(&rules, "https://b.org/"), None);
}

#[test]
fn hosts_may_be_written_in_any_alphabet() {
    let rules = rules(|s| s.deny_hosts = list(&["*.Bücher.example", "例え.jp"]));
    assert!(excluded(&rules, "http://www.xn--bcher-kva.example/").is_some());
    assert!(excluded(&rules, "http://例え.jp/").is_some());
}

#[test]
fn a_url_pattern_matches_the_whole_url_and_a_question_mark_itself() {
    let rules =
        rules(|s| s.deny_urls = list(&["*/calendar/*", "http://Example.org/a?b=*", "*/bücher/", "re:sort=(asc|desc)"]));
    assert_eq!(excluded(&rules, "http://x.org/calendar/1").unwrap(), r#"deny-urls "*/calendar/*""#);
    assert_eq!(excluded(&rules, "http://x.org/calendar"), None);
    assert!(excluded(&rules, "http://example.org/a?b=1").is_some());
    assert_eq!(excluded(&rules, "http://example.org/a/b=1"), None);
    assert!(excluded(&rules, "http://example.org/bücher/").is_some());
    assert!(excluded(&rules, "http://example.org/?sort=desc").is_some());
    assert_eq!(excluded(&rules, "http://example.org/CALENDAR/x"), None);
}

#[test]
fn allow_lists_exclude_what_none_of_them_matches_and_are_explained() {
    let rules = rules(|s| {
        s.allow_hosts = list(&["*.example.org"]);
        s.allow_urls = list(&["*/docs/*"]);
        s.deny_urls = list(&["*/docs/old/*"]);
    });
    assert_eq!(excluded(&rules, "http://example.com/docs/").unwrap(), "allow-hosts, of which none matches");
    assert_eq!(excluded(&rules, "http://a.example.org/blog/").unwrap(), "allow-urls, of which none matches");
    assert_eq!(excluded(&rules, "http://a.example.org/docs/old/x").unwrap(), r#"deny-urls "*/docs/old/*""#);
    let admitted = rules.explain(&url("http://a.example.org/docs/x"), 9).unwrap();
    assert_eq!(admitted.to_string(), r#"allow-hosts "*.example.org", allow-urls "*/docs/*""#);
    let admitted = Admission::compile(&AdmissionSettings::default()).unwrap().explain(&url("http://a/"), 0).unwrap();
    assert_eq!(admitted.to_string(), "no rule excludes it");
}

#[test]
fn suffixes_exclude_files_and_never_a_path_without_one() {
    let deny = rules(|s| s.deny_suffixes = list(&["ZIP", ".tar.gz"]));
    assert_eq!(excluded(&deny, "http://a/x.Zip").unwrap(), r#"deny-suffixes "ZIP""#);
    assert!(excluded(&deny, "http://a/x.tar.gz?mirror=1").is_some());
    assert_eq!(excluded(&deny, "http://a/x.gz"), None);
    assert_eq!(excluded(&deny, "http://a/x.zip/page"), None);
    let allow = rules(|s| s.allow_suffixes = list(&["html"]));
    assert_eq!(excluded(&allow, "http://a/x.html"), None);
    assert_eq!(excluded(&allow, "http://a/x"), None);
    assert_eq!(excluded(&allow, "http://a/x.pdf").unwrap(), "allow-suffixes, of which none matches");
    let admitted = allow.explain(&url("http://a/x.html"), 0).unwrap();
    assert_eq!(admitted.to_string(), r#"allow-suffixes "html""#);
}

#[test]
fn depth_has_its_own_limit_for_pages_made_on_request() {
    let rules = rules(|s| (s.max_depth, s.max_depth_dynamic) = (Some(5), Some(2)));
    let at = |text: &str, depth| rules.check(&url(text), depth).err().map(|exclusion| exclusion.to_string());
    assert_eq!(at("http://a/x", 5), None);
    assert_eq!(at("http://a/x", 6).unwrap(), "max-depth 5");
    for dynamic in ["http://a/?x", "http://a/x.PHP", "http://a/index.php/about", "http://a/x.jsp;s=1"] {
        assert_eq!(at(dynamic, 2), None);
        assert_eq!(at(dynamic, 3).unwrap(), "max-depth-dynamic 2");
    }
}

#[test]
fn traps_are_excluded_by_default_and_real_pages_are_not() {
    let rules = Admission::compile(&AdmissionSettings::default()).unwrap();
    let many = |text: &str, times: usize| format!("http://a/{}", text.repeat(times));
    assert_eq!(excluded(&rules, &many("x", 2100)).unwrap(), "max-url-bytes 2048");
    let deep = (0..30).map(|n| format!("{n}/")).collect::<String>();
    assert_eq!(excluded(&rules, &format!("http://a/{deep}")).unwrap(), "max-path-segments 24");
    assert_eq!(excluded(&rules, &many("year/month/", 5)).unwrap(), "max-repeated-segments 4");
    assert_eq!(excluded(&rules, &format!("http://a/?{}", "p=1&".repeat(20))).unwrap(), "max-query-parameters 16");
    let long_title = format!("http://a/wiki/{}", "%E4%BD%A0".repeat(85));
    for real in [&*long_title, "http://a/2024/01/01/01/x", "http://a/0/0/0/0/1.png", "http://a/?a=1&b=2&c=3&d=4&e=5"] {
        assert_eq!(excluded(&rules, real), None, "{real}");
    }
}

#[test]
fn sessions_and_marks_are_stripped_from_query_and_path() {
    let rules = Admission::compile(&AdmissionSettings::default()).unwrap();
    let strip = |text: &str| rules.strip(url(text)).as_str().to_owned();
    assert_eq!(strip("http://a/x?utm_source=b&id=1&UTM_Medium=c"), "http://a/x?id=1");
    assert_eq!(strip("http://a/x?PHPSESSID=0"), "http://a/x");
    assert_eq!(strip("http://a/x;jsessionid=A1.b/y;v=2;JSESSIONID=3?q"), "http://a/x/y;v=2?q");
    assert_eq!(strip("http://a/..;jsessionid=1/y"), "http://a/..;jsessionid=1/y");
    assert_eq!(strip("http://a/x?my_utm_source=b&id=&&c"), "http://a/x?my_utm_source=b&id=&&c");
}

#[test]
fn every_wrong_pattern_gets_its_own_sentence() {
    let text = error(|s| {
        s.deny_urls = list(&["re:(", "example.org/*", "", "*ok*"]);
        s.deny_hosts = list(&["https://example.org/", "*.ex ample.org", "fine.org"]);
        s.allow_suffixes = list(&["*.pdf"]);
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert_eq!(
        lines[0],
        r#"deny-hosts has "https://example.org/", which is not a host; write a name such as example.org or *.example.org, without scheme and path"#
    );
    assert_eq!(
        lines[2],
        r#"deny-urls has "re:(", which is not a regular expression (unclosed group); correct it, or write a glob without re:"#
    );
    assert_eq!(
        lines[3],
        r#"deny-urls has "example.org/*", which can match no URL; begin it with http://, https:// or *"#
    );
    assert_eq!(lines[4], "deny-urls has an empty pattern; remove it, or write * to match everything");
    assert!(lines[5].starts_with(r#"allow-suffixes has "*.pdf", which is not a file name suffix"#));
}

#[test]
fn patterns_that_would_fill_the_memory_are_refused() {
    assert!(error(|s| s.deny_urls = list(&["re:((a{1000}){1000}){1000}"])).contains("too large"));
    assert!(error(|s| s.deny_urls = vec!["*".repeat(5000)]).contains("5000 bytes"));
    assert!(error(|s| s.deny_urls = vec!["*a".to_owned(); 2000]).contains("2000 patterns"));
    assert!(error(|s| s.deny_urls = (0..400).map(|n| format!("re:{n}\\w{{4}}")).collect()).contains("together"));
}

#[test]
fn long_lists_of_plain_hosts_are_welcome() {
    let rules = rules(|s| s.deny_hosts = (0..50_000).map(|n| format!("*.host{n}.example")).collect());
    assert!(excluded(&rules, "http://www.host49999.example/").is_some());
    assert_eq!(excluded(&rules, "http://host49999.example/"), None);
}

/// What a glob means, without any cleverness.
fn naive_glob(glob: &[u8], text: &[u8]) -> bool {
    match glob.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|at| naive_glob(rest, &text[at..])),
        Some((byte, rest)) => text.split_first().is_some_and(|(first, text)| first == byte && naive_glob(rest, text)),
    }
}

const ANY_URL: &str =
    "https?://[a-z0-9.]{1,12}(:[0-9]{1,4})?(/[a-zA-Z0-9%./;=~ä-]{0,12}){0,6}(\\?[a-zA-Z0-9%&=+;_]{0,24})?";
const STRIPPABLE: &str = "http://a(/([a-z.]{0,2}(;[jv](=[%0-9.a]{0,3})?){0,3})){0,4}(\\?(&|[uv](=[%0-9]{0,3})?){0,6})?";

proptest! {
    #[test]
    fn a_glob_matches_what_the_naive_matcher_matches(glob in "[abc.?+*\\[*]{0,8}", text in "[abc.?+\\[\n]{0,10}") {
        let compiled = regex::Regex::new(&pattern::glob_expression(&glob)).unwrap();
        prop_assert_eq!(compiled.is_match(&text), naive_glob(glob.as_bytes(), text.as_bytes()));
    }

    #[test]
    fn a_host_glob_matches_what_the_naive_matcher_matches(glob in "(\\*\\.)?[ab*]{1,4}(\\.[ab*]{1,3}){0,2}", host in "[ab]{1,4}(\\.[ab]{1,3}){0,3}") {
        let rules = rules(|s| s.deny_hosts = vec![glob.clone()]);
        let denied = rules.check(&url(&format!("http://{host}/")), 0).is_err();
        prop_assert_eq!(denied, naive_glob(glob.as_bytes(), host.as_bytes()));
    }

    #[test]
    fn stripping_twice_is_stripping_once_and_leaves_a_canonical_url(text in prop_oneof![ANY_URL, STRIPPABLE]) {
        let rules = rules(|s| s.strip_parameters = list(&["u", "*s*", ";j", ";re:^s", "utm_*"]));
        if let Ok(before) = CanonicalUrl::parse(&text) {
            let once = rules.strip(before.clone());
            prop_assert_eq!(&CanonicalUrl::parse(once.as_str()).unwrap(), &once);
            prop_assert_eq!(&rules.strip(once.clone()), &once);
            prop_assert!(once.as_str().len() <= before.as_str().len());
            prop_assert_eq!(once.host(), before.host());
        }
    }

    #[test]
    fn without_rules_everything_is_admitted_as_it_is_but_for_its_port(text in ANY_URL, depth: u32) {
        let rules = rules(|_| {});
        if let Ok(url) = CanonicalUrl::parse(&text) {
            let is_refused = url.as_url().port().is_some_and(crate::address::port::is_refused);
            prop_assert_eq!(rules.check(&url, depth).is_err(), is_refused);
            prop_assert_eq!(rules.strip(url.clone()), url);
        }
    }

    #[test]
    fn deny_wins_over_allow(host in "[a-z]{1,8}\\.org", path in "[a-z/]{0,10}") {
        let text = format!("http://{host}/{path}");
        let rules = rules(|s| {
            (s.allow_hosts, s.deny_hosts) = (vec![host.clone()], vec![host.clone()]);
            (s.allow_urls, s.deny_urls) = (list(&["*"]), list(&["*"]));
        });
        prop_assert_eq!(rules.check(&url(&text), 0).unwrap_err().rule, RuleName::DenyHosts);
        prop_assert!(rules.explain(&url(&text), 0).is_err());
    }

    #[test]
    fn explain_and_check_agree(text in ANY_URL, depth in 0u32..8, host in "[a-z0-9.*]{1,4}", pattern in "[*][a-z/.*]{0,3}") {
        let mut settings = AdmissionSettings { max_depth: Some(5), max_depth_dynamic: Some(3), ..AdmissionSettings::default() };
        (settings.allow_hosts, settings.deny_urls) = (vec![host], vec![pattern]);
        if let (Ok(url), Ok(rules)) = (CanonicalUrl::parse(&text), Admission::compile(&settings)) {
            prop_assert_eq!(rules.explain(&url, depth).map(|_| ()), rules.check(&url, depth));
        }
    }

    #[test]
    fn no_pattern_and_no_url_makes_it_panic(pattern in ".{0,30}", regex in "re:[a-z()|*+?\\[\\]{}^$0-9,\\\\-]{0,12}", text in ".{0,60}", limit: u32) {
        for pattern in [pattern, regex] {
            let all = || vec![pattern.clone()];
            let settings = AdmissionSettings {
                allow_hosts: all(), deny_hosts: all(), allow_urls: all(), deny_urls: all(),
                allow_suffixes: all(), deny_suffixes: all(), strip_parameters: vec![pattern.clone(), format!(";{pattern}")],
                max_depth: Some(limit), max_depth_dynamic: Some(limit), max_url_bytes: limit, max_path_segments: limit,
                max_repeated_segments: limit % 4, max_query_parameters: limit,
            };
            let partial = AdmissionSettings { deny_urls: all(), deny_suffixes: list(&["a"]), max_repeated_segments: limit, ..AdmissionSettings::default() };
            for rules in [Admission::compile(&settings), Admission::compile(&partial)].into_iter().flatten() {
                if let Ok(url) = CanonicalUrl::parse(&format!("http://a/{text}")) {
                    let _ = rules.check(&rules.strip(url), limit);
                }
            }
        }
    }
}

/// `cargo test --release -p seine-common cost_per_url -- --ignored --nocapture`
#[test]
#[ignore = "a measurement, not a promise"]
fn cost_per_url() {
    const ROUNDS: u32 = 200_000;
    let links = [
        "https://example.org/",
        "https://www.example.org/2024/05/17/some-article-about-a-thing",
        "https://shop.example.com/products/item.php?id=12345&colour=red&size=10",
        "https://docs.example.net/en/latest/reference/library/collections/index.html",
        "https://news.example.org/story?utm_source=feed&utm_medium=rss&id=99",
        "http://forum.example.org:8080/viewtopic.php?f=3&t=1234&start=25",
        "https://cdn.example.org/assets/images/2023/photo-01.jpg",
        "https://en.example.org/wiki/%E4%BD%A0%E5%A5%BD",
    ]
    .map(url);
    let with_lists = AdmissionSettings {
        allow_hosts: list(&["*.example.org", "*.example.com", "*.example.net", "example.org"]),
        deny_hosts: list(&["ads.example.org", "*.ads.example.com"]),
        deny_urls: list(&["*/calendar/*", "*/login*", "*sort=*", "re:/[0-9]{4}/[0-9]{2}/[0-9]{2}/$"]),
        deny_suffixes: list(&["jpg", "png", "gif", "zip", "mp4", "css", "js"]),
        max_depth: Some(10),
        max_depth_dynamic: Some(5),
        ..AdmissionSettings::default()
    };
    for (name, settings) in [("default settings", AdmissionSettings::default()), ("with lists", with_lists)] {
        let rules = Admission::compile(&settings).unwrap();
        let mut admitted = 0u64;
        // The copies that stripping consumes are taken beforehand, so that they do not count.
        let mut spent = std::time::Duration::ZERO;
        for _ in 0..ROUNDS / 1000 {
            let batch: Vec<CanonicalUrl> = links.iter().cycle().take(8000).cloned().collect();
            let started = std::time::Instant::now();
            let kept: Vec<CanonicalUrl> = batch.into_iter().map(|url| rules.strip(url)).collect();
            admitted += kept.iter().filter(|url| rules.check(url, 3).is_ok()).count() as u64;
            spent += started.elapsed();
        }
        let count = u64::from(ROUNDS) * 8;
        println!("{name}: {} ns per URL, {admitted} of {count} admitted", spent.as_nanos() as u64 / count);
    }
}

#[test]
fn a_port_that_browsers_refuse_is_excluded_under_every_setting() {
    let admission = Admission::compile(&AdmissionSettings::unlimited()).unwrap();
    let check = |text: &str| admission.check(&CanonicalUrl::parse(text).unwrap(), 0).map_err(|e| e.to_string());
    assert_eq!(check("http://example.org:25/"), Err("refused-port 25".to_owned()));
    assert_eq!(check("https://example.org:6667/x"), Err("refused-port 6667".to_owned()));
    assert_eq!(check("http://example.org:8080/"), Ok(()));
    assert_eq!(check("http://example.org/"), Ok(()));
}
