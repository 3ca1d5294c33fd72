//! What an administrator has set for one node, over what stands in its own settings file.

use seine_proto::monitor::v1::NodeSettings;
use serde::{Deserialize, Serialize};

const MAX_LOG_BYTES: usize = 500;

/// What is `None` is as the node's own settings have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    log: Option<String>,
}

impl Settings {
    /// With what is set in the message, and without what `reset` names. An error says which value is wrong.
    pub fn changed(&self, by: NodeSettings, reset: &[String]) -> Result<Self, String> {
        let mut settings = self.clone();
        for name in reset {
            match name.as_str() {
                "log" => settings.log = None,
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
        Ok(settings)
    }

    pub fn to_message(&self) -> NodeSettings {
        NodeSettings { log: self.log.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stays_until_it_is_reset_and_wrong_values_change_nothing() {
        let log = |level: &str| NodeSettings { log: Some(level.to_owned()) };
        let set = Settings::default().changed(log("warn,collector=debug"), &[]).unwrap();
        assert_eq!(set.to_message(), log("warn,collector=debug"));
        assert_eq!(set.changed(NodeSettings::default(), &[]).unwrap(), set);
        assert_eq!(set.changed(NodeSettings::default(), &["log".to_owned()]).unwrap(), Settings::default());
        assert!(set.changed(log("loud"), &[]).unwrap_err().contains("loud"));
        assert!(set.changed(NodeSettings::default(), &["speed".to_owned()]).is_err());
    }
}
