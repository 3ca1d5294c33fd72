//! The last word on a page: whether it is indexed and whether its links are followed, and by which rule.
//!
//! What the page itself forbids holds first; then the crawl's filters decide, now that all is known of the page. Their
//! rules travel with every page and are compiled once: [`CompiledFilters`] remembers the last few.

use std::sync::{Arc, Mutex};

use seine_common::filter::{
    ENUMERATION_DEFAULT, Facts, Filter, FilterError, FilterSettings, Filters, GENERATION_DEFAULT, PageFacts, Verdict,
};
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{self, FetchedPage};

use crate::analyse::Analysis;

/// Crawls whose filters are remembered.
const REMEMBERED: usize = 16;
/// A rule is recorded with every page that it decides about.
const MAX_RECORDED_BYTES: usize = 200;

/// As they travel: enumeration, then generation.
type AsSent = [Option<v1::Filter>; 2];

#[derive(Default)]
pub(crate) struct CompiledFilters {
    /// The most recently compiled last.
    known: Mutex<Vec<(AsSent, Arc<Filters>)>>,
}

impl CompiledFilters {
    fn of(&self, page: &FetchedPage) -> Result<Arc<Filters>, FilterError> {
        let is_same = |sent: &AsSent| sent[0] == page.enumeration && sent[1] == page.generation;
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, filters)) = known.iter().find(|(sent, _)| is_same(sent)) {
            return Ok(Arc::clone(filters));
        }
        let filters = Arc::new(Filters::compile(
            &settings(page.enumeration.as_ref(), ENUMERATION_DEFAULT),
            &settings(page.generation.as_ref(), GENERATION_DEFAULT),
        )?);
        if known.len() >= REMEMBERED {
            known.remove(0);
        }
        known.push(([page.enumeration.clone(), page.generation.clone()], Arc::clone(&filters)));
        Ok(filters)
    }
}

fn settings(filter: Option<&v1::Filter>, default: &str) -> FilterSettings {
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

/// Takes out of the analysis what may not be followed or indexed, and notes why.
pub(crate) fn apply(page: &FetchedPage, analysis: &mut Analysis, compiled: &CompiledFilters) {
    note_what_the_page_forbids(page, analysis);
    if page.enumeration.is_none() && page.generation.is_none() {
        return;
    }
    let Ok(url) = CanonicalUrl::parse(&page.url) else { return };
    let filters = match compiled.of(page) {
        Ok(filters) => filters,
        // The Monitor has checked them, so this one is of another version. What cannot be judged is left alone.
        Err(error) => {
            tracing::error!(%error, url = page.url, "the crawl's filters cannot be read");
            let unreadable = cut(&format!("unreadable: {error}"));
            analysis.follow.clear();
            analysis.description.generate = false;
            analysis.description.generation_rule.clone_from(&unreadable);
            analysis.description.enumeration_rule = unreadable;
            return;
        }
    };
    let (followed, indexed) = decide(page, &url, analysis, &filters);
    if analysis.description.enumeration_rule.is_empty() {
        analysis.description.enumeration_rule = limit_links(analysis, &filters.enumeration, followed);
    }
    if analysis.description.generation_rule.is_empty() {
        analysis.description.generate &= !indexed.denied;
        analysis.description.generation_rule = indexed.rule;
    }
}

struct Decided {
    denied: bool,
    /// Empty where no rule did.
    rule: String,
}

fn decide(page: &FetchedPage, url: &CanonicalUrl, analysis: &Analysis, filters: &Filters) -> (Decided, Decided) {
    let description = &analysis.description;
    let encoding = page.headers.iter().find(|header| header.name == "content-encoding");
    let facts = Facts {
        depth: page.depth,
        ip: Some(&page.ip),
        page: Some(PageFacts {
            charset: &description.charset,
            encoding: encoding.map_or("", |header| header.value.trim()),
            content_length: description.bytes,
            content_type: &description.content_type,
            expires_ms: description.expires_ms,
            last_modified_ms: description.last_modified_ms,
            metas: &analysis.metas,
            lang: &description.lang,
            title: &description.title,
            usability: description.usability,
            value: analysis.value,
        }),
        ..filters.facts(url, page.depth)
    };
    let decided = |filter: &Filter| {
        let decision = filter.decide(&facts);
        let rule = if decision.is_by_rule() { cut(&decision.to_string()) } else { String::new() };
        Decided { denied: decision.verdict == Verdict::Deny, rule }
    };
    (decided(&filters.enumeration), decided(&filters.generation))
}

/// Leaves the links that are followed, and says what decided.
fn limit_links(analysis: &mut Analysis, filter: &Filter, decided: Decided) -> String {
    let links = analysis.follow.len();
    match filter.max_links() {
        _ if decided.denied => analysis.follow.clear(),
        Some(most) if links > most => {
            analysis.follow.truncate(most);
            return format!("{}: max_links {most} of {links} links", filter.name());
        }
        _ => {}
    }
    decided.rule
}

fn note_what_the_page_forbids(page: &FetchedPage, analysis: &mut Analysis) {
    let description = &mut analysis.description;
    if !(200..300).contains(&page.status) {
        return;
    }
    let says = |directive: &str| description.robots.iter().any(|said| said == directive);
    let (noindex, nofollow) = (says("noindex"), says("nofollow"));
    if noindex {
        description.generation_rule = "the page says noindex".to_owned();
    } else if !description.generate {
        description.generation_rule = "there is no text in it".to_owned();
    }
    if nofollow {
        description.enumeration_rule = "the page says nofollow".to_owned();
    }
}

fn cut(text: &str) -> String {
    match text.len() > MAX_RECORDED_BYTES {
        true => format!("{}…", &text[..text.floor_char_boundary(MAX_RECORDED_BYTES)]),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
