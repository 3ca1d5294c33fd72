//! Completes what somebody is typing: by words that the index has, by [`phrases`] of pages and by their titles.
//!
//! The last word typed is taken as a beginning, those before it as they are. Words come with what was typed before them;
//! titles have all the words. Nothing is invented: every suggestion finds something.

mod phrases;

use std::collections::HashSet;

use seine_indexer::tokenizer::{WORD_SIGN, query, unmarked};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED, TantivyDocument, Term};

use crate::asker::Asker;
use crate::copies::Copies;
use crate::error::QueryError;
use crate::parse::{Asked, Clause, Item, ItemForm, Place};
use crate::plan::{Plan, plan};
use crate::rank::Ranking;
use crate::request::{MAX_QUERY_CHARACTERS, SearchRequest, Sort};
use crate::score::Scoring;
use crate::search::{Inner, QueryService, one_line};
use crate::snippet::Highlighter;
use crate::vocabulary::Vocabulary;

use self::phrases::Phrases;

pub const DEFAULT_SUGGESTIONS: usize = 8;
pub const MAX_SUGGESTIONS: usize = 20;
/// Shorter beginnings of words say too little to complete them.
const SHORTEST_BEGINNING: usize = 2;
/// Completed words among the suggestions.
const MAX_WORDS: usize = 3;
/// Shorter beginnings are those of too many phrases.
const SHORTEST_FOR_PHRASES: usize = 3;
/// Phrases among the suggestions, and pages that are read for them.
const MAX_PHRASES: usize = 3;
const READ_FOR_PHRASES: usize = 10;
/// Words that the last one of a phrase may be the beginning of.
const MAX_WORDS_FOR_PHRASES: usize = 12;
/// A word that more than one in so many pages have says nothing at the end of a phrase.
const COMMON_SHARE: u64 = 5;
/// Of fewer pages nothing can be said about that.
const FEW_PAGES: u64 = 10;
/// Pages that are read to know how a word is written.
const LOOKED_AT_FOR_SPELLING: usize = 5;
/// Longer titles are no completions.
const LONGEST_TITLE: usize = 120;
/// Titles read for one suggestion: several pages may have the same.
const READ_PER_SUGGESTION: usize = 3;
/// Words before the last one that count.
const MAX_EARLIER: usize = 8;

impl QueryService {
    /// Blocks, for a few milliseconds.
    pub fn suggest(&self, typed: &str, limit: usize) -> Result<Vec<String>, QueryError> {
        let characters = typed.chars().count();
        if characters > MAX_QUERY_CHARACTERS {
            let message = format!("the query has {characters} characters; at most {MAX_QUERY_CHARACTERS} are allowed");
            return Err(QueryError::invalid("query_too_long", message));
        }
        if limit == 0 || limit > MAX_SUGGESTIONS {
            let message = format!("limit is {limit}; it must be from 1 to {MAX_SUGGESTIONS}");
            return Err(QueryError::invalid("invalid_limit", message));
        }
        self.inner().suggest(typed, limit, &self.asker)
    }
}

