//! One segment while it is built: documents go in one after the other, and all its files come out.
//!
//! Stored texts are written as they come, the rest when the segment is [finished](SegmentBuilder::finish). A document that turns
//! out to have a later version is [removed](SegmentBuilder::remove): it stays in the segment under an id that is to be deleted,
//! as a document of any earlier segment would.

use std::collections::HashMap;

use seine_common::document_id::DocumentId;
use tantivy::directory::TerminatingWrite;
use tantivy::fastfield::FastFieldsWriter;
use tantivy::fieldnorm::{FieldNormReaders, FieldNormsSerializer, FieldNormsWriter};
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::{Field, FieldType, Schema};
use tantivy::store::StoreWriter;
use tantivy::{DocId, Segment, Term};

use super::postings::{ExactPostings, WordPostings};
use super::terms::Terms;
use crate::document::{PageDocument, PageValue};
use crate::schema;
use crate::tokenizer::{DocumentTokenizer, TOKENIZER};

/// The id of removed documents. No page has it: ids are longer.
pub const REMOVED: &[u8] = b"removed";
/// tantivy takes no longer terms.
const MAX_TERM_BYTES: usize = u16::MAX as usize - 5;
/// In place of a number that is not known yet.
const UNKNOWN: u32 = u32::MAX;
/// Between two values of a field, so that no phrase reaches from one into the other; as tantivy has it.
const POSITION_GAP: u32 = 1;

pub struct SegmentBuilder {
    segment: Segment,
    schema: Schema,
    /// By number of the field.
    indexed: Vec<Indexed>,
    /// Of all fields of words.
    words: Terms,
    known_words: KnownWords,
    norms: FieldNormsWriter,
    columns: FastFieldsWriter,
    store: StoreWriter,
    ids: HashMap<DocumentId, DocId>,
    documents: DocId,
    has_removed: bool,
}

enum Indexed {
    Not,
    Words(WordPostings),
    Exact(Terms, ExactPostings),
}

impl SegmentBuilder {
    /// Begins with its first file.
    pub fn new(segment: Segment) -> tantivy::Result<Self> {
        let schema = segment.schema();
        let settings = segment.index().settings();
        let store = StoreWriter::new(
            segment.open_write(SegmentComponent::Store)?,
            settings.docstore_compression,
            settings.docstore_blocksize,
            settings.docstore_compress_dedicated_thread,
        )?;
        let tokenizers = segment.index().fast_field_tokenizer().clone();
        Ok(Self {
            indexed: schema.fields().map(|(_, entry)| Indexed::of(entry.field_type())).collect(),
            words: Terms::default(),
            known_words: KnownWords::default(),
            norms: FieldNormsWriter::for_schema(&schema),
            columns: FastFieldsWriter::from_schema_and_tokenizer_manager(&schema, tokenizers)?,
            store,
            ids: HashMap::new(),
            documents: 0,
            has_removed: false,
            schema,
            segment,
        })
    }

    pub fn add(&mut self, document: &PageDocument, tokenizer: &mut DocumentTokenizer) -> tantivy::Result<()> {
        let number = self.documents;
        for values in document.values().chunk_by(|(a, _), (b, _)| a == b) {
            let field = values[0].0;
            let Self { indexed, words, known_words, .. } = self;
            let length = match &mut indexed[field.field_id() as usize] {
                Indexed::Not => continue,
                Indexed::Words(postings) => {
                    let mut end = 0;
                    let mut occurrences = 0;
                    for value in values {
                        let PageValue::Text(text) = value.1 else { continue };
                        let groups = tokenizer.group(text);
                        known_words.keep_if(groups.generation());
                        for (term, positions) in groups.terms() {
                            let term = known_words.number(term, || words.number(groups.term(term)));
                            postings.add(term, number, positions.map(|position| end + position));
                        }
                        occurrences += groups.occurrences();
                        end += groups.end() + POSITION_GAP;
                    }
                    postings.count(occurrences);
                    occurrences
                }
                Indexed::Exact(terms, postings) => {
                    for (_, value) in values {
                        with_term(field, *value, |term| {
                            if term.len() <= MAX_TERM_BYTES {
                                postings.add(terms.number(term), number);
                            }
                        });
                    }
                    values.len() as u32
                }
            };
            if self.schema.get_field_entry(field).has_fieldnorms() {
                self.norms.record(number, field, length);
            }
        }
        self.columns.add_document(document)?;
        self.store.store(document, &self.schema)?;
        self.ids.insert(*document.id(), number);
        self.documents += 1;
        Ok(())
    }

