//! What one robots.txt file says to one robot.
//!
//! Groups that name the robot are merged and alone count; without one, those of `*` do (RFC 9309, 2.2.1). The longest
//! matching pattern decides, and of two equally long ones the allowing. Rules are kept in that order, so the first
//! match is the answer. A group ends at the first user-agent line behind a rule; other lines do not end it.
//!
//! Invariant: no file, however hostile, makes a check cost more than [`MAX_WILDCARDS`] searches of the path.

use std::time::Duration;

use super::lines::{Line, lines, unmarked};
use super::pattern::{Pattern, normal_form};

/// Longer delays are not kept to, or one file could stop a crawl.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(300);

/// Patterns with `*` beyond this many are taken as forbidding everything below their first `*`; real files have fewer.
const MAX_WILDCARDS: usize = 1_000;

/// The rules of one file for one robot.
#[derive(Debug, Default)]
pub struct Rules {
    /// Longest pattern first; at equal length, allowing ones first.
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    allow: bool,
    line: u32,
}

/// What the file says of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub allow: bool,
    /// The number of the line that decides; `None` when no rule speaks of the path.
    pub line: Option<u32>,
}

/// Rules as they are read: those of the groups that name the robot, and those of `*`.
#[derive(Default)]
struct Group {
    named: bool,
    rules: Vec<Rule>,
    crawl_delay: Option<f64>,
}

impl Rules {
    /// Reads what `body` says to the robot that calls itself `agent`.
    pub fn parse(body: &[u8], agent: &str) -> Self {
        let body = unmarked(body);
        let agent = product_token(agent.as_bytes());
        let mut own = Group::default();
        let mut everyone = Group::default();
        // Whether the group at hand names us, or everyone. A crawl-delay ends the list of names as rules do, but only
        // for later crawl-delays: "a, delay 1, b, delay 2, disallow" forbids both, with a delay for each.
        let (mut for_rules, mut for_delay) = (Listed::default(), Listed::default());
        for (number, line) in lines(&body) {
            match line {
                Line::UserAgent(name) => {
                    for_rules.name(name, agent);
                    for_delay.name(name, agent);
                    own.named |= for_rules.own;
                }
                Line::Allow(text) | Line::Disallow(text) => {
                    let allow = matches!(line, Line::Allow(_));
                    if for_rules.own {
                        own.add(text, allow, number);
                    }
                    if for_rules.everyone {
                        everyone.add(text, allow, number);
                    }
                    for_rules.closed = true;
                    for_delay.closed = true;
                }
                Line::CrawlDelay(seconds) => {
                    if for_delay.own {
                        own.delay(seconds);
                    }
                    if for_delay.everyone {
                        everyone.delay(seconds);
                    }
                    for_delay.closed = true;
                }
                // Belongs to no group.
                Line::Sitemap(_) => {}
            }
        }
        if own.named { own.finish() } else { everyone.finish() }
    }

    /// Whether path and query may be fetched.
    pub fn allow(&self, path_and_query: &str) -> bool {
        self.decision(path_and_query).allow
    }

    pub fn decision(&self, path_and_query: &str) -> Decision {
        let no_rule = Decision { allow: true, line: None };
        if self.rules.is_empty() {
            return no_rule;
        }
        let path = normal_form(path_and_query.as_bytes());
        if path == b"/robots.txt" {
            return no_rule;
        }
        let first = self.rules.iter().find(|rule| rule.pattern.matches(&path));
        first.map_or(no_rule, |rule| Decision { allow: rule.allow, line: Some(rule.line) })
    }

    /// What the file asks for, at most [`MAX_CRAWL_DELAY`].
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

/// Which of the two kinds of group the last user-agent lines opened.
#[derive(Default)]
struct Listed {
    own: bool,
    everyone: bool,
    /// The next user-agent line begins a new list.
    closed: bool,
}

impl Listed {
    fn name(&mut self, name: &[u8], agent: &[u8]) {
        if std::mem::take(&mut self.closed) {
            (self.own, self.everyone) = (false, false);
        }
        // One name a line is the rule; lists with commas exist.
        for token in name.split(|&byte| byte == b',').map(|name| product_token(name.trim_ascii_start())) {
            self.everyone |= token == b"*";
            self.own |= !agent.is_empty() && token.eq_ignore_ascii_case(agent);
        }
    }
}

impl Group {
    fn add(&mut self, text: &[u8], allow: bool, line: u32) {
        // An empty value says nothing: `Disallow:` is how a file allows everything.
        if text.is_empty() {
            return;
        }
        self.rules.push(Rule { pattern: Pattern::parse(text), allow, line });
        if allow && let Some(pattern) = Pattern::directory_of_index(text) {
            self.rules.push(Rule { pattern, allow, line });
        }
    }

    fn delay(&mut self, seconds: f64) {
        self.crawl_delay = Some(self.crawl_delay.map_or(seconds, |known| known.max(seconds)));
    }

    fn finish(mut self) -> Rules {
        let mut wildcards = 0;
        self.rules = std::mem::take(&mut self.rules)
            .into_iter()
            .filter_map(|rule| {
                wildcards += usize::from(rule.pattern.has_wildcard());
                match rule.pattern.has_wildcard() && wildcards > MAX_WILDCARDS {
                    false => Some(rule),
                    // On the safe side: forbid more, allow less.
                    true if rule.allow => None,
                    true => Some(Rule { pattern: rule.pattern.into_prefix(), allow: false, line: rule.line }),
                }
            })
            .collect();
        self.rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.length()), !rule.allow));
        let longest = MAX_CRAWL_DELAY.as_secs_f64();
        Rules {
            rules: self.rules,
            crawl_delay: self.crawl_delay.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, longest))),
        }
    }
}

/// The part of a user agent that robots.txt names: before the version and the first blank.
fn product_token(agent: &[u8]) -> &[u8] {
    let end = agent.iter().position(|byte| *byte == b'/' || byte.is_ascii_whitespace());
    &agent[..end.unwrap_or(agent.len())]
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
