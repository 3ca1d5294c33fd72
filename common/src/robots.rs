//! robots.txt: what a file says to one robot. Pure.
//!
//! Used where pages are fetched, and where people ask why one was not. The rules are parsed by our own matcher, because
//! no crate at hand got every agreed case right in bounded time. Not responsible for: reading the file (the collector).

pub mod lines;
pub mod pattern;
mod prefixes;
pub mod rules;
mod sitemaps;

pub use rules::{Decision, Rules};
pub use sitemaps::sitemaps;

/// What is read of a robots.txt file; rules behind the cut do not count (RFC 9309, 2.5).
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// The name under which robots.txt files address a user agent: the part before the `/`.
pub fn agent_token(user_agent: &str) -> &str {
    user_agent.split('/').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod token_tests {
    #[test]
    fn the_token_is_what_stands_before_the_version() {
        assert_eq!(super::agent_token("Seine/0.1 (+https://example.org)"), "Seine");
        assert_eq!(super::agent_token("Seine"), "Seine");
    }
}
