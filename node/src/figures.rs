//! How busy this process is, told to the Monitor with every sign of life: what `/metrics` says, as rates since the time before,
//! and what the system says of the process and the disk with its data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use seine_proto::monitor::v1::Figures;

use crate::limits::Limits;
use crate::telemetry::{Metrics, process};

/// What counts as this process's pages: the first of them that it has.
const PAGES: [&str; 4] = [
    "seine_collector_requests_total",
    "seine_analyser_pages_total",
    "seine_filesaver_pages_total",
    "seine_indexer_entries_total",
];
const BYTES: &str = "seine_collector_bytes_total";
const URLS: &str = "seine_monitor_links_total";
const CPU_SECONDS: &str = "seine_process_cpu_seconds_total";
const MEMORY: &str = "seine_process_resident_bytes";
const OPEN_FILES: &str = "seine_process_open_files";
const MAX_OPEN_FILES: &str = "seine_process_max_open_files";
const QUEUES: [(&str, &str); 2] =
    [("requests", "seine_collector_in_flight"), ("analyser_bytes", "seine_analyser_held_bytes")];

pub struct FigureSampler {
    metrics: Option<Metrics>,
    data: PathBuf,
    limits: Limits,
    started: Instant,
    before: Option<Before>,
}

struct Before {
    at: Instant,
    cpu_seconds: f64,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    pages: f64,
    bytes: f64,
    urls: f64,
}

impl FigureSampler {
    pub fn new(metrics: Option<Metrics>, data: PathBuf, limits: Limits) -> Self {
        Self { metrics, data, limits, started: Instant::now(), before: None }
    }

    pub fn sample(&mut self) -> Figures {
        process::sample_once();
        let values = self.metrics.as_ref().map(|metrics| sums(&metrics.render())).unwrap_or_default();
        let value = |name: &str| values.get(name).copied();
        let whole = |name: &str| value(name).unwrap_or_default() as u64;
        let pages = PAGES.iter().find_map(|name| value(name)).unwrap_or_default();
        let counts = Counts { pages, bytes: value(BYTES).unwrap_or_default(), urls: value(URLS).unwrap_or_default() };
        let (at, cpu_seconds) = (Instant::now(), value(CPU_SECONDS).unwrap_or_default());
        let earlier = self.before.replace(Before { at, cpu_seconds, counts });
        let per_second = |now: f64, before: fn(&Before) -> f64| {
            let earlier = earlier.as_ref().filter(|earlier| at > earlier.at);
            earlier.map_or(0.0, |earlier| (now - before(earlier)).max(0.0) / (at - earlier.at).as_secs_f64())
        };
        let disk = rustix::fs::statvfs(&self.data).ok();
        let queues = QUEUES.iter().filter_map(|(name, metric)| Some(((*name).to_owned(), value(metric)? as u64)));
        Figures {
            running_seconds: self.started.elapsed().as_secs(),
            cpu_percent: 100.0 * per_second(cpu_seconds, |before| before.cpu_seconds),
            memory_bytes: whole(MEMORY),
            open_files: whole(OPEN_FILES),
            max_open_files: whole(MAX_OPEN_FILES),
            disk_free_bytes: disk.as_ref().map_or(0, |disk| disk.f_bavail * disk.f_frsize),
            disk_total_bytes: disk.as_ref().map_or(0, |disk| disk.f_blocks * disk.f_frsize),
            bytes_per_second: per_second(counts.bytes, |before| before.counts.bytes),
            pages_per_second: per_second(counts.pages, |before| before.counts.pages),
            urls_per_second: per_second(counts.urls, |before| before.counts.urls),
            // The Monitor knows which it has given out.
            hosts_at_work: 0,
            queues: queues.collect(),
            pages: counts.pages as u64,
            limits: self.limits.figures(),
        }
    }
}

/// Of each metric, over all its labels.
fn sums(rendered: &str) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for line in rendered.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let name = series.split('{').next().unwrap_or(series);
        if let Ok(value) = value.parse::<f64>() {
            *sums.entry(name.to_owned()).or_default() += value;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels() {
        let rendered = "# TYPE a counter\na{x=\"1\"} 2\na{x=\"2 \"} 3\nb 0.5\n\nodd\n";
        let sums = sums(rendered);
        assert_eq!((sums["a"], sums["b"], sums.len()), (5.0, 0.5, 2));
    }

    #[test]
    fn a_process_without_metrics_still_knows_its_disk() {
        let figures = FigureSampler::new(None, std::env::temp_dir(), Limits::new(1)).sample();
        assert!(figures.disk_total_bytes > 0 && figures.disk_free_bytes <= figures.disk_total_bytes, "{figures:?}");
    }
}
