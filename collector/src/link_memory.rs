//! Links that the Monitor is known to have, so that the menu of a site does not travel with each of its pages.
//!
//! A link is remembered once the page it stood on is settled, which the Monitor does durably and after the page's
//! links; so a link that is held back here is never lost. It is sent again when it is met at a smaller depth, or at any
//! other depth where a filter looks at that. The memory is cleared with every new stream, and keyed by the crawl with its
//! settings: a changed scope asks anew.
//!
//! Two generations bound it: when the younger is full it becomes the older, and what was not met since is forgotten.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::Mutex;

use seine_proto::monitor::v1::Crawl;

/// Links per generation.
const GENERATION: usize = 100_000;

/// Keys are hashes with a random key already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Link to the smallest depth at which it was sent.
type Generation = HashMap<u64, u32, BuildHasherDefault<AsIs>>;

#[derive(Default)]
pub struct LinkMemory {
    hasher: RandomState,
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: Generation,
    old: Generation,
}

/// One crawl with its settings.
#[derive(Clone, Copy, Debug)]
pub struct CrawlKey {
    key: u64,
    /// A filter may admit a link at a greater depth than where it denies it.
    by_depth: bool,
}

impl LinkMemory {
    pub fn crawl_key(&self, crawl: &Crawl) -> CrawlKey {
        let filters = [&crawl.enumeration, &crawl.generation];
        let mut rules = filters.into_iter().flatten().flat_map(|filter| &filter.rules);
        CrawlKey {
            key: self.hasher.hash_one(format!("{crawl:?}")),
            by_depth: rules.any(|rule| rule.to_ascii_lowercase().contains("depth")),
        }
    }

    /// Takes out the links that need not be sent, and gives the hashes of all.
    pub fn sift(&self, crawl: CrawlKey, links: &mut Vec<String>, depth: u32) -> Vec<u64> {
        let told_apart = if crawl.by_depth { depth } else { 0 };
        let hashes: Vec<u64> = links.iter().map(|link| self.hasher.hash_one((crawl.key, told_apart, link))).collect();
        let generations = self.lock();
        let mut next = hashes.iter();
        links.retain(|_| next.next().is_none_or(|hash| !generations.has(*hash, depth)));
        hashes
    }

    pub fn remember(&self, hashes: &[u64], depth: u32) {
        let mut generations = self.lock();
        for &hash in hashes {
            generations.put(hash, depth);
        }
    }

    pub fn clear(&self) {
        *self.lock() = Generations::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.generations.lock().expect("nothing panics while the memory is locked")
    }
}

impl Generations {
    fn has(&self, hash: u64, depth: u32) -> bool {
        self.young.get(&hash).or_else(|| self.old.get(&hash)).is_some_and(|known| *known <= depth)
    }

    fn put(&mut self, hash: u64, depth: u32) {
        let depth = self.old.get(&hash).map_or(depth, |known| depth.min(*known));
        let known = self.young.entry(hash).or_insert(depth);
        *known = depth.min(*known);
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::Filter;

    use super::*;

    fn crawl(name: &str) -> Crawl {
        Crawl { name: name.into(), ..Crawl::default() }
    }

    fn sifted(memory: &LinkMemory, key: CrawlKey, links: &[&str], depth: u32) -> Vec<String> {
        let mut links = links.iter().map(|&link| link.to_owned()).collect();
        memory.sift(key, &mut links, depth);
        links
    }

    #[test]
    fn only_remembered_links_of_the_same_crawl_are_held_back() {
        let memory = LinkMemory::default();
        let (a, b) = (memory.crawl_key(&crawl("a")), memory.crawl_key(&crawl("b")));
        let hashes = memory.sift(a, &mut vec!["x".into(), "y".into()], 3);
        assert_eq!(sifted(&memory, a, &["x"], 3), ["x"], "sent is not yet settled");
        memory.remember(&hashes, 3);
        assert_eq!(sifted(&memory, a, &["w", "x", "y", "z"], 3), ["w", "z"]);
        assert_eq!(sifted(&memory, b, &["x"], 3), ["x"]);
        let changed = memory.crawl_key(&Crawl { max_depth: Some(1), ..crawl("a") });
        assert_eq!(sifted(&memory, changed, &["x"], 3), ["x"]);
        memory.clear();
        assert_eq!(sifted(&memory, a, &["x"], 3), ["x"]);
    }

    #[test]
    fn a_link_met_at_a_smaller_depth_is_sent_again() {
        let memory = LinkMemory::default();
        let key = memory.crawl_key(&crawl("a"));
        let hashes = memory.sift(key, &mut vec!["x".into()], 5);
        memory.remember(&hashes, 5);
        assert_eq!(sifted(&memory, key, &["x"], 4), ["x"]);
        memory.remember(&hashes, 4);
        memory.remember(&hashes, 9);
        assert!(sifted(&memory, key, &["x"], 4).is_empty());
    }

    #[test]
    fn where_a_filter_looks_at_the_depth_each_depth_counts() {
        let memory = LinkMemory::default();
        let filter = Filter { rules: vec!["deny depth < 2".into()], ..Filter::default() };
        let key = memory.crawl_key(&Crawl { generation: Some(filter), ..crawl("a") });
        let hashes = memory.sift(key, &mut vec!["x".into()], 1);
        memory.remember(&hashes, 1);
        assert!(sifted(&memory, key, &["x"], 1).is_empty());
        assert_eq!(sifted(&memory, key, &["x"], 2), ["x"]);
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_is_met_often() {
        let memory = LinkMemory::default();
        let key = memory.crawl_key(&crawl("a"));
        let menu = memory.sift(key, &mut vec!["menu".into()], 1);
        for page in 0..5 * GENERATION as u64 {
            memory.remember(&[page.wrapping_mul(0x9e37_79b9_7f4a_7c15)], 1);
            if page % 1000 == 0 {
                memory.remember(&menu, 1);
            }
        }
        assert!(sifted(&memory, key, &["menu"], 1).is_empty());
        let generations = memory.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }
}
