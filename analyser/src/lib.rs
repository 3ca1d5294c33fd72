//! Analyser and Filesaver: from the bytes of a page to what is known about it, kept for good.
//!
//! A page comes in over [`rpc`] and passes through [`intake`]: [`decode`] undoes the content encoding,
//! [`content_type`] says what the bytes claim to be and [`format`] how to read them. A [`document`] is read in a worker
//! process, see [`convert`]; what nothing reads is [`unconverted`]. For HTML, [`charset`] turns them into characters, the
//! [`tokenizer`] finds tags and text, [`parse`] hands them on, [`extract`] collects text, links and metadata, and [`main_text`]
//! tells what a reader came for; [`robots_directives`], [`language`], [`usability`], [`fingerprint`] and [`simhash`] add
//! what follows from these, and [`value`] what the crawl thinks of it. [`analyse`] is all of that as one pure function;
//! [`filtering`] then says what of it is followed and indexed. A [`sitemap`] is read for its addresses alone. The
//! [`filesaver`] makes page and description durable: a WARC archive and a log that the indexer follows. [`rewrite`] makes
//! pages that can be shown and opened elsewhere.

pub mod rpc;
mod intake;
pub mod analyse;
mod decode;
mod content_type;
mod charset;
mod link_header;
mod format;
pub mod convert;
mod document;
mod unconverted;
mod tokenizer;
mod parse;
mod extract;
pub mod main_text;
mod blocks;
mod dates;
mod robots_directives;
mod language;
mod usability;
mod fingerprint;
mod value;
pub mod sitemap;
mod filtering;
mod simhash;
pub mod rewrite;
pub mod filesaver;
mod cpu_pool;
mod owned_stream;
mod metrics;
mod error;

pub use analyse::{AnalyserConfig, Analysis, analyse};
pub use error::Error;
pub use intake::HeldBytes;
pub use owned_stream::OwnedStream;
