//! How long searches take, beside tantivy alone doing the same search with snippets on the same index, in one run.
//!
//! `search_speed [documents] [bytes per text] [queries]`. Both rank by words in title and text, count every match, load
//! ten documents and make their snippets.

use std::time::{Duration, Instant};

use seine_indexer::entry::{Entry, Page};
use seine_indexer::tokenizer::query::word;
use seine_indexer::tokenizer::{Language, unmarked};
use seine_indexer::writer::DocumentWriter;
use seine_indexer::{Indexer, IndexerConfig, publish, schema};
use seine_query::{QueryConfig, QueryService, SearchRequest};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::snippet::SnippetGenerator;
use tantivy::{Searcher, TantivyDocument, Term};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 11
    }

    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 53) as f64
    }
}

/// Words of an English-like length; the k-th is about 1/k as frequent as the first.
fn words(random: &mut Random) -> Vec<String> {
    let syllables =
        ["ta", "re", "in", "lo", "mer", "on", "sti", "a", "ker", "vi", "del", "sha", "ou", "pen", "gri", "e"];
    let mut word = |rank: usize| {
        let count = 1 + usize::from(rank >= 100) + usize::from(rank >= 2_000) + (random.next() % 2) as usize;
        (0..count).map(|_| syllables[(random.next() % 16) as usize]).collect::<String>()
    };
    (0..60_000).map(&mut word).collect()
}

fn drawn<'a>(words: &'a [String], random: &mut Random) -> &'a str {
    let rank = (words.len() as f64).powf(random.unit()) as usize - 1;
    &words[rank.min(words.len() - 1)]
}

fn text(words: &[String], bytes: usize, random: &mut Random) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut sentence = 0;
    while text.len() < bytes {
        text.push_str(drawn(words, random));
        sentence += 1;
        let ends = sentence > 12 && random.next().is_multiple_of(4);
        text.push_str(if ends { ".\n" } else { " " });
        sentence = if ends { 0 } else { sentence };
    }
    text
}

fn bare(searcher: &Searcher, fields: &schema::Fields, query: &str) -> usize {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    for typed in query.split(' ') {
        let stem = &word(typed, &[Language::of("en")]).stems[0];
        for (field, boost) in [(fields.title, 1.5), (fields.text, 1.0)] {
            let term = TermQuery::new(Term::from_field_text(field, stem), IndexRecordOption::WithFreqs);
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(term), boost))));
        }
    }
    let query = BooleanQuery::new(clauses);
    let (best, total) = searcher.search(&query, &(TopDocs::with_limit(10).order_by_score(), Count)).expect("an answer");
    let snippets = SnippetGenerator::create(searcher, &query, fields.text).expect("a generator");
    for (_, address) in best {
        let document: TantivyDocument = searcher.doc(address).expect("a document");
        let text = document.get_first(fields.text).and_then(|text| text.as_str()).unwrap_or_default();
        std::hint::black_box(snippets.snippet(unmarked(text).1).to_html());
    }
    total
}

fn report(what: &str, mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("{what:<20} p50 {:.2} ms  p99 {:.2} ms", at(0.5), at(0.99));
    at(0.5)
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let mut number = |default: usize| arguments.next().unwrap_or(default);
    let (documents, bytes, queries) = (number(100_000), number(10_000), number(200));
    let mut random = Random(42);
    let words = words(&mut random);
    let directory = tempfile::tempdir().expect("a directory");
    let config = IndexerConfig { memory_bytes: 256 << 20, ..IndexerConfig::default() };
    Indexer::open(directory.path(), config).expect("an index");
    let current = publish::current(directory.path()).expect("readable").expect("an index");
    let started = Instant::now();
    let mut writer = DocumentWriter::open(&current, &config).expect("a writer");
    for number in 0..documents {
        let page = Page {
            url: format!("http://host{}.example/page-{number}.html", number % 37),
            title: (0..6).map(|_| drawn(&words, &mut random)).collect::<Vec<_>>().join(" "),
            text: text(&words, bytes, &mut random),
            lang: "en".to_owned(),
            content_type: "text/html".to_owned(),
            fetched_at_ms: 1_700_000_000_000 + number as i64,
            ..Page::default()
        };
        writer.apply(Entry::Page(Box::new(page))).expect("applied");
        if (number + 1).is_multiple_of(10_000) {
            writer.commit().expect("committed");
        }
    }
    writer.commit().expect("committed");
    let searcher = writer.reader().searcher();
    let segments = searcher.segment_readers().len();
    println!("{documents} documents of {bytes} bytes in {segments} segments, indexed in {:.0?}", started.elapsed());
    let fields = schema::schema().1;
    let service = QueryService::open(directory.path(), QueryConfig::default()).expect("a service");
    let asked: Vec<String> = (0..queries)
        .map(|_| {
            format!("{} {}", words[20 + (random.next() % 5_000) as usize], words[20 + (random.next() % 5_000) as usize])
        })
        .collect();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..2 {
        for query in &asked {
            let started = Instant::now();
            let total = std::hint::black_box(bare(&searcher, &fields, query));
            let bare_took = started.elapsed();
            let started = Instant::now();
            let answer = service.search(&SearchRequest::new(query.as_str())).expect("an answer");
            let took = started.elapsed();
            assert!(answer.total as usize >= total, "{query}");
            // The first round warms both up.
            if round == 1 {
                theirs.push(bare_took);
                ours.push(took);
            }
        }
    }
    let theirs = report("tantivy alone", theirs);
    let ours = report("seine", ours);
    println!("seine takes {:.2} times as long at p50", ours / theirs);
}
