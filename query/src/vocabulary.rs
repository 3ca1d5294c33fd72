//! The words that the index has: its languages, how frequent a term is, which begin alike, which are spelled alike.
//!
//! Everything is asked of the term dictionaries of one searcher, so it is true for that searcher.

use std::collections::HashMap;

use seine_indexer::schema::Fields;
use seine_indexer::tokenizer::{Language, WORD_SIGN};
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// Languages whose word forms are looked for; an index has rarely more in any number.
const MAX_LANGUAGES: usize = 6;
/// Terms looked at for one prefix or spelling in one segment; only hostile dictionaries have more.
const MAX_VISITED: usize = 20_000;

pub struct Vocabulary<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    pub languages: Vec<Language>,
}

/// A word spelled like one that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Folded.
    pub word: String,
    pub edits: u8,
    pub documents: u64,
}

impl<'a> Vocabulary<'a> {
    pub fn new(searcher: &'a Searcher, fields: &'a Fields, only: Option<&str>) -> tantivy::Result<Self> {
        let languages = match only {
            Some(code) => vec![Language::of(code)],
            None => languages(searcher, fields.lang)?,
        };
        Ok(Self { searcher, fields, languages })
    }

    pub fn documents(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Documents with a term in their title or text, or that others call so.
    pub fn frequency(&self, term: &str) -> tantivy::Result<u64> {
        let of = |field: Field| self.searcher.doc_freq(&Term::from_field_text(field, term));
        Ok(of(self.fields.text)?.max(of(self.fields.title)?).max(of(self.fields.anchors)?))
    }

    /// As [`frequency`](Self::frequency), counting headings, menus, footers and addresses too: a word that stands on a page
    /// at all is a word.
    pub fn frequency_anywhere(&self, term: &str) -> tantivy::Result<u64> {
        let mut most = self.frequency(term)?;
        for field in [self.fields.summary, self.fields.rest, self.fields.address] {
            most = most.max(self.searcher.doc_freq(&Term::from_field_text(field, term))?);
        }
        Ok(most)
    }

    /// The most frequent terms that begin so, as stems or as written.
    pub fn beginning_with(&self, prefix: &str, most: usize) -> tantivy::Result<Vec<String>> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for prefix in [prefix.to_owned(), format!("{WORD_SIGN}{prefix}")] {
            for field in [self.fields.text, self.fields.title] {
                self.visit_prefix(field, &prefix, |term, documents| {
                    *found.entry(term.to_owned()).or_default() += documents;
                })?;
            }
        }
        Ok(most_frequent(found, most).into_iter().map(|(term, _)| term).collect())
    }

    /// The most frequent words, as written, that begin so.
    pub fn words_beginning_with(&self, prefix: &str, most: usize) -> tantivy::Result<Vec<(String, u64)>> {
        let mut stems: HashMap<String, u64> = HashMap::new();
        self.visit_prefix(self.fields.text, prefix, |term, documents| {
            *stems.entry(term.to_owned()).or_default() += documents;
        })?;
        let mut words: HashMap<String, u64> = HashMap::new();
        self.visit_prefix(self.fields.text, &format!("{WORD_SIGN}{prefix}"), |term, documents| {
            *words.entry(term[WORD_SIGN.len_utf8()..].to_owned()).or_default() += documents;
        })?;
        // A stem is a word too where more documents have it than have the words it is the stem of.
        let mut explained: HashMap<String, u64> = HashMap::new();
        for (word, documents) in &words {
            for stem in self.stems(word) {
                *explained.entry(stem).or_default() += documents;
            }
        }
        for (stem, documents) in stems {
            let rest = documents.saturating_sub(explained.get(&stem).copied().unwrap_or(0));
            if rest > 0 {
                *words.entry(stem).or_default() += rest;
            }
        }
        Ok(most_frequent(words, most))
    }

