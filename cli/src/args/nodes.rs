//! Flags of `seine nodes`.

use std::time::Duration;

use clap::{Args, Subcommand};
use seine_common::config::parse_size;

use super::{Role, Target};

#[derive(Args)]
pub struct NodesArguments {
    #[command(subcommand)]
    pub command: NodesCommand,
}

#[derive(Subcommand)]
pub enum NodesCommand {
    /// All nodes, a line each
    List {
        /// Those that were removed, too
        #[arg(long)]
        removed: bool,
        #[command(flatten)]
        target: Target,
    },
    /// One node in full
    Show {
        node: String,
        #[command(flatten)]
        target: Target,
    },
    /// Let a node finish what it has, and give it nothing more
    Drain {
        node: String,
        /// Let it work again
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Cut a node off: its certificate is worth nothing any more, and its open connections end
    Remove {
        node: String,
        #[command(flatten)]
        target: Target,
    },
    /// Give a node labels, such as room=3; without any, take all away
    Label {
        node: String,
        #[arg(value_name = "NAME=VALUE", value_parser = label)]
        labels: Vec<(String, String)>,
        #[command(flatten)]
        target: Target,
    },
    /// Change what holds for one node while it runs
    #[command(after_help = "Examples:
  seine nodes set hasty-otter --log warn,collector=debug
  seine nodes set hasty-otter --hosts 16..200     it works on as many hosts at once as its load allows between these
  seine nodes set hasty-otter --hosts default --converters 1
  seine nodes set hasty-otter --bandwidth 2M      no more than 2,000,000 bytes per second come
  seine nodes set hasty-otter --log default       as its own settings have it")]
    Set {
        node: String,
        #[command(flatten)]
        changes: NodeChanges,
        #[command(flatten)]
        target: Target,
    },
    /// Replace the root certificate of the cluster without stopping it
    RotateCa {
        /// End the trust in the root before; refused while nodes have not renewed
        #[arg(long)]
        finish: bool,
        /// End it although some have not; they must join again
        #[arg(long, requires = "finish")]
        force: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Tokens with which machines join
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Subcommand)]
pub enum TokenCommand {
    /// Make a token and print the line to run on another machine
    Create {
        /// What whoever joins by it may run [default: every role]
        #[arg(long, value_name = "ROLE,…", value_delimiter = ',')]
        roles: Vec<Role>,
        /// How long it can be used, such as 30m, 24h or 7d
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = ttl)]
        ttl: Duration,
        /// How many machines may join by it
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        uses: u32,
        /// Give this node a new certificate under its old name instead, because it was locked or lost its key
        #[arg(long, value_name = "NODE", conflicts_with = "roles")]
        node: Option<String>,
        /// Name or address under which other machines reach this one [default: [node] advertise, or where it listens]
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// All tokens, without their secrets
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Let nobody join by a token any more; those who did stay
    Revoke {
        /// As `list` shows it
        id: String,
        #[command(flatten)]
        target: Target,
    },
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not a label; write NAME=VALUE, such as room=3")),
    }
}

fn ttl(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time; write a number with s, m, h or d, such as 24h");
    let (number, unit) = text.split_at(text.len().saturating_sub(text.chars().last().map_or(0, char::len_utf8)));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units_of_thousands() {
        let bytes = |text| rate(text).ok();
        assert_eq!(
            (bytes("900"), bytes("500k")),
            (Some(Rate::BytesPerSecond(900)), Some(Rate::BytesPerSecond(500_000)))
        );
        assert_eq!((bytes("2M"), bytes("default")), (Some(Rate::BytesPerSecond(2_000_000)), Some(Rate::Default)));
        for wrong in ["", "k", "2.5M", "-1", "2m", "2é", "99999999999999999999G", "18446744073709551615k"] {
            assert!(rate(wrong).unwrap_err().contains("500k"), "{wrong}");
        }
    }

    #[test]
    fn times_and_labels_are_read_or_refused_with_an_example() {
        assert_eq!(ttl("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(ttl("7d"), Ok(Duration::from_secs(7 * 86_400)));
        for wrong in ["", "24", "h", "-1h", "24 h", "1é", "99999999999999999999d"] {
            assert!(ttl(wrong).unwrap_err().contains("24h"), "{wrong}");
        }
        assert_eq!(label("room=3"), Ok(("room".to_owned(), "3".to_owned())));
        assert!(label("room").is_err() && label("=3").is_err());
    }
}

/// For each the word `default` goes back to what the node's own settings say.
#[derive(clap::Args)]
#[group(required = true, multiple = true)]
pub struct NodeChanges {
    /// Log levels, as [log] level
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Hosts that its collector works on at once
    #[arg(long, value_name = "FROM..TO", value_parser = change)]
    pub hosts: Option<Change>,
    /// Threads of its analyser; never more than the machine has cores
    #[arg(long, value_name = "FROM..TO", value_parser = change)]
    pub analysis: Option<Change>,
    /// Documents that its analyser converts at once
    #[arg(long, value_name = "FROM..TO", value_parser = change)]
    pub converters: Option<Change>,
    /// Bytes per second that its collector may receive, such as 500k or 2M; over a few seconds no more come
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub bandwidth: Option<Rate>,
}

/// New bounds of a number that follows the load.
#[derive(Clone, Copy)]
pub enum Change {
    Between(u32, u32),
    Default,
}

fn change(text: &str) -> Result<Change, String> {
    if text == DEFAULT {
        return Ok(Change::Default);
    }
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    match (from.trim().parse(), to.trim().parse()) {
        (Ok(from), Ok(to)) => Ok(Change::Between(from, to)),
        _ => Err("write two numbers such as 1..8, one number, or default".to_owned()),
    }
}

/// A new bound of bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    BytesPerSecond(u64),
    Default,
}

fn rate(text: &str) -> Result<Rate, String> {
    if text == DEFAULT {
        return Ok(Rate::Default);
    }
    parse_size(text)
        .map(Rate::BytesPerSecond)
        .ok_or_else(|| "write bytes per second such as 500k, 2M or 1G, or default".to_owned())
}

/// The word for the node's own settings.
pub const DEFAULT: &str = "default";
