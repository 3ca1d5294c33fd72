//! What an administrator has set for one node, over what stands in its own settings file.

use seine_proto::monitor::v1::{Bounds, NodeSettings};
use serde::{Deserialize, Serialize};

/// What a limit may be at most.
const MOST: u32 = 10_000;
const MAX_LOG_BYTES: usize = 500;

/// What is `None` is as the node's own settings have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    log: Option<String>,
    hosts: Option<(u32, u32)>,
    analysis_threads: Option<(u32, u32)>,
    converters: Option<(u32, u32)>,
}

impl Settings {
    /// With what is set in the message, and without what `reset` names. An error says which value is wrong.
    pub fn changed(&self, by: NodeSettings, reset: &[String]) -> Result<Self, String> {
        let mut settings = self.clone();
        for name in reset {
            match name.as_str() {
                "log" => settings.log = None,
                "hosts" => settings.hosts = None,
                "analysis_threads" => settings.analysis_threads = None,
                "converters" => settings.converters = None,
                other => return Err(format!("there is no setting {other:?} of a node")),
            }
        }
        if let Some(log) = by.log {
            if log.is_empty() || log.len() > MAX_LOG_BYTES {
                return Err(format!("log: {log:?} is no level; write one such as warn, or warn,collector=debug"));
            }
            settings.log = Some(log);
        }
        for (name, given, kept) in [
            ("hosts", by.hosts, &mut settings.hosts),
            ("analysis_threads", by.analysis_threads, &mut settings.analysis_threads),
            ("converters", by.converters, &mut settings.converters),
        ] {
            let Some(Bounds { least, most }) = given else { continue };
            if least == 0 || least > most || most > MOST {
                return Err(format!(
                    "{name}: {least} to {most} is no range; write numbers from 1 to {MOST}, such as 4-64"
                ));
            }
            *kept = Some((least, most));
        }
        Ok(settings)
    }

    pub fn to_message(&self) -> NodeSettings {
        let bounds = |range: Option<(u32, u32)>| range.map(|(least, most)| Bounds { least, most });
        NodeSettings {
            log: self.log.clone(),
            hosts: bounds(self.hosts),
            analysis_threads: bounds(self.analysis_threads),
            converters: bounds(self.converters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stays_until_it_is_set_again_or_reset_and_wrong_values_change_nothing() {
        let hosts = |least, most| NodeSettings { hosts: Some(Bounds { least, most }), ..NodeSettings::default() };
        let set = Settings::default().changed(hosts(4, 64), &[]).unwrap();
        let log = NodeSettings { log: Some("debug".to_owned()), ..NodeSettings::default() };
        let both = set.changed(log, &[]).unwrap();
        assert_eq!((both.hosts, both.log.as_deref()), (Some((4, 64)), Some("debug")));
        let reset = both.changed(NodeSettings::default(), &["hosts".to_owned()]).unwrap();
        assert_eq!((reset.hosts, reset.log.as_deref()), (None, Some("debug")));
        for wrong in [hosts(0, 4), hosts(5, 4), hosts(1, MOST + 1)] {
            assert!(set.changed(wrong, &[]).unwrap_err().contains("hosts"));
        }
        assert!(set.changed(NodeSettings::default(), &["speed".to_owned()]).is_err());
        assert_eq!(both.to_message().hosts, Some(Bounds { least: 4, most: 64 }));
    }
}
