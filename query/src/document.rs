//! One document by its id: what the index knows about a page, without its text.

use seine_common::document_id::DocumentId;
use seine_indexer::entry::read_position;
use seine_indexer::schema::{DATE, FETCHED_AT};
use seine_indexer::tokenizer::unmarked;
use seine_proto::common::v1::ArchivePosition;
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term};

use crate::error::QueryError;
use crate::response::rfc3339;
use crate::search::{Inner, QueryService, one_line};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub id: DocumentId,
    pub url: String,
    /// Plain text; empty where the page has none.
    pub title: String,
    /// How the page describes itself.
    pub description: String,
    /// ISO 639-1.
    pub lang: Option<String>,
    /// Media type without parameters.
    pub content_type: Option<String>,
    /// The page's own date, else when it was fetched; RFC 3339, UTC.
    pub date: String,
    /// RFC 3339, UTC.
    pub fetched_at: String,
    /// Length of the body as received.
    pub bytes: u64,
    /// `None` when unknown, and where the page asked not to be shown from there.
    pub archive: Option<ArchivedAt>,
}

/// Where a record stands in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedAt {
    /// The filesaver that has the file; empty where the index is older than that.
    pub filesaver: String,
    /// File name without the suffix that open files carry.
    pub file: String,
    pub offset: u64,
    /// Of the compressed record.
    pub length: u64,
}

impl ArchivedAt {
    fn parse(stored: &str) -> Option<Self> {
        let ArchivePosition { filesaver, file, offset, length } = read_position(stored)?;
        Some(Self { filesaver, file, offset, length })
    }
}

impl QueryService {
    /// `None` when the index has no such page. Blocks for as long as it takes to read one document.
    pub fn get(&self, id: &DocumentId) -> Result<Option<Document>, QueryError> {
        let inner = self.inner();
        let Some(searcher) = inner.searcher()? else { return Ok(None) };
        Ok(inner.document(&searcher, id)?)
    }
}

impl Inner {
    fn document(&self, searcher: &Searcher, id: &DocumentId) -> tantivy::Result<Option<Document>> {
        let term = Term::from_field_bytes(self.fields.id, id.as_bytes());
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.id)?;
            let Some(mut found) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while found.doc() != TERMINATED {
                let number = found.doc();
                if segment.alive_bitset().is_none_or(|alive| alive.is_alive(number)) {
                    return self.read(segment, number, id);
                }
                found.advance();
            }
        }
        Ok(None)
    }

    /// `None` for a tombstone.
    fn read(&self, segment: &SegmentReader, number: u32, id: &DocumentId) -> tantivy::Result<Option<Document>> {
        let stored: TantivyDocument = segment.get_store_reader(1)?.get(number)?;
        let fetched_at_ms = segment.fast_fields().i64(FETCHED_AT)?.first(number).unwrap_or(0);
        let Some(date) = segment.fast_fields().i64(DATE)?.first(number) else {
            return Ok(None);
        };
        let text = |field| stored.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        Ok(Some(Document {
            id: *id,
            url: text(self.fields.url).to_owned(),
            title: one_line(unmarked(text(self.fields.title)).1),
            description: text(self.fields.description).to_owned(),
            lang: present(text(self.fields.lang)),
            content_type: present(text(self.fields.content_type)),
            date: rfc3339(date),
            fetched_at: rfc3339(fetched_at_ms),
            bytes: stored.get_first(self.fields.bytes).and_then(|value| value.as_u64()).unwrap_or(0),
            archive: ArchivedAt::parse(text(self.fields.archive)),
        }))
    }
}

fn present(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use seine_indexer::entry::Page;

    use super::*;
    use crate::testing::{TestIndex, page};

    #[test]
    fn a_document_is_got_by_its_id_until_it_is_withdrawn() {
        let url = "http://example.org/a";
        let mut index = TestIndex::absent();
        assert_eq!(index.service().get(&DocumentId::of(url)).unwrap(), None);
        index.add([Page {
            description: "About rivers".to_owned(),
            lang: "en".to_owned(),
            content_type: "text/html".to_owned(),
            archive: "saver/pages 1.warc.gz 12 345".to_owned(),
            bytes: 77,
            ..page(url, "Rivers", "Water")
        }]);
        let got = index.service().get(&DocumentId::of(url)).unwrap().unwrap();
        let expected = Document {
            id: DocumentId::of(url),
            url: url.to_owned(),
            title: "Rivers".to_owned(),
            description: "About rivers".to_owned(),
            lang: Some("en".to_owned()),
            content_type: Some("text/html".to_owned()),
            date: got.fetched_at.clone(),
            fetched_at: got.fetched_at.clone(),
            bytes: 77,
            archive: Some(ArchivedAt {
                file: "pages 1.warc.gz".to_owned(),
                offset: 12,
                length: 345,
                filesaver: "saver".to_owned(),
            }),
        };
        assert_eq!(got, expected);
        assert_eq!(index.service().get(&DocumentId::of("http://example.org/b")).unwrap(), None);
        index.withdraw(url);
        assert_eq!(index.service().get(&DocumentId::of(url)).unwrap(), None);
    }

    #[test]
    fn a_hit_names_its_document_and_whether_it_is_archived() {
        let (a, b) = ("http://example.org/a", "http://example.org/b");
        let mut index = TestIndex::absent();
        let archived = Page { archive: "a 1 2".to_owned(), ..page(a, "", "river one") };
        index.add([archived, page(b, "", "river two three")]);
        let hits = index.service().search(&crate::SearchRequest::new("river")).unwrap().hits;
        let told: Vec<_> = hits.iter().map(|hit| (hit.url.as_str(), hit.id.clone(), hit.has_cached)).collect();
        let id = |url: &str| DocumentId::of(url).to_string();
        assert_eq!(told, [(a, id(a), true), (b, id(b), false)]);
    }
}
