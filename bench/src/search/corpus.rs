//! Documents in a made-up language whose k-th word is about 1/k as frequent as the first, and queries in it. The same in
//! every run.

use seine_indexer::entry::Page;

const WORDS: usize = 60_000;
const TEXT_BYTES: usize = 10_000;
/// Words of queries are neither the most frequent ones nor those that hardly a document has.
const ASKED_RANKS: std::ops::Range<u64> = 20..5_020;

pub struct Corpus {
    words: Vec<String>,
}

/// The queries as they are typed: every beginning of two and more letters.
pub fn typed(queries: &[String]) -> Vec<String> {
    queries.iter().flat_map(|query| (2..=query.len()).map(|end| query[..end].to_owned())).collect()
}

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

impl Corpus {
    pub fn new() -> Self {
        let mut random = Random(42);
        let syllables =
            ["ta", "re", "in", "lo", "mer", "on", "sti", "a", "ker", "vi", "del", "sha", "ou", "pen", "gri", "e"];
        let mut word = |rank: usize| {
            let count = 1 + usize::from(rank >= 100) + usize::from(rank >= 2_000) + (random.next() % 2) as usize;
            (0..count).map(|_| syllables[(random.next() % 16) as usize]).collect::<String>()
        };
        Self { words: (0..WORDS).map(&mut word).collect() }
    }

    pub fn page(&self, number: u32) -> Page {
        let mut random = Random(u64::from(number) * 7_919 + 1);
        let title = (0..6).map(|_| self.drawn(&mut random)).collect::<Vec<_>>().join(" ");
        let text = self.text(&mut random);
        Page {
            url: format!("http://host{}.example/page-{number}.html", number % 37),
            crawl: "bench".to_owned(),
            title,
            text,
            lang: "en".to_owned(),
            content_type: "text/html".to_owned(),
            // As different as those of different texts are.
            simhash: random.next() << 11 | 1,
            fingerprint: random.next() | 1,
            bytes: TEXT_BYTES as u64,
            fetched_at_ms: 1_700_000_000_000 + i64::from(number),
            token: 1 + u64::from(number) / 1_000,
            ..Page::default()
        }
    }

    pub fn queries(&self, count: usize) -> Vec<String> {
        let mut random = Random(4_711);
        let span = ASKED_RANKS.end - ASKED_RANKS.start;
        let mut word = || self.words[(ASKED_RANKS.start + random.next() % span) as usize].as_str();
        (0..count).map(|_| format!("{} {}", word(), word())).collect()
    }

    fn drawn(&self, random: &mut Random) -> &str {
        let rank = (self.words.len() as f64).powf(random.unit()) as usize - 1;
        &self.words[rank.min(self.words.len() - 1)]
    }

    fn text(&self, random: &mut Random) -> String {
        let mut text = String::with_capacity(TEXT_BYTES + 16);
        let mut sentence = 0;
        while text.len() < TEXT_BYTES {
            text.push_str(self.drawn(random));
            sentence += 1;
            let ends = sentence > 12 && random.next().is_multiple_of(4);
            text.push_str(if ends { ".\n" } else { " " });
            sentence = if ends { 0 } else { sentence };
        }
        text
    }
}
