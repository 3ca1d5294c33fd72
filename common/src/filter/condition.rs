//! One condition of a rule: an attribute, how it is compared, and with what.

use std::ops::{Bound, RangeBounds};

use regex::{Regex, RegexBuilder};

use super::attribute::{Attribute, Kind, Known};
use super::error::Problem;
use super::facts::Facts;
use super::rule::Phase;
use super::value::{Glob, Point, Span, date, folded, number, span};
use super::words::{Value, Words};
use crate::admission::as_canonical;

/// Of one compiled expression, and of the cache of each thread that matches.
const MAX_REGEX_BYTES: usize = 256 << 10;

#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub attribute: Attribute,
    is_negated: bool,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    OneOf(Vec<String>),
    Glob(Glob),
    Regex(Regex),
    Within(Vec<Span>),
}

const NUMBER_OPERATORS: [&str; 7] = ["=", "!=", "<", "<=", ">", ">=", "in"];
const TEXT_OPERATORS: [&str; 5] = ["=", "!=", "glob", "regex", "in"];

impl Condition {
    pub fn parse(words: &mut Words<'_>) -> Result<Self, Problem> {
        let name = words.word();
        let attribute = Attribute::parse(name).ok_or_else(|| Problem::no_attribute(name))?;
        let mut operator = words.word();
        let mut is_negated = operator.eq_ignore_ascii_case("not");
        if is_negated {
            operator = words.word();
        }
        let operators = if attribute.kind() == Kind::Text { &TEXT_OPERATORS[..] } else { &NUMBER_OPERATORS };
        let Some(&operator) = operators.iter().find(|known| known.eq_ignore_ascii_case(operator)) else {
            return Err(Problem::Operator {
                word: operator.to_owned(),
                attribute: name.to_owned(),
                operators: operators.join(", "),
            });
        };
        is_negated ^= operator == "!=";
        let value = words.value().map_err(|open| Problem::NotClosed { sign: open.0 })?;
        let test = match attribute.kind() {
            Kind::Text => Test::of_text(&attribute, operator, value)?,
            Kind::Number => Test::of_numbers(operator, &value, number, "a number such as 1000")?,
            Kind::Date => Test::of_numbers(operator, &value, date, "a day such as 2024-05-31")?,
        };
        Ok(Self { attribute, is_negated, test })
    }

    pub fn phase(&self) -> Phase {
        self.attribute.phase()
    }

    /// `None` while the attribute is not known.
    pub fn matches(&self, facts: &Facts<'_>) -> Option<bool> {
        let ignores_case = self.attribute.ignores_case();
        let met = self.attribute.any(facts, |known| self.test.is_met(&known, ignores_case))?;
        Some(met != self.is_negated)
    }
}

impl Test {
    fn of_text(attribute: &Attribute, operator: &str, value: Value<'_>) -> Result<Self, Problem> {
        let ignores_case = attribute.ignores_case();
        let canonical = |text: &str| match attribute.is_part_of_url() {
            true => as_canonical(text).into_owned(),
            false => folded(text, ignores_case).into_owned(),
        };
        match (operator, value) {
            ("in", Value::Set(texts)) if texts.iter().all(|text| !text.is_empty()) => {
                Ok(Self::OneOf(texts.into_iter().map(canonical).collect()))
            }
            ("in", value) => Err(Problem::NoSet { value: as_written(&value), example: "{en, cs}" }),
            ("=" | "!=", Value::One(text)) => Ok(Self::OneOf(vec![canonical(text)])),
            (_, Value::One("") | Value::Set(_)) => Err(Problem::NoPattern { operator: operator.to_owned() }),
            ("glob", Value::One(text)) => Ok(Self::Glob(Glob::new(&canonical(text), ignores_case))),
            (_, Value::One(text)) => {
                let built = RegexBuilder::new(text)
                    .case_insensitive(ignores_case)
                    .size_limit(MAX_REGEX_BYTES)
                    .dfa_size_limit(MAX_REGEX_BYTES)
                    .build();
                built.map(Self::Regex).map_err(|error| Problem::regex(text, &error))
            }
        }
    }

    fn of_numbers(
        operator: &str,
        value: &Value<'_>,
        point: fn(&str) -> Option<Point>,
        example: &'static str,
    ) -> Result<Self, Problem> {
        let parse = |text: &str| point(text).ok_or_else(|| Problem::Value { word: text.to_owned(), example });
        if operator == "in" {
            let spans = match value {
                Value::One(text) => span(text, point).map(|span| vec![span]),
                Value::Set(texts) => {
                    let each = |text: &&str| span(text, point).or_else(|| point(text).map(Point::span));
                    texts.iter().map(each).collect()
                }
            };
            let no_set = || Problem::NoSet { value: as_written(value), example: "1000..5000 or {1, 2}" };
            return spans.map(Self::Within).ok_or_else(no_set);
        }
        let Value::One(text) = value else {
            return Err(Problem::Value { word: as_written(value), example });
        };
        let Point { first, last } = parse(text)?;
        use Bound::{Excluded, Included, Unbounded};
        Ok(Self::Within(vec![match operator {
            "<" => (Unbounded, Excluded(first)),
            "<=" => (Unbounded, Included(last)),
            ">" => (Excluded(last), Unbounded),
            ">=" => (Included(first), Unbounded),
            _ => (Included(first), Included(last)),
        }]))
    }

    fn is_met(&self, known: &Known<'_>, ignores_case: bool) -> bool {
        let text = || match known {
            Known::Text(text) => *text,
            _ => "",
        };
        match self {
            Self::OneOf(texts) => {
                let text = folded(text(), ignores_case);
                texts.iter().any(|wanted| *wanted == *text)
            }
            Self::Glob(glob) => glob.matches(text()),
            Self::Regex(regex) => regex.is_match(text()),
            // Nothing compares with what was not stated.
            Self::Within(spans) => match known {
                Known::Number(number) => spans.iter().any(|span| span.contains(number)),
                _ => false,
            },
        }
    }
}

impl Point {
    fn span(self) -> Span {
        (Bound::Included(self.first), Bound::Included(self.last))
    }
}

fn as_written(value: &Value<'_>) -> String {
    match value {
        Value::One(text) => (*text).to_owned(),
        Value::Set(texts) => format!("{{{}}}", texts.join(", ")),
    }
}
