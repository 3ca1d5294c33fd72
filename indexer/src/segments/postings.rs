//! The documents of each term of a field: appended as they come, sorted by term when they are written.
//!
//! Sorting counts how many postings each term has and then puts each at its place. Documents come in order, and stay in order
//! within a term. Writes what tantivy's own postings writer would.

use std::io;

use tantivy::DocId;
use tantivy::postings::FieldSerializer;

use super::terms::SortedTerms;

/// Of a field of words: with how often they stand where.
#[derive(Default)]
pub struct WordPostings {
    postings: Vec<WordPosting>,
    /// Of postings with several: each but the first as the distance from the one before, doubled, and one more if others follow.
    positions: Vec<u8>,
    occurrences: u64,
}

#[derive(Clone, Copy)]
struct WordPosting {
    term: u32,
    at: WordAt,
}

#[derive(Clone, Copy, Default)]
struct WordAt {
    /// With [`SEVERAL`].
    document: DocId,
    /// The only position, or where they begin.
    position: u32,
}

/// In place of the highest bit of a document's number: it has several positions.
const SEVERAL: u32 = 1 << 31;

impl WordPostings {
    /// A term may come several times for one document, with positions that do not fall.
    pub fn add(&mut self, term: u32, document: DocId, mut positions: impl Iterator<Item = u32>) {
        let Some(first) = positions.next() else { return };
        let Some(second) = positions.next() else {
            self.postings.push(WordPosting { term, at: WordAt { document, position: first } });
            return;
        };
        let start = self.positions.len() as u32;
        push_number(&mut self.positions, first);
        let (mut last, mut next) = (first, Some(second));
        while let Some(position) = next {
            next = positions.next();
            push_number(&mut self.positions, ((position - last) << 1) | u32::from(next.is_some()));
            last = position;
        }
        self.postings.push(WordPosting { term, at: WordAt { document: document | SEVERAL, position: start } });
    }

    pub fn count(&mut self, occurrences: u32) {
        self.occurrences += u64::from(occurrences);
    }

    pub fn occurrences(&self) -> u64 {
        self.occurrences
    }

    pub fn is_empty(&self) -> bool {
        self.postings.is_empty()
    }

    pub fn memory(&self) -> usize {
        // Sorting takes as much again of what it sorts.
        self.postings.capacity() * size_of::<WordPosting>()
            + self.postings.len() * size_of::<WordAt>()
            + self.positions.capacity()
    }

    pub fn write(&self, terms: &SortedTerms, field: &mut FieldSerializer) -> io::Result<()> {
        let mut deltas = Vec::new();
        let of = |posting: &WordPosting| (posting.term, posting.at);
        by_term(&self.postings, of, terms, |term, documents| {
            field.new_term(term, count_documents(documents), true)?;
            for postings in documents.chunk_by(|a, b| same_document(*a, *b)) {
                deltas.clear();
                let mut last = 0;
                for posting in postings {
                    self.push_deltas(*posting, &mut last, &mut deltas);
                }
                field.write_doc(postings[0].document & !SEVERAL, deltas.len() as u32, &deltas);
            }
            field.close_term()
        })
    }

    fn push_deltas(&self, at: WordAt, last: &mut u32, deltas: &mut Vec<u32>) {
        if at.document & SEVERAL == 0 {
            deltas.push(at.position - *last);
            *last = at.position;
            return;
        }
        let mut bytes = &self.positions[at.position as usize..];
        let first = take_number(&mut bytes);
        deltas.push(first - *last);
        *last = first;
        loop {
            let number = take_number(&mut bytes);
            deltas.push(number >> 1);
            *last += number >> 1;
            if number & 1 == 0 {
                return;
            }
        }
    }
}

fn same_document(a: WordAt, b: WordAt) -> bool {
    (a.document ^ b.document) & !SEVERAL == 0
}

fn count_documents(postings: &[WordAt]) -> u32 {
    1 + postings.windows(2).filter(|pair| !same_document(pair[0], pair[1])).count() as u32
}

/// Of a field whose values are terms as they are.
#[derive(Default)]
pub struct ExactPostings {
    /// Term and document.
    postings: Vec<(u32, DocId)>,
}

impl ExactPostings {
    pub fn add(&mut self, term: u32, document: DocId) {
        self.postings.push((term, document));
    }

    /// Another term for all that a document has.
    pub fn rename(&mut self, document: DocId, term: u32) {
        let start = self.postings.partition_point(|(_, of)| *of < document);
        self.postings[start..].iter_mut().take_while(|(_, of)| *of == document).for_each(|(named, _)| *named = term);
    }

    pub fn occurrences(&self) -> u64 {
        self.postings.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.postings.is_empty()
    }

    pub fn memory(&self) -> usize {
        self.postings.capacity() * size_of::<(u32, DocId)>() + self.postings.len() * size_of::<DocId>()
    }

    pub fn write(&self, terms: &SortedTerms, field: &mut FieldSerializer) -> io::Result<()> {
        by_term(&self.postings, Clone::clone, terms, |term, documents| {
            field.new_term_without_freq(term)?;
            for document in documents.chunk_by(PartialEq::eq) {
                field.write_doc(document[0], 0, &[]);
            }
            field.close_term()
        })
    }
}

/// Gives the postings of each term that has any, in the order of the terms and for each in the order in which they came.
fn by_term<P, T: Copy + Default>(
    postings: &[P],
    of: impl Fn(&P) -> (u32, T),
    terms: &SortedTerms,
    mut each: impl FnMut(&[u8], &[T]) -> io::Result<()>,
) -> io::Result<()> {
    let mut ends = vec![0u32; terms.len()];
    for posting in postings {
        ends[terms.rank(of(posting).0)] += 1;
    }
    let mut before = 0;
    for end in &mut ends {
        (before, *end) = (before + *end, before);
    }
    // Each is where its term's begin now, and where they end when all have been put there.
    let mut sorted = vec![T::default(); postings.len()];
    for posting in postings {
        let (term, posting) = of(posting);
        let place = &mut ends[terms.rank(term)];
        sorted[*place as usize] = posting;
        *place += 1;
    }
    let mut start = 0;
    for (rank, end) in ends.into_iter().enumerate() {
        if start < end {
            each(terms.term(rank), &sorted[start as usize..end as usize])?;
        }
        start = end;
    }
    Ok(())
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first().expect("numbers are whole");
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}
