//! What is asked for, as units to find in this index.
//!
//! Here a word meets the index: it becomes the forms that the languages of the index have of it, a prefix the words that
//! begin so, and a word that no document has, those that are spelled alike.

mod filters;

use seine_indexer::schema::Fields;
use seine_indexer::tokenizer::Language;
use seine_indexer::tokenizer::query::{Form, Run, WordForms, pieces, word};
use tantivy::Searcher;
use tantivy::query::Query;

use crate::error::QueryError;
use crate::parse::{Asked, FilterKind, Item, ItemForm, Place};
use crate::request::CheckedRequest;
use crate::vocabulary::Vocabulary;
use crate::weights::{ADDRESS, ANCHORS, RankingWeights, TITLE};

/// Further units are ignored: they cost time and hardly change the order.
const MAX_UNITS: usize = 64;
/// Words that one prefix stands for, and all prefixes of a query together.
const MAX_BEGINNINGS: usize = 200;
const MAX_ALL_BEGINNINGS: usize = 500;
/// Words of a query that are looked for under other spellings; each costs a walk through the dictionaries.
const MAX_RESPELLED: usize = 4;
/// Spellings that one unknown word stands for.
const MAX_SPELLINGS: usize = 3;
/// Shorter words have too many neighbours.
const LETTERS_FOR_ONE_EDIT: usize = 4;
const LETTERS_FOR_TWO_EDITS: usize = 8;
/// A word in at most this share of the documents is rare…
const RARE_SHARE: u64 = 10_000;
/// …and taken for a mistake when one spelled alike is so many times as frequent.
const TIMES_AS_FREQUENT: u64 = 50;

#[derive(Default)]
pub struct Plan {
    pub units: Vec<Unit>,
    pub excluded: Vec<Unit>,
    /// Narrows by whole values; `None` for no such filter.
    pub filter: Option<Box<dyn Query>>,
    /// Unix milliseconds, the first that belongs and the first that does not.
    pub after: Option<i64>,
    pub before: Option<i64>,
    /// Words that were found under another spelling: as typed, as found.
    pub respelled: Vec<(String, String)>,
}

/// One thing asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub place: Place,
    /// Any of them.
    pub matchers: Vec<Matcher>,
    /// Whether it is among "all words".
    pub counts: bool,
    pub required: bool,
    pub weight: f32,
    pub shown: Shown,
}

/// What of a match is marked in snippets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Nothing,
    All,
    /// A lone Chinese character is found as the beginning of pairs.
    FirstCharacter,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Matcher {
    Term {
        text: String,
        weight: f32,
    },
    /// Two or more terms, each with its place.
    Phrase(Vec<(usize, String)>),
}

impl Place {
    /// The word fields that it means.
    pub fn fields(self) -> &'static [usize] {
        match self {
            Self::Anywhere => &[0, 1, 2, 3, 4, ANCHORS],
            Self::Title => &[TITLE],
            Self::Address => &[ADDRESS],
        }
    }

    /// Without those in which others speak of the page: a word that must not stand in it may stand there.
    pub fn own_fields(self) -> &'static [usize] {
        match self {
            Self::Anywhere => &[0, 1, 2, 3, 4],
            place => place.fields(),
        }
    }
}

impl Plan {
    /// Whether there is anything to look for.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}

fn term(text: impl Into<String>, weight: f32) -> Matcher {
    Matcher::Term { text: text.into(), weight }
}

pub fn plan(
    asked: &Asked,
    request: &CheckedRequest,
    searcher: &Searcher,
    fields: &Fields,
    weights: &RankingWeights,
) -> Result<Plan, QueryError> {
    let only = asked.filters.iter().find_map(|filter| match &filter.kind {
        FilterKind::Lang(code) if !filter.excluded => Some(code.as_str()),
        _ => None,
    });
    let vocabulary = Vocabulary::new(searcher, fields, request.lang.as_deref().or(only))?;
    let mut planner = Planner { vocabulary, weights, plan: Plan::default(), beginnings: 0, respelled: 0 };
    for clause in &asked.clauses {
        match clause.0.as_slice() {
            [item] => planner.item(item)?,
            items => planner.alternatives(items)?,
        }
    }
    for item in &asked.excluded {
        if let Some(unit) = planner.excluded(item)? {
            planner.plan.excluded.push(unit);
        }
    }
    planner.plan.units.truncate(MAX_UNITS);
    let mut plan = planner.plan;
    filters::add(&mut plan, asked, request, searcher, fields)?;
    Ok(plan)
}

struct Planner<'a> {
    vocabulary: Vocabulary<'a>,
    weights: &'a RankingWeights,
    plan: Plan,
    /// Words that prefixes stand for, so far.
    beginnings: usize,
    /// Words that were looked for under other spellings, so far.
    respelled: usize,
}

