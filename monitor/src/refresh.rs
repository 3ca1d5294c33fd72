//! When a page is visited again. Pure: no store and no clock; times come in and go out as milliseconds since 1970.
//!
//! What was seen of a page is its [`history`]; from it comes an [`estimate`] of how often the page changes; the
//! [`population`] counts all pages of a crawl by that rate and by weight, in memory that does not grow with them; a
//! [`policy`] turns population and budget into a [`plan`], which says for each page when its next visit is due; the
//! [`ledger`] makes up for visits that older plans missed.
//! [`freshness`] is the arithmetic behind the default policy.
//!
//! The budget is one visit per page and base interval on average; policies differ only in how they share it out.
//! Not responsible for: conditional requests, what counts as a change, or taking a page that is gone out of the index.

pub mod history;
pub mod estimate;
pub mod population;
pub mod policy;
pub mod ledger;
pub mod plan;
mod freshness;
#[cfg(test)]
mod tests;

pub use estimate::{Prior, changes_per_day};
pub use history::{DEFAULT_GONE_AFTER_MS, History, Seen};
pub use ledger::Ledger;
pub use plan::{Intervals, LONGEST_INTERVAL, Plan, hurried};
pub use policy::Policy;
pub use population::{Cell, Population};

pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;
