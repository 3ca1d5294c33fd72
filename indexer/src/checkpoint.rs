//! How far the index has come in each log: committed together with the documents, and checked when it is read back.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::likeness::Likeness;

/// Log name to what the index has of it.
pub type Checkpoint = BTreeMap<String, LogProgress>;

/// Damaged stretches that are told one by one; further ones lengthen the last.
const MAX_STRETCHES: usize = 100;

/// What the index has of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogProgress {
    /// Behind the last entry that the index holds.
    pub offset: u64,
    /// Names that entry, so that the log can tell whether the offset is still one of its own.
    pub mark: Option<Mark>,
    /// What could not be read on the way there.
    pub damaged: Vec<Stretch>,
}

/// An entry of a log, by its place and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub offset: u64,
    pub checksum: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    pub start: u64,
    pub end: u64,
    pub reason: String,
}

impl LogProgress {
    /// Everything up to there, and nothing damaged.
    pub fn at(offset: u64) -> Self {
        Self { offset, ..Self::default() }
    }

    pub fn pass_over(&mut self, stretch: Stretch) {
        let is_full = self.damaged.len() == MAX_STRETCHES;
        match self.damaged.last_mut() {
            // Read again after a restart.
            Some(last) if last.end >= stretch.end => {}
            Some(last) if is_full => last.end = stretch.end,
            _ => self.damaged.push(stretch),
        }
    }
}

/// Whether everything in a log up to an offset is in the index, or known to be lost.
pub fn covers(committed: &Checkpoint, log_id: &str, until_offset: u64) -> bool {
    until_offset == 0 || committed.get(log_id).is_some_and(|log| log.offset >= until_offset)
}

/// What is committed together with the documents.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub logs: Checkpoint,
    #[serde(default)]
    pub unsettled: BTreeSet<Likeness>,
}

impl Progress {
    /// As text behind its checksum: nothing else in the index would notice a wrong digit.
    pub fn encode(&self) -> String {
        let json = serde_json::to_string(self).expect("texts and numbers are JSON");
        format!("{:08x} {json}", crc32fast::hash(json.as_bytes()))
    }

    /// `None` when it is damaged.
    pub fn decode(text: &str) -> Option<Self> {
        let (checksum, json) = text.split_once(' ')?;
        let holds = checksum == format!("{:08x}", crc32fast::hash(json.as_bytes()));
        if holds { serde_json::from_str(json).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(start: u64, end: u64) -> Stretch {
        Stretch { start, end, reason: "torn".to_owned() }
    }

    #[test]
    fn a_changed_bit_is_noticed() {
        let mark = Some(Mark { offset: 90, checksum: 7 });
        let log = LogProgress { offset: 123, mark, damaged: vec![stretch(5, 9)] };
        let progress = Progress { logs: [("log".to_owned(), log)].into(), unsettled: BTreeSet::new() };
        let text = progress.encode();
        assert_eq!(Progress::decode(&text), Some(progress));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert_eq!(String::from_utf8(bytes).ok().as_deref().and_then(Progress::decode), None, "{at}");
        }
    }

    #[test]
    fn stretches_are_told_once_and_their_number_is_bounded() {
        let mut log = LogProgress::default();
        for number in (0..1000).map(|number| number * 10) {
            log.pass_over(stretch(number, number + 5));
            log.pass_over(stretch(number, number + 5));
        }
        assert_eq!((log.damaged.len(), log.damaged[0].clone()), (MAX_STRETCHES, stretch(0, 5)));
        assert_eq!(log.damaged.last().map(|last| last.end), Some(9_995));
    }
}
