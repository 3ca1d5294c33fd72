//! The report as plain text in aligned columns.

use std::fmt::Write;

use crate::analysis;
use crate::frontier::FrontierReport;
use crate::idle_connections;
use crate::pairs;
use crate::refresh_simulation::PolicyResult;
use crate::report::{CrawlerRun, Report, Stage};
use crate::scaling::{self, Scaling};
use crate::search::SearchReport;
use crate::searchable::Searchable;

pub fn render(report: &Report) -> String {
    let mut text = format!(
        "\none host of {} pages, 10 to 30 kB and 30 links each, on 127.0.0.1; {} cores, the server on the same ones;\n\
         seconds are of the whole process, start and final commit included\n",
        report.web_pages, report.cores
    );
    let runs: Vec<&CrawlerRun> = report.seine.iter().chain(&report.cluster).chain(&report.peers).collect();
    if !runs.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&crawlers(&runs)));
    }
    if let Some(seine) = &report.seine
        && !report.peers.is_empty()
    {
        text.push('\n');
        text.push_str(&aligned(&ratios(seine, &report.peers)));
    }
    if !report.pairs.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&pairs::rows(&report.pairs, &pairs::FIGURES)));
    }
    for row in &report.real {
        text.push('\n');
        text.push_str(&row.text());
    }
    if !report.stages.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&stages(report)));
    }
    if let Some(share) = report.saving_share() {
        let _ = writeln!(text, "\nsaving costs {:.0} % of the throughput (at most 25 % is allowed)", 100.0 * share);
    }
    if let Some(ratio) = report.pipeline_ratio() {
        let _ = writeln!(text, "\npipeline CPU / sum of the stages alone: {ratio:.2}");
    }
    if let Some(report) = &report.frontier {
        text.push('\n');
        text.push_str(&aligned(&frontier(report)));
    }
    if !report.refresh.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&refresh(&report.refresh)));
    }
    if let Some(slow) = &report.slow_hosts {
        let _ = writeln!(
            text,
            "\n{} hosts at a delay, {} of them slow: the others are asked {:.0} times a second instead of {:.0}, ratio {:.2}",
            slow.hosts,
            slow.slow,
            slow.with_slow,
            slow.without_slow,
            slow.ratio()
        );
    }
    if let Some(report) = &report.search {
        text.push('\n');
        text.push_str(&aligned(&search(report)));
        let _ = writeln!(
            text,
            "completions while typing: p50 {:.1} ms, p99 {:.1} ms",
            report.completions.p50, report.completions.p99
        );
    }
    if !report.searchable.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&searchable(&report.searchable)));
    }
    if let Some(held) = &report.idle_connections {
        let _ = writeln!(
            text,
            "\nsearches beside {} idle and {} slow connections: p50 {:.2} ms instead of {:.2}, p99 {:.2} ms instead of {:.2}, \
             ratio {:.2} (at most {:.1})",
            held.idle,
            held.slow,
            held.with.p50,
            held.without.p50,
            held.with.p99,
            held.without.p99,
            held.ratio(),
            idle_connections::ALLOWED
        );
    }
    if let Some(speed) = &report.analysis {
        let _ = writeln!(
            text,
            "\n{} pages of 50 to 100 kB: whole analysis {:.1} MB/s, scraper's parse alone {:.1} MB/s, ratio {:.2} (at least {:.1})",
            speed.pages,
            speed.analysis,
            speed.scraper_parse,
            speed.ratio(),
            analysis::REQUIRED
        );
    }
    if !report.scaling.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&scaling(&report.scaling)));
    }
    for verdict in report.chaos.iter().chain(&report.store_chaos) {
        let _ = write!(text, "\n{verdict}");
    }
    for remark in &report.remarks {
        let _ = writeln!(text, "\n{remark}");
    }
    text
}

