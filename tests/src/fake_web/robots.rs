//! The robots.txt of a host, in each of its moods.

use std::fmt::Write as _;

use super::config::{HostConfig, RobotsMode};
use super::dice::Dice;

/// Where [`RobotsMode::Redirect`] leads.
pub const MOVED_TO: &str = "/moved-robots.txt";
const HUGE_BYTES: usize = 1_200_000;
const GARBAGE_BYTES: usize = 4_000;

/// The status that `/robots.txt` is answered with; 0 for none.
pub fn status(host: &HostConfig) -> u16 {
    match host.robots {
        RobotsMode::Status(status) => status,
        RobotsMode::Redirect => 301,
        RobotsMode::Reset => 0,
        _ => 200,
    }
}

/// The body of `/robots.txt`, and of the file to which it may have moved.
pub fn body(host: &HostConfig) -> Vec<u8> {
    match &host.robots {
        RobotsMode::Rules | RobotsMode::Slow(_) | RobotsMode::Redirect => rules(host).into_bytes(),
        RobotsMode::Text(text) => text.clone().into_bytes(),
        RobotsMode::Status(_) => b"<!DOCTYPE html><title>No robots.txt here</title><p>Disallow: /\n".to_vec(),
        RobotsMode::Huge => huge(host).into_bytes(),
        RobotsMode::Garbage => {
            let mut dice = Dice::new(0x60b0);
            (0..GARBAGE_BYTES).map(|_| dice.next() as u8).collect()
        }
        RobotsMode::Reset => Vec::new(),
    }
}

fn rules(host: &HostConfig) -> String {
    let mut text = "# The test web\nUser-agent: *\nDisallow: /private/\n".to_owned();
    if let Some(delay) = host.crawl_delay {
        let _ = writeln!(text, "Crawl-delay: {delay}");
    }
    text
}

/// The rules first, so that a reader that cuts the file off still obeys them.
fn huge(host: &HostConfig) -> String {
    let mut text = rules(host);
    let mut number = 0;
    while text.len() < HUGE_BYTES {
        let _ = writeln!(text, "Disallow: /nothing/here/{number}/*/a*b*c$");
        number += 1;
    }
    text
}
