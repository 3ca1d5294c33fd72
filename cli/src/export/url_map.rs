//! A map by URL that keeps fingerprints instead of URLs, for exports of more pages than their URLs fit in memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

pub struct UrlMap<V> {
    // Two hashes under keys drawn for this run: nobody can make two URLs collide.
    keys: [RandomState; 2],
    values: HashMap<(u64, u64), V>,
}

impl<V> Default for UrlMap<V> {
    fn default() -> Self {
        Self { keys: Default::default(), values: HashMap::new() }
    }
}

impl<V> UrlMap<V> {
    /// The value of a URL, which is `new` where it had none.
    pub fn entry(&mut self, url: &str, new: V) -> &mut V {
        let key = self.key(url);
        self.values.entry(key).or_insert(new)
    }

    pub fn get(&self, url: &str) -> Option<&V> {
        self.values.get(&self.key(url))
    }

    fn key(&self, url: &str) -> (u64, u64) {
        (self.keys[0].hash_one(url), self.keys[1].hash_one(url))
    }
}
