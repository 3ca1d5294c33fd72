//! Rules of any text: refused with a reason, or compiled and applied to an address.
#![no_main]

use fuzz_targets::deep::{RULES, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_common::filter::{FilterSettings, Filters};
use seine_common::url::CanonicalUrl;

fuzz_target!(|input: &[u8]| {
    let input = expanded_or_plain(RULES, input);
    let text = String::from_utf8_lossy(&input);
    let (address, rules) = text.split_once('\n').unwrap_or(("", &text));
    let rules = rules.lines().map(str::to_owned).collect();
    let settings = FilterSettings { rules, ..FilterSettings::open("fuzzed") };
    let url = CanonicalUrl::parse(address)
        .unwrap_or_else(|_| CanonicalUrl::parse("http://example.org/print/1?x=2").expect("it is one"));
    match Filters::compile(&settings, &settings) {
        Ok(filters) => drop(filters.excludes(&url, 3)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
