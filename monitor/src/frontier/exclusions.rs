//! What kept links out of a crawl: a count and an example per rule. In memory, written out now and then.

use std::collections::HashMap;

use crate::record::{ExclusionRecord, ExclusionRecords};

/// Rules counted apart. Crawls have fewer; further ones are counted together.
const MAX_RULES: usize = 200;
const OTHER_RULES: &str = "other rules";

#[derive(Default)]
pub(super) struct Exclusions {
    by_rule: HashMap<String, ExclusionRecord>,
    changed: bool,
}

impl Exclusions {
    pub fn of(records: ExclusionRecords) -> Self {
        let by_rule = records.rules.into_iter().map(|record| (record.rule.clone(), record)).collect();
        Self { by_rule, changed: false }
    }

    pub fn count(&mut self, rule: &str, url: &str) {
        self.changed = true;
        let rule = if self.by_rule.contains_key(rule) || self.by_rule.len() < MAX_RULES { rule } else { OTHER_RULES };
        if !self.by_rule.contains_key(rule) {
            let record = ExclusionRecord { rule: rule.to_owned(), ..ExclusionRecord::default() };
            self.by_rule.insert(rule.to_owned(), record);
        }
        if let Some(record) = self.by_rule.get_mut(rule) {
            record.links += 1;
            record.example.clear();
            record.example.push_str(url);
        }
    }

    pub fn most_frequent_first(&self) -> Vec<ExclusionRecord> {
        let mut records: Vec<_> = self.by_rule.values().cloned().collect();
        records.sort_by(|a, b| b.links.cmp(&a.links).then_with(|| a.rule.cmp(&b.rule)));
        records
    }

    /// What is to be written, if anything has changed since the last time.
    pub fn take_changed(&mut self) -> Option<ExclusionRecords> {
        std::mem::take(&mut self.changed).then(|| ExclusionRecords { rules: self.most_frequent_first() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_counted_apart_with_an_example_and_in_bounded_memory() {
        let mut exclusions = Exclusions::default();
        for number in 0..MAX_RULES + 50 {
            exclusions.count(&format!("rule {number}"), "http://a.test/x");
        }
        exclusions.count("rule 7", "http://a.test/y");
        let records = exclusions.take_changed().unwrap().rules;
        assert_eq!(records.len(), MAX_RULES + 1);
        assert_eq!((records[0].rule.as_str(), records[0].links), (OTHER_RULES, 50));
        assert_eq!((records[1].links, records[1].example.as_str()), (2, "http://a.test/y"));
        assert!(exclusions.take_changed().is_none());
    }
}