impl Inner {
    fn suggest(&self, typed: &str, limit: usize, asker: &Asker) -> Result<Vec<String>, QueryError> {
        let Some(searcher) = self.searcher()? else { return Ok(Vec::new()) };
        let typed = typed.trim();
        let start = typed.rfind(char::is_whitespace).map_or(0, |space| space + 1);
        let start = typed.ceil_char_boundary(start);
        let (before, beginning) = typed.split_at(start);
        if beginning.is_empty() {
            return Ok(Vec::new());
        }
        let mut suggestions = Vec::new();
        let mut known: HashSet<String> = HashSet::from([typed.to_lowercase()]);
        let mut add = |text: String, suggestions: &mut Vec<String>| {
            if suggestions.len() < limit && known.insert(text.to_lowercase()) {
                suggestions.push(text);
            }
        };
        let is_word = beginning.chars().all(char::is_alphanumeric);
        if is_word && beginning.chars().count() >= SHORTEST_BEGINNING {
            let vocabulary = Vocabulary::new(&searcher, &self.fields, None)?;
            let folded = query::word(beginning, &[]).folded;
            let words = vocabulary.words_beginning_with(&folded, MAX_WORDS_FOR_PHRASES)?;
            for (word, _) in words.iter().take(MAX_WORDS) {
                if let Some(word) = self.as_written(word, &searcher)? {
                    add(format!("{before}{word}"), &mut suggestions);
                }
            }
            if suggestions.len() < limit && typed.chars().count() >= SHORTEST_FOR_PHRASES {
                let words = words.into_iter().map(|(word, _)| word).collect();
                for phrase in self.phrases(typed, before, words, &vocabulary, &searcher, asker)? {
                    add(phrase, &mut suggestions);
                }
            }
        }
        let form = if is_word { ItemForm::Prefix } else { ItemForm::Words };
        let in_title = |text: &str, form| Clause(vec![Item { place: Place::Title, form, text: text.to_owned() }]);
        let earlier = before.split_whitespace().take(MAX_EARLIER).map(|word| in_title(word, ItemForm::Words));
        let asked = Asked { clauses: earlier.chain([in_title(beginning, form)]).collect(), ..Asked::default() };
        for address in self.best(&asked, limit * READ_PER_SUGGESTION, &searcher, asker)? {
            if suggestions.len() == limit {
                break;
            }
            let document: TantivyDocument = searcher.doc(address)?;
            let title = document.get_first(self.fields.title).and_then(|title| title.as_str()).unwrap_or_default();
            let title = one_line(unmarked(title).1);
            if !title.is_empty() && title.chars().count() <= LONGEST_TITLE {
                add(title, &mut suggestions);
            }
        }
        Ok(suggestions)
    }

    /// Phrases that begin as was typed, of the pages that are best for it.
    fn phrases(
        &self,
        typed: &str,
        before: &str,
        words: Vec<String>,
        vocabulary: &Vocabulary,
        searcher: &Searcher,
        asker: &Asker,
    ) -> Result<Vec<String>, QueryError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let item = |text: String| Item { place: Place::Anywhere, form: ItemForm::Words, text };
        let earlier = before.split_whitespace().take(MAX_EARLIER).map(|word| Clause(vec![item(word.to_owned())]));
        let last = Clause(words.into_iter().map(item).collect());
        let asked = Asked { clauses: earlier.chain([last]).collect(), ..Asked::default() };
        let mut phrases = Phrases::new(typed);
        for address in self.best(&asked, READ_FOR_PHRASES, searcher, asker)? {
            let document: TantivyDocument = searcher.doc(address)?;
            let text = document.get_first(self.fields.text).and_then(|text| text.as_str()).unwrap_or_default();
            phrases.read(unmarked(text).1);
        }
        phrases.frequent(MAX_PHRASES, |word| {
            let mut documents = 0;
            for stem in vocabulary.stems(word) {
                documents = vocabulary.frequency(&stem)?.max(documents);
            }
            Ok(documents > FEW_PAGES && documents.saturating_mul(COMMON_SHARE) > vocabulary.documents())
        })
    }

    /// The best pages for something.
    fn best(
        &self,
        asked: &Asked,
        places: usize,
        searcher: &Searcher,
        asker: &Asker,
    ) -> Result<Vec<DocAddress>, QueryError> {
        let request = SearchRequest::default().check()?;
        let plan = plan(asked, &request, searcher, &self.fields, &self.weights)?;
        if plan.is_empty() {
            return Ok(Vec::new());
        }
        let scoring = Scoring::new(&plan, searcher, self.fields.words(), &self.weights)?;
        let ranking = Ranking {
            places,
            per_host: 0,
            sort: Sort::Relevance,
            count_facets: false,
            freshness: None,
            asker: asker.clone(),
        };
        // Equal texts are told once anyway.
        let ranked = ranking.rank(&plan, &scoring, searcher, &Copies::default(), &self.weights)?;
        Ok(ranked.matches.into_iter().map(|(found, _)| found.address).collect())
    }

    /// A folded word as a page writes it, with its marks; `None` where it is a mere stem.
    fn as_written(&self, word: &str, searcher: &Searcher) -> tantivy::Result<Option<String>> {
        let mut reader = Highlighter::new(&Plan::default());
        for term in [format!("{WORD_SIGN}{word}"), word.to_owned()] {
            let term = Term::from_field_text(self.fields.text, &term);
            for address in some_with(&term, LOOKED_AT_FOR_SPELLING, searcher)? {
                let document: TantivyDocument = searcher.doc(address)?;
                let text = document.get_first(self.fields.text).and_then(|text| text.as_str()).unwrap_or_default();
                let (language, text) = unmarked(text);
                if let Some(written) = reader.written(language, text, word) {
                    return Ok(Some(written));
                }
            }
        }
        Ok(None)
    }
}

