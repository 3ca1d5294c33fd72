//! The `seine` binary: one file per command, and `process`, which runs the tiers.
//!
//! Standard output belongs to the answer of a command, standard error to everything else. Exit codes: 0 done, 1 failed,
//! 2 wrong usage or configuration, 3 damage that can be repaired, 130 after Ctrl-C.

#[macro_use]
mod output;
mod args;
mod failure;
mod crawl;
mod crawl_settings;
mod seeds;
mod progress;
mod process;
mod connect;
mod filesavers;
mod search;
mod serve;
mod node;
mod candidate;
mod nodes;
mod crawls;
mod hosts;
mod explain;
mod index;
mod frontier;
mod export;
mod config;

use std::process::ExitCode;

use clap::Parser;
use seine_analyser::convert::worker::{self, WorkerLimits};
use seine_node::descriptors;
use seine_node::shutdown::INTERRUPTED;
use seine_node::telemetry;

use args::{Arguments, Command, ConfigCommand, IndexCommand, WorkerArguments};
use failure::Result;

/// The memory of a crawl is taken by one thread and given back by another. glibc's allocator keeps most of that for the threads
/// that took it, and grows with the crawl (docs/adr).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How a command that did not fail ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// It ran, but what was asked for could not be had; the command has said why.
    Unsuccessful,
    /// What was checked is damaged, and can be repaired.
    Damaged,
    Interrupted,
}

fn main() -> ExitCode {
    // Wrong usage ends here with exit code 2 and clap's explanation.
    let arguments = Arguments::parse();
    // A worker has no threads, no settings and no use for either.
    if let Command::ConvertWorker(WorkerArguments { memory_bytes, cpu_seconds }) = arguments.command {
        return worker::run(WorkerLimits { memory_bytes, cpu_seconds });
    }
    rustls::crypto::ring::default_provider().install_default().expect("nothing else has installed a provider");
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("seine: cannot start: {error}");
            std::process::exit(1);
        }
    };
    let ended = runtime.block_on(async {
        let ended = run(arguments.command).await;
        // What was traced until the end is sent, if somebody takes it at once.
        telemetry::traces::end().await;
        ended
    });
    let code = match ended {
        Ok(End::Done) => 0,
        Ok(End::Unsuccessful) => 1,
        Ok(End::Damaged) => 3,
        Ok(End::Interrupted) => INTERRUPTED,
        Err(failure) => {
            eprintln!("seine: {failure}");
            failure.exit_code()
        }
    };
    // Whatever still blocks has been given its time; what is acknowledged is on disk.
    runtime.shutdown_background();
    std::process::exit(code);
}

async fn run(command: Command) -> Result<End> {
    let config = config::load(&command)?;
    telemetry::start(&config.log, &config.telemetry);
    if let Err(error) = descriptors::raise() {
        tracing::info!(%error, "the number of open files stays as it is");
    }
    match command {
        Command::Crawl(arguments) => Box::pin(crawl::run(*arguments, config)).await,
        Command::Search(arguments) => search::run(arguments).await,
        Command::Serve(arguments) => Box::pin(serve::run(arguments, config)).await,
        Command::Node(arguments) => Box::pin(node::run(arguments, config)).await,
        Command::Crawls(arguments) => crawls::run(arguments, &config).await,
        Command::Nodes(arguments) => nodes::run(arguments, &config).await,
        Command::Hosts(arguments) => hosts::run(arguments, &config).await,
        Command::Explain(arguments) => explain::run(arguments, &config).await,
        Command::Config(ConfigCommand::Default) => config::print_default(),
        Command::Config(ConfigCommand::Check { url, depth, .. }) => {
            config::report_valid(&config, url.as_deref(), depth)
        }
        Command::Export(what) => export::run(what, &config).await,
        Command::Index(IndexCommand::Rebuild { without, target }) => index::rebuild(without, target, &config).await,
        Command::Index(IndexCommand::Forget { what, undo: false, target }) => {
            index::forget(&what, &target, &config).await
        }
        Command::Index(IndexCommand::Forget { what, undo: true, target }) => {
            index::unforget(&what, &target, &config).await
        }
        Command::Frontier(arguments) => frontier::run(arguments, config).await,
        Command::ConvertWorker(_) => unreachable!("handled before anything else"),
    }
}
