//! tantivy alone on the same index: the same words in title and text, every match counted, ten documents with snippets by
//! tantivy's own generator.

use std::path::Path;

use anyhow::Context;
use seine_indexer::tokenizer::query::word;
use seine_indexer::tokenizer::{Language, unmarked};
use seine_indexer::{publish, schema};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::snippet::SnippetGenerator;
use tantivy::{Searcher, TantivyDocument, Term};

pub struct Bare {
    searcher: Searcher,
    fields: schema::Fields,
}

impl Bare {
    pub fn open(root: &Path) -> anyhow::Result<Self> {
        let current = publish::current(root)?.context("there is no index")?;
        let searcher = publish::open(&current)?.reader()?.searcher();
        Ok(Self { searcher, fields: schema::schema().1 })
    }

    /// How many documents match.
    pub fn search(&self, query: &str) -> anyhow::Result<usize> {
        let Self { searcher, fields } = self;
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for typed in query.split(' ') {
            let forms = word(typed, &[Language::of("en")]);
            let stem = forms.stems.first().map_or(typed, String::as_str);
            for (field, boost) in [(fields.title, 1.5), (fields.text, 1.0)] {
                let term = TermQuery::new(Term::from_field_text(field, stem), IndexRecordOption::WithFreqs);
                clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(term), boost))));
            }
        }
        let query = BooleanQuery::new(clauses);
        let (best, total) = searcher.search(&query, &(TopDocs::with_limit(10).order_by_score(), Count))?;
        let snippets = SnippetGenerator::create(searcher, &query, fields.text)?;
        for (_, address) in best {
            let document: TantivyDocument = searcher.doc(address)?;
            let text = document.get_first(fields.text).and_then(|text| text.as_str()).unwrap_or_default();
            std::hint::black_box(snippets.snippet(unmarked(text).1).to_html());
        }
        Ok(total)
    }
}
