//! What the search page tells of a hit beyond the outside contract: its type, its own date, and how many its host has.

use seine_indexer::schema::{CONTENT_TYPE, DATE};
use tantivy::{DocAddress, Searcher};

#[derive(Clone, Debug, Default)]
pub struct HitDetails {
    /// How many matches its host has; 0 when hosts are not limited.
    pub host_matches: u64,
    /// Media type; empty when unknown.
    pub content_type: String,
    /// Of the page itself, else of its fetch; Unix milliseconds.
    pub date_ms: i64,
}

impl HitDetails {
    pub fn read(searcher: &Searcher, found: DocAddress, host_matches: u64) -> tantivy::Result<Self> {
        let columns = searcher.segment_reader(found.segment_ord).fast_fields();
        let date_ms = columns.i64(DATE)?.first(found.doc_id).unwrap_or(0);
        let mut content_type = String::new();
        if let Some(types) = columns.str(CONTENT_TYPE)?
            && let Some(number) = types.ords().first(found.doc_id)
        {
            types.ord_to_str(number, &mut content_type)?;
        }
        Ok(Self { host_matches, content_type, date_ms })
    }
}
