//! The life of a lease in the keeper, from the choice of a host to its return.
//!
//! `grant` chooses the next host and hands it out once the grant is durable; `judge` looks again at what waited while the rules
//! changed; `address` sees to it that the hosts of one address leave it its rest; `discover` takes in the links of a page,
//! `sitemaps` lists of them; `settle` takes in its outcome; `release` takes the host back: returned or expired; `resume`
//! carries leases over broken streams and restarts.

mod grant;
mod judge;
mod address;
mod discover;
mod sitemaps;
mod settle;
mod release;
mod resume;