fn crawlers(runs: &[&CrawlerRun]) -> Vec<Vec<String>> {
    let head = [
        "crawler",
        "does",
        "pages",
        "seconds",
        "pages/s",
        "CPU s",
        "CPU s/1000",
        "RSS MB",
        "repeated",
        "unexpected",
        "missed",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(runs.iter().map(|run| {
        vec![
            run.name.clone(),
            run.does.clone(),
            run.pages.to_string(),
            format!("{:.1}", run.cost.seconds),
            format!("{:.0}", run.pages_per_second()),
            format!("{:.1}", run.cost.cpu_seconds),
            format!("{:.2}", run.cpu_per_1000()),
            format!("{:.0}", run.cost.peak_rss_mb),
            run.seen.repeated.to_string(),
            run.seen.unexpected.to_string(),
            if run.capped { "-".to_owned() } else { run.seen.missed.to_string() },
        ]
    }));
    rows
}

fn ratios(seine: &CrawlerRun, peers: &[CrawlerRun]) -> Vec<Vec<String>> {
    let head = ["ratio", "pages/s", "CPU/page", "RSS"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(peers.iter().map(|peer| {
        vec![
            format!("seine / {}", peer.name),
            format!("{:.2}", seine.pages_per_second() / peer.pages_per_second()),
            format!("{:.2}", seine.cpu_per_1000() / peer.cpu_per_1000()),
            format!("{:.2}", seine.cost.peak_rss_mb / peer.cost.peak_rss_mb),
        ]
    }));
    rows
}

fn stages(report: &Report) -> Vec<Vec<String>> {
    let head = ["stage alone", "pages", "seconds", "CPU s", "CPU s/1000", "share"];
    let sum = report.stages_cpu_per_1000();
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.stages.iter().map(|stage| {
        vec![
            stage.name.clone(),
            stage.pages.to_string(),
            format!("{:.1}", stage.seconds),
            format!("{:.1}", stage.cpu_seconds),
            format!("{:.2}", stage.cpu_per_1000()),
            format!("{:.0} %", 100.0 * stage.cpu_per_1000() / sum),
        ]
    }));
    let total = |field: fn(&Stage) -> f64| report.stages.iter().map(field).sum::<f64>();
    rows.push(vec![
        "sum".to_owned(),
        String::new(),
        format!("{:.1}", total(|stage| stage.seconds)),
        format!("{:.1}", total(|stage| stage.cpu_seconds)),
        format!("{sum:.2}"),
        String::new(),
    ]);
    rows
}

fn refresh(results: &[PolicyResult]) -> Vec<Vec<String>> {
    let head = ["refresh policy, simulated", "visits", "fresh", "age in days"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(results.iter().map(|result| {
        vec![
            result.name.to_owned(),
            result.visits.to_string(),
            format!("{:.2} %", 100.0 * result.freshness),
            format!("{:.2}", result.age_days),
        ]
    }));
    rows
}

fn frontier(report: &FrontierReport) -> Vec<Vec<String>> {
    let row = |what: String, figure: String| vec![what, figure];
    vec![
        row("frontier under load".to_owned(), "measured".to_owned()),
        row(
            format!("{} new URLs over {} hosts, URLs/s", report.new_urls, report.hosts),
            format!("{:.0}", report.urls_per_second),
        ),
        row("RSS MB after 3 tenths, at the end".to_owned(), {
            format!("{:.0}, {:.0}", report.rss_mb_at_3_of_10, report.rss_mb_at_end)
        }),
        row("bytes on disk per URL".to_owned(), format!("{:.0}", report.bytes_per_url_on_disk)),
        row(format!("{} over gRPC, URLs/s", report.grpc_urls), format!("{:.0}", report.grpc_urls_per_second)),
        row(
            format!("{} into a cluster, URLs/s", report.cluster_urls),
            format!("{:.0}", report.cluster_urls_per_second),
        ),
        row(
            "bytes there per known and per queued URL; the servers' CPU per URL".to_owned(),
            format!(
                "{:.0}, {:.0}; {:.0} µs",
                report.cluster_bytes_per_known, report.cluster_bytes_per_queued, report.cluster_cpu_us_per_url
            ),
        ),
        row(
            format!("100 URLs of a queue of {}, {} settled, p50 and p99 ms", report.lease_queue, report.lease_settled),
            format!("{:.2}, {:.2}", report.lease_p50_ms, report.lease_p99_ms),
        ),
        row(
            format!("collisions of {} fingerprints, CPU s", report.fingerprinted),
            format!("{}, {:.1}", report.collisions, report.fingerprint_cpu_seconds),
        ),
    ]
}

fn search(report: &SearchReport) -> Vec<Vec<String>> {
    let row = |what: String, seine: f64, other: f64, digits: usize| {
        vec![what, format!("{seine:.digits$}"), format!("{other:.digits$}"), format!("{:.2}", seine / other)]
    };
    let head = format!("search in {} documents", report.documents);
    let (seine, tantivy, indexing) = (&report.seine, &report.tantivy, &report.indexing);
    vec![
        [head.as_str(), "seine", "tantivy alone", "ratio"].map(str::to_owned).to_vec(),
        row(format!("indexing {} of them, documents/s", indexing.documents), indexing.seine, indexing.tantivy, 0),
        row("two words, one client, p50 ms".to_owned(), seine.p50, tantivy.p50, 2),
        row("the same, p99 ms".to_owned(), seine.p99, tantivy.p99, 2),
        row(
            format!("{} clients, queries/s", report.clients),
            report.seine_queries_per_second,
            report.tantivy_queries_per_second,
            0,
        ),
        ["", "crawling", "idle", "ratio"].map(str::to_owned).to_vec(),
        row(
            format!("p95 ms while {:.0} pages/s are crawled", report.crawled_pages_per_second),
            report.crawling.p95,
            seine.p95,
            2,
        ),
    ]
}

fn searchable(speeds: &[Searchable]) -> Vec<Vec<String>> {
    let head = ["from request to search result, seconds", "pages/s", "p50", "p95", "longest", "may take"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(speeds.iter().map(|speed| {
        let Searchable { name, samples, pages_per_second, .. } = speed;
        let seconds = [speed.p50, speed.p95, speed.longest, speed.may_take].map(|seconds| format!("{seconds:.1}"));
        [format!("{name}, {samples} pages"), format!("{pages_per_second:.0}")].into_iter().chain(seconds).collect()
    }));
    rows
}

fn scaling(speeds: &[Scaling]) -> Vec<Vec<String>> {
    let head = ["latency is the limit", "pages/s", "possible", "ratio", "at least"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(speeds.iter().map(|speed| {
        let required = scaling::REQUIRED.iter().find(|(collectors, _)| *collectors == speed.collectors);
        vec![
            format!("collectors: {}", speed.collectors),
            format!("{:.1}", speed.pages_per_second),
            format!("{:.0}", scaling::possible(speed.collectors)),
            format!("{:.2}", speed.ratio),
            required.map(|(_, ratio)| format!("{ratio:.2}")).unwrap_or_default(),
        ]
    }));
    rows
}

/// The first column to the left, as text; the others to the right, as numbers.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_they_hold() {
        let rows = [["stage", "s"], ["index", "12.5"], ["é", "1"]];
        let rows: Vec<_> = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        assert_eq!(aligned(&rows), "stage     s\nindex  12.5\né         1\n");
    }
}
