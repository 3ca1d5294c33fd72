//! Where the Monitor may be.
//!
//! Several machines may become it. Known are the address at which this process joined and, from the node table, those of all
//! that have the role; they are kept beside the identity, so that a process that starts while the Monitor is another one
//! than it joined finds it. Which of them it is nobody has to say: its certificate alone has the Monitor's name, so whoever
//! [connects](super::dial) tries one after the other, the last that answered first.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use seine_proto::monitor::v1::NodeInfo;

use crate::identity::BookError;
use crate::identity::book::Books;
use crate::identity::registrar::MONITOR;

const BOOK: &str = "monitors";
/// Addresses that are remembered; those that are told now come first.
const MOST: usize = 8;

/// Clones are the same.
#[derive(Clone)]
pub struct Monitors {
    known: Arc<Mutex<Vec<String>>>,
    /// Where they are kept; `None` for one command's use.
    books: Option<Books>,
}

impl Monitors {
    /// One that is nowhere else, HOST:PORT.
    pub fn at(address: &str) -> Self {
        Self { known: Arc::new(Mutex::new(vec![address.to_owned()])), books: None }
    }

    /// The first of these, then those that an earlier process with the identity in this directory knew.
    pub fn open(directory: &Path, first: impl IntoIterator<Item = String>) -> Result<Self, BookError> {
        let books = Books::open(directory)?;
        let kept: Vec<String> = books.load(BOOK)?.unwrap_or_default();
        let known = distinct(first.into_iter().chain(kept));
        Ok(Self { known: Arc::new(Mutex::new(known)), books: Some(books) })
    }

    /// In the order in which they should be tried.
    pub fn addresses(&self) -> Vec<String> {
        self.known().clone()
    }

    /// Where the Monitor answered last, or where it should.
    pub fn likeliest(&self) -> String {
        self.known().first().cloned().unwrap_or_default()
    }

    /// The Monitor is there.
    pub(super) fn answered(&self, address: &str) {
        let mut known = self.known();
        if known.first().is_none_or(|first| first != address) {
            known.retain(|other| other != address);
            known.insert(0, address.to_owned());
        }
    }

    /// It was there, and answers no more: others come first.
    pub(super) fn was_silent(&self, address: &str) {
        let mut known = self.known();
        if known.first().is_some_and(|first| first == address) {
            known.rotate_left(1);
        }
    }

    /// These nodes run now, besides the own one.
    pub fn learn(&self, nodes: &[NodeInfo], own: &str) {
        let may_be = nodes.iter().filter(|node| node.id != own && node.roles.iter().any(|role| role == MONITOR));
        let told: Vec<String> = may_be.map(|node| node.address.clone()).filter(|address| !address.is_empty()).collect();
        let now = {
            let mut known = self.known();
            if told.iter().all(|address| known.contains(address)) {
                return;
            }
            // The one that answered stays first, and those that are not told any more are forgotten first.
            let first = known.first().cloned();
            *known = distinct(first.into_iter().chain(told).chain(std::mem::take(&mut *known)));
            known.clone()
        };
        if let Some(Err(error)) = self.books.as_ref().map(|books| books.store(BOOK, &now)) {
            tracing::warn!(%error, "where the Monitor may be could not be kept");
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without repetitions, and not too many.
fn distinct(addresses: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for address in addresses {
        if distinct.len() < MOST && !address.is_empty() && !distinct.contains(&address) {
            distinct.push(address);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, role: &str) -> NodeInfo {
        let (roles, address) = (vec![role.to_owned()], format!("{id}:7071"));
        NodeInfo { id: id.to_owned(), roles, address, ..NodeInfo::default() }
    }

    #[test]
    fn those_that_may_be_the_monitor_are_known_again_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let monitors = Monitors::open(directory.path(), ["joined:7071".to_owned()]).unwrap();
        monitors.learn(&[node("a", "monitor"), node("b", "collector"), node("own", "monitor")], "own");
        assert_eq!(monitors.addresses(), ["joined:7071", "a:7071"]);
        let again = Monitors::open(directory.path(), ["joined:7071".to_owned()]).unwrap();
        assert_eq!(again.addresses(), ["joined:7071", "a:7071"]);
        let moved = Monitors::open(directory.path(), ["other:7071".to_owned()]).unwrap();
        assert_eq!(moved.addresses(), ["other:7071", "joined:7071", "a:7071"]);
    }

    #[test]
    fn the_one_that_answered_is_tried_first_until_it_is_silent() {
        let monitors = Monitors::at("a:1");
        monitors.learn(&[node("b", "monitor"), node("c", "monitor")], "own");
        monitors.answered("c:7071");
        assert_eq!(monitors.addresses(), ["c:7071", "a:1", "b:7071"]);
        assert_eq!(monitors.likeliest(), "c:7071");
        monitors.was_silent("c:7071");
        assert_eq!(monitors.addresses(), ["a:1", "b:7071", "c:7071"]);
        monitors.was_silent("c:7071");
        assert_eq!(monitors.likeliest(), "a:1", "it was not first any more");
    }

    #[test]
    fn no_more_are_remembered_than_a_few_and_those_of_now_before_earlier_ones() {
        let monitors = Monitors::at("first:1");
        for number in 0..20 {
            monitors.learn(&[node(&format!("n{number}"), "monitor")], "own");
        }
        let known = monitors.addresses();
        assert_eq!((known.len(), known[0].as_str(), known[1].as_str()), (MOST, "first:1", "n19:7071"));
    }
}
