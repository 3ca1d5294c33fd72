//! Finds and scores the documents of one segment: BM25 over weighted fields.
//!
//! A *unit* is one thing asked for: a word with its forms, a phrase, alternatives. Its occurrences in all fields are
//! added up, weighted and related to the fields' lengths, before they saturate, so a word in title and text counts as
//! one word, not as two. Documents are taken in windows; within one, each list of a unit is read in a row into an
//! array, which is several times faster than merging the lists document by document.
//!
//! Each match says by bits which units it has: so "documents with all words" costs nothing more.

use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::query::{EnableScoring, PhraseQuery, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, Searcher, SegmentReader, Term};

use crate::asker::Asker;
use crate::plan::{Matcher, Plan, Unit};
use crate::weights::{ANCHORS, RankingWeights, WORD_FIELDS};

/// Documents scored at a time: the arrays for them fit into a processor's nearest cache.
const WINDOW: usize = 4096;
/// Set in what was excluded; bits below are units.
const EXCLUDED: u64 = 1 << 63;
/// Units beyond these add to the score only.
const MAX_BITS: usize = 60;

pub struct Scoring {
    pub units: Vec<ScoredUnit>,
    excluded: Vec<ScoredUnit>,
    /// All words.
    pub all: u64,
    required: u64,
    fields: [Field; WORD_FIELDS],
    /// For each field, what an occurrence counts by the field's length.
    norms: [[f32; 256]; WORD_FIELDS],
    saturation: f32,
}

pub struct ScoredUnit {
    pub idf: f32,
    weight: f32,
    bit: u64,
    /// For each segment, the lists of the unit's terms.
    pub lists: Vec<Vec<List>>,
    phrases: Vec<(usize, Box<dyn Weight>)>,
}

/// Where a term occurs in a field of a segment.
pub struct List {
    pub field: usize,
    pub info: TermInfo,
    weight: f32,
}

impl Scoring {
    pub fn new(
        plan: &Plan,
        searcher: &Searcher,
        fields: [Field; WORD_FIELDS],
        weights: &RankingWeights,
    ) -> tantivy::Result<Self> {
        let segments = inverted(searcher, &fields)?;
        let documents = searcher.num_docs().max(1) as f32;
        let mut all = 0;
        let mut required = 0;
        let mut next_bit = 0;
        let mut units = Vec::with_capacity(plan.units.len());
        for unit in &plan.units {
            let mut scored = ScoredUnit::new(unit, unit.place.fields(), searcher, &segments, &fields, documents)?;
            if (unit.counts || unit.required) && next_bit < MAX_BITS {
                scored.bit = 1 << next_bit;
                next_bit += 1;
            }
            all |= if unit.counts { scored.bit } else { 0 };
            required |= if unit.required { scored.bit } else { 0 };
            units.push(scored);
        }
        let mut excluded = Vec::with_capacity(plan.excluded.len());
        for unit in &plan.excluded {
            let scored = ScoredUnit::new(unit, unit.place.own_fields(), searcher, &segments, &fields, documents)?;
            excluded.push(ScoredUnit { bit: EXCLUDED, ..scored });
        }
        let mut norms = [[0.0; 256]; WORD_FIELDS];
        for (field, norms) in norms.iter_mut().enumerate() {
            let tokens: u64 = segments.iter().map(|segment| segment[field].total_num_tokens()).sum();
            let average = (tokens as f32 / documents).max(1.0);
            let length = weights.length[field];
            for (id, norm) in norms.iter_mut().enumerate() {
                let tokens = FieldNormReader::id_to_fieldnorm(id as u8) as f32;
                *norm = weights.fields[field] / (1.0 - length + length * tokens / average);
            }
        }
        Ok(Self { units, excluded, all, required, fields, norms, saturation: weights.saturation })
    }

    pub fn field(&self, number: usize) -> Field {
        self.fields[number]
    }

