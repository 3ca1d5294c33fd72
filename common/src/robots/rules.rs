//! What one robots.txt file says to one robot.
//!
//! Groups that name the robot are merged and alone count; without one, those of `*` do (RFC 9309, 2.2.1). The longest
//! matching pattern decides, and of two equally long ones the allowing. Patterns without `*` are looked up, the others
//! tried in that order, as long as they are longer than what was found: the first match is the answer. A group ends at the
//! first user-agent line behind a rule; other lines do not end it.
//!
//! Invariant: no file, however hostile, makes a check cost more than [`MAX_WILDCARDS`] searches of the path, and
//! [`Decision::cost`] tells how many bytes were gone through.

use std::time::Duration;

use super::lines::{Line, lines, unmarked};
use super::pattern::{Needs, Pattern, normal_form};
use super::prefixes::Prefixes;

/// Longer delays are not kept to, or one file could stop a crawl.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(300);

/// Patterns with `*` beyond this many are taken as forbidding everything below their first `*`; real files have fewer.
const MAX_WILDCARDS: usize = 1_000;
/// The same for the pieces between the `*`s of all patterns together.
const MAX_PARTS: usize = 10_000;
/// Beginning to search for a piece costs as much as going through so many bytes.
const PART_COST: usize = 16;

/// The rules of one file for one robot.
#[derive(Debug, Default)]
pub struct Rules {
    /// Patterns without `*` that match what begins with them.
    prefixes: Prefixes,
    /// Patterns without `*` that end in `$`.
    exact: Prefixes,
    /// Longest pattern first; at equal length, allowing ones first.
    wildcards: Vec<Rule>,
    crawl_delay: Option<Duration>,
}

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    pattern: Pattern,
    verdict: Verdict,
}

/// What one rule says of the paths that match, and the number of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub allow: bool,
    pub line: u32,
}

/// What the file says of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub allow: bool,
    /// The number of the line that decides; `None` when no rule speaks of the path.
    pub line: Option<u32>,
    /// Bytes gone through to find it, at most.
    pub cost: usize,
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
        if self.wildcards.is_empty() && self.prefixes.is_empty() && self.exact.is_empty() {
            return Decision { allow: true, line: None, cost: 0 };
        }
        let path = normal_form(path_and_query.as_bytes());
        let mut cost = path.len();
        if path == b"/robots.txt" {
            return Decision { allow: true, line: None, cost };
        }
        let exact = self.exact.exactly(&path).map(|verdict| (path.len() + 1, verdict));
        let mut best = exact.or_else(|| self.prefixes.longest(&path));
        let path_has = if self.wildcards.is_empty() { Needs::default() } else { Needs::of(&path) };
        for rule in &self.wildcards {
            if best.is_some_and(|(length, verdict)| rule.rank() <= (length, verdict.allow)) {
                break;
            }
            if rule.pattern.may_match(&path, path_has) {
                cost += path.len() + rule.pattern.parts() * PART_COST;
                if rule.pattern.matches(&path) {
                    best = Some((rule.pattern.length(), rule.verdict));
                    break;
                }
            }
        }
        let verdict = best.map(|(_, verdict)| verdict);
        Decision { allow: verdict.is_none_or(|verdict| verdict.allow), line: verdict.map(|verdict| verdict.line), cost }
    }

    /// What the file asks for, at most [`MAX_CRAWL_DELAY`].
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }
}

impl Rule {
    /// Of two rules that match, that with the higher rank decides.
    fn rank(&self) -> (usize, bool) {
        (self.pattern.length(), self.verdict.allow)
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
        let verdict = Verdict { allow, line };
        self.rules.push(Rule { pattern: Pattern::parse(text), verdict });
        if allow && let Some(pattern) = Pattern::directory_of_index(text) {
            self.rules.push(Rule { pattern, verdict });
        }
    }

    fn delay(&mut self, seconds: f64) {
        self.crawl_delay = Some(self.crawl_delay.map_or(seconds, |known| known.max(seconds)));
    }

    fn finish(self) -> Rules {
        let (mut prefixes, mut exact, mut wildcards) = (Vec::new(), Vec::new(), Vec::new());
        let mut parts = 0;
        for Rule { pattern, verdict } in self.rules {
            if !pattern.has_wildcard() {
                let list = if pattern.is_anchored() { &mut exact } else { &mut prefixes };
                list.push((pattern.prefix().to_vec(), verdict));
                continue;
            }
            parts += pattern.parts();
            if wildcards.len() < MAX_WILDCARDS && parts <= MAX_PARTS {
                wildcards.push(Rule { pattern, verdict });
            } else if !verdict.allow {
                // On the safe side: forbid more, allow less.
                prefixes.push((pattern.prefix().to_vec(), verdict));
            }
        }
        wildcards.sort_by(|a: &Rule, b: &Rule| b.rank().cmp(&a.rank()).then_with(|| a.pattern.cmp(&b.pattern)));
        wildcards.dedup_by(|later, earlier| later.pattern == earlier.pattern);
        let longest = MAX_CRAWL_DELAY.as_secs_f64();
        Rules {
            prefixes: Prefixes::new(prefixes),
            exact: Prefixes::new(exact),
            wildcards,
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
