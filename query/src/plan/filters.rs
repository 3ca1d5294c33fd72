//! What narrows the results without changing their order: site, language, type and dates, typed or asked for beside.

use seine_indexer::schema::Fields;
use tantivy::query::{AllQuery, BooleanQuery, Occur, Query, TermQuery, TermSetQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, Term};

use super::Plan;
use crate::error::QueryError;
use crate::parse::{Asked, FilterKind};
use crate::request::CheckedRequest;

/// Media types looked at for one filter.
const MAX_TYPES: usize = 1_000;

/// Adds them to the plan.
pub fn add(
    plan: &mut Plan,
    asked: &Asked,
    request: &CheckedRequest,
    searcher: &Searcher,
    fields: &Fields,
) -> Result<(), QueryError> {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    let exact = |field, value: &str| -> Box<dyn Query> {
        Box::new(TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic))
    };
    let asked_by_request = [
        request.site.clone().map(FilterKind::Site),
        request.lang.clone().map(FilterKind::Lang),
        request.content_type.clone().map(FilterKind::Type),
        request.after.map(FilterKind::After),
        request.before.map(FilterKind::Before),
    ];
    let by_request = asked_by_request.into_iter().flatten().map(|kind| (false, kind));
    let typed = asked.filters.iter().map(|filter| (filter.excluded, filter.kind.clone()));
    for (excluded, kind) in by_request.chain(typed) {
        let occur = if excluded { Occur::MustNot } else { Occur::Must };
        match (kind, excluded) {
            (FilterKind::Site(site), _) => clauses.push((occur, exact(fields.site, &site))),
            (FilterKind::Lang(lang), _) => clauses.push((occur, exact(fields.lang, &lang))),
            (FilterKind::Type(wanted), _) => {
                let types = content_types(searcher, fields, &wanted)?;
                clauses.push((occur, Box::new(TermSetQuery::new(types))));
            }
            (FilterKind::After(at), false) | (FilterKind::Before(at), true) => {
                plan.after = Some(plan.after.map_or(at, |known| known.max(at)));
            }
            (FilterKind::Before(at), false) | (FilterKind::After(at), true) => {
                plan.before = Some(plan.before.map_or(at, |known| known.min(at)));
            }
        }
    }
    if !clauses.is_empty() && clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        clauses.push((Occur::Must, Box::new(AllQuery)));
    }
    if !clauses.is_empty() {
        plan.filter = Some(Box::new(BooleanQuery::new(clauses)));
    }
    Ok(())
}

/// The media types of the index that are meant by a whole type, one of its halves or a part of them.
fn content_types(searcher: &Searcher, fields: &Fields, wanted: &str) -> Result<Vec<Term>, QueryError> {
    let mut found = Vec::new();
    for reader in searcher.segment_readers() {
        let inverted = reader.inverted_index(fields.content_type)?;
        let mut stream = inverted.terms().stream()?;
        let mut visited = 0;
        while visited < MAX_TYPES && stream.advance() {
            visited += 1;
            let Ok(known) = std::str::from_utf8(stream.key()) else { continue };
            if known == wanted || known.split(['/', '+', '.', '-']).any(|part| part == wanted) {
                found.push(Term::from_field_text(fields.content_type, known));
            }
        }
    }
    Ok(found)
}