    /// Words within so many edits, the nearest and most frequent first.
    pub fn alike(&self, folded: &str, edits: u8) -> tantivy::Result<Vec<Alike>> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for written in [false, true] {
            let asked = if written { format!("{WORD_SIGN}{folded}") } else { folded.to_owned() };
            let query = FuzzyTermQuery::new(Term::from_field_text(self.fields.text, &asked), edits, true);
            for field in [self.fields.text, self.fields.title] {
                for reader in self.searcher.segment_readers() {
                    let inverted = reader.inverted_index(field)?;
                    let mut stream = inverted.terms().search(query.automaton()?).into_stream()?;
                    let mut visited = 0;
                    while visited < MAX_VISITED && stream.advance() {
                        visited += 1;
                        let Ok(term) = std::str::from_utf8(stream.key()) else { continue };
                        let word = term.strip_prefix(WORD_SIGN);
                        if word.is_some() == written {
                            let documents = u64::from(stream.value().doc_freq);
                            let known = found.entry(word.unwrap_or(term).to_owned()).or_default();
                            *known = (*known).max(documents);
                        }
                    }
                }
            }
        }
        let mut alike: Vec<Alike> = found
            .into_iter()
            .filter(|(word, _)| word.chars().all(char::is_alphabetic) && word != folded)
            .map(|(word, documents)| Alike { edits: edits_between(&word, folded), word, documents })
            .filter(|alike| alike.edits <= edits)
            .collect();
        let first = folded.chars().next();
        let key = |alike: &Alike| {
            let same_first = alike.word.chars().next() == first;
            (alike.edits, !same_first, std::cmp::Reverse(alike.documents))
        };
        alike.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.word.cmp(&b.word)));
        Ok(alike)
    }

    /// The stems that the languages of the index give a folded word.
    pub fn stems(&self, folded: &str) -> Vec<String> {
        seine_indexer::tokenizer::query::word(folded, &self.languages).stems
    }

    fn visit_prefix(&self, field: Field, prefix: &str, mut each: impl FnMut(&str, u64)) -> tantivy::Result<()> {
        for reader in self.searcher.segment_readers() {
            let inverted = reader.inverted_index(field)?;
            let mut stream = inverted.terms().range().ge(prefix.as_bytes()).into_stream()?;
            let mut visited = 0;
            while visited < MAX_VISITED && stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                visited += 1;
                if let Ok(term) = std::str::from_utf8(stream.key()) {
                    each(term, u64::from(stream.value().doc_freq));
                }
            }
        }
        Ok(())
    }
}

fn most_frequent(found: HashMap<String, u64>, most: usize) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = found.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(most);
    found
}

/// The languages of the documents, the most frequent first; words as they are come last.
fn languages(searcher: &Searcher, lang: Field) -> tantivy::Result<Vec<Language>> {
    let mut documents: HashMap<Language, u64> = HashMap::new();
    for reader in searcher.segment_readers() {
        let inverted = reader.inverted_index(lang)?;
        let mut stream = inverted.terms().stream()?;
        let mut visited = 0;
        while visited < MAX_VISITED && stream.advance() {
            visited += 1;
            let language = std::str::from_utf8(stream.key()).map_or(Language::Other, Language::of);
            *documents.entry(language).or_default() += u64::from(stream.value().doc_freq);
        }
    }
    documents.remove(&Language::Other);
    let mut languages: Vec<(Language, u64)> = documents.into_iter().collect();
    languages.sort_by_key(|(language, documents)| (std::cmp::Reverse(*documents), format!("{language:?}")));
    languages.truncate(MAX_LANGUAGES - 1);
    Ok(languages.into_iter().map(|(language, _)| language).chain([Language::Other]).collect())
}

/// How many letters must be put in, left out, changed or swapped with their neighbour.
fn edits_between(a: &str, b: &str) -> u8 {
    u8::try_from(strsim::osa_distance(a, b)).unwrap_or(u8::MAX)
}
