//! Which version of a URL the last commit holds.
//!
//! Looked up once per log entry, so the columns and term dictionaries of all segments are opened once per commit.
//! Invariant of the index: at most one living document per URL.

use std::sync::Arc;

use seine_common::document_id::DocumentId;
use tantivy::columnar::Column;
use tantivy::fastfield::AliveBitSet;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, InvertedIndexReader, Searcher, TERMINATED, Term};

use crate::entry::Version;
use crate::schema::{FETCHED_AT, Fields, TOKEN};

#[derive(Default)]
pub struct CommittedVersions {
    segments: Vec<SegmentVersions>,
}

struct SegmentVersions {
    ids: Arc<InvertedIndexReader>,
    gone: Arc<InvertedIndexReader>,
    fetched_at: Column<i64>,
    token: Column<u64>,
    alive: Option<AliveBitSet>,
}

impl CommittedVersions {
    pub fn of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Self> {
        let segments = searcher.segment_readers().iter().map(|segment| {
            Ok(SegmentVersions {
                ids: segment.inverted_index(fields.id)?,
                gone: segment.inverted_index(fields.gone)?,
                fetched_at: segment.fast_fields().i64(FETCHED_AT)?,
                token: segment.fast_fields().u64(TOKEN)?,
                alive: segment.alive_bitset().cloned(),
            })
        });
        Ok(Self { segments: segments.collect::<tantivy::Result<_>>()? })
    }

    pub fn get(&self, id: &DocumentId, fields: &Fields) -> tantivy::Result<Option<Version>> {
        for segment in &self.segments {
            let Some(term) = segment.ids.terms().get(id.as_bytes())? else { continue };
            let mut documents = segment.ids.read_postings_from_terminfo(&term, IndexRecordOption::Basic)?;
            while documents.doc() != TERMINATED {
                let document = documents.doc();
                if segment.alive.as_ref().is_none_or(|alive| alive.is_alive(document)) {
                    return segment.version(document, fields).map(Some);
                }
                documents.advance();
            }
        }
        Ok(None)
    }
}

impl SegmentVersions {
    fn version(&self, document: u32, fields: &Fields) -> tantivy::Result<Version> {
        let tombstones =
            self.gone.read_postings(&Term::from_field_bool(fields.gone, true), IndexRecordOption::Basic)?;
        let gone = tombstones.is_some_and(|mut tombstones| tombstones.seek(document) == document);
        Ok(Version {
            fetched_at_ms: self.fetched_at.first(document).unwrap_or(i64::MIN),
            token: self.token.first(document).unwrap_or(0),
            gone,
        })
    }
}
