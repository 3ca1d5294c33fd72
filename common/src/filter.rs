//! Filters: which pages are followed (*enumerate*) and which are indexed (*generate*), by rules of the crawl's owner.
//!
//! Responsible for: reading rules, compiling them once, and saying what a filter decides for a URL or a page, and by
//! which rule. Pure. Not responsible for: which URLs a crawl takes in at all (`scope`, `admission`), nor for what a page
//! itself forbids (robots meta tags), which no filter can permit.
//!
//! A filter is a list of rules, and the first that matches decides. A rule is one line:
//!
//! ```text
//! [metadata|data] allow|deny ATTRIBUTE OPERATOR VALUE [and ATTRIBUTE OPERATOR VALUE]…
//! ```
//!
//! A rule of the *metadata* phase needs only the URL; one of the *data* phase needs the page. Before the page is there, a
//! filter denies only what no rule could allow any more. So the first phase spares requests and never changes what is
//! decided in the end.

mod attribute;
mod facts;
mod value;
mod condition;
mod words;
mod rule;
mod error;
#[cfg(test)]
mod tests;

use std::fmt;

pub use self::error::{FilterError, WrongRule};
pub use self::facts::{Facts, PageFacts};
pub use self::rule::Phase;
use self::rule::Rule;
use self::value::Glob;
use crate::url::CanonicalUrl;

/// The filters that a crawl uses where it names none. They exist always, and may be defined differently.
pub const ENUMERATION_DEFAULT: &str = "enumeration-default";
pub const GENERATION_DEFAULT: &str = "generation-default";

/// Rules of one filter.
const MAX_RULES: usize = 100;
const MAX_NAME_BYTES: usize = 100;

/// A filter as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterSettings {
    pub name: String,
    pub rules: Vec<String>,
    /// What holds when no rule matches.
    pub otherwise_deny: bool,
    /// Links taken from one page; 0 is no limit. For the filter that decides what is followed.
    pub max_links: u32,
    /// A glob that the content type must match; empty for any.
    pub content_type: String,
    /// Pages of less value are denied; 0 for none.
    pub min_value: f32,
}

impl FilterSettings {
    /// Allows everything.
    pub fn open(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rules: Vec::new(),
            otherwise_deny: false,
            max_links: 0,
            content_type: String::new(),
            min_value: 0.0,
        }
    }

    /// Whether it allows everything.
    pub fn is_open(&self) -> bool {
        *self == Self::open(&self.name)
    }
}

/// [`FilterSettings`] ready for use.
#[derive(Clone, Debug)]
pub struct Filter {
    name: String,
    rules: Vec<Rule>,
    otherwise_deny: bool,
    max_links: u32,
    content_type: Option<Glob>,
    min_value: f32,
    is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny,
    /// It depends on what is not known yet.
    Open,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Its position in the list.
    Rule(usize),
    Otherwise,
    ContentType,
    Value,
}

/// What a filter decides; shown as a person reads it, with the rule.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'f> {
    pub verdict: Verdict,
    by: By,
    filter: &'f Filter,
}

