//! Settings of one node by an administrator, over what stands in its own settings file.

use seine_proto::monitor::v1::{Bounds, NodeSettings};
use serde::{Deserialize, Serialize};

use crate::limits::{ANALYSIS, CONVERTERS, HOSTS};

const MAX_LOG_BYTES: usize = 500;
/// With less, a page would take minutes.
const MIN_BANDWIDTH: u64 = 1_000;

/// What is `None` is as the node's own settings have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    log: Option<String>,
    #[serde(default)]
    hosts: Option<Range>,
    #[serde(default)]
    analysis: Option<Range>,
    #[serde(default)]
    converters: Option<Range>,
    /// Bytes per second.
    #[serde(default)]
    bandwidth: Option<u64>,
}

/// From the lowest to the highest, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Range(u32, u32);

impl Settings {
    /// With what is set in the message, and without what `reset` names. An error says which value is wrong.
    pub fn changed(&self, by: NodeSettings, reset: &[String]) -> Result<Self, String> {
        let mut settings = self.clone();
        for name in reset {
            match name.as_str() {
                "log" => settings.log = None,
                name if name == HOSTS.0 => settings.hosts = None,
                name if name == ANALYSIS.0 => settings.analysis = None,
                name if name == CONVERTERS.0 => settings.converters = None,
                "bandwidth" => settings.bandwidth = None,
                other => return Err(format!("there is no setting {other:?} of a node")),
            }
        }
        if let Some(log) = by.log {
            if log.len() > MAX_LOG_BYTES {
                return Err(format!("log: {} characters are too many; use at most {MAX_LOG_BYTES}", log.len()));
            }
            seine_common::config::log_directives(&log).map_err(|problem| format!("log: {problem}"))?;
            settings.log = Some(log);
        }
        if let Some(bandwidth) = by.bandwidth {
            if bandwidth < MIN_BANDWIDTH {
                return Err(format!(
                    "bandwidth: {bandwidth} bytes per second are too few; use at least {MIN_BANDWIDTH}"
                ));
            }
            settings.bandwidth = Some(bandwidth);
        }
        let limits = [
            (HOSTS, by.hosts, &mut settings.hosts),
            (ANALYSIS, by.analysis, &mut settings.analysis),
            (CONVERTERS, by.converters, &mut settings.converters),
        ];
        for (limit, bounds, setting) in limits {
            if let Some(bounds) = bounds {
                *setting = Some(checked(limit, bounds)?);
            }
        }
        Ok(settings)
    }

    pub fn to_message(&self) -> NodeSettings {
        let bounds = |range: Option<Range>| range.map(|Range(lowest, highest)| Bounds { lowest, highest });
        NodeSettings {
            log: self.log.clone(),
            hosts: bounds(self.hosts),
            analysis: bounds(self.analysis),
            converters: bounds(self.converters),
            bandwidth: self.bandwidth,
        }
    }
}

fn checked((name, most): (&str, u32), Bounds { lowest, highest }: Bounds) -> Result<Range, String> {
    match (1..=highest).contains(&lowest) && highest <= most {
        true => Ok(Range(lowest, highest)),
        false => Err(format!("{name}: {lowest}..{highest} is no range between 1 and {most}, such as 1..{most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stays_until_it_is_reset_and_wrong_values_change_nothing() {
        let log = |level: &str| NodeSettings { log: Some(level.to_owned()), ..NodeSettings::default() };
        let set = Settings::default().changed(log("warn,collector=debug"), &[]).unwrap();
        assert_eq!(set.to_message(), log("warn,collector=debug"));
        assert_eq!(set.changed(NodeSettings::default(), &[]).unwrap(), set);
        assert_eq!(set.changed(NodeSettings::default(), &["log".to_owned()]).unwrap(), Settings::default());
        assert!(set.changed(log("loud"), &[]).unwrap_err().contains("loud"));
        assert!(set.changed(NodeSettings::default(), &["speed".to_owned()]).is_err());
    }

    #[test]
    fn a_bandwidth_with_which_nothing_would_come_is_refused() {
        let rate = |bandwidth| NodeSettings { bandwidth: Some(bandwidth), ..NodeSettings::default() };
        let set = Settings::default().changed(rate(2_000_000), &[]).unwrap();
        assert_eq!(set.to_message(), rate(2_000_000));
        assert!(set.changed(rate(10), &[]).unwrap_err().contains("10 bytes"));
        assert_eq!(set.changed(NodeSettings::default(), &["bandwidth".to_owned()]).unwrap(), Settings::default());
    }

    #[test]
    fn bounds_are_set_one_by_one_and_must_be_a_range() {
        let hosts =
            |lowest, highest| NodeSettings { hosts: Some(Bounds { lowest, highest }), ..NodeSettings::default() };
        let set = Settings::default().changed(hosts(1, 5), &[]).unwrap();
        assert_eq!(set.to_message(), hosts(1, 5));
        for (lowest, highest) in [(0, 5), (6, 5), (1, 1_000_000)] {
            let refusal = set.changed(hosts(lowest, highest), &[]).unwrap_err();
            assert!(refusal.contains("hosts") && refusal.contains(&format!("{lowest}..{highest}")), "{refusal}");
        }
        assert_eq!(set.changed(NodeSettings::default(), &["hosts".to_owned()]).unwrap(), Settings::default());
        let before: Settings = serde_json::from_str(r#"{"log":"warn"}"#).unwrap();
        assert_eq!(before.hosts, None, "books written before have none");
    }
}
