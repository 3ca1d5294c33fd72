//! What is wrong with a filter, said so that a person can put it right.

use super::attribute::Attribute;

/// All that is wrong with one filter, one sentence a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .wrong.iter().map(|wrong| format!("filter {:?}: {wrong}", .name)).collect::<Vec<_>>().join("\n"))]
pub struct FilterError {
    pub name: String,
    pub wrong: Vec<WrongRule>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongRule {
    #[error("this cannot name a filter; use up to 100 letters, digits, -, _ and .")]
    Name,
    #[error("{count} rules are too many; at most {most} are allowed")]
    TooMany { count: usize, most: usize },
    #[error("{value:?} is not a content type; write one such as text/html, or a glob such as text/*")]
    ContentType { value: String },
    #[error("rule {number}, {text:?}: {problem}")]
    Rule { number: usize, text: String, problem: Problem },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it begins with {word:?}; begin with allow or deny, with the phase metadata or data before it if you like")]
    Beginning { word: String },
    #[error("{word:?} is not an attribute, did you mean {nearest:?}? There are {known}")]
    Attribute { word: String, nearest: &'static str, known: String },
    #[error("no attribute stands behind allow or deny; there are {known}")]
    NoAttribute { known: String },
    #[error("{word:?} does not compare {attribute}; use {operators}, with not before it for the contrary")]
    Operator { word: String, attribute: String, operators: String },
    #[error("{word:?} is not {example}")]
    Value { word: String, example: &'static str },
    #[error("{value:?} cannot stand behind in; write it as {example}")]
    NoSet { value: String, example: &'static str },
    #[error("{operator} needs one pattern behind it")]
    NoPattern { operator: String },
    #[error("{word:?} is not a regular expression ({reason})")]
    Regex { word: String, reason: String },
    #[error("{word:?} is too large when compiled; repeat less in it")]
    RegexTooLarge { word: String },
    #[error("{sign} is opened and not closed")]
    NotClosed { sign: char },
    #[error("{word:?} stands behind the value; join conditions by and, and put a value of several words in quotes")]
    Behind { word: String },
    #[error("it asks for something that is known only once the page is fetched; write data, or leave the phase out")]
    Phase,
    #[error("{bytes} bytes are too long for a rule; at most {most} are allowed")]
    TooLong { bytes: usize, most: usize },
}

impl Problem {
    pub(super) fn no_attribute(word: &str) -> Self {
        let known = Attribute::names().collect::<Vec<_>>().join(", ");
        if word.is_empty() {
            return Self::NoAttribute { known };
        }
        let typed = word.to_ascii_lowercase();
        // Also by a part of its name: "lenght" means content-length.
        let distance = |name: &&str| {
            let parts = name.split('-').chain([*name]);
            parts.map(|part| strsim::damerau_levenshtein(part, &typed)).min()
        };
        let nearest = Attribute::names().min_by_key(distance);
        Self::Attribute { word: word.to_owned(), nearest: nearest.unwrap_or_default(), known }
    }

    pub(super) fn regex(word: &str, error: &regex::Error) -> Self {
        let word = word.to_owned();
        if matches!(error, regex::Error::CompiledTooBig(_)) {
            return Self::RegexTooLarge { word };
        }
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Self::Regex { word, reason }
    }
}
