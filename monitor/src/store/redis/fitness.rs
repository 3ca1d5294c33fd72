//! Whether a cluster keeps what it is given: looked at once, and told where it does not.

use redis::Value;

use super::cluster::Cluster;
use super::owner::pairs;
use crate::{MonitorError, Result};

/// The oldest version whose scripts may write anything that they have read before.
const OLDEST_MAJOR: u32 = 7;

pub fn check(cluster: &mut Cluster) -> Result<()> {
    let unassigned = cluster.unassigned_slots();
    if unassigned > 0 {
        return Err(MonitorError::Invalid(format!(
            "{unassigned} slots of the frontier's store belong to no node; finish making the cluster (`CLUSTER INFO` tells how it is)"
        )));
    }
    let masters = cluster.masters().len();
    if masters < 3 {
        tracing::warn!(
            masters,
            "the frontier's store has fewer than three masters: when one dies, the others cannot vote for its replica"
        );
    }
    for (address, answer) in cluster.ask_masters(&[b"INFO", b"server"]) {
        let text = text(&answer);
        // It tells a version of Redis that is not its own.
        if field(&text, "kvrocks_version").is_some() {
            continue;
        }
        let version = field(&text, "valkey_version").or_else(|| field(&text, "redis_version")).unwrap_or_default();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_some_and(|major| major < OLDEST_MAJOR) {
            return Err(MonitorError::Invalid(format!(
                "{address} runs version {version}, and the frontier needs Redis 7, Valkey or Kvrocks; update it, or name other \
                 nodes in frontier.nodes"
            )));
        }
    }
    for (address, answer) in cluster.ask_masters(&[b"CONFIG", b"GET", b"*"]) {
        let settings = pairs(&answer);
        let is = |name: &str, wanted: &str| {
            settings.get(name.as_bytes()).is_none_or(|value| value.as_slice() == wanted.as_bytes())
        };
        let address = address.as_ref();
        if !is("appendonly", "yes") || !is("appendfsync", "always") {
            tracing::warn!(
                address,
                "a node of the frontier's store may lose what it has confirmed when its machine fails; set appendonly yes and \
                 appendfsync always"
            );
        }
        if !is("maxmemory-policy", "noeviction") {
            return Err(MonitorError::Invalid(format!(
                "{address} throws away what it was given when its memory is full (maxmemory-policy); set it to noeviction"
            )));
        }
    }
    Ok(())
}

fn text(answer: &Value) -> String {
    match answer {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n";
        assert_eq!(field(text, "valkey_version").as_deref(), Some("9.1.2"));
        assert_eq!(field(text, "version"), None);
    }
}
