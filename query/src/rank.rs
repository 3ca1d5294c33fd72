//! Orders the matching documents and counts all of them.
//!
//! Documents with all words come first, then by score; or by date, newest first. Of equals the one that was indexed
//! first. Of pages that are alike one counts ([`copies`](crate::copies)). Optionally at most so many documents of one host are kept, the best of each. What is near the top is looked
//! at again by [`proximity`](crate::proximity): always the same number of documents, so that pages of results fit
//! together.
//!
//! Memory: the places asked for, or the places per host times the hosts that match.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use seine_indexer::schema::{DATE, HOST};
use tantivy::columnar::Column;
use tantivy::query::{EnableScoring, Scorer};
use tantivy::{DocAddress, DocId, DocSet, Score, Searcher, SegmentReader};

use crate::asker::Asker;
use crate::copies::{Copies, Groups, SegmentCopies};
use crate::facet::{FacetCounter, Facets};
use crate::freshness::Freshness;
use crate::plan::Plan;
use crate::proximity;
use crate::request::Sort;
use crate::score::{Scoring, in_period};
use crate::weights::RankingWeights;

/// Documents whose words are compared by their places in the text.
const LOOKED_AT_AGAIN: usize = 100;

/// A match and its rank; greater is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    pub has_all_words: bool,
    /// What decides among equals in that: the score, or the date.
    pub order: f64,
    pub score: Score,
    pub address: DocAddress,
}

impl Match {
    /// Whether only the order of the index decides between the two.
    pub fn is_as_good_as(&self, other: &Self) -> bool {
        self.has_all_words == other.has_all_words && self.order.total_cmp(&other.order).is_eq()
    }
}

impl Eq for Match {}

impl Ord for Match {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.has_all_words
            .cmp(&other.has_all_words)
            .then(self.order.total_cmp(&other.order))
            .then(other.address.cmp(&self.address))
    }
}

impl PartialOrd for Match {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

pub struct Ranked {
    /// Every match.
    pub total: u64,
    /// Matches that could be shown: all of them, or those that the limit per host lets through.
    pub reachable: u64,
    /// The best ones in order, each with the number of matches of its host (0 when hosts are not limited).
    pub matches: Vec<(Match, u64)>,
    pub facets: Option<Facets>,
}

pub struct Ranking {
    /// Places to fill.
    pub places: usize,
    /// Places one host may take; 0 for no limit.
    pub per_host: usize,
    pub sort: Sort,
    pub count_facets: bool,
    pub freshness: Option<Freshness>,
    pub asker: Asker,
}

impl Ranking {
    /// Without units, every page that passes the filters matches.
    pub fn rank(
        &self,
        plan: &Plan,
        scoring: &Scoring,
        searcher: &Searcher,
        copies: &Copies,
        weights: &RankingWeights,
    ) -> tantivy::Result<Ranked> {
        let again = self.sort == Sort::Relevance && weights.proximity > 0.0 && plan.units.len() > 1;
        let mut kept = self.kept(if again { LOOKED_AT_AGAIN } else { 0 });
        let mut groups = Groups::default();
        let mut total = 0;
        let mut facets = self.count_facets.then(Facets::default);
        let filter = plan.filter.as_ref();
        let filter = filter.map(|filter| filter.weight(EnableScoring::disabled_from_searcher(searcher))).transpose()?;
        for (ordinal, reader) in searcher.segment_readers().iter().enumerate() {
            self.asker.check()?;
            let mut segment = Segment {
                ordinal: ordinal as u32,
                filter: filter.as_ref().map(|filter| filter.scorer(reader, 1.0)).transpose()?,
                dates: reader.fast_fields().i64(DATE)?,
                checks_dates: plan.after.is_some() || plan.before.is_some() || plan.is_empty(),
                hosts: (self.per_host > 0).then(|| reader.fast_fields().u64(HOST)).transpose()?,
                facets: self.count_facets.then(|| FacetCounter::new(reader)).transpose()?,
                copies: copies.of_segment(reader)?,
            };
            let mut offer = |document: DocId, score: f32, has_all_words: bool| -> tantivy::Result<()> {
                if !segment.passes(document, plan) {
                    return Ok(());
                }
                let address = DocAddress::new(segment.ordinal, document);
                let found = match self.sort {
                    Sort::Relevance => {
                        let score = match &self.freshness {
                            Some(freshness) => score * freshness.factor(segment.dates.first(document)),
                            None => score,
                        };
                        Match { has_all_words, order: f64::from(score), score, address }
                    }
                    Sort::Date => {
                        let order = segment.dates.first(document).unwrap_or(i64::MIN) as f64;
                        Match { has_all_words: true, order, score, address }
                    }
                };
                let host = || segment.hosts.as_ref().and_then(|hosts| hosts.first(document)).unwrap_or(0);
                match segment.copies.as_ref().and_then(|copies| copies.of(document)) {
                    None => kept.offer(found, host),
                    Some(copy) if groups.offer(copy, found, host()) => {}
                    Some(_) => return Ok(()),
                }
                total += 1;
                if let Some(facets) = &mut segment.facets {
                    facets.count(document, &segment.dates);
                }
                Ok(())
            };
            if plan.is_empty() {
                every_document(reader, &mut offer)?;
            } else {
                scoring.segment(ordinal, reader, &self.asker, &mut offer)?;
            }
            if let (Some(facets), Some(counted)) = (&mut facets, segment.facets) {
                counted.add_to(facets)?;
            }
        }
        for (found, host) in groups.into_shown() {
            kept.offer(found, || host);
        }
        let mut matches: Vec<(Match, u64)> = kept.into_matches();
        let reachable = if self.per_host == 0 { total } else { matches.len() as u64 };
        matches.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        if again {
            let looked_at = matches.len().min(LOOKED_AT_AGAIN);
            proximity::add(scoring, searcher, weights.proximity, &mut matches[..looked_at])?;
            matches[..looked_at].sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        }
        matches.truncate(self.places);
        Ok(Ranked { total, reachable, matches, facets })
    }