    /// Calls `found` for every match that is alive, in order, with its score and whether it has all words, while the asker
    /// waits.
    pub fn segment(
        &self,
        ordinal: usize,
        reader: &SegmentReader,
        asker: &Asker,
        mut found: impl FnMut(DocId, f32, bool) -> tantivy::Result<()>,
    ) -> tantivy::Result<()> {
        let mut units = self.open(&self.units, ordinal, reader)?;
        if units.iter().zip(&self.units).any(|(open, unit)| open.is_empty() && unit.bit & self.required != 0) {
            return Ok(());
        }
        let mut excluded = self.open(&self.excluded, ordinal, reader)?;
        let mut norms = Vec::with_capacity(WORD_FIELDS);
        for field in self.fields {
            norms.push(reader.fieldnorms_readers().get_field(field)?);
        }
        let mut window = Window::new();
        let mut start = units.iter().filter_map(OpenUnit::next_document).min();
        while let Some(first) = start {
            asker.check()?;
            window.base = first - first % WINDOW as u32;
            for (open, unit) in units.iter_mut().zip(&self.units) {
                open.read(&mut window, &norms, &self.norms);
                window.settle_unit(unit, self.saturation);
            }
            for (open, unit) in excluded.iter_mut().zip(&self.excluded) {
                open.read(&mut window, &norms, &self.norms);
                window.settle_excluded(unit.bit);
            }
            let alive = reader.alive_bitset();
            window.drain(|document, score, bits| {
                let wanted = bits & EXCLUDED == 0
                    && bits & self.required == self.required
                    && alive.is_none_or(|alive| alive.is_alive(document));
                if wanted { found(document, score, bits & self.all == self.all) } else { Ok(()) }
            })?;
            start = units.iter().filter_map(OpenUnit::next_document).min();
        }
        Ok(())
    }

    fn open(&self, units: &[ScoredUnit], ordinal: usize, reader: &SegmentReader) -> tantivy::Result<Vec<OpenUnit>> {
        let mut open = Vec::with_capacity(units.len());
        for unit in units {
            let mut lists = Vec::new();
            for list in &unit.lists[ordinal] {
                let inverted = reader.inverted_index(self.fields[list.field])?;
                let block = inverted.read_block_postings_from_terminfo(&list.info, IndexRecordOption::WithFreqs)?;
                lists.push(OpenList { block, at: 0, field: list.field, weight: list.weight });
            }
            let mut phrases = Vec::new();
            for (field, weight) in &unit.phrases {
                phrases.push((*field, weight.scorer(reader, 1.0)?));
            }
            open.push(OpenUnit { lists, phrases });
        }
        Ok(open)
    }
}

impl ScoredUnit {
    fn new(
        unit: &Unit,
        places: &[usize],
        searcher: &Searcher,
        segments: &[[Arc<InvertedIndexReader>; WORD_FIELDS]],
        fields: &[Field; WORD_FIELDS],
        documents: f32,
    ) -> tantivy::Result<Self> {
        let mut lists: Vec<Vec<List>> = segments.iter().map(|_| Vec::new()).collect();
        let mut frequency = [0u64; WORD_FIELDS];
        let mut phrases: Vec<(usize, Box<dyn Weight>)> = Vec::new();
        let mut phrase_idf: f32 = 0.0;
        for matcher in &unit.matchers {
            match matcher {
                Matcher::Term { text, weight } => {
                    for (segment, lists) in segments.iter().zip(&mut lists) {
                        for &field in places {
                            if let Some(info) = segment[field].terms().get(text.as_bytes())? {
                                frequency[field] += u64::from(info.doc_freq);
                                lists.push(List { field, info, weight: *weight });
                            }
                        }
                    }
                }
                Matcher::Phrase(words) => {
                    let mut sum = 0.0;
                    for (_, word) in words {
                        let mut most = 0;
                        for &field in places {
                            most = most.max(searcher.doc_freq(&Term::from_field_text(fields[field], word))?);
                        }
                        sum += idf(most, documents);
                    }
                    phrase_idf = phrase_idf.max(sum);
                    for &field in places {
                        let terms =
                            words.iter().map(|(place, word)| (*place, Term::from_field_text(fields[field], word)));
                        let query = PhraseQuery::new_with_offset(terms.collect());
                        phrases.push((field, query.weight(EnableScoring::disabled_from_searcher(searcher))?));
                    }
                }
            }
        }
        // How rare a word is, the pages themselves say: a list may call all of them by it.
        let said = std::mem::take(&mut frequency[ANCHORS]);
        let most = frequency.into_iter().max().filter(|most| *most > 0).unwrap_or(said);
        let idf = if most == 0 && phrase_idf > 0.0 { phrase_idf } else { idf(most, documents) };
        Ok(Self { idf, weight: unit.weight, bit: 0, lists, phrases })
    }
}