/// Some pages that have a term.
fn some_with(term: &Term, most: usize, searcher: &Searcher) -> tantivy::Result<Vec<DocAddress>> {
    let mut pages = Vec::with_capacity(most);
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let inverted = segment.inverted_index(term.field())?;
        let Some(mut documents) = inverted.read_postings(term, IndexRecordOption::Basic)? else { continue };
        while pages.len() < most && documents.doc() != TERMINATED {
            pages.push(DocAddress::new(ordinal as u32, documents.doc()));
            documents.advance();
        }
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use seine_indexer::entry::Page;

    use crate::testing::{TestIndex, page};

    #[test]
    fn the_last_word_is_completed_by_words_and_titles() {
        let index = TestIndex::of(&[
            ("http://a.example/1", "River banks of Europe", "The river and the riverside"),
            ("http://a.example/2", "Rivers", "All about the river"),
            ("http://a.example/3", "Mountains", "No water at all"),
        ]);
        let service = index.service();
        let suggestions = service.suggest("Riv", 8).unwrap();
        assert_eq!(suggestions[..2], ["river", "riverside"]);
        assert!(suggestions.iter().any(|text| text == "River banks of Europe"), "{suggestions:?}");
        assert!(suggestions.iter().any(|text| text == "Rivers"), "{suggestions:?}");
        assert_eq!(service.suggest("river of eur", 8).unwrap(), ["River banks of Europe"]);
        assert_eq!(service.suggest("riv", 1).unwrap().len(), 1);
        assert_eq!(service.suggest("zzz", 8).unwrap(), Vec::<String>::new());
        assert_eq!(service.suggest("  ", 8).unwrap(), Vec::<String>::new());
        assert_eq!(service.suggest("x", 0).unwrap_err().code(), "invalid_limit");
        assert_eq!(TestIndex::absent().service().suggest("riv", 8).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn words_are_completed_as_pages_write_them() {
        let text = "Záhony se okopávají každé jaro. Záhony u plotu, záhony u studny.";
        let page = Page { lang: "cs".to_owned(), ..page("http://a.example/1", "Rady", text) };
        let mut index = TestIndex::absent();
        index.add([page]);
        assert_eq!(index.service().suggest("zah", 8).unwrap(), ["záhony"]);
        assert_eq!(index.service().suggest("záh", 8).unwrap(), ["záhony"]);
    }

    #[test]
    fn phrases_that_several_pages_have_are_completed() {
        let index = TestIndex::of(&[
            ("http://a.example/1", "One", "Floating down the river boat by boat on a river cruise"),
            ("http://a.example/2", "Two", "A river cruise along the banks. The river boards are open."),
            ("http://a.example/3", "Three", "Nothing of that"),
            ("http://a.example/4", "Four", "The bow and the stern, and the boards between them"),
        ]);
        let service = index.service();
        let suggestions = service.suggest("riv", 8).unwrap();
        assert!(suggestions.iter().any(|text| text == "river cruise"), "{suggestions:?}");
        assert_eq!(service.suggest("river cr", 8).unwrap(), ["river cruise"]);
    }

    #[test]
    fn chinese_titles_are_completed() {
        let index =
            TestIndex::of(&[("http://a.example/1", "中国科学院", "历史"), ("http://a.example/2", "北京", "中国")]);
        assert_eq!(index.service().suggest("中国科", 8).unwrap(), ["中国科学院"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn anything_typed_can_be_completed_or_not(typed: String) {
            let index = TestIndex::of(&[("http://a.example/", "Title 中国", "Řeka text")]);
            let suggestions = index.service().suggest(&typed, 5).unwrap();
            prop_assert!(suggestions.len() <= 5);
        }
    }
}
