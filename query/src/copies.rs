//! Of pages that are alike, a search shows one: the leader, or where that does not match as well, the best of the others.
//!
//! Which page leads which is decided by the indexer ([`seine_indexer::fold`]) and stands in two columns. Pages that are
//! like no other, nearly all of them, cost a look at these columns, and nothing where the index has no copies at all.

use std::collections::HashMap;
use std::collections::HashSet;

use seine_indexer::schema::{Fields, LEADER, RANK};
use tantivy::columnar::Column;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::rank::Match;

/// Which pages lead others, by their rank.
#[derive(Debug, Default)]
pub struct Copies {
    leaders: HashSet<u64>,
}

impl Copies {
    pub fn of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Self> {
        let mut leaders = HashSet::new();
        let folded = Term::from_field_bool(fields.folded, true);
        for segment in searcher.segment_readers() {
            let column = segment.fast_fields().u64(LEADER)?;
            let inverted = segment.inverted_index(fields.folded)?;
            let Some(mut documents) = inverted.read_postings(&folded, IndexRecordOption::Basic)? else { continue };
            while documents.doc() != TERMINATED {
                let document = documents.doc();
                if segment.alive_bitset().is_none_or(|alive| alive.is_alive(document)) {
                    leaders.extend(column.first(document));
                }
                documents.advance();
            }
        }
        Ok(Self { leaders })
    }

    /// `None` where no page of the index is like another.
    pub fn of_segment<'a>(&'a self, reader: &SegmentReader) -> tantivy::Result<Option<SegmentCopies<'a>>> {
        if self.leaders.is_empty() {
            return Ok(None);
        }
        let columns = reader.fast_fields();
        let (leader, rank) = (columns.u64(LEADER)?, columns.u64(RANK)?);
        Ok(Some(SegmentCopies { leaders: &self.leaders, leader, rank }))
    }
}

pub struct SegmentCopies<'a> {
    leaders: &'a HashSet<u64>,
    leader: Column<u64>,
    rank: Column<u64>,
}

/// A page that others are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    group: u64,
    leads: bool,
}

impl SegmentCopies<'_> {
    pub fn of(&self, document: DocId) -> Option<Copy> {
        if let Some(group) = self.leader.first(document) {
            return Some(Copy { group, leads: false });
        }
        let group = self.rank.first(document).filter(|rank| self.leaders.contains(rank))?;
        Some(Copy { group, leads: true })
    }
}

/// The matches that are like others, the one to show of each group.
#[derive(Default)]
pub struct Groups {
    shown: HashMap<u64, Shown>,
}

struct Shown {
    leads: bool,
    found: Match,
    host: u64,
}

impl Groups {
    /// True for the first match of a group.
    pub fn offer(&mut self, copy: Copy, found: Match, host: u64) -> bool {
        let offered = Shown { leads: copy.leads, found, host };
        let mut is_new = false;
        let shown = self.shown.entry(copy.group).or_insert_with(|| {
            is_new = true;
            Shown { ..offered }
        });
        // The leader, unless it lacks words that another has.
        let better = |shown: &Shown| (shown.found.has_all_words, shown.leads, shown.found);
        if better(&offered) > better(shown) {
            *shown = offered;
        }
        is_new
    }

    /// Each with its host.
    pub fn into_shown(self) -> impl Iterator<Item = (Match, u64)> {
        self.shown.into_values().map(|shown| (shown.found, shown.host))
    }
}

#[cfg(test)]
mod tests {
    use seine_indexer::entry::Page;

    use crate::SearchRequest;
    use crate::testing::{TestIndex, page};

    /// Long enough to be compared by its simhash, which is the same for all of them.
    fn copy(url: &str, word: &str) -> Page {
        let text = format!("{} {word}", "river water flows down to the sea ".repeat(10));
        Page { simhash: 5, fingerprint: 1, ..page(url, "River", &text) }
    }

    fn found(index: &TestIndex, request: &SearchRequest) -> (u64, Vec<String>) {
        let answer = index.service().search(request).unwrap();
        (answer.total, answer.hits.into_iter().map(|hit| hit.url).collect())
    }

    #[test]
    fn of_alike_pages_one_is_shown_and_counted_and_a_word_of_its_own_finds_each() {
        let mut index = TestIndex::absent();
        let urls = ["http://a.test/", "http://a.test/print", "http://mirror.test/river"];
        index.add([copy(urls[1], "printed"), copy(urls[0], "original"), copy(urls[2], "mirrored")]);
        index.add([page("http://b.test/", "Other", "another river")]);
        let (total, hits) = found(&index, &SearchRequest::new("river"));
        assert_eq!((total, hits.len()), (2, 2), "{hits:?}");
        assert!(hits.contains(&urls[0].to_owned()) && hits.contains(&"http://b.test/".to_owned()), "{hits:?}");
        for (url, word) in urls.iter().zip(["original", "printed", "mirrored"]) {
            assert_eq!(found(&index, &SearchRequest::new(word)), (1, vec![(*url).to_owned()]));
            let both = found(&index, &SearchRequest::new(format!("sea {word}")));
            assert_eq!(both, (1, vec![(*url).to_owned()]), "the one with all words stands for the others");
        }
        let elsewhere = SearchRequest { site: Some("mirror.test".to_owned()), ..SearchRequest::new("river") };
        assert_eq!(found(&index, &elsewhere), (1, vec![urls[2].to_owned()]), "a filter is not bound to the leader");
        let grouped = SearchRequest { per_host: 1, facets: true, ..SearchRequest::new("river") };
        assert_eq!(found(&index, &grouped).0, 2);

        index.withdraw(urls[0]);
        let (total, hits) = found(&index, &SearchRequest::new("river sea"));
        assert_eq!((total, hits[0].as_str()), (2, urls[1]), "another takes its place");
    }
}
