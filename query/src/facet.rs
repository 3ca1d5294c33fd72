//! Counts the matches by site, language, type and year.
//!
//! Within a segment values are counted by their number in its dictionary; only the most frequent of them are looked up,
//! so the cost is that of the matches, not of the names.

use std::collections::HashMap;

use seine_indexer::schema::{CONTENT_TYPE, HOST_NAME, LANG};
use serde::{Deserialize, Serialize};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::response::date;

/// Values of one kind that an answer has.
pub const MAX_VALUES: usize = 20;
/// Values of one kind that one segment tells; what is not among them in any segment is not among the first.
const VALUES_PER_SEGMENT: usize = 1_000;
const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// The most frequent values of each kind, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacetCounts {
    pub site: Vec<FacetCount>,
    pub lang: Vec<FacetCount>,
    #[serde(rename = "type")]
    pub content_type: Vec<FacetCount>,
    pub year: Vec<FacetCount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacetCount {
    pub value: String,
    pub count: u64,
}

/// Counted so far, over segments.
#[derive(Default)]
pub struct Facets {
    sites: HashMap<String, u64>,
    langs: HashMap<String, u64>,
    types: HashMap<String, u64>,
    years: HashMap<String, u64>,
}

impl Facets {
    pub fn into_counts(self) -> FacetCounts {
        FacetCounts {
            site: most_frequent(self.sites),
            lang: most_frequent(self.langs),
            content_type: most_frequent(self.types),
            year: most_frequent(self.years),
        }
    }
}

fn most_frequent(values: HashMap<String, u64>) -> Vec<FacetCount> {
    let mut counts: Vec<FacetCount> = values.into_iter().map(|(value, count)| FacetCount { value, count }).collect();
    counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
    counts.truncate(MAX_VALUES);
    counts
}

/// Counts the matches of one segment.
pub struct FacetCounter {
    sites: Option<Counted>,
    langs: Option<Counted>,
    types: Option<Counted>,
    /// Days since 1970, as most matches of a crawl have few.
    days: HashMap<i64, u64>,
}

struct Counted {
    column: StrColumn,
    counts: Vec<u32>,
}

impl FacetCounter {
    pub fn new(reader: &SegmentReader) -> tantivy::Result<Self> {
        let counted = |name: &str| -> tantivy::Result<Option<Counted>> {
            let column = reader.fast_fields().str(name)?;
            Ok(column.map(|column| Counted { counts: vec![0; column.num_terms()], column }))
        };
        Ok(Self {
            sites: counted(HOST_NAME)?,
            langs: counted(LANG)?,
            types: counted(CONTENT_TYPE)?,
            days: HashMap::new(),
        })
    }

    pub fn count(&mut self, document: DocId, dates: &Column<i64>) {
        for counted in [&mut self.sites, &mut self.langs, &mut self.types].into_iter().flatten() {
            if let Some(number) = counted.column.ords().first(document)
                && let Some(count) = counted.counts.get_mut(number as usize)
            {
                *count += 1;
            }
        }
        if let Some(date) = dates.first(document) {
            *self.days.entry(date.div_euclid(MILLISECONDS_A_DAY)).or_default() += 1;
        }
    }

    pub fn add_to(self, facets: &mut Facets) -> tantivy::Result<()> {
        let kinds = [(self.sites, &mut facets.sites), (self.langs, &mut facets.langs), (self.types, &mut facets.types)];
        for (counted, values) in kinds {
            let Some(counted) = counted else { continue };
            let mut numbers: Vec<usize> = (0..counted.counts.len()).filter(|&at| counted.counts[at] > 0).collect();
            numbers.sort_unstable_by_key(|&at| std::cmp::Reverse(counted.counts[at]));
            numbers.truncate(VALUES_PER_SEGMENT);
            let mut name = String::new();
            for number in numbers {
                if counted.column.ord_to_str(number as u64, &mut name)? {
                    *values.entry(name.clone()).or_default() += u64::from(counted.counts[number]);
                }
            }
        }
        for (day, count) in self.days {
            let year = date(day.saturating_mul(MILLISECONDS_A_DAY)).year();
            *facets.years.entry(year.to_string()).or_default() += count;
        }
        Ok(())
    }
}
