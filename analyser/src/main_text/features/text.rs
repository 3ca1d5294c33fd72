//! What the text of a unit is like, taken by itself.

use crate::extract::outline::Unit;

use super::super::page_stats::{UnitStats, share};
use super::super::phrases;
use super::columns::Sink;
use super::{Features, flag};

impl Features<'_> {
    pub(super) fn put_text(&self, place: usize, unit: &Unit, sink: &mut impl Sink) {
        let stats = &self.stats.units[place];
        let text = &self.page.text[unit.start as usize..unit.end as usize];
        let bytes = (unit.end - unit.start).max(1) as f32;
        sink.put("length", stats.length);
        sink.put("words", stats.words);
        sink.put("word length", share(stats.length, stats.words));
        sink.put("links", share(stats.link_length, stats.length));
        sink.put("number of links", f32::from(unit.links));
        sink.put("emphasis", unit.emphasis_bytes as f32 / bytes);
        sink.put("lines", f32::from(unit.lines));
        sink.put("images", f32::from(unit.images));
        sink.put("upper", share(stats.upper, stats.length));
        sink.put("upper per word", share(stats.upper, stats.words));
        sink.put("digits", share(stats.digits, stats.length));
        sink.put("commas", stats.commas);
        sink.put("sentences", stats.sentences);
        sink.put("ends sentence", flag(stats.ends_sentence));
        sink.put("ends with colon", flag(stats.ends_with_colon));
        sink.put("begins upper", flag(stats.begins_upper));
        sink.put("currency", stats.currency);
        sink.put("copyright", flag(stats.has_copyright));
        sink.put("equal texts", f32::from(self.equal_texts[place].0));
        sink.put("equal texts before", f32::from(self.equal_texts[place].1));
        sink.put("title", self.title_share(text));
        for (group, count) in phrases::GROUPS.iter().zip(self.phrases[place]) {
            sink.put(group[0], share(f32::from(count), stats.words));
        }
    }

    /// How much of the text is in the page's title.
    fn title_share(&self, text: &str) -> f32 {
        if text.len() > 200 {
            return 0.0;
        }
        let (mut common, mut all) = (0, 0);
        for word in word_hashes(text) {
            common += usize::from(self.title_words.contains(&word));
            all += 1;
        }
        share(common as f32, all as f32)
    }
}

/// How many units have the same text, and how many of them stand before.
pub(super) fn equal_texts(units: &[UnitStats]) -> Vec<(u8, u8)> {
    let mut order: Vec<(u64, u32)> = units.iter().zip(0..).map(|(unit, place)| (unit.hash, place)).collect();
    order.sort_unstable();
    let mut counts = vec![(0, 0); units.len()];
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        for (before, (_, place)) in group.iter().enumerate() {
            counts[*place as usize] = (group.len().min(255) as u8, before.min(255) as u8);
        }
    }
    counts
}

/// Hashes of the first words: runs of letters and digits.
pub(super) fn word_hashes(text: &str) -> impl Iterator<Item = u64> {
    const WORDS: usize = 40;
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let bytes = text.as_bytes();
    let mut at = 0;
    let next = move || {
        let (mut hash, start) = (START, at);
        while at < bytes.len() {
            // Decoding is for characters that need it.
            let (length, in_word) = match bytes[at] {
                byte if byte.is_ascii() => (1, byte.is_ascii_alphanumeric()),
                _ => text[at..].chars().next().map_or((1, false), |c| (c.len_utf8(), c.is_alphanumeric())),
            };
            if in_word {
                for byte in &bytes[at..at + length] {
                    hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
                }
            }
            at += length;
            if !in_word && hash != START {
                return Some(hash);
            }
        }
        (hash != START && start < at).then_some(hash)
    };
    std::iter::from_fn(next).take(WORDS)
}