impl Filter {
    /// Fails with a sentence for each rule that is wrong.
    pub fn compile(settings: &FilterSettings) -> Result<Self, FilterError> {
        let fail = |wrong| FilterError { name: settings.name.clone(), wrong };
        let is_name = !settings.name.is_empty()
            && settings.name.len() <= MAX_NAME_BYTES
            && settings.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !is_name {
            return Err(fail(vec![WrongRule::Name]));
        }
        if settings.rules.len() > MAX_RULES {
            return Err(fail(vec![WrongRule::TooMany { count: settings.rules.len(), most: MAX_RULES }]));
        }
        let (mut rules, mut wrong) = (Vec::new(), Vec::new());
        for (position, text) in settings.rules.iter().enumerate() {
            match Rule::parse(text) {
                Ok(rule) => rules.push(rule),
                Err(problem) => {
                    wrong.push(WrongRule::Rule { number: position + 1, text: text.clone(), problem });
                }
            }
        }
        let content_type = Some(settings.content_type.trim()).filter(|text| !text.is_empty());
        if content_type.is_some_and(|text| text.len() > MAX_NAME_BYTES || !text.contains(['/', '*'])) {
            wrong.push(WrongRule::ContentType { value: settings.content_type.clone() });
        }
        if !wrong.is_empty() {
            return Err(fail(wrong));
        }
        Ok(Self {
            name: settings.name.clone(),
            rules,
            otherwise_deny: settings.otherwise_deny,
            max_links: settings.max_links,
            content_type: content_type.map(|text| Glob::new(text, true)),
            min_value: settings.min_value,
            is_open: settings.is_open(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many links may be taken from one page.
    pub fn max_links(&self) -> Option<usize> {
        (self.max_links > 0).then_some(self.max_links as usize)
    }

    /// Whether it allows everything.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Each rule with its phase.
    pub fn rules(&self) -> impl Iterator<Item = (Phase, &str)> {
        self.rules.iter().map(|rule| (rule.phase, rule.text.as_str()))
    }

    /// Whether any rule looks at the depth: then the same URL may be denied at one depth and allowed at a greater one.
    pub fn looks_at_depth(&self) -> bool {
        self.rules.iter().any(Rule::looks_at_depth)
    }

    pub fn decide(&self, facts: &Facts<'_>) -> Decision<'_> {
        let decision = |verdict, by| Decision { verdict, by, filter: self };
        if let Some(page) = &facts.page {
            if self.content_type.as_ref().is_some_and(|glob| !glob.matches(page.content_type)) {
                return decision(Verdict::Deny, By::ContentType);
            }
            if self.min_value > 0.0 && page.value < self.min_value {
                return decision(Verdict::Deny, By::Value);
            }
        }
        // A rule that cannot be applied yet may turn out to decide otherwise.
        let mut may_allow = false;
        let mut may_deny = facts.page.is_none() && (self.content_type.is_some() || self.min_value > 0.0);
        for (position, rule) in self.rules.iter().enumerate() {
            match rule.matches(facts) {
                Some(false) => {}
                Some(true) => return decision(settled(rule.deny, may_allow, may_deny), By::Rule(position)),
                None if rule.deny => may_deny = true,
                None => may_allow = true,
            }
        }
        decision(settled(self.otherwise_deny, may_allow, may_deny), By::Otherwise)
    }
}

fn settled(deny: bool, may_allow: bool, may_deny: bool) -> Verdict {
    match deny {
        true if may_allow => Verdict::Open,
        true => Verdict::Deny,
        false if may_deny => Verdict::Open,
        false => Verdict::Allow,
    }
}

impl Decision<'_> {
    /// Whether something in particular decided: a rule, or a condition that was not met.
    pub fn is_by_rule(&self) -> bool {
        self.by != By::Otherwise || self.verdict == Verdict::Deny
    }
}

impl fmt::Display for Decision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Filter { name, rules, min_value, .. } = self.filter;
        match (self.verdict, self.by) {
            (Verdict::Open, _) => write!(f, "{name}: decided when the page is there"),
            (_, By::Rule(position)) => write!(f, "{name} rule {}: {}", position + 1, rules[position].text),
            (Verdict::Deny, By::Otherwise) => write!(f, "{name}: otherwise deny"),
            (_, By::Otherwise) => write!(f, "{name}: allowed, no rule denies it"),
            (_, By::ContentType) => {
                let wanted = self.filter.content_type.as_ref().map_or("", Glob::text);
                write!(f, "{name}: content_type is not {wanted}")
            }
            (_, By::Value) => write!(f, "{name}: value is below {min_value}"),
        }
    }
}

/// The two filters of a crawl.
#[derive(Clone, Debug)]
pub struct Filters {
    pub enumeration: Filter,
    pub generation: Filter,
}

impl Filters {
    pub fn compile(enumeration: &FilterSettings, generation: &FilterSettings) -> Result<Self, FilterError> {
        Ok(Self { enumeration: Filter::compile(enumeration)?, generation: Filter::compile(generation)? })
    }

    /// What is known of a URL before it is fetched.
    pub fn facts<'a>(&'a self, url: &'a CanonicalUrl, depth: u32) -> Facts<'a> {
        let (enumeration, generation) = (self.enumeration.name(), self.generation.name());
        Facts { url, depth, enumeration, generation, ip: None, page: None }
    }

    /// Why a URL need not be fetched, in words: it would be neither followed nor indexed.
    pub fn excludes(&self, url: &CanonicalUrl, depth: u32) -> Option<String> {
        if self.enumeration.is_open || self.generation.is_open {
            return None;
        }
        let facts = self.facts(url, depth);
        let generation = self.generation.decide(&facts);
        if generation.verdict != Verdict::Deny {
            return None;
        }
        let enumeration = self.enumeration.decide(&facts);
        if enumeration.verdict != Verdict::Deny {
            return None;
        }
        let (enumeration, generation) = (enumeration.to_string(), generation.to_string());
        Some(match enumeration == generation {
            true => format!("filter {generation}"),
            false => format!("filters {enumeration}; {generation}"),
        })
    }
}
