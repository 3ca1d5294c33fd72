//! Answers one search: words → matches in order → pages with snippets.
//!
//! The same function serves HTTP, gRPC and the command line. It blocks; [`QueryService::elsewhere`] runs it on a
//! thread for such work, so many at a time as the configuration says, the others waiting their turn for a while.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_common::document_id::DocumentId;
use seine_indexer::schema::{self, FETCHED_AT, Fields};
use seine_indexer::tokenizer::unmarked;
use seine_indexer::{Searches, count};
use seine_node::health::HealthBoard;
use seine_node::membership::Filesavers;
use tantivy::schema::{Field, Value};
use tantivy::{Searcher, TantivyDocument};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

use crate::asker::{Asker, Waiting};
use crate::cursor::{Cursor, Position};
use crate::details::HitDetails;
use crate::error::QueryError;
use crate::facet::Facets;
use crate::follow::IndexFollower;
use crate::freshness::Freshness;
use crate::metrics;
use crate::parse::parse;
use crate::plan::plan;
use crate::rank::{Match, Ranked, Ranking};
use crate::request::{CheckedRequest, MAX_OFFSET, SearchRequest, Sort};
use crate::response::{Hit, SearchResponse, rfc3339};
use crate::score::Scoring;
use crate::snippet::Highlighter;
use crate::views::{KeptViews, View};
use crate::weights::RankingWeights;

/// Ranks that may have been taken by pages that are new since the last page of results.
const AFTER_SLACK: usize = 100;
/// How long a search may wait for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
pub struct QueryConfig {
    /// Searches that run at the same time.
    pub concurrent_searches: usize,
    /// Blocks of stored text (16 kB each) kept decompressed.
    pub cached_blocks: usize,
    /// What counts how much in the order of results.
    pub weights: RankingWeights,
}

impl Default for QueryConfig {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { concurrent_searches: 2 * cores, cached_blocks: 64, weights: RankingWeights::default() }
    }
}

/// Cheap to clone; all clones are one service.
#[derive(Clone)]
pub struct QueryService {
    inner: Arc<Inner>,
    /// Where cached copies are read, if anywhere.
    pub(crate) archive: Option<Filesavers>,
    pub(crate) asker: Asker,
    /// How the tiers of this process are.
    pub(crate) health: HealthBoard,
    /// For the indexer.
    searches: Searches,
}

pub(crate) struct Inner {
    index: IndexFollower,
    views: KeptViews,
    pub(crate) fields: Fields,
    pub(crate) weights: RankingWeights,
    turns: Arc<Semaphore>,
}

/// An answer, and what the search page tells beyond it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub response: SearchResponse,
    /// Matches that paging can reach.
    pub reachable: u64,
    /// Of each hit.
    pub details: Vec<HitDetails>,
    /// Whether there is anything to find at all.
    pub index_is_empty: bool,
}

impl QueryService {
    /// The index need not exist yet; it is found when it does.
    pub fn open(index_dir: &Path, config: QueryConfig) -> Result<Self, QueryError> {
        metrics::describe();
        let inner = Inner {
            index: IndexFollower::new(index_dir, config.cached_blocks),
            views: KeptViews::default(),
            fields: schema::schema().1,
            weights: config.weights,
            turns: Arc::new(Semaphore::new(config.concurrent_searches.max(1))),
        };
        let (asker, health, searches) = Default::default();
        Ok(Self { inner: Arc::new(inner), archive: None, asker, health, searches })
    }

    /// Tells the indexer of this process that somebody searches.
    pub fn telling(mut self, searches: Searches) -> Self {
        self.searches = searches;
        self
    }

    /// Tells how the tiers of this process are besides.
    pub fn with_health(mut self, health: HealthBoard) -> Self {
        self.health = health;
        self
    }

    /// With cached copies of pages from the filesavers that have them.
    pub fn with_archive(mut self, filesavers: Filesavers) -> Self {
        self.archive = Some(filesavers);
        self
    }

    /// Blocks for as long as the search takes.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResponse, QueryError> {
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(request)));
        Ok(answered.map_err(|_| damaged())??.response)
    }

    /// Whether searches can be answered; an empty index is a fine answer.
    pub fn check_ready(&self) -> Result<(), QueryError> {
        self.inner.index.view().map(|_| ())
    }

    /// The same for who must not block. Takes no turn of a search: who is busy is ready all the same.
    pub(crate) async fn ready(&self) -> Result<(), QueryError> {
        let service = self.clone();
        joined(tokio::task::spawn_blocking(move || service.check_ready()).await)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Documents that can be found.
    pub(crate) fn documents(&self) -> Result<u64, QueryError> {
        let Some(searcher) = self.inner.searcher()? else { return Ok(0) };
        Ok(count::documents(&searcher)?)
    }

    /// Runs what blocks on a thread for it, when its turn comes. Dropping the future tells the service's asker that nobody
    /// waits.
    pub(crate) async fn elsewhere<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let turn = tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.inner.turns).acquire_owned());
        let Ok(Ok(turn)) = turn.await else { return Err(QueryError::Busy) };
        let waiting = Waiting::default();
        let service = Self { asker: waiting.asker(), ..self.clone() };
        let done = tokio::task::spawn_blocking(move || {
            // Moves in, so that a search whose asker has gone away still counts while it runs.
            let _turn = turn;
            work(&service)
        });
        joined(done.await)
    }

    pub(crate) fn answer(&self, request: &SearchRequest) -> Result<Answer, QueryError> {
        let started = Instant::now();
        self.searches.note(started);
        let answered = request.check().and_then(|request| self.inner.answer(&request, &self.asker));
        let took = started.elapsed();
        match answered {
            Ok(mut answer) => {
                metrics::searched(took);
                answer.response.took_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
                Ok(answer)
            }
            Err(error) => {
                metrics::failed(error.code());
                Err(error)
            }
        }
    }
}

