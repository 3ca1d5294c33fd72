//! Leases: the right of one collector to fetch from one host until a deadline, with a fencing token.
//!
//! [`table`] holds the active ones, and [`watch`] what is measured of them; `grant` chooses the next host and hands it out once the grant is durable; `judge` looks
//! again at what waited while the rules changed; `address` sees to it that the hosts of one address leave it its rest;
//! `discover` takes in the links of a page, `sitemaps` lists of them; `settle` takes in its outcome; `release` takes the
//! host back: returned or expired; `resume` carries leases over broken streams and restarts.
//!
//! Invariant: a host has at most one lease, over all crawls and collectors, and no new one before the old one's last
//! request is at least one delay old.

pub mod table;
pub mod watch;
mod grant;
mod judge;
mod address;
mod discover;
mod sitemaps;
mod settle;
mod release;
mod resume;
