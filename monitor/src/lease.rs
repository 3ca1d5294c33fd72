//! Leases: the right of one collector to fetch from one host until a deadline, with a fencing token.
//!
//! [`table`] holds the active ones, and [`watch`] what is measured of them; the [keeper](crate::keeper) grants them and takes
//! them back.
//!
//! Invariant: a host has at most one lease, over all crawls and collectors, and no new one before the old one's last
//! request is at least one delay old.

pub mod table;
pub mod watch;
