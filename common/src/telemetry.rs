//! Logs to standard error and metrics for `/metrics`. Standard output belongs to the commands.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

/// Starts logging. `SEINE_LOG` overrides the level, in the syntax of `RUST_LOG`.
pub fn start_logs(default_level: &str) {
    let filter = EnvFilter::try_from_env("SEINE_LOG").unwrap_or_else(|_| EnvFilter::new(default_level));
    // Fails only when a test has set a subscriber already, which then serves as well.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// Starts counting, and gives what renders `/metrics`. `None` when counting has been started before.
pub fn start_metrics() -> Option<PrometheusHandle> {
    PrometheusBuilder::new().install_recorder().ok()
}
