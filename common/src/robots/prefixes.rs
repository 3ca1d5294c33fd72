//! Rules without a `*`: which of them is the longest that a path begins with.
//!
//! A file may hold tens of thousands of them. They are kept sorted, each with a link to its *parent*, the longest other
//! one that it begins with. Of all that a path begins with, the longest stands, in that order, at or above the last one
//! that is not behind the path: whatever sorts between a prefix of the path and the path begins with that prefix. So one
//! binary search and a walk along the parents find it, whatever the file says.

use super::rules::Verdict;

#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// Sorted by text, each text once.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    text: Box<[u8]>,
    verdict: Verdict,
    parent: Option<u32>,
}

impl Prefixes {
    /// Texts are in normal form. Of equal ones the allowing counts, or else the first.
    pub fn new(rules: impl IntoIterator<Item = (Vec<u8>, Verdict)>) -> Self {
        let mut rules: Vec<_> = rules.into_iter().collect();
        rules.sort_by(|(a, first), (b, second)| a.cmp(b).then(second.allow.cmp(&first.allow)));
        rules.dedup_by(|(a, _), (b, _)| a == b);
        let mut entries: Vec<Entry> = Vec::with_capacity(rules.len());
        for (text, verdict) in rules {
            let before = entries.len().checked_sub(1).map(|last| last as u32);
            let parent = ancestors(&entries, before).find(|entry| text.starts_with(&entries[*entry as usize].text));
            entries.push(Entry { text: text.into(), verdict, parent });
        }
        Self { entries }
    }

    /// The longest text that the path begins with: its length and what it says.
    pub fn longest(&self, path: &[u8]) -> Option<(usize, Verdict)> {
        let not_behind = self.entries.partition_point(|entry| *entry.text <= *path);
        let last = not_behind.checked_sub(1)?;
        let common = self.entries[last].text.iter().zip(path).take_while(|(a, b)| a == b).count();
        let found = ancestors(&self.entries, Some(last as u32))
            .map(|entry| &self.entries[entry as usize])
            .find(|entry| entry.text.len() <= common)?;
        Some((found.text.len(), found.verdict))
    }

    /// What is said of exactly this path.
    pub fn exactly(&self, path: &[u8]) -> Option<Verdict> {
        let found = self.entries.binary_search_by(|entry| (*entry.text).cmp(path)).ok()?;
        Some(self.entries[found].verdict)
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// An entry, its parent, the parent of that, and so on.
fn ancestors(entries: &[Entry], from: Option<u32>) -> impl Iterator<Item = u32> {
    std::iter::successors(from, |entry| entries[*entry as usize].parent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(line: usize, allow: bool) -> Verdict {
        Verdict { allow, line: line as u32 }
    }

    proptest! {
        #[test]
        fn the_longest_prefix_is_found_among_all(
            texts in prop::collection::vec(("[ab]{0,6}", any::<bool>()), 0..20), path in "[ab]{0,8}",
        ) {
            let rules = texts.iter().enumerate().map(|(line, (text, allow))| (text.clone().into_bytes(), verdict(line, *allow)));
            let found = Prefixes::new(rules).longest(path.as_bytes());
            let best = texts.iter().filter(|(text, _)| path.starts_with(text)).max_by_key(|(text, allow)| (text.len(), *allow));
            prop_assert_eq!(
                found.map(|(length, verdict)| (length, verdict.allow)),
                best.map(|(text, allow)| (text.len(), *allow))
            );
        }
    }

    #[test]
    fn only_the_same_path_is_found_exactly() {
        let exact = Prefixes::new([(b"/a".to_vec(), verdict(1, false)), (b"/a/b".to_vec(), verdict(2, true))]);
        assert_eq!(exact.exactly(b"/a"), Some(verdict(1, false)));
        assert_eq!(exact.exactly(b"/a/"), None);
        assert!(Prefixes::default().is_empty() && Prefixes::default().longest(b"/").is_none());
    }
}
