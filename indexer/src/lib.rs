//! Builds the index by following the description logs from a checkpoint.
//!
//! [`followers`] has one [`follow`]er for each log, which reads batches from its filesaver; a [`worker`] thread turns each
//! [`entry`] into a [`document`], whose texts the [`tokenizer`] cuts into words, and the [`writer`] puts it into the index
//! unless [`known_pages`] has a later one. Pages of one [`likeness`] are [`fold`]ed into one, and a document takes up what
//! others call its page, its [`anchors`]; [`stored`] reads pages back when one of these changes. The [`checkpoint`] in each log
//! is part of each commit. [`segments`] writes documents into the index's files. [`publish`] says which index is the current
//! one, [`damage`] whether its files are what was written. A [`pipeline`] is all of that for one index; a [`session`] runs one,
//! or two while the index is rebuilt; [`rpc`] answers for it. The query tier shares [`schema`], [`tokenizer`], [`publish`] and
//! [`count`].

pub mod schema;
pub mod tokenizer;
mod keys;
pub mod publish;
mod damage;
pub mod checkpoint;
mod followers;
mod follow;
mod commit_schedule;
mod searches;
mod worker;
mod traced;
pub mod version;
pub mod entry;
mod document;
mod likeness;
mod known_pages;
mod fold;
pub mod anchors;
mod stored;
mod merging;
mod segments;
pub mod writer;
pub mod count;
mod pipeline;
mod session;
mod indexer;
mod lag;
mod rpc;
mod metrics;
mod error;

pub use error::IndexerError;
pub use indexer::{Indexer, IndexerConfig};
pub use rpc::IndexerRpc;
pub use searches::Searches;
