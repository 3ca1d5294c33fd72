//! Logs to standard error and metrics for `/metrics`. Standard output belongs to the commands.

use std::ffi::OsStr;
use std::io::IsTerminal;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

/// Starts logging. `SEINE_LOG` overrides the level, in the syntax of `RUST_LOG`.
pub fn start_logs(default_level: &str) {
    let filter = EnvFilter::try_from_env("SEINE_LOG").unwrap_or_else(|_| EnvFilter::new(default_level));
    let colours = wants_colours(std::io::stderr().is_terminal(), std::env::var_os("NO_COLOR").as_deref());
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
    // Fails only when a test has set a subscriber already, which then serves as well.
    let _ = logs.try_init();
}

/// Only people at a terminal see colours, unless they set `NO_COLOR` to anything.
fn wants_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Starts counting, and gives what renders `/metrics`. `None` when counting has been started before.
pub fn start_metrics() -> Option<PrometheusHandle> {
    PrometheusBuilder::new().install_recorder().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_whose_owner_wants_them() {
        assert!(wants_colours(true, None) && wants_colours(true, Some(OsStr::new(""))));
        assert!(!wants_colours(true, Some(OsStr::new("1"))));
        assert!(!wants_colours(false, None));
    }
}