    /// False when the document is not in here.
    pub fn remove(&mut self, id: &DocumentId) -> bool {
        let Some(document) = self.ids.remove(id) else { return false };
        if let Indexed::Exact(terms, postings) = &mut self.indexed[schema::schema().1.id.field_id() as usize] {
            postings.rename(document, terms.number(REMOVED));
        }
        self.has_removed = true;
        true
    }

    /// Documents are to be deleted by [`REMOVED`].
    pub fn has_removed(&self) -> bool {
        self.has_removed
    }

    /// Bytes that are held until the end, and that the end takes besides.
    pub fn memory(&self) -> usize {
        let fields: usize = self.indexed.iter().map(Indexed::memory).sum();
        let ids = self.ids.capacity() * size_of::<(DocumentId, DocId)>();
        fields + ids + self.words.memory() + self.norms.mem_usage() + self.columns.mem_usage() + self.store.mem_usage()
    }

    /// Writes what is not written yet.
    pub fn finish(mut self) -> tantivy::Result<SegmentMeta> {
        let segment = &self.segment;
        self.norms.fill_up_to_max_doc(self.documents);
        let norms = FieldNormsSerializer::from_write(segment.open_write(SegmentComponent::FieldNorms)?)?;
        self.norms.serialize(norms, None)?;
        let norms = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;
        let mut inverted = InvertedIndexSerializer::open(segment)?;
        let words = self.words.sorted();
        for (number, indexed) in self.indexed.iter().enumerate().filter(|(_, indexed)| !indexed.is_empty()) {
            let field = Field::from_field_id(number as u32);
            let mut serializer = inverted.new_field(field, indexed.occurrences(), norms.get_field(field)?)?;
            match indexed {
                Indexed::Not => {}
                Indexed::Words(postings) => postings.write(&words, &mut serializer)?,
                Indexed::Exact(terms, postings) => postings.write(&terms.sorted(), &mut serializer)?,
            }
            serializer.close()?;
        }
        inverted.close()?;
        let mut columns = segment.open_write(SegmentComponent::FastFields)?;
        self.columns.serialize(&mut columns, None)?;
        columns.terminate()?;
        self.store.close()?;
        let meta = self.segment.with_max_doc(self.documents).meta().clone();
        meta.untrack_temp_docstore();
        Ok(meta)
    }
}

impl Indexed {
    fn of(kind: &FieldType) -> Self {
        if !kind.is_indexed() {
            return Self::Not;
        }
        match kind {
            FieldType::Str(options)
                if options.get_indexing_options().is_some_and(|text| text.tokenizer() == TOKENIZER) =>
            {
                Self::Words(WordPostings::default())
            }
            _ => Self::Exact(Terms::default(), ExactPostings::default()),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Not => true,
            Self::Words(postings) => postings.is_empty(),
            Self::Exact(_, postings) => postings.is_empty(),
        }
    }

    fn occurrences(&self) -> u64 {
        match self {
            Self::Not => 0,
            Self::Words(postings) => postings.occurrences(),
            Self::Exact(_, postings) => postings.occurrences(),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::Not => 0,
            Self::Words(postings) => postings.memory(),
            Self::Exact(terms, postings) => terms.memory() + postings.memory(),
        }
    }
}

/// The term of a value that is not cut into words.
fn with_term(field: Field, value: PageValue, take: impl FnOnce(&[u8])) {
    match value {
        PageValue::Text(text) => take(text.as_bytes()),
        PageValue::Bytes(bytes) => take(bytes),
        PageValue::Unsigned(number) => take(Term::from_field_u64(field, number).serialized_value_bytes()),
        PageValue::Signed(number) => take(Term::from_field_i64(field, number).serialized_value_bytes()),
        PageValue::Flag(flag) => take(Term::from_field_bool(field, flag).serialized_value_bytes()),
    }
}

/// The numbers of words in the segment, by those that the tokenizer gives them.
#[derive(Default)]
struct KnownWords {
    generation: u32,
    numbers: Vec<u32>,
}

impl KnownWords {
    /// Forgets all when the tokenizer has.
    fn keep_if(&mut self, generation: u32) {
        if self.generation != generation {
            self.generation = generation;
            self.numbers.clear();
        }
    }

    fn number(&mut self, term: u32, make: impl FnOnce() -> u32) -> u32 {
        let place = term as usize;
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, UNKNOWN);
        }
        if self.numbers[place] == UNKNOWN {
            self.numbers[place] = make();
        }
        self.numbers[place]
    }
}
