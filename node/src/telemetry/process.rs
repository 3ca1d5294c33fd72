//! Samples what concerns a process as a whole: its time, memory and files, and how its tiers are.

use std::convert::Infallible;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;

use super::families::{set_counter, set_gauge, set_gauges};
use super::metrics::Metrics;
use crate::health::HealthBoard;

const SAMPLE_EVERY: Duration = Duration::from_secs(5);

/// Samples until told to stop. The first sample is there when this is first polled.
pub async fn sample(metrics: Option<Metrics>, health: HealthBoard, stop: CancellationToken) -> Result<(), Infallible> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    set_gauges("seine_build_info", "The version that runs; always 1.", "version", vec![(version, 1.0)]);
    loop {
        sample_once();
        set_troubles(&health);
        if let Some(metrics) = &metrics {
            metrics.sort_in();
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(SAMPLE_EVERY) => {}
        }
    }
}

/// Where the system does not tell, nothing is told.
pub fn sample_once() {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9;
    set_counter("seine_process_cpu_seconds_total", "Time on all cores.", seconds);
    if let Some(bytes) = resident_bytes() {
        set_gauge("seine_process_resident_bytes", "Memory that is in use.", bytes as f64);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        // The one that reads the directory is among them.
        let open = files.count().saturating_sub(1);
        set_gauge("seine_process_open_files", "Files and connections that are open.", open as f64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        set_gauge("seine_process_max_open_files", "Files and connections that may be open.", most as f64);
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Of tiers alone: a server or a watch that has ended ends the process.
fn set_troubles(health: &HealthBoard) {
    const TIERS: [&str; 6] = ["monitor", "collector", "analyser", "filesaver", "indexer", "query"];
    let tiers = health.tiers().into_iter().filter(|(tier, _)| TIERS.contains(tier));
    let series = tiers.map(|(tier, condition)| (tier.to_owned(), f64::from(u8::from(condition.is_trouble()))));
    set_gauges("seine_node_troubles", "1 while something is wrong with the tier.", "tier", series.collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::families;

    #[tokio::test]
    async fn a_process_tells_its_version_what_it_uses_and_how_its_tiers_are() {
        let health = HealthBoard::default();
        health.reporter("filesaver", "disk").unwell("full");
        health.reporter("monitor", "task");
        health.reporter("gRPC server", "task");
        let stop = CancellationToken::new();
        stop.cancel();
        sample(None, health, stop).await.unwrap();
        let mut text = String::new();
        families::render(&mut text);
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().parse::<f64>().ok()).unwrap_or_else(|| panic!("{name} in {text}"))
        };
        assert!(value("seine_process_resident_bytes") > 1e6 && value("seine_process_cpu_seconds_total") > 0.0);
        let (open, most) = (value("seine_process_open_files"), value("seine_process_max_open_files"));
        assert!((3.0..most).contains(&open), "{open} of {most}");
        assert_eq!(value("seine_node_troubles{tier=\"filesaver\"}"), 1.0);
        assert_eq!(value("seine_node_troubles{tier=\"monitor\"}"), 0.0);
        assert!(text.contains("seine_build_info{version=\"") && !text.contains("gRPC"), "{text}");
    }
}
