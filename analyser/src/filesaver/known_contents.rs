//! Contents that the archive holds already, so that the same bytes are kept once: a bounded memory of payload digests.
//!
//! Two generations: what is found or added goes into the young one; when that is full it becomes the old one and the old
//! one is forgotten. So what keeps coming back stays, and memory is bounded whatever comes. A content that was
//! forgotten is just kept once more. Only durable records are noted here. What an earlier process wrote may have been damaged
//! since, so it is read once before the first page refers to it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use seine_proto::common::v1::ArchivePosition;

/// SHA-1 of a body as received.
pub(crate) type PayloadDigest = [u8; 20];

/// A reference to smaller bodies takes more room than they do.
pub(crate) const MIN_BODY_BYTES: usize = 512;
/// Bytes that one generation may take.
const GENERATION_BYTES: usize = 12 << 20;
/// What an entry takes beside its texts.
const ENTRY_BYTES: usize = 160;

/// Where a content stands and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Original {
    pub url: Box<str>,
    /// To the second.
    pub at_ms: i64,
    /// Without parameters; the same bytes of another type are another content.
    pub content_type: Box<str>,
    pub file: Arc<str>,
    pub offset: u64,
    pub length: u64,
}

impl Original {
    pub fn position(&self) -> ArchivePosition {
        ArchivePosition {
            file: self.file.to_string(),
            offset: self.offset,
            length: self.length,
            ..ArchivePosition::default()
        }
    }
}

pub(crate) struct KnownContents {
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<PayloadDigest, Arc<Original>>,
    old: HashMap<PayloadDigest, Arc<Original>>,
    young_bytes: usize,
    limit: usize,
    /// Written by an earlier process and not read since.
    unread: HashSet<PayloadDigest>,
}

impl Default for KnownContents {
    fn default() -> Self {
        Self::with_limit(GENERATION_BYTES)
    }
}

impl KnownContents {
    fn with_limit(limit: usize) -> Self {
        Self { generations: Mutex::new(Generations { limit, ..Generations::default() }) }
    }

    pub fn find(&self, digest: &PayloadDigest, content_type: &str) -> Option<Arc<Original>> {
        let mut generations = self.lock();
        let found = match generations.young.get(digest) {
            Some(found) => Arc::clone(found),
            None => {
                let found = generations.old.remove(digest)?;
                generations.add(*digest, Arc::clone(&found));
                found
            }
        };
        (*found.content_type == *content_type).then_some(found)
    }

    pub fn note(&self, digest: PayloadDigest, original: Original) {
        self.lock().add(digest, Arc::new(original));
    }

    /// For filling it at the start, newest first. False when it is full.
    pub fn note_older(&self, digest: PayloadDigest, original: Original) -> bool {
        let mut generations = self.lock();
        if generations.young_bytes + size(&original) > generations.limit {
            return false;
        }
        generations.young_bytes += size(&original);
        generations.young.entry(digest).or_insert_with(|| Arc::new(original));
        generations.unread.insert(digest);
        true
    }

    /// Whether the content can be referred to. `is_whole` reads its record, which is asked at most once; a content that is not
    /// there any more is forgotten.
    pub fn confirm(&self, digest: &PayloadDigest, is_whole: impl FnOnce() -> bool) -> bool {
        if !self.lock().unread.contains(digest) {
            return true;
        }
        let confirmed = is_whole();
        let mut generations = self.lock();
        generations.unread.remove(digest);
        if !confirmed {
            generations.young.remove(digest);
            generations.old.remove(digest);
        }
        confirmed
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.generations.lock().expect("no holder panics")
    }
}

impl Generations {
    fn add(&mut self, digest: PayloadDigest, original: Arc<Original>) {
        if self.young_bytes + size(&original) > self.limit {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += size(&original);
        self.young.insert(digest, original);
    }
}

fn size(original: &Original) -> usize {
    ENTRY_BYTES + original.url.len() + original.content_type.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original(number: u64) -> Original {
        Original {
            url: format!("http://example.org/{number}").into(),
            at_ms: 0,
            content_type: "text/html".into(),
            file: "a.warc.gz".into(),
            offset: number,
            length: 1,
        }
    }

    fn digest(number: u64) -> PayloadDigest {
        let mut digest = [0; 20];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest
    }

    #[test]
    fn memory_is_bounded_and_what_is_asked_for_stays() {
        let known = KnownContents::with_limit(100 * ENTRY_BYTES);
        for number in 0..10_000 {
            known.note(digest(number), original(number));
            assert_eq!(known.find(&digest(0), "text/html").unwrap().offset, 0, "{number}");
        }
        let generations = known.lock();
        assert!(generations.young.len() + generations.old.len() <= 200);
    }

    #[test]
    fn the_same_bytes_of_another_type_are_another_content() {
        let known = KnownContents::default();
        known.note(digest(1), original(1));
        assert!(known.find(&digest(1), "text/html").is_some());
        assert!(known.find(&digest(1), "text/plain").is_none());
        assert!(known.find(&digest(2), "text/html").is_none());
    }

    #[test]
    fn what_is_newer_wins_when_it_is_filled_from_the_past() {
        let known = KnownContents::with_limit(2 * (ENTRY_BYTES + 40));
        assert!(known.note_older(digest(1), original(7)));
        assert!(known.note_older(digest(1), original(3)));
        assert!(!known.note_older(digest(2), original(2)), "it is full");
        assert_eq!(known.find(&digest(1), "text/html").unwrap().offset, 7);
    }

    #[test]
    fn what_an_earlier_process_wrote_is_read_once_before_it_is_referred_to() {
        let known = KnownContents::default();
        assert!(known.note_older(digest(1), original(1)) && known.note_older(digest(2), original(2)));
        known.note(digest(3), original(3));
        assert!(known.confirm(&digest(3), || panic!("written by this process")));
        assert!(known.confirm(&digest(1), || true));
        assert!(known.confirm(&digest(1), || panic!("read already")));
        assert!(!known.confirm(&digest(2), || false));
        assert!(known.find(&digest(2), "text/html").is_none());
    }
}
