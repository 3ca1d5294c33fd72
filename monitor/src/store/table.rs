//! The tables of the frontier, and how each is read: that decides how a store lays it out.

/// Keys and values of each are told by [`frontier::key`](crate::frontier).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Seen,
    Queue,
    Retries,
    Records,
    Heads,
    Ready,
    Visits,
    Uses,
    Contents,
    Hosts,
    Addresses,
    AddressRecords,
    Robots,
    Leases,
    Crawls,
    Blocks,
    Forgettings,
    Counters,
    Meta,
}

/// How a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Values are looked up by their keys, many at a time.
    Map,
    /// Entries are read in stretches, in the order of their keys. Behind their group, all keys have this length; `None` where
    /// there are no values.
    List { key_bytes: Option<usize> },
    /// Few entries, which are read together.
    Few,
    /// Numbers that are added to in many slots, and whose sum counts.
    Sum,
}

impl Table {
    pub const ALL: [Self; 19] = [
        Self::Seen,
        Self::Queue,
        Self::Retries,
        Self::Records,
        Self::Heads,
        Self::Ready,
        Self::Visits,
        Self::Uses,
        Self::Contents,
        Self::Hosts,
        Self::Addresses,
        Self::AddressRecords,
        Self::Robots,
        Self::Leases,
        Self::Crawls,
        Self::Blocks,
        Self::Forgettings,
        Self::Counters,
        Self::Meta,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Queue => "queue",
            Self::Retries => "retries",
            Self::Records => "records",
            Self::Heads => "heads",
            Self::Ready => "ready",
            Self::Visits => "visits",
            Self::Uses => "uses",
            Self::Contents => "contents",
            Self::Hosts => "hosts",
            Self::Addresses => "addresses",
            Self::AddressRecords => "address records",
            Self::Robots => "robots",
            Self::Leases => "leases",
            Self::Crawls => "crawls",
            Self::Blocks => "blocks",
            Self::Forgettings => "forgettings",
            Self::Counters => "counters",
            Self::Meta => "meta",
        }
    }

    pub fn kind(self) -> Kind {
        match self {
            Self::Seen | Self::Heads | Self::Uses | Self::Contents | Self::AddressRecords | Self::Meta => Kind::Map,
            Self::Queue => Kind::List { key_bytes: Some(16) },
            Self::Retries => Kind::List { key_bytes: Some(24) },
            Self::Records | Self::Leases => Kind::List { key_bytes: Some(8) },
            Self::Ready => Kind::List { key_bytes: Some(16) },
            Self::Visits | Self::Addresses => Kind::List { key_bytes: None },
            Self::Hosts | Self::Robots | Self::Crawls | Self::Blocks | Self::Forgettings => Kind::Few,
            Self::Counters => Kind::Sum,
        }
    }

    /// The entries of a list, or the keys of a map, that lie together: those whose keys begin alike.
    pub fn group(self, key: &[u8]) -> &[u8] {
        let bytes = match self {
            Self::Seen | Self::Queue | Self::Retries | Self::Records => 12,
            Self::Heads | Self::Ready | Self::Visits | Self::Uses | Self::Contents => 4,
            Self::Leases => 1,
            // A host's, or an address's, up to the zero behind its name.
            Self::Robots | Self::Addresses => key.iter().position(|byte| *byte == 0).map_or(key.len(), |at| at + 1),
            Self::Hosts | Self::AddressRecords | Self::Crawls | Self::Blocks | Self::Forgettings | Self::Meta => 0,
            Self::Counters => 5,
        };
        &key[..bytes.min(key.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_beginning_of_its_keys() {
        assert_eq!(Table::Queue.group(&[7; 28]), [7; 12]);
        assert_eq!(Table::Robots.group(b"a.test\0https://a.test"), b"a.test\0");
        assert_eq!(Table::Robots.group(b"a.test\0"), b"a.test\0");
        assert_eq!(Table::Hosts.group(b"a.test"), b"");
        assert_eq!(Table::Visits.group(&[1, 2, 3]), [1, 2, 3]);
    }
}
