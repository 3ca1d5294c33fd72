//! The words to look for, as tantivy queries.
//!
//! `any` finds and scores every document with at least one of them: BM25 over title and text, the title counting more.
//! `all` finds those that have every one, in the title or in the text; absent when there is only one to have.

use seine_indexer::schema::Fields;
use tantivy::Term;
use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, Occur, PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use crate::parse::Unit;
use crate::request::CheckedRequest;

/// How much more a word in the title counts.
const TITLE_BOOST: f32 = 2.5;

pub struct Plan {
    pub any: Box<dyn Query>,
    pub all: Option<Box<dyn Query>>,
}

/// `None` when there is nothing to look for.
pub fn plan(units: &[Unit], request: &CheckedRequest, fields: &Fields) -> Option<Plan> {
    if units.is_empty() {
        return None;
    }
    let each = |occur: Occur| units.iter().map(|unit| (occur, anywhere(unit, fields))).collect();
    let any = with_filters(Box::new(BooleanQuery::new(each(Occur::Should))), request, fields);
    let all = (units.len() > 1).then(|| -> Box<dyn Query> { Box::new(BooleanQuery::new(each(Occur::Must))) });
    Some(Plan { any, all })
}

fn anywhere(unit: &Unit, fields: &Fields) -> Box<dyn Query> {
    let in_title = Box::new(BoostQuery::new(in_field(unit, fields.title), TITLE_BOOST));
    Box::new(BooleanQuery::new(vec![(Occur::Should, in_title), (Occur::Should, in_field(unit, fields.text))]))
}

fn in_field(unit: &Unit, field: Field) -> Box<dyn Query> {
    let term = |word: &str| Term::from_field_text(field, word);
    match unit {
        Unit::Word(word) => Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)),
        Unit::Phrase(words) => {
            let terms = words.iter().map(|(place, word)| (*place, term(word))).collect();
            Box::new(PhraseQuery::new_with_offset(terms))
        }
    }
}

/// Narrows without changing scores.
fn with_filters(query: Box<dyn Query>, request: &CheckedRequest, fields: &Fields) -> Box<dyn Query> {
    let wanted = [(fields.site, &request.site), (fields.lang, &request.lang)];
    let filters = wanted.into_iter().filter_map(|(field, value)| {
        let term = Term::from_field_text(field, value.as_deref()?);
        let filter: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::Basic));
        Some((Occur::Must, Box::new(ConstScoreQuery::new(filter, 0.0)) as Box<dyn Query>))
    });
    let filters: Vec<_> = filters.collect();
    if filters.is_empty() {
        return query;
    }
    Box::new(BooleanQuery::new(std::iter::once((Occur::Must, query)).chain(filters).collect()))
}
