//! What a process tells of itself: logs to standard error, metrics for `/metrics`, traces to a receiver elsewhere.
//!
//! Standard output belongs to the commands. [`logs`] are lines whose levels can be changed while the process runs;
//! [`metrics`] are numbers, most counted where something happens and some [sampled](process) every few seconds in
//! [`families`]; [`traces`] follow a lease over tiers and processes, and cost nothing while nobody wants them.

pub mod logs;
pub mod metrics;
pub mod families;
pub mod process;
pub mod traces;

use seine_common::config::{LogConfig, LogFormat, TelemetryConfig};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

pub use logs::{LogLevels, log_levels};
pub use metrics::{Metrics, start_metrics};

/// One that can stand beside others.
pub(crate) type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging text alone. `SEINE_LOG` goes before the level.
pub fn start_logs(levels: &str) {
    let log = LogConfig { levels: levels.to_owned(), format: LogFormat::Text };
    start(&log, &TelemetryConfig { otlp: None, sample: 0.0 });
}

/// Starts logs, and traces where somebody receives them. Must be called within a tokio runtime. What is traced is sent
/// until [`traces::end`].
pub fn start(log: &LogConfig, telemetry: &TelemetryConfig) {
    let (lines, complaint) = logs::start(log);
    let traces = traces::start(telemetry);
    let (traces, failure) = match traces {
        Some(Ok(layer)) => (Some(layer), None),
        Some(Err(failure)) => (None, Some(failure)),
        None => (None, None),
    };
    let layers: Vec<BoxedLayer> = traces.into_iter().chain([lines]).collect();
    // Fails only when a test has set a subscriber already, which then serves as well.
    let _ = tracing_subscriber::registry().with(layers).try_init();
    if let Some(complaint) = complaint {
        tracing::warn!("{complaint}");
    }
    if let Some(failure) = failure {
        tracing::warn!(failure, "traces cannot be sent");
    }
}