impl Planner<'_> {
    fn item(&mut self, item: &Item) -> Result<(), QueryError> {
        let required = item.place != Place::Anywhere;
        match item.form {
            ItemForm::Prefix => {
                let matchers = self.prefix(&item.text)?;
                self.add(Unit { required, ..unit(item.place, matchers) });
            }
            ItemForm::Phrase => {
                let matchers = phrases(&item.text, &self.vocabulary.languages);
                if matchers.is_empty() {
                    // A lone character, which is looked for as a beginning.
                    return self.words(item, true);
                }
                self.add(Unit { required: true, ..unit(item.place, matchers) });
            }
            ItemForm::Words => self.words(item, required)?,
        }
        Ok(())
    }

    fn words(&mut self, item: &Item, required: bool) -> Result<(), QueryError> {
        for piece in pieces(&item.text, &self.vocabulary.languages) {
            if self.plan.units.len() >= MAX_UNITS {
                break;
            }
            match piece.form {
                Form::Word(forms) => {
                    let matchers = self.word(&item.text[piece.range], &forms)?;
                    self.add(Unit { required, ..unit(item.place, matchers) });
                }
                Form::Compound { whole, parts } => {
                    let matchers = compound(&whole, &parts);
                    self.add(Unit { required, ..unit(item.place, matchers) });
                }
                Form::Run(run) => self.run(&run, item.place, required)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, unit: Unit) {
        if !unit.matchers.is_empty() && !self.plan.units.iter().any(|known| known.matchers == unit.matchers) {
            self.plan.units.push(unit);
        }
    }

    /// A word in the forms of all languages; where hardly a document has it, as it may have been meant.
    fn word(&mut self, typed: &str, forms: &WordForms) -> Result<Vec<Matcher>, QueryError> {
        let mut known = Vec::new();
        let mut most = 0;
        for stem in &forms.stems {
            let documents = self.vocabulary.frequency_anywhere(stem)?;
            most = most.max(documents);
            if documents > 0 {
                known.push(term(stem, 1.0));
            }
        }
        if known.is_empty() {
            // Typed without the marks that its language needs to know the ending.
            let written = forms.written();
            most = self.vocabulary.frequency_anywhere(&written)?;
            if most > 0 {
                known.push(term(written, 1.0));
            }
        }
        let rare = most <= self.vocabulary.documents() / RARE_SHARE;
        if rare && let Some(spellings) = self.spellings(typed, &forms.folded, most)? {
            known.extend(spellings);
        }
        if known.is_empty() {
            // Still among "all words", and no document has them all.
            known.extend(forms.stems.iter().map(|stem| term(stem, 1.0)));
        }
        Ok(known)
    }

    fn spellings(&mut self, typed: &str, folded: &str, documents: u64) -> Result<Option<Vec<Matcher>>, QueryError> {
        let letters = folded.chars().count();
        let edits = match letters {
            LETTERS_FOR_TWO_EDITS.. => 2,
            LETTERS_FOR_ONE_EDIT.. => 1,
            _ => return Ok(None),
        };
        if self.respelled == MAX_RESPELLED || !folded.chars().all(char::is_alphabetic) {
            return Ok(None);
        }
        self.respelled += 1;
        let mut alike = self.vocabulary.alike(folded, edits)?;
        alike.retain(|alike| documents == 0 || alike.documents >= documents.saturating_mul(TIMES_AS_FREQUENT));
        let Some(nearest) = alike.first().map(|alike| alike.edits) else { return Ok(None) };
        alike.retain(|alike| alike.edits == nearest);
        // Of words as near, those that are hardly ever used are not meant.
        let most = alike.iter().map(|alike| alike.documents).max().unwrap_or(0);
        alike.retain(|alike| alike.documents.saturating_mul(TIMES_AS_FREQUENT) >= most);
        alike.truncate(MAX_SPELLINGS);
        let mut matchers: Vec<Matcher> = Vec::new();
        let mut shown = None;
        for alike in &alike {
            for stem in self.vocabulary.stems(&alike.word).into_iter().chain([alike.word.clone()]) {
                let matcher = term(stem.as_str(), self.weights.misspelled);
                if !matchers.contains(&matcher) && self.vocabulary.frequency(&stem)? > 0 {
                    matchers.push(matcher);
                }
            }
            if shown.is_none() {
                shown = self.written_form(&alike.word)?;
            }
        }
        if let Some(shown) = shown {
            self.plan.respelled.push((typed.to_owned(), shown));
        }
        Ok((!matchers.is_empty()).then_some(matchers))
    }

    /// A word that stands in documents: itself, or where it is a mere stem, its most frequent form.
    fn written_form(&self, word: &str) -> Result<Option<String>, QueryError> {
        let words = self.vocabulary.words_beginning_with(word, MAX_BEGINNINGS)?;
        if words.iter().any(|(found, _)| found == word) {
            return Ok(Some(word.to_owned()));
        }
        let of_stem = words.into_iter().find(|(found, _)| self.vocabulary.stems(found).iter().any(|stem| stem == word));
        Ok(of_stem.map(|(found, _)| found))
    }

    fn prefix(&mut self, text: &str) -> Result<Vec<Matcher>, QueryError> {
        let folded = word(text, &[Language::Other]).folded;
        let most = MAX_BEGINNINGS.min(MAX_ALL_BEGINNINGS - self.beginnings);
        let terms = if most == 0 { Vec::new() } else { self.vocabulary.beginning_with(&folded, most)? };
        self.beginnings += terms.len();
        Ok(terms.into_iter().chain([folded]).map(|text| term(text, 1.0)).collect())
    }

    fn run(&mut self, run: &Run, place: Place, required: bool) -> Result<(), QueryError> {
        if let ([only], 1) = (run.pairs.as_slice(), run.characters) {
            let matchers = self.prefix(&only.text)?;
            self.add(Unit { required, shown: Shown::FirstCharacter, ..unit(place, matchers) });
            return Ok(());
        }
        for pair in &run.pairs {
            let weight = if pair.in_word { 1.0 } else { self.weights.between_words };
            self.add(Unit {
                weight,
                counts: pair.in_word,
                shown: if pair.in_word { Shown::All } else { Shown::Nothing },
                required: required && pair.in_word,
                ..unit(place, vec![term(pair.text.as_str(), 1.0)])
            });
        }
        for (_, word) in &run.words {
            let weight = self.weights.long_words;
            self.add(Unit { weight, counts: false, ..unit(place, vec![term(word.as_str(), 1.0)]) });
        }
        Ok(())
    }

    /// Several items of which one suffices, as one unit.
    fn alternatives(&mut self, items: &[Item]) -> Result<(), QueryError> {
        let place = items[0].place;
        let same_place = items.iter().all(|item| item.place == place);
        let mut matchers = Vec::new();
        for item in items {
            for matcher in self.exactly(item)? {
                if !matchers.contains(&matcher) {
                    matchers.push(matcher);
                }
            }
        }
        let place = if same_place { place } else { Place::Anywhere };
        self.add(Unit { required: place != Place::Anywhere, ..unit(place, matchers) });
        Ok(())
    }

    fn excluded(&mut self, item: &Item) -> Result<Option<Unit>, QueryError> {
        let matchers = self.exactly(item)?;
        Ok((!matchers.is_empty()).then(|| unit(item.place, matchers)))
    }

    /// The item as it was typed, without other spellings; several words as a phrase.
    fn exactly(&mut self, item: &Item) -> Result<Vec<Matcher>, QueryError> {
        if item.form == ItemForm::Prefix {
            return self.prefix(&item.text);
        }
        let found = pieces(&item.text, &self.vocabulary.languages);
        Ok(match found.as_slice() {
            [piece] => match &piece.form {
                Form::Word(forms) => {
                    let written = [term(forms.written(), 1.0)];
                    forms.stems.iter().map(|stem| term(stem.as_str(), 1.0)).chain(written).collect()
                }
                Form::Compound { whole, parts } => compound(whole, parts),
                Form::Run(run) if run.characters == 1 => self.prefix(&item.text[piece.range.clone()])?,
                Form::Run(_) => phrases(&item.text, &self.vocabulary.languages),
            },
            _ => phrases(&item.text, &self.vocabulary.languages),
        })
    }
}

fn unit(place: Place, matchers: Vec<Matcher>) -> Unit {
    Unit { place, matchers, counts: true, required: false, weight: 1.0, shown: Shown::All }
}

/// The whole, or its parts in a row.
fn compound(whole: &WordForms, parts: &[WordForms]) -> Vec<Matcher> {
    let mut matchers: Vec<Matcher> = whole.stems.iter().map(|stem| term(stem.as_str(), 1.0)).collect();
    if parts.len() > 1 {
        let words = parts.iter().enumerate().filter_map(|(place, part)| Some((place, part.stems.first()?.clone())));
        matchers.push(Matcher::Phrase(words.collect()));
    }
    matchers
}

/// The words in a row, as each language would have them.
fn phrases(text: &str, languages: &[Language]) -> Vec<Matcher> {
    let mut matchers = Vec::new();
    for language in languages {
        let mut words: Vec<(usize, String)> = Vec::new();
        for piece in pieces(text, &[*language]) {
            match piece.form {
                Form::Word(forms) | Form::Compound { whole: forms, .. } => {
                    words.extend(forms.stems.into_iter().map(|stem| (piece.position, stem)));
                }
                // A lone character is a term only where it ends a run; the words around it keep their distance.
                Form::Run(run) if run.characters == 1 => {}
                Form::Run(run) => {
                    words.extend(run.pairs.into_iter().map(|pair| (piece.position + pair.place, pair.text)));
                }
            }
        }
        words.truncate(MAX_UNITS);
        let matcher = match words.len() {
            0 => continue,
            1 => term(words.remove(0).1, 1.0),
            _ => Matcher::Phrase(words),
        };
        if !matchers.contains(&matcher) {
            matchers.push(matcher);
        }
    }
    matchers
}
