//! How many documents a committed index holds; tombstones are none.

use tantivy::collector::Count;
use tantivy::query::TermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, Term};

use crate::schema;

pub fn documents(searcher: &Searcher) -> tantivy::Result<u64> {
    let fields = schema::schema().1;
    let tombstones = count(searcher, Term::from_field_bool(fields.gone, true))?;
    Ok(searcher.num_docs().saturating_sub(tombstones))
}

pub fn documents_of_crawl(searcher: &Searcher, crawl: &str) -> tantivy::Result<u64> {
    count(searcher, Term::from_field_text(schema::schema().1.crawl, crawl))
}

fn count(searcher: &Searcher, term: Term) -> tantivy::Result<u64> {
    let matching = searcher.search(&TermQuery::new(term, IndexRecordOption::Basic), &Count)?;
    Ok(matching as u64)
}
