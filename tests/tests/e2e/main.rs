//! What Seine promises, proved from the outside: by what the test web saw, by the files on disk, by search answers.
//!
//! One binary, so that it is linked once; one module per promise.

mod completeness;
mod politeness;
mod killing;
mod two_ways;
mod order;
mod scopes;
mod outcomes;
mod limits;
mod rules;
mod refresh;
mod explaining;
mod archive;
mod documents;
mod commands;
mod server;
mod pages_in_a_browser;
