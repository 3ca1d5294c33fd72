//! What the last commit holds of a page, and which pages it holds that are like another.
//!
//! Looked up for every log entry, so the columns and term dictionaries of all segments are opened once per commit.
//! Invariant of the index: at most one living document per URL.

mod spoken_of;

use std::sync::Arc;

use seine_common::document_id::DocumentId;
use tantivy::columnar::Column;
use tantivy::fastfield::AliveBitSet;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocId, DocSet, InvertedIndexReader, Searcher, TERMINATED, Term};

use crate::likeness::{Likeness, Signature};
use crate::schema::{ANCHORS_DIGEST, EPOCH, EQUAL, FETCHED_AT, Fields, LEADER, RANK, SIMHASH, TOKEN};
use crate::version::Version;

/// In which form the index has a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It stands for itself.
    Shown(Option<Likeness>),
    /// Where it matches, so does the page with the rank `leader`, which is shown instead of it.
    Folded { likeness: Likeness, leader: u64 },
    /// A tombstone.
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub version: Version,
    pub form: Form,
    /// `None` for what is not committed yet.
    pub address: Option<DocAddress>,
}

/// A committed page that is like the one asked for.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    pub address: DocAddress,
    pub likeness: Likeness,
    /// `None` where it is shown.
    pub leader: Option<u64>,
}

#[derive(Default)]
pub struct KnownPages {
    segments: Vec<SegmentPages>,
}

struct SegmentPages {
    ordinal: u32,
    ids: Arc<InvertedIndexReader>,
    gone: Arc<InvertedIndexReader>,
    like_shown: Arc<InvertedIndexReader>,
    like_folded: Arc<InvertedIndexReader>,
    fetched_at: Column<i64>,
    epoch: Column<u64>,
    token: Column<u64>,
    simhash: Column<u64>,
    equal: Column<u64>,
    rank: Column<u64>,
    leader: Column<u64>,
    links: Arc<InvertedIndexReader>,
    anchors: Column<u64>,
    alive: Option<AliveBitSet>,
}

impl KnownPages {
    pub fn of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Self> {
        let segments = searcher.segment_readers().iter().enumerate().map(|(ordinal, segment)| {
            let columns = segment.fast_fields();
            Ok(SegmentPages {
                ordinal: ordinal as u32,
                ids: segment.inverted_index(fields.id)?,
                gone: segment.inverted_index(fields.gone)?,
                like_shown: segment.inverted_index(fields.like_shown)?,
                like_folded: segment.inverted_index(fields.like_folded)?,
                fetched_at: columns.i64(FETCHED_AT)?,
                epoch: columns.u64(EPOCH)?,
                token: columns.u64(TOKEN)?,
                simhash: columns.u64(SIMHASH)?,
                equal: columns.u64(EQUAL)?,
                rank: columns.u64(RANK)?,
                leader: columns.u64(LEADER)?,
                links: segment.inverted_index(fields.links)?,
                anchors: columns.u64(ANCHORS_DIGEST)?,
                alive: segment.alive_bitset().cloned(),
            })
        });
        Ok(Self { segments: segments.collect::<tantivy::Result<_>>()? })
    }

    pub fn get(&self, id: &DocumentId, fields: &Fields) -> tantivy::Result<Option<Known>> {
        for segment in &self.segments {
            let Some(term) = segment.ids.terms().get(id.as_bytes())? else { continue };
            let mut documents = segment.ids.read_postings_from_terminfo(&term, IndexRecordOption::Basic)?;
            while documents.doc() != TERMINATED {
                let document = documents.doc();
                if segment.is_alive(document) {
                    return segment.known(document, fields).map(Some);
                }
                documents.advance();
            }
        }
        Ok(None)
    }

    /// Calls `each` for living pages of one form that are like this one, until it answers false. May come to one page
    /// several times.
    pub fn alike(
        &self,
        signature: Signature,
        folded: bool,
        fields: &Fields,
        mut each: impl FnMut(Neighbour) -> bool,
    ) -> tantivy::Result<()> {
        let field = if folded { fields.like_folded } else { fields.like_shown };
        for term in signature.terms().map(|term| Term::from_field_u64(field, term)) {
            for segment in &self.segments {
                let inverted = if folded { &segment.like_folded } else { &segment.like_shown };
                let Some(mut documents) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
                while documents.doc() != TERMINATED {
                    let document = documents.doc();
                    documents.advance();
                    let Some(likeness) = segment.likeness(document) else { continue };
                    if !signature.is_like(likeness.signature) || !segment.is_alive(document) {
                        continue;
                    }
                    let address = DocAddress::new(segment.ordinal, document);
                    if !each(Neighbour { address, likeness, leader: segment.leader.first(document) }) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    pub fn version(&self, address: DocAddress, fields: &Fields) -> tantivy::Result<Version> {
        let segment = &self.segments[address.segment_ord as usize];
        segment.known(address.doc_id, fields).map(|known| known.version)
    }
}

impl SegmentPages {
    fn is_alive(&self, document: DocId) -> bool {
        self.alive.as_ref().is_none_or(|alive| alive.is_alive(document))
    }

    fn likeness(&self, document: DocId) -> Option<Likeness> {
        let near = self.simhash.first(document).map(Signature::Near);
        let signature = near.or_else(|| self.equal.first(document).map(Signature::Equal))?;
        Some(Likeness { signature, rank: self.rank.first(document)? })
    }

    fn known(&self, document: DocId, fields: &Fields) -> tantivy::Result<Known> {
        let gone = is_flagged(&self.gone, fields.gone, document)?;
        let form = match self.likeness(document) {
            _ if gone => Form::Gone,
            likeness => match (likeness, self.leader.first(document)) {
                (Some(likeness), Some(leader)) => Form::Folded { likeness, leader },
                (likeness, _) => Form::Shown(likeness),
            },
        };
        let version = Version {
            epoch: self.epoch.first(document).unwrap_or(0),
            fetched_at_ms: self.fetched_at.first(document).unwrap_or(i64::MIN),
            token: self.token.first(document).unwrap_or(0),
            gone,
        };
        Ok(Known { version, form, address: Some(DocAddress::new(self.ordinal, document)) })
    }
}

fn is_flagged(inverted: &InvertedIndexReader, field: Field, document: DocId) -> tantivy::Result<bool> {
    let flagged = inverted.read_postings(&Term::from_field_bool(field, true), IndexRecordOption::Basic)?;
    Ok(flagged.is_some_and(|mut flagged| flagged.seek(document) == document))
}