fn idf(frequency: u64, documents: f32) -> f32 {
    let frequency = (frequency as f32).min(documents);
    (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln()
}

fn inverted(
    searcher: &Searcher,
    fields: &[Field; WORD_FIELDS],
) -> tantivy::Result<Vec<[Arc<InvertedIndexReader>; WORD_FIELDS]>> {
    let mut segments = Vec::with_capacity(searcher.segment_readers().len());
    for reader in searcher.segment_readers() {
        let [a, b, c, d, e, f] = fields.map(|field| reader.inverted_index(field));
        segments.push([a?, b?, c?, d?, e?, f?]);
    }
    Ok(segments)
}

/// A unit being read in one segment.
struct OpenUnit {
    lists: Vec<OpenList>,
    phrases: Vec<(usize, Box<dyn Scorer>)>,
}

struct OpenList {
    block: BlockSegmentPostings,
    /// Place in the block.
    at: usize,
    field: usize,
    weight: f32,
}

impl OpenUnit {
    fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.phrases.is_empty()
    }

    fn next_document(&self) -> Option<DocId> {
        let lists = self.lists.iter().filter_map(|list| list.block.docs().get(list.at).copied());
        let phrases = self.phrases.iter().map(|(_, scorer)| scorer.doc());
        lists.chain(phrases).filter(|&document| document != tantivy::TERMINATED).min()
    }

    fn read(&mut self, window: &mut Window, readers: &[Option<FieldNormReader>], norms: &[[f32; 256]; WORD_FIELDS]) {
        let end = window.base.saturating_add(WINDOW as u32);
        for list in &mut self.lists {
            let norm = &norms[list.field];
            let reader = readers[list.field].as_ref();
            loop {
                let (documents, frequencies) = (list.block.docs(), list.block.freqs());
                while let Some(&document) = documents.get(list.at)
                    && document < end
                {
                    // A list that was not read in earlier windows, as one of an excluded word, catches up.
                    if document >= window.base {
                        let length = reader.map_or(0, |reader| reader.fieldnorm_id(document));
                        window.add(document, list.weight * frequencies[list.at] as f32 * norm[usize::from(length)]);
                    }
                    list.at += 1;
                }
                if list.at < documents.len() || documents.is_empty() {
                    break;
                }
                list.block.advance();
                list.at = 0;
            }
        }
        for (field, scorer) in &mut self.phrases {
            if scorer.doc() < window.base {
                scorer.seek(window.base);
            }
            while scorer.doc() < end {
                let document = scorer.doc();
                let length = readers[*field].as_ref().map_or(0, |reader| reader.fieldnorm_id(document));
                window.add(document, norms[*field][usize::from(length)]);
                scorer.advance();
            }
        }
    }
}

/// What is known about the documents of a window.
struct Window {
    base: DocId,
    /// Of the unit being read.
    occurrences: Vec<f32>,
    touched: Vec<u16>,
    scores: Vec<f32>,
    bits: Vec<u64>,
    /// One bit per document that any unit touched.
    matching: [u64; WINDOW / 64],
}

impl Window {
    fn new() -> Self {
        Self {
            base: 0,
            occurrences: vec![0.0; WINDOW],
            touched: Vec::with_capacity(WINDOW),
            scores: vec![0.0; WINDOW],
            bits: vec![0; WINDOW],
            matching: [0; WINDOW / 64],
        }
    }

    #[inline]
    fn add(&mut self, document: DocId, occurrences: f32) {
        let at = (document - self.base) as usize;
        if self.occurrences[at] == 0.0 {
            self.touched.push(at as u16);
        }
        self.occurrences[at] += occurrences.max(f32::MIN_POSITIVE);
    }

    fn settle_unit(&mut self, unit: &ScoredUnit, saturation: f32) {
        let most = unit.idf * unit.weight * (1.0 + saturation);
        for at in self.touched.drain(..).map(usize::from) {
            let occurrences = std::mem::take(&mut self.occurrences[at]);
            self.scores[at] += most * occurrences / (saturation + occurrences);
            self.bits[at] |= unit.bit;
            self.matching[at / 64] |= 1 << (at % 64);
        }
    }

    fn settle_excluded(&mut self, bit: u64) {
        for at in self.touched.drain(..).map(usize::from) {
            self.occurrences[at] = 0.0;
            self.bits[at] |= bit;
            // Cleaned up with the others.
            self.matching[at / 64] |= 1 << (at % 64);
        }
    }

    fn drain(&mut self, mut each: impl FnMut(DocId, f32, u64) -> tantivy::Result<()>) -> tantivy::Result<()> {
        for word in 0..self.matching.len() {
            let mut matching = std::mem::take(&mut self.matching[word]);
            while matching != 0 {
                let at = word * 64 + matching.trailing_zeros() as usize;
                matching &= matching - 1;
                let (score, bits) = (std::mem::take(&mut self.scores[at]), std::mem::take(&mut self.bits[at]));
                each(self.base + at as u32, score, bits)?;
            }
        }
        Ok(())
    }
}

/// Whether a document is a page and within the dates asked for.
pub fn in_period(dates: &Column<i64>, document: DocId, after: Option<i64>, before: Option<i64>) -> bool {
    dates
        .first(document)
        .is_some_and(|date| after.is_none_or(|after| date >= after) && before.is_none_or(|before| date < before))
}
