//! Flags of `seine frontier`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

#[derive(Args)]
#[command(
    after_help = "They work on a resting frontier: stop the server, or the crawl, first. [frontier] in the settings
says where it is kept."
)]
pub struct FrontierArguments {
    #[command(subcommand)]
    pub command: FrontierCommand,
}

#[derive(Subcommand)]
pub enum FrontierCommand {
    /// Compare the frontier with itself and with the description logs; changes nothing
    ///
    /// Every URL that waits must be known, every known URL must wait or have a record, every host with something waiting must come
    /// up, every page in a log must have a record and every saved page an entry in a log; counters must agree. Exit code 0: sound;
    /// 3: damage that `seine frontier repair` puts right; 1: it could not be checked.
    Check {
        #[command(flatten)]
        place: FrontierPlace,
    },
    /// Put back what a store lost: URLs, records, hosts, counters
    ///
    /// Pages that are in the description logs and not in the frontier are recorded as the log has them and visited again. URLs
    /// of which only fingerprints are left are looked for in seeds, redirects and the links of logged pages. No page is deleted.
    Repair {
        #[command(flatten)]
        place: FrontierPlace,
    },
    /// Move the frontier to another store; the one that it is in stays as it is
    #[command(after_help = "Examples:
  seine frontier copy --to redis                 to the cluster that [frontier] nodes names
  seine frontier copy --to rocksdb               from there back into the data directory
  seine frontier copy --to rocksdb:/srv/other    into another data directory

Interrupted, it goes on where it was when it is called again. Afterwards set [frontier] store, and start the server.")]
    Copy {
        /// redis, rocksdb, or rocksdb: and another data directory
        #[arg(long, value_name = "STORE")]
        to: CopyTo,
        #[command(flatten)]
        place: FrontierPlace,
    },
}

/// The directory, and how to tell the outcome.
#[derive(Args)]
pub struct FrontierPlace {
    /// Data directory of the Monitor
    #[arg(long, value_name = "DIR", default_value = "seine-data")]
    pub data: PathBuf,
    /// File with settings [default: seine.toml, where it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

impl FrontierCommand {
    pub fn place(&self) -> &FrontierPlace {
        match self {
            Self::Check { place } | Self::Repair { place } | Self::Copy { place, .. } => place,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTo {
    Redis,
    /// `None` for the data directory itself.
    RocksDb(Option<PathBuf>),
}

impl FromStr for CopyTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("rocksdb:")) {
            ("redis", _) => Ok(Self::Redis),
            ("rocksdb", _) => Ok(Self::RocksDb(None)),
            (_, Some(directory)) if !directory.is_empty() => Ok(Self::RocksDb(Some(directory.into()))),
            _ => Err("write redis, rocksdb, or rocksdb:DIR with another data directory".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_to_one_of_the_stores_that_there_are() {
        assert_eq!("redis".parse(), Ok(CopyTo::Redis));
        assert_eq!("rocksdb".parse(), Ok(CopyTo::RocksDb(None)));
        assert_eq!("rocksdb:/srv/a".parse(), Ok(CopyTo::RocksDb(Some("/srv/a".into()))));
        for wrong in ["", "rocksdb:", "sqlite", "redis:host"] {
            assert!(wrong.parse::<CopyTo>().unwrap_err().contains("rocksdb:DIR"), "{wrong:?}");
        }
    }
}
