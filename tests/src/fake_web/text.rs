//! The words on the pages: sentences and phrases per language, made once at start.
//!
//! A vocabulary is a list of real words in rough order of frequency, lengthened by words derived from them, and is
//! drawn from by Zipf's law: an index over these pages sees a few very common terms and a long tail, as in real text.
//! Pages are put together from these sentences by copying; nothing is drawn from the vocabulary while serving.

mod vocabulary;

use std::str::FromStr;

use anyhow::bail;

use self::vocabulary::Vocabulary;
use super::config::FakeWebConfig;
use super::dice::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lang {
    English,
    Chinese,
    Czech,
}

impl Lang {
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
            Self::Czech => "cs",
        }
    }
}

impl FromStr for Lang {
    type Err = anyhow::Error;

    fn from_str(code: &str) -> anyhow::Result<Self> {
        Ok(match code {
            "en" => Self::English,
            "zh" => Self::Chinese,
            "cs" => Self::Czech,
            other => bail!("{other:?} is no language of the test web: give en, zh or cs"),
        })
    }
}

const PHRASES: usize = 4096;
/// Sentences made per page of the web, up to the bound: more variety than one page can show, little memory.
const SENTENCES_PER_PAGE: usize = 8;
const SENTENCES: std::ops::RangeInclusive<usize> = 1024..=32_768;

/// Ready sentences and phrases of one language.
#[derive(Debug)]
pub struct TextPool {
    pub lang: Lang,
    sentences: Pieces,
    phrases: Pieces,
}

/// Many short strings in one piece of memory.
#[derive(Debug, Default)]
struct Pieces {
    text: String,
    ends: Vec<u32>,
}

impl Pieces {
    fn end_piece(&mut self) {
        self.ends.push(u32::try_from(self.text.len()).expect("a pool holds a few megabytes"));
    }

    /// Up to `count` neighbours from a random place, stopping once they have `enough` bytes.
    fn pick(&self, dice: &mut Dice, count: usize, enough: usize) -> &[u8] {
        let first = dice.below(self.ends.len());
        let start = if first == 0 { 0 } else { self.ends[first - 1] as usize };
        let mut end = start;
        for piece_end in self.ends[first..].iter().take(count) {
            end = *piece_end as usize;
            if end - start >= enough {
                break;
            }
        }
        &self.text.as_bytes()[start..end]
    }
}

impl TextPool {
    pub fn new(config: &FakeWebConfig, lang: Lang) -> Self {
        let vocabulary = Vocabulary::new(lang);
        let mut dice = Dice::keyed(config.seed, 0x7e47, lang as u64);
        let wanted = (config.pages as usize).saturating_mul(config.hosts.len()).saturating_mul(SENTENCES_PER_PAGE);
        let mut sentences = Pieces::default();
        for _ in 0..wanted.clamp(*SENTENCES.start(), *SENTENCES.end()) {
            vocabulary.write_sentence(&mut dice, &mut sentences.text);
            sentences.end_piece();
        }
        let mut phrases = Pieces::default();
        for _ in 0..PHRASES {
            vocabulary.write_phrase(&mut dice, &mut phrases.text);
            phrases.end_piece();
        }
        Self { lang, sentences, phrases }
    }

    pub fn sentence(&self, dice: &mut Dice) -> &[u8] {
        self.sentences.pick(dice, 1, 0)
    }

    /// Up to `count` sentences, fewer once they have `enough` bytes. They are neighbours in memory: a page that took
    /// each sentence from elsewhere would spend most of its time waiting for the cache.
    pub fn paragraph(&self, dice: &mut Dice, count: usize, enough: usize) -> &[u8] {
        self.sentences.pick(dice, count, enough)
    }

    /// Two or three words for a title, a heading or the text of a link.
    pub fn phrase(&self, dice: &mut Dice) -> &[u8] {
        self.phrases.pick(dice, 1, 0)
    }
}
