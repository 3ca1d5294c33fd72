//! The two filters of a crawl: from its settings to rules that can be applied, and what they say of a URL.

use seine_common::filter::{ENUMERATION_DEFAULT, Filter, FilterSettings, Filters, GENERATION_DEFAULT};
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1;
use seine_proto::monitor::v1::{Crawl, Outcome, OutcomeKind};

use super::validate::{share, wrong};
use crate::MonitorError;

pub fn compile(settings: &Crawl) -> Result<Filters, MonitorError> {
    let enumeration = of_message(settings.enumeration.as_ref(), ENUMERATION_DEFAULT);
    let generation = of_message(settings.generation.as_ref(), GENERATION_DEFAULT);
    Filters::compile(&enumeration, &generation).map_err(|error| MonitorError::Invalid(error.to_string()))
}

/// Refuses what [`compile`] could not make a filter of, by the field that is wrong.
pub fn check(settings: &Crawl) -> Result<(), MonitorError> {
    for (field, filter) in [("enumeration", &settings.enumeration), ("generation", &settings.generation)] {
        let Some(filter) = filter else { continue };
        share(&format!("{field}.min_value"), filter.min_value)?;
        Filter::compile(&of_message(Some(filter), "")).map_err(|error| wrong(field, error))?;
    }
    Ok(())
}

/// A filter that allows everything does not travel.
fn of_message(filter: Option<&v1::Filter>, default: &str) -> FilterSettings {
    let Some(filter) = filter else { return FilterSettings::open(default) };
    FilterSettings {
        name: filter.name.clone(),
        rules: filter.rules.clone(),
        otherwise_deny: filter.otherwise_deny,
        max_links: filter.max_links,
        content_type: filter.content_type.clone(),
        min_value: filter.min_value,
    }
}

/// Whether the pages of the crawl must be looked at again: what they were judged by has changed.
pub fn differ(before: &Crawl, now: &Crawl) -> bool {
    before.enumeration != now.enumeration || before.generation != now.generation
}

/// What the filters say of following a URL's links and of indexing it, for a person. A page that was saved was judged
/// then, with all that is known of a page.
pub fn in_words(filters: &Filters, url: &CanonicalUrl, depth: u32, outcome: Option<&Outcome>) -> (String, String) {
    let saved = outcome.filter(|outcome| outcome.kind() == OutcomeKind::Saved);
    let facts = filters.facts(url, depth);
    let words = |filter: &Filter, rule: Option<&String>| match rule {
        Some(rule) if !rule.is_empty() => rule.clone(),
        _ if filter.is_open() => String::new(),
        Some(_) => format!("{}: allowed, no rule denies it", filter.name()),
        None => filter.decide(&facts).to_string(),
    };
    (
        words(&filters.enumeration, saved.map(|outcome| &outcome.enumeration_rule)),
        words(&filters.generation, saved.map(|outcome| &outcome.generation_rule)),
    )
}
