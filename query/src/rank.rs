//! Orders the matching documents and counts all of them.
//!
//! Documents with all words come first, then by score; of equals the one that was indexed first. Membership in "all
//! words" is decided by a second docset walked in step with the first, so scores stay what BM25 made them. Optionally at
//! most so many documents of one host are kept, the best of each.
//!
//! Memory: the places asked for, or the places per host times the hosts that match.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use seine_indexer::schema::HOST;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::query::{Scorer, Weight};
use tantivy::{DocAddress, DocId, DocSet, Score, SegmentOrdinal, SegmentReader};

/// A match and its rank; greater is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    pub has_all_words: bool,
    pub score: Score,
    pub address: DocAddress,
}

impl Eq for Match {}

impl Ord for Match {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.has_all_words
            .cmp(&other.has_all_words)
            .then(self.score.total_cmp(&other.score))
            .then(other.address.cmp(&self.address))
    }
}

impl PartialOrd for Match {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug, Default)]
pub struct Ranked {
    /// Every match, shown or not.
    pub total: u64,
    /// Matches that paging can reach: fewer than `total` when hosts are limited.
    pub reachable: u64,
    /// Best first, from the first place to the last one asked for, each with the number of matches of its host (0 when
    /// hosts are not limited).
    pub matches: Vec<(Match, u64)>,
}

pub struct Ranking {
    /// Documents with all words; `None` when every match has them.
    pub all: Option<Box<dyn Weight>>,
    /// Places to fill.
    pub places: usize,
    /// Places one host may take; 0 for no limit.
    pub per_host: usize,
}

impl Ranking {
    fn kept(&self) -> Kept {
        if self.per_host == 0 {
            Kept::Best(Best::new(self.places))
        } else {
            Kept::PerHost { places: self.per_host, hosts: HashMap::new() }
        }
    }
}

impl Collector for Ranking {
    type Fruit = Ranked;
    type Child = SegmentRanking;

    fn for_segment(&self, segment: SegmentOrdinal, reader: &SegmentReader) -> tantivy::Result<SegmentRanking> {
        let all = self.all.as_ref().map(|weight| weight.scorer(reader, 1.0)).transpose()?;
        let hosts = (self.per_host > 0).then(|| reader.fast_fields().u64(HOST)).transpose()?;
        Ok(SegmentRanking { segment, all, hosts, total: 0, kept: self.kept() })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<(u64, Kept)>) -> tantivy::Result<Ranked> {
        let mut total = 0;
        let mut kept = self.kept();
        for (segment_total, segment_kept) in fruits {
            total += segment_total;
            kept.absorb(segment_kept);
        }
        let mut matches: Vec<(Match, u64)> = kept.into_matches();
        let reachable = if self.per_host == 0 { total } else { matches.len() as u64 };
        matches.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        matches.truncate(self.places);
        Ok(Ranked { total, reachable, matches })
    }
}

pub struct SegmentRanking {
    segment: SegmentOrdinal,
    all: Option<Box<dyn Scorer>>,
    hosts: Option<Column<u64>>,
    total: u64,
    kept: Kept,
}

impl SegmentCollector for SegmentRanking {
    type Fruit = (u64, Kept);

    fn collect(&mut self, document: DocId, score: Score) {
        self.total += 1;
        let has_all_words = match &mut self.all {
            None => true,
            Some(all) => {
                if all.doc() < document {
                    all.seek(document);
                }
                all.doc() == document
            }
        };
        let found = Match { has_all_words, score, address: DocAddress::new(self.segment, document) };
        match &mut self.kept {
            Kept::Best(best) => best.offer(found),
            Kept::PerHost { places, hosts } => {
                let host = self.hosts.as_ref().and_then(|column| column.first(document)).unwrap_or(0);
                let group = hosts.entry(host).or_insert_with(|| Group { count: 0, best: Best::new(*places) });
                group.count += 1;
                group.best.offer(found);
            }
        }
    }

    fn harvest(self) -> Self::Fruit {
        (self.total, self.kept)
    }
}

pub enum Kept {
    Best(Best),
    PerHost { places: usize, hosts: HashMap<u64, Group> },
}

pub struct Group {
    count: u64,
    best: Best,
}

impl Kept {
    fn absorb(&mut self, other: Self) {
        match (self, other) {
            (Self::Best(best), Self::Best(other)) => best.absorb(other),
            (Self::PerHost { hosts, .. }, Self::PerHost { hosts: others, .. }) => {
                for (host, other) in others {
                    match hosts.entry(host) {
                        std::collections::hash_map::Entry::Vacant(place) => {
                            place.insert(other);
                        }
                        std::collections::hash_map::Entry::Occupied(mut group) => {
                            group.get_mut().count += other.count;
                            group.get_mut().best.absorb(other.best);
                        }
                    }
                }
            }
            _ => unreachable!("one ranking keeps in one way"),
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
pub struct Best {
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

    fn absorb(&mut self, other: Self) {
        other.into_iter().for_each(|found| self.offer(found));
    }

    fn into_iter(self) -> impl Iterator<Item = Match> {
        self.heap.into_iter().map(|Reverse(found)| found)
    }
}
