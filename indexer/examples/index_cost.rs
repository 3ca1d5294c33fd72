//! What indexing costs: CPU per document with this schema and tokenizer, beside tantivy's own tokenizer chain, and the
//! speed of the tokenizers alone.
//!
//! `cargo build --release --workspace --examples`, then `index_cost [documents] [bytes per text] [documents per commit]
//! [words|seine|plain|both] [arena megabytes]`.

use std::time::{Duration, Instant};

use seine_common::document_id::DocumentId;
use seine_indexer::IndexerConfig;
use seine_indexer::entry::{Entry, Page};
use seine_indexer::schema;
use seine_indexer::tokenizer::{Language as Stemming, TOKENIZER, WordTokenizer};
use seine_indexer::writer::DocumentWriter;
use tantivy::tokenizer::{AsciiFoldingFilter, LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, IndexWriter, TantivyDocument};

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

/// Words of an English-like length, drawn so that the k-th is about 1/k as frequent as the first.
struct Language {
    words: Vec<String>,
}

impl Language {
    fn new(size: usize, random: &mut Random) -> Self {
        let syllables =
            ["ta", "re", "in", "lo", "mer", "on", "sti", "a", "ker", "vi", "del", "sha", "ou", "pen", "gri", "e"];
        let words = (0..size).map(|rank| {
            let count = 1 + (rank >= 100) as usize + (rank >= 2_000) as usize + (random.next() % 2) as usize;
            (0..count).map(|_| syllables[(random.next() % 16) as usize]).collect()
        });
        Self { words: words.collect() }
    }

    fn text(&self, bytes: usize, random: &mut Random) -> String {
        let mut text = String::with_capacity(bytes + 16);
        let mut sentence = 0;
        while text.len() < bytes {
            let rank = (self.words.len() as f64).powf(random.unit()) as usize - 1;
            let word = &self.words[rank.min(self.words.len() - 1)];
            if sentence == 0 {
                text.extend(word.chars().take(1).map(|c| c.to_ascii_uppercase()));
                text.push_str(&word[1..]);
            } else {
                text.push_str(word);
            }
            sentence += 1;
            if sentence > 12 && random.next().is_multiple_of(4) {
                text.push_str(".\n");
                sentence = 0;
            } else {
                text.push(' ');
            }
        }
        text
    }
}

/// User and system time of all threads so far.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = after_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn peak_rss_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn report(what: &str, documents: usize, wall: Duration, cpu: Duration) {
    println!(
        "{what:<34} {:>7.1} µs CPU/doc  {:>7.1} µs wall/doc  peak RSS {} MB",
        cpu.as_secs_f64() * 1e6 / documents as f64,
        wall.as_secs_f64() * 1e6 / documents as f64,
        peak_rss_mb(),
    );
}

fn default_chain() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(64))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build()
}

fn speed(what: &str, mut analyzer: TextAnalyzer, texts: &[String]) {
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut words = 0u64;
    let started = Instant::now();
    for text in texts {
        let mut stream = analyzer.token_stream(text);
        stream.process(&mut |token| words += u64::from(!token.text.is_empty()));
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{what:<34} {:>7.1} MB/s  {words} words", bytes as f64 / seconds / 1e6);
}

fn pages(texts: &[String]) -> impl Iterator<Item = Page> + '_ {
    texts.iter().enumerate().map(|(number, text)| Page {
        url: format!("http://www.example.org/section-{}/page-{number}.html", number % 37),
        crawl: "bench".to_owned(),
        title: text.split(' ').take(6).collect::<Vec<_>>().join(" "),
        text: text.clone(),
        lang: "en".to_owned(),
        fingerprint: number as u64,
        fetched_at_ms: 1_700_000_000_000 + number as i64,
        token: 1 + number as u64 / 1000,
        ..Page::default()
    })
}

fn seine(texts: &[String], per_commit: usize, memory_bytes: usize) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let indexer = seine_indexer::Indexer::open(root.path(), IndexerConfig::default()).expect("an index");
    drop(indexer);
    let path = seine_indexer::publish::current(root.path()).expect("readable").expect("an index");
    let (wall, before) = (Instant::now(), cpu());
    let config = IndexerConfig { memory_bytes, ..IndexerConfig::default() };
    let mut writer = DocumentWriter::open(&path, &config).expect("a writer");
    for (number, page) in pages(texts).enumerate() {
        writer.apply(Entry::Page(Box::new(page))).expect("applied");
        if (number + 1) % per_commit == 0 {
            writer.advance("log", number as u64);
            writer.commit().expect("committed");
        }
    }
    writer.advance("log", u64::MAX);
    writer.commit().expect("committed");
    let segments = writer.reader().searcher().segment_readers().len();
    drop(writer);
    report("seine: words, upsert, checkpoint", texts.len(), wall.elapsed(), cpu() - before);
    println!("{:<34} {segments} segments", "");
}

fn plain(texts: &[String], per_commit: usize, memory_bytes: usize) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let (schema, fields) = schema::schema();
    let index = Index::create_in_dir(root.path(), schema).expect("an index");
    index.tokenizers().register(TOKENIZER, default_chain());
    let (wall, before) = (Instant::now(), cpu());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, memory_bytes).expect("a writer");
    for (number, page) in pages(texts).enumerate() {
        let mut document = TantivyDocument::new();
        document.add_bytes(fields.id, DocumentId::of(&page.url).as_bytes());
        document.add_text(fields.url, &page.url);
        for site in ["www.example.org", "example.org", "org"] {
            document.add_text(fields.site, site);
        }
        document.add_u64(fields.host, 1);
        document.add_text(fields.title, &page.title);
        document.add_text(fields.text, &page.text);
        document.add_text(fields.lang, &page.lang);
        document.add_text(fields.crawl, &page.crawl);
        document.add_i64(fields.fetched_at, page.fetched_at_ms);
        document.add_u64(fields.token, page.token);
        writer.delete_term(tantivy::Term::from_field_bytes(fields.id, DocumentId::of(&page.url).as_bytes()));
        writer.add_document(document).expect("added");
        if (number + 1) % per_commit == 0 {
            writer.commit().expect("committed");
        }
    }
    writer.commit().expect("committed");
    drop(writer);
    report("tantivy defaults, delete and add", texts.len(), wall.elapsed(), cpu() - before);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (documents, bytes, per_commit) = (number(20_000), number(6_000), number(2_000));
    let which = std::env::args().nth(4).unwrap_or("both".to_owned());
    let megabytes = std::env::args().nth(5).and_then(|text| text.parse().ok()).unwrap_or(64usize);
    let mut random = Random(42);
    let language = Language::new(60_000, &mut random);
    let texts: Vec<String> = (0..documents).map(|_| language.text(bytes, &mut random)).collect();
    println!("{documents} documents of {bytes} bytes, {per_commit} per commit");
    if matches!(which.as_str(), "both" | "words") {
        speed("tantivy simple + lower + fold", default_chain(), &texts);
        speed("seine words", TextAnalyzer::from(WordTokenizer::of(Stemming::of("en"))), &texts);
    }
    if matches!(which.as_str(), "both" | "seine") {
        seine(&texts, per_commit, megabytes << 20);
    }
    if matches!(which.as_str(), "both" | "plain") {
        plain(&texts, per_commit, megabytes << 20);
    }
}