    fn kept(&self, at_least: usize) -> Kept {
        if self.per_host == 0 {
            Kept::Best(Best::new(self.places.max(at_least)))
        } else {
            Kept::PerHost { places: self.per_host, hosts: HashMap::new() }
        }
    }
}

/// What is needed to look at the matches of a segment.
struct Segment<'a> {
    ordinal: u32,
    filter: Option<Box<dyn Scorer>>,
    dates: Column<i64>,
    checks_dates: bool,
    hosts: Option<Column<u64>>,
    facets: Option<FacetCounter>,
    copies: Option<SegmentCopies<'a>>,
}

impl Segment<'_> {
    /// Documents must come in order.
    fn passes(&mut self, document: DocId, plan: &Plan) -> bool {
        if let Some(filter) = &mut self.filter {
            if filter.doc() < document {
                filter.seek(document);
            }
            if filter.doc() != document {
                return false;
            }
        }
        !self.checks_dates || in_period(&self.dates, document, plan.after, plan.before)
    }
}

fn every_document(
    reader: &SegmentReader,
    offer: &mut impl FnMut(DocId, f32, bool) -> tantivy::Result<()>,
) -> tantivy::Result<()> {
    let mut documents = reader.doc_ids_alive();
    documents.try_for_each(|document| offer(document, 0.0, true))
}

enum Kept {
    Best(Best),
    PerHost { places: usize, hosts: HashMap<u64, Group> },
}

struct Group {
    count: u64,
    best: Best,
}

impl Kept {
    fn offer(&mut self, found: Match, host: impl FnOnce() -> u64) {
        match self {
            Self::Best(best) => best.offer(found),
            Self::PerHost { places, hosts } => {
                let group = hosts.entry(host()).or_insert_with(|| Group { count: 0, best: Best::new(*places) });
                group.count += 1;
                group.best.offer(found);
            }
        }
    }

    fn into_matches(self) -> Vec<(Match, u64)> {
        match self {
            Self::Best(best) => best.into_iter().map(|found| (found, 0)).collect(),
            Self::PerHost { hosts, .. } => {
                let groups = hosts.into_values();
                groups.flat_map(|group| group.best.into_iter().map(move |found| (found, group.count))).collect()
            }
        }
    }
}

/// The best few of many.
struct Best {
    places: usize,
    heap: BinaryHeap<Reverse<Match>>,
}

impl Best {
    fn new(places: usize) -> Self {
        Self { places, heap: BinaryHeap::new() }
    }

    fn offer(&mut self, found: Match) {
        if self.heap.len() < self.places {
            self.heap.push(Reverse(found));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && found > worst.0
        {
            *worst = Reverse(found);
        }
    }

    fn into_iter(self) -> impl Iterator<Item = Match> {
        self.heap.into_iter().map(|Reverse(found)| found)
    }
}
