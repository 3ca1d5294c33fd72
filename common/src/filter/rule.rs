//! One rule: when it is applied, what it decides, and its conditions, all of which must be met.

use super::attribute::Attribute;
use super::condition::Condition;
use super::error::Problem;
use super::facts::Facts;
use super::words::Words;

const MAX_RULE_BYTES: usize = 2048;

/// When enough is known for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Only the URL is known.
    Metadata,
    /// The page is there: headers, `<meta>` tags and what was made of them.
    Data,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Data => "data",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub phase: Phase,
    pub deny: bool,
    /// As written, with single spaces around.
    pub text: String,
    conditions: Vec<Condition>,
}

impl Rule {
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() > MAX_RULE_BYTES {
            return Err(Problem::TooLong { bytes: text.len(), most: MAX_RULE_BYTES });
        }
        let mut words = Words::of(text);
        let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
        let mut word = words.word();
        let stated = [Phase::Metadata, Phase::Data].into_iter().find(|phase| is(word, phase.as_str()));
        if stated.is_some() {
            word = words.word();
        }
        let deny = match word {
            word if is(word, "allow") => false,
            word if is(word, "deny") => true,
            word => return Err(Problem::Beginning { word: word.to_owned() }),
        };
        let mut conditions = vec![Condition::parse(&mut words)?];
        loop {
            match words.word() {
                "" => break,
                word if is(word, "and") => conditions.push(Condition::parse(&mut words)?),
                word => return Err(Problem::Behind { word: word.to_owned() }),
            }
        }
        let needed = conditions.iter().map(Condition::phase).max().unwrap_or(Phase::Metadata);
        if stated.is_some_and(|stated| stated < needed) {
            return Err(Problem::Phase);
        }
        Ok(Self { phase: stated.unwrap_or(needed), deny, text: text.trim().to_owned(), conditions })
    }

    /// `None` while it cannot be said yet.
    pub fn matches(&self, facts: &Facts<'_>) -> Option<bool> {
        if self.phase == Phase::Data && facts.page.is_none() {
            // What is not met by the URL will not be met by the page either.
            let fails = self.conditions.iter().any(|condition| condition.matches(facts) == Some(false));
            return if fails { Some(false) } else { None };
        }
        let mut all = Some(true);
        for condition in &self.conditions {
            match condition.matches(facts) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    }

    pub fn looks_at_depth(&self) -> bool {
        self.conditions.iter().any(|condition| condition.attribute == Attribute::Depth)
    }
}
