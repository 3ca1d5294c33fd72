//! Which URL of a leased host goes next.
//!
//! The answer is one comparison: every queued URL carries its place in the host's queue, made by the Monitor when the
//! URL was discovered, and the smallest place goes first. Depth-first and breadth-first differ only in how places are
//! made, so the collector needs no stack and no queue of its own, and a URL that another collector takes over later
//! keeps its place.
//!
//! With one connection per host the order is exact: the connection is not used again before the links of the page it
//! brought have been answered, so a new first child is known before the next URL is chosen. With more connections the
//! order holds among the URLs that are known when a connection becomes free.

use std::fmt;

use bytes::Bytes;

/// Where a URL stands in its host's queue; compared byte by byte, smaller goes first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(Bytes);

impl Place {
    /// Before every place that the Monitor makes.
    pub fn start() -> Self {
        Self(Bytes::new())
    }

    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }
}

impl From<Bytes> for Place {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
