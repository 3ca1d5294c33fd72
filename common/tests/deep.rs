//! Files and rules in which anything stands ten thousand or a million times: read on a small stack, refused with a reason
//! or understood.

#[allow(dead_code, reason = "the fuzz targets use more of it")]
#[path = "../../fuzz/src/deep.rs"]
mod deep;

use deep::{ROBOTS, RULES, TEXTS, on_small_stack};
use seine_common::filter::{FilterSettings, Filters};
use seine_common::robots::{MAX_ROBOTS_BYTES, Rules, sitemaps};
use seine_common::url::CanonicalUrl;

const MANY: usize = 10_000;
const VERY_MANY: usize = 1_000_000;

fn read_robots(text: &str) {
    // The collector reads no more.
    let body = &text.as_bytes()[..text.len().min(MAX_ROBOTS_BYTES)];
    let rules = Rules::parse(body, "Seine");
    rules.allow(&format!("/{}", "a".repeat(2_000)));
    assert!(sitemaps(body).len() <= 100);
}

#[test]
fn robots_files_with_a_million_of_anything_are_read() {
    for case in TEXTS.iter().copied().flatten() {
        on_small_stack(|| read_robots(&case.text(MANY)));
    }
    for case in ROBOTS {
        on_small_stack(|| read_robots(&case.text(VERY_MANY)));
    }
}

fn compile_rules(text: &str) {
    let rules = text.lines().map(str::to_owned).collect();
    let settings = FilterSettings { rules, ..FilterSettings::open("deep") };
    let url = CanonicalUrl::parse("http://example.org/print/1?x=2").unwrap();
    match Filters::compile(&settings, &settings) {
        Ok(filters) => drop(filters.excludes(&url, 3)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn filter_rules_with_a_million_of_anything_are_compiled_or_refused() {
    for case in RULES {
        on_small_stack(|| compile_rules(&case.text(MANY)));
        on_small_stack(|| compile_rules(&case.text(VERY_MANY)));
    }
}

#[test]
fn addresses_with_a_million_of_anything_are_refused_or_canonical() {
    let base = CanonicalUrl::parse("http://example.org/a/b").unwrap();
    for piece in ["a/", "../", "%", "%41", "a.", "@", ":", "[", "?", "#", "&a=b", "é", "\\", "\t"] {
        for count in [1_000, VERY_MANY] {
            let text = piece.repeat(count);
            for text in [format!("http://{text}"), format!("http://a/{text}"), format!("http://a/?{text}"), text] {
                let _ = CanonicalUrl::parse(&text);
                let _ = CanonicalUrl::join(base.as_url(), &text);
            }
        }
    }
}