/// Why a search panicked: only data that are not what was written can do that. The indexer looks for them when it starts.
fn damaged() -> QueryError {
    QueryError::NotReady("a part of it is damaged".to_owned())
}

impl Inner {
    /// `None` when nothing was ever indexed.
    pub(crate) fn searcher(&self) -> Result<Option<Searcher>, QueryError> {
        Ok(self.index.view()?.map(|view| view.searcher))
    }

    fn answer(&self, request: &CheckedRequest, asker: &Asker) -> Result<Answer, QueryError> {
        let cursor = request.cursor.as_deref().map(|cursor| Cursor::read(cursor, request)).transpose()?;
        let kept = cursor.as_ref().and_then(|cursor| self.views.get(cursor.view));
        // Without the view that the last page was cut from, it goes on by rank.
        let after = cursor.filter(|_| kept.is_none()).map(|cursor| cursor.position);
        let offset = cursor.map_or(request.offset, |cursor| cursor.offset);
        let view = match kept {
            Some(view) => Some(view),
            None => self.index.view()?,
        };
        let Some(View { searcher, copies, seen_at_ms, .. }) = view.clone() else {
            return Ok(Answer { index_is_empty: true, ..Answer::default() });
        };
        let asked = parse(&request.query);
        let plan = plan(&asked, request, &searcher, &self.fields, &self.weights)?;
        if plan.is_empty() && (asked.filters.is_empty() || !asked.excluded.is_empty()) {
            return Ok(Answer { index_is_empty: count::documents(&searcher)? == 0, ..Answer::default() });
        }
        let scoring = Scoring::new(&plan, &searcher, self.fields.words(), &self.weights)?;
        let ranking = Ranking {
            places: offset + request.limit + if after.is_some() { AFTER_SLACK } else { 0 },
            per_host: request.per_host,
            // What matches only by a filter matches equally well.
            sort: if plan.is_empty() { Sort::Date } else { request.sort },
            count_facets: request.facets,
            freshness: request.freshness.map(|days| Freshness::new(days, seen_at_ms)),
            asker: asker.clone(),
        };
        let Ranked { total, reachable, mut matches, facets } =
            ranking.rank(&plan, &scoring, &searcher, &copies, &self.weights)?;
        let mut highlighter = Highlighter::new(&plan);
        let mut answer = Answer { reachable, ..Answer::default() };
        answer.index_is_empty = total == 0 && count::documents(&searcher)? == 0;
        answer.response.total = total;
        answer.response.facets = facets.map(Facets::into_counts);
        let mut respelled = plan.respelled;
        let first = after.map_or(offset, |after| after.skipped(&matches)).min(matches.len());
        let end = (first + request.limit).min(matches.len());
        if end > first
            && reachable > end as u64
            && end <= MAX_OFFSET
            && let (Some(view), Some(position)) = (&view, Position::of(&matches[..end]))
        {
            self.views.keep(view);
            answer.response.cursor = Some(Cursor::new(view.number, end, position, request).write());
        }
        for (found, host_matches) in matches.drain(first..end) {
            answer.response.hits.push(self.hit(&searcher, &found, &mut highlighter, &mut respelled)?);
            answer.details.push(HitDetails::read(&searcher, found.address, host_matches)?);
        }
        answer.response.did_you_mean = did_you_mean(&request.query, &respelled);
        Ok(answer)
    }

    fn hit(
        &self,
        searcher: &Searcher,
        found: &Match,
        highlighter: &mut Highlighter,
        respelled: &mut [(String, String)],
    ) -> Result<Hit, QueryError> {
        let document: TantivyDocument = searcher.doc(found.address)?;
        let stored = |field: Field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let segment = searcher.segment_reader(found.address.segment_ord);
        let fetched_at = segment.fast_fields().i64(FETCHED_AT)?.first(found.address.doc_id).unwrap_or(0);
        let url = stored(self.fields.url).to_owned();
        let has_cached = !stored(self.fields.archive).is_empty();
        let title = one_line(unmarked(stored(self.fields.title)).1);
        let lang = stored(self.fields.lang);
        let (language, text) = unmarked(stored(self.fields.text));
        let (_, rest) = unmarked(stored(self.fields.rest));
        for (_, word) in respelled {
            // As the document writes it, with its marks.
            if let Some(written) = highlighter.written(language, text, word) {
                *word = written;
            }
        }
        Ok(Hit {
            id: DocumentId::of(&url).to_string(),
            has_cached,
            title: if title.is_empty() { url.clone() } else { title },
            url,
            snippet: highlighter.snippet(language, text, rest),
            score: found.score,
            lang: (!lang.is_empty()).then(|| lang.to_owned()),
            fetched_at: rfc3339(fetched_at),
        })
    }
}

/// What came of work on a thread of its own.
fn joined<T>(done: Result<Result<T, QueryError>, JoinError>) -> Result<T, QueryError> {
    match done {
        Ok(result) => result,
        Err(error) if error.is_panic() => Err(damaged()),
        Err(_) => Err(QueryError::Busy),
    }
}

/// The query with its unknown words replaced.
fn did_you_mean(query: &str, respelled: &[(String, String)]) -> Option<String> {
    let mut meant = query.to_owned();
    for (typed, found) in respelled {
        if let Some(at) = meant.find(typed.as_str()) {
            meant.replace_range(at..at + typed.len(), found);
        }
    }
    (meant != query).then_some(meant)
}

pub(crate) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod word_tests;
#[cfg(test)]
mod paging_tests;
