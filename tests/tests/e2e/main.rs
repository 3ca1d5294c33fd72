//! What Seine promises, proved from the outside: by what the test web saw, by the files on disk, by search answers.
//!
//! One binary, so that it is linked once; one module per promise.

mod completeness;
mod politeness;
mod addresses;
mod https;
mod killing;
mod killing_the_indexer;
mod restarting;
mod failing_disks;
mod nodes;
mod older_formats;
mod rebuilding;
mod damage;
mod two_ways;
mod several_filesavers;
mod order;
mod scopes;
mod outcomes;
mod limits;
mod rules;
mod live_settings;
mod filtering;
mod refresh;
mod explaining;
mod anchors;
mod archive;
mod replay;
mod exporting;
mod cached;
mod documents;
mod confined;
mod commands;
mod server;
mod admin_over_grpc;
mod grpc;
mod grpc_page;
mod holding_connections;
mod logging;
mod handing_over;
mod blocking;
mod sitemaps;
mod openapi;
mod browser;
mod pages_in_a_browser;
mod mirror_in_a_browser;
