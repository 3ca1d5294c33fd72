//! A robots.txt of any bytes, of which no more is read than of a real one: parsed, and asked about a path. The first line is
//! the path.
#![no_main]

use fuzz_targets::deep::{ROBOTS, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_common::robots::{MAX_ROBOTS_BYTES, Rules, sitemaps};

fuzz_target!(|input: &[u8]| {
    let input = expanded_or_plain(ROBOTS, input);
    let input = &input[..input.len().min(MAX_ROBOTS_BYTES)];
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(0).min(4096);
    let (path, body) = input.split_at(end);
    let rules = Rules::parse(body, "Seine");
    rules.allow(&format!("/{}", String::from_utf8_lossy(path)));
    assert!(rules.allow("/robots.txt"), "the file itself may always be read");
    sitemaps(body);
});
