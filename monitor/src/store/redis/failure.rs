//! Why a command was not carried out, and whether it will be later.

use std::fmt;

use redis::{ServerError, ServerErrorKind};

use crate::MonitorError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A node cannot be reached, or answers too late: another may have its slots by now.
    Away { address: String, reason: String },
    /// A node does not talk to us, for this reason: password, certificate or protocol. It may be one of many.
    Unwelcome { address: String, reason: String },
    /// The slot is elsewhere: at this address, where the node knows it.
    Moved,
    /// The node does not take it now, for this reason.
    Busy(String),
    /// Another Monitor owns the frontier, since this epoch.
    Stale(u64),
    /// The slot lacks what was written before, and has it up to this number.
    Behind(u64),
    /// The node does not know the script.
    NoScript,
    /// Trying again would not help.
    Refused(String),
}

impl Failure {
    pub fn away(address: &str, reason: impl fmt::Display) -> Self {
        Self::Away { address: address.to_owned(), reason: reason.to_string() }
    }

    pub fn of(error: &ServerError) -> Self {
        let details = error.details().unwrap_or_default();
        let number = || details.trim().parse().unwrap_or(0);
        match error.kind() {
            Some(ServerErrorKind::Moved) => Self::Moved,
            // A slot that moves key by key: what is not here may be there, and a script cannot be at both.
            Some(ServerErrorKind::Ask | ServerErrorKind::TryAgain) => {
                Self::Busy("slots are being moved between its nodes".to_owned())
            }
            Some(ServerErrorKind::NoScript) => Self::NoScript,
            Some(ServerErrorKind::ClusterDown) => Self::Busy("some of its slots have no living master".to_owned()),
            Some(ServerErrorKind::BusyLoading) => Self::Busy("a node is loading its data".to_owned()),
            Some(ServerErrorKind::MasterDown | ServerErrorKind::ReadOnly) => Self::Moved,
            _ => match error.code() {
                "STALE" => Self::Stale(number()),
                "BEHIND" => Self::Behind(number()),
                "NOREPLICAS" => Self::Busy("too few replicas are connected to a master".to_owned()),
                "OOM" => Self::Busy("a node is out of memory (maxmemory)".to_owned()),
                "MISCONF" => Self::Busy(format!("a node cannot write to its disk: {details}")),
                code => Self::Refused(format!("{code} {details}")),
            },
        }
    }

    /// Whether other nodes may have the slots now.
    pub fn asks_for_map(&self) -> bool {
        matches!(self, Self::Away { .. } | Self::Unwelcome { .. } | Self::Moved | Self::Busy(_))
    }
}

impl From<Failure> for MonitorError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stale(_) => Self::NotOwner(failure.to_string()),
            Failure::Unwelcome { .. } | Failure::Refused(_) => {
                Self::Invalid(format!("the frontier's store cannot be used: {failure}"))
            }
            _ => Self::StoreAway(failure.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away { address, reason } => write!(out, "{address} cannot be reached: {reason}"),
            Self::Unwelcome { address, reason } => write!(out, "{address} does not let us in: {reason}"),
            Self::Moved => write!(out, "slots have moved to another node"),
            Self::Busy(reason) | Self::Refused(reason) => write!(out, "{reason}"),
            Self::Stale(epoch) => write!(out, "another Monitor owns the frontier since epoch {epoch}"),
            Self::Behind(_) => write!(out, "changes that were confirmed are missing"),
            Self::NoScript => write!(out, "a node does not know the script"),
        }
    }
}
