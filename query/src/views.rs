//! Keeps states of the index alive for a while after they were searched, so that the pages of one search are cut from one
//! list although the index goes on changing.
//!
//! Bounded in number and time: a kept view holds on to files that a merge has removed. Views that somebody pages through
//! are kept rather than those that were searched once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use seine_indexer::schema;
use tantivy::Searcher;

use crate::copies::Copies;

const MAX_VIEWS: usize = 16;
/// Since it was last searched.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// The index as it was at some moment.
#[derive(Clone)]
pub struct View {
    pub searcher: Searcher,
    pub copies: Arc<Copies>,
    pub number: u64,
    /// Unix milliseconds; what the age of pages is counted from.
    pub seen_at_ms: i64,
}

impl View {
    /// `number` must differ from those of all other views of this process.
    pub fn new(searcher: Searcher, number: u64) -> tantivy::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let copies = Arc::new(Copies::of(&searcher, &schema::schema().1)?);
        Ok(Self { searcher, copies, number, seen_at_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX) })
    }

    /// Where the numbers of this process begin: those of another process, whose cursors may come here, are elsewhere.
    pub fn first_number() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mixed =
            (now.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed & !0xffff_ffff
    }
}

#[derive(Default)]
pub struct KeptViews {
    /// The longest unused first.
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    view: View,
    used: Instant,
    paged: bool,
}

impl KeptViews {
    pub fn keep(&self, view: &View) {
        self.touch(view.number, false, Some(view));
    }

    /// `None` when it is no longer kept.
    pub fn get(&self, number: u64) -> Option<View> {
        self.touch(number, true, None)
    }

    fn touch(&self, number: u64, paged: bool, new: Option<&View>) -> Option<View> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        kept.retain(|kept| now.duration_since(kept.used) < KEPT_FOR);
        let place = kept.iter().position(|kept| kept.view.number == number);
        let mut found = match (place.and_then(|place| kept.remove(place)), new) {
            (Some(found), _) => found,
            (None, Some(view)) => Kept { view: view.clone(), used: now, paged: false },
            (None, None) => return None,
        };
        found.used = now;
        found.paged |= paged;
        let view = found.view.clone();
        if kept.len() >= MAX_VIEWS {
            let searched_once = kept.iter().position(|kept| !kept.paged);
            kept.remove(searched_once.unwrap_or(0));
        }
        kept.push_back(found);
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use tantivy::Index;

    use super::*;

    fn view(number: u64) -> View {
        let index = Index::create_in_ram(seine_indexer::schema::schema().0);
        View::new(index.reader().unwrap().searcher(), number).unwrap()
    }

    #[test]
    fn few_views_are_kept_and_those_paged_through_the_longest() {
        let views = KeptViews::default();
        views.keep(&view(1));
        views.keep(&view(2));
        assert!(views.get(1).is_some());
        for number in 3..=2 + MAX_VIEWS as u64 {
            views.keep(&view(number));
        }
        assert!(views.get(1).is_some());
        assert!(views.get(2).is_none() && views.get(3).is_none());
        assert!(views.get(2 + MAX_VIEWS as u64).is_some());
    }
}
