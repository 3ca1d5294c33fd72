//! How a process is watched: the sections `[log]` and `[telemetry]`.
//!
//! Levels are written for people, by the names of tiers; [`log_directives`] turns them into what the logs go by. It serves
//! here for checking and in a running process for changing them.

use serde::Deserialize;
use url::Url;

use super::{ConfigError, value};

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
/// What holds where only tiers are named.
const LEVEL_OF_OTHERS: &str = "warn";

/// Tiers, and where their code stands: the longest name that fits a line decides.
const TIERS: [(&str, &str); 7] = [
    ("monitor", "seine_monitor"),
    ("collector", "seine_collector"),
    ("analyser", "seine_analyser"),
    ("filesaver", "seine_analyser::filesaver"),
    ("indexer", "seine_indexer"),
    ("query", "seine_query"),
    ("node", "seine_node"),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    /// An object a line.
    Json,
}

#[derive(Clone, Debug)]
pub struct LogConfig {
    /// As it was written; [`log_directives`] accepts it.
    pub levels: String,
    pub format: LogFormat,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TelemetryConfig {
    /// Who receives traces; `None` when none are kept.
    pub otlp: Option<String>,
    /// The share of leases that are traced, from 0 to 1.
    pub sample: f64,
}

#[derive(Deserialize)]
pub(super) struct RawLog {
    level: String,
    format: String,
}

#[derive(Deserialize)]
pub(super) struct RawTelemetry {
    otlp: Option<String>,
    sample: f64,
}

impl RawLog {
    pub fn validate(self) -> Result<LogConfig, ConfigError> {
        log_directives(&self.level).map_err(|problem| value("log.level", problem))?;
        let format = match self.format.as_str() {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            other => return Err(value("log.format", format!("{other:?} is neither \"text\" nor \"json\""))),
        };
        Ok(LogConfig { levels: self.level, format })
    }
}

impl RawTelemetry {
    pub fn validate(self) -> Result<TelemetryConfig, ConfigError> {
        if !(0.0..=1.0).contains(&self.sample) {
            return Err(value("telemetry.sample", format!("{} is not a share from 0 to 1", self.sample)));
        }
        let otlp = self.otlp.filter(|address| !address.is_empty());
        if let Some(address) = &otlp {
            check_receiver(address).map_err(|problem| value("telemetry.otlp", problem))?;
        }
        Ok(TelemetryConfig { otlp, sample: self.sample })
    }
}

fn check_receiver(address: &str) -> Result<(), String> {
    let url = Url::parse(address).ok().filter(|url| url.has_host());
    match url.as_ref().map(Url::scheme) {
        Some("http") => Ok(()),
        Some("https") => Err(format!(
            "{address:?} asks for TLS, which traces are not sent with; name a collector on this machine, such as \
             http://127.0.0.1:4317, and let it pass them on"
        )),
        _ => Err(format!("{address:?} is not the address of an OTLP receiver, such as http://127.0.0.1:4317")),
    }
}

/// Turns levels such as `warn,collector=debug` into directives by the names of crates.
pub fn log_directives(levels: &str) -> Result<String, String> {
    let mut general = LEVEL_OF_OTHERS;
    let mut directives = Vec::new();
    for part in levels.split(',').map(str::trim) {
        match part.split_once('=') {
            None => general = known_level(part)?,
            Some((tier, level)) => {
                let (tier, level) = (tier.trim(), known_level(level.trim())?);
                let known = TIERS.iter().find(|(name, _)| *name == tier);
                let names: Vec<_> = TIERS.iter().map(|(name, _)| *name).collect();
                let (_, target) = known.ok_or_else(|| format!("{tier:?} is none of {}", names.join(", ")))?;
                directives.push(format!("{target}={level}"));
            }
        }
    }
    directives.insert(0, general.to_owned());
    Ok(directives.join(","))
}

fn known_level(level: &str) -> Result<&str, String> {
    if LEVELS.contains(&level) {
        return Ok(level);
    }
    Err(format!("{level:?} is not error, warn, info, debug or trace"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn file(text: &str) -> Result<Config, String> {
        Config::from_layers(Some(("seine.toml", text)), []).map_err(|error| error.to_string())
    }

    #[test]
    fn levels_are_for_all_or_by_tier() {
        assert_eq!(log_directives("info").unwrap(), "info");
        assert_eq!(log_directives("collector=debug").unwrap(), "warn,seine_collector=debug");
        assert_eq!(
            log_directives("info, filesaver=trace,analyser=error").unwrap(),
            "info,seine_analyser::filesaver=trace,seine_analyser=error"
        );
    }

    #[test]
    fn by_default_nothing_is_traced_and_lines_are_text() {
        let config = Config::from_layers(None, []).unwrap();
        assert_eq!(config.telemetry, TelemetryConfig { otlp: None, sample: 1.0 });
        assert_eq!(config.log.format, LogFormat::Text);
        let config =
            file("[telemetry]\notlp = \"http://127.0.0.1:4317\"\nsample = 0.5\n[log]\nformat = \"json\"").unwrap();
        assert_eq!(config.telemetry.otlp.as_deref(), Some("http://127.0.0.1:4317"));
        assert_eq!((config.telemetry.sample, config.log.format), (0.5, LogFormat::Json));
        assert_eq!(file("[telemetry]\notlp = \"\"").unwrap().telemetry.otlp, None, "so that it can be turned off");
    }

    #[test]
    fn mistakes_are_told_with_their_value() {
        for (text, words) in [
            ("[log]\nlevel = \"loud\"", ["log.level", "\"loud\""]),
            ("[log]\nlevel = \"warn,fetcher=debug\"", ["\"fetcher\"", "collector, analyser"]),
            ("[log]\nlevel = \"collector=5\"", ["\"5\"", "debug or trace"]),
            ("[log]\nformat = \"xml\"", ["log.format", "\"xml\""]),
            ("[telemetry]\notlp = \"localhost:4317\"", ["telemetry.otlp", "localhost:4317"]),
            ("[telemetry]\notlp = \"https://traces.example.org\"", ["TLS", "http://127.0.0.1:4317"]),
            ("[telemetry]\nsample = 1.5", ["telemetry.sample", "1.5"]),
        ] {
            let refusal = file(text).unwrap_err();
            assert!(words.iter().all(|word| refusal.contains(word)), "{text}: {refusal}");
        }
    }
}
