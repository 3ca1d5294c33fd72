//! A list of host patterns. Names and `*.name` are looked up in tables, so that a list of a million blocked hosts costs
//! no more than a short one; other patterns go through the automaton.

use std::collections::HashMap;
use std::sync::Arc;

use super::pattern::{PatternSet, Subject};
use super::verdict::{RuleName, WrongPattern};
use crate::url::CanonicalUrl;

#[derive(Clone, Debug)]
pub(super) struct HostList {
    exact: HashMap<Box<str>, Arc<str>>,
    /// `example.org` for the pattern `*.example.org`.
    below: HashMap<Box<str>, Arc<str>>,
    other: PatternSet,
}

impl HostList {
    pub fn compile(rule: RuleName, texts: &[String], wrong: &mut Vec<WrongPattern>) -> Self {
        let (mut exact, mut below, mut other) = (HashMap::new(), HashMap::new(), Vec::new());
        for text in texts {
            let pattern = text.trim();
            let name = pattern.strip_prefix("*.").unwrap_or(pattern);
            if pattern.starts_with("re:") || pattern.is_empty() {
                other.push(pattern);
            } else if name.contains('*') {
                if name.contains(['/', '@', '?', '#']) {
                    wrong.push(WrongPattern::NotAHost { rule, value: text.clone() });
                } else {
                    other.push(pattern);
                }
            } else if let Some(host) = host_text(name) {
                let table = if name.len() == pattern.len() { &mut exact } else { &mut below };
                table.insert(host.into_boxed_str(), pattern.into());
            } else {
                wrong.push(WrongPattern::NotAHost { rule, value: text.clone() });
            }
        }
        Self { exact, below, other: PatternSet::compile(rule, Subject::Host, &other, wrong) }
    }

    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.below.is_empty() && self.other.is_empty()
    }

    /// The pattern that matches the host, the most exact kind first.
    pub fn find(&self, host: &str) -> Option<&Arc<str>> {
        if let Some(pattern) = self.exact.get(host) {
            return Some(pattern);
        }
        if !self.below.is_empty() {
            let parents = host.match_indices('.').filter(|(at, _)| *at > 0).map(|(at, _)| &host[at + 1..]);
            if let Some(pattern) = parents.filter_map(|parent| self.below.get(parent)).next() {
                return Some(pattern);
            }
        }
        self.other.find(host)
    }
}

/// The name as `HostKey` writes it: lower case, other alphabets in their ASCII form, no default port.
fn host_text(name: &str) -> Option<String> {
    if name.contains(['/', '\\', '@', '?', '#', '%']) || name.contains(char::is_whitespace) {
        return None;
    }
    let url = CanonicalUrl::parse(&format!("http://{name}/")).ok()?;
    Some(url.host().as_str().to_owned())
}
