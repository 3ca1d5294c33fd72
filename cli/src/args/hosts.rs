//! Flags of `seine hosts`.

use clap::{Args, Subcommand, ValueEnum};

use super::Target;

#[derive(Args)]
pub struct HostsArguments {
    #[command(subcommand)]
    pub command: HostsCommand,
}

#[derive(Subcommand)]
pub enum HostsCommand {
    /// Ask some hosts no more, in all crawls, from now on; what was fetched stays
    #[command(after_help = "Examples:
  seine hosts block example.org --reason 'asked us by mail to stop'
  seine hosts block example.org:8080
  seine hosts block '*.example.org'          all below it, without example.org itself
  seine hosts block 192.0.2.0/24             all hosts that are found there")]
    Block {
        /// A host, with or without its port, '*.' and a domain, or a network
        #[arg(value_name = "PATTERN")]
        pattern: String,
        /// Why, for those who ask later
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
        #[command(flatten)]
        target: Target,
    },
    /// Ask them again
    Unblock {
        /// As it was blocked
        #[arg(value_name = "PATTERN")]
        pattern: String,
        #[command(flatten)]
        target: Target,
    },
    /// What is blocked, and hosts with what they are doing
    List {
        /// Only hosts that match, as for block
        #[arg(value_name = "PATTERN")]
        pattern: Option<String>,
        /// Only hosts in this state
        #[arg(long)]
        state: Option<StateFlag>,
        /// Only hosts that are blocked
        #[arg(long)]
        blocked: bool,
        /// At most so many hosts, 0 for none
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        target: Target,
    },
    /// All about one host: state, address, delay, robots.txt, queue, blocks, lease
    Show {
        /// Its name, with the port where that is neither 80 nor 443
        #[arg(value_name = "HOST")]
        host: String,
        #[command(flatten)]
        target: Target,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StateFlag {
    Waiting,
    Active,
    Resting,
    Done,
}
