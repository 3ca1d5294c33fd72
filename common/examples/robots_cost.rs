//! What matching a URL against robots.txt costs, for ordinary files and for the worst that a host can write:
//! `cargo run --release --workspace --example robots_cost`

use std::time::Instant;

use seine_common::robots::{MAX_ROBOTS_BYTES, Rules};

const CHECKS: u32 = 256;

/// The same line again and again, with a number in it where it says `#`, up to `lines` or the size that is read.
fn file(line: &str, lines: usize) -> String {
    let mut file = String::from("user-agent: *\n");
    for number in 0..lines {
        let line = line.replace('#', &number.to_string());
        if file.len() + line.len() >= MAX_ROBOTS_BYTES {
            break;
        }
        file += &line;
    }
    file
}

fn main() {
    let stars = "*a".repeat(200);
    let long = format!("/{}", "a".repeat(2_000));
    let files = [
        ("30 prefixes", file("disallow: /private/#/\n", 30), "/articles/2024/some-title?page=2"),
        ("100 wildcards", file("disallow: /*/tag#/*?sort=\n", 100), "/articles/2024/some-title?page=2"),
        ("40,000 prefixes", file("disallow: /#\n", usize::MAX), &long),
        ("1,000 of /*#aab", file("disallow: /*#aab\n", 1_000), &long),
        ("1,000 of /*aaab", file("disallow: /*a*aaaaaaab#\n", 1_000), &long),
        ("1,200 of /*a*a…b$", file(&format!("disallow: /{stars}#b$\n"), 1_200), &long),
        ("1,200 of /*a*a…", file(&format!("allow: /{stars}*b#\n"), 1_200), &long),
        (
            "1,000 of /*a*aa…c",
            file("disallow: /*aaaaaaaaaaaaaaaaaaaaaaaaaaaaabaaaaaaaaa#c\n", 1_000),
            &format!("{long}bc0123456789"),
        ),
    ];
    println!("{:<22} {:>12} {:>16}", "file", "parsed in", "one check");
    for (name, file, path) in files {
        let started = Instant::now();
        let rules = Rules::parse(file.as_bytes(), "Seine");
        let parsed = started.elapsed();
        let started = Instant::now();
        let allowed = (0..CHECKS).filter(|_| rules.allow(std::hint::black_box(path))).count();
        let each = started.elapsed() / CHECKS;
        println!("{name:<22} {parsed:>12.1?} {each:>16.2?} {}", if allowed > 0 { "allowed" } else { "refused" });
    }
}
