//! A row's figures as text.

use super::quarters::Quarter;
use super::{RowReport, RowRun};
use crate::pairs::{self, Figure};
use crate::table::aligned;

const FIGURES: [Figure<RowRun>; 6] = [
    ("pages/s", RowRun::pages_per_second, 0),
    ("CPU s/1000 pages", RowRun::cpu_per_1000, 2),
    ("anonymous memory MB", |run| run.cost.peak_anon_mb, 0),
    ("RSS MB", |run| run.cost.peak_rss_mb, 0),
    ("after the last page, % of the time", RowRun::tail_percent, 1),
    ("cores", |run| run.cost.cores(), 2),
];

impl RowReport {
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        if !self.pairs.is_empty() {
            text.push_str(&aligned(&pairs::rows(&self.pairs, &FIGURES)));
        }
        if let [seine, peers @ ..] = self.runs.as_slice() {
            text.push_str(&aligned(&runs(&self.runs)));
            text.push_str(&format!(
                "seine: everything can be searched {:.2} s after the last page, {:.1} % of the crawl\n",
                seine.tail_seconds,
                seine.tail_percent()
            ));
            if let Some(quarters) = &seine.quarters {
                text.push_str(&aligned(&of_quarters(quarters)));
            }
            if !peers.is_empty() {
                text.push_str(&aligned(&ratios(seine, peers)));
            }
        }
        text
    }
}

fn runs(runs: &[RowRun]) -> Vec<Vec<String>> {
    let head = [
        "crawler",
        "does",
        "pages",
        "seconds",
        "pages/s",
        "CPU s/1000",
        "cores",
        "of machine",
        "RSS MB",
        "anon MB",
        "repeated",
        "other",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(runs.iter().map(|run| {
        vec![
            if run.stopped { format!("{} (stopped)", run.name) } else { run.name.clone() },
            run.does.clone(),
            run.seen.pages.to_string(),
            format!("{:.1}", run.cost.seconds),
            format!("{:.0}", run.pages_per_second()),
            format!("{:.2}", run.cpu_per_1000()),
            format!("{:.2}", run.cost.cores()),
            format!("{:.2}", run.machine_cores),
            format!("{:.0}", run.cost.peak_rss_mb),
            format!("{:.0}", run.cost.peak_anon_mb),
            run.seen.repeated.to_string(),
            run.seen.other.to_string(),
        ]
    }));
    rows
}

fn of_quarters(quarters: &[Quarter; 4]) -> Vec<Vec<String>> {
    let head = ["quarter of the pages", "first", "second", "third", "last", "last / first", "last / second"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let figures: [Figure<Quarter>; 3] = [
        ("pages/s", |quarter| quarter.pages_per_second, 0),
        ("CPU s/1000", |quarter| quarter.cpu_per_1000, 2),
        ("anon MB", |quarter| quarter.anon_mb, 0),
    ];
    rows.extend(figures.map(|(name, figure, digits)| {
        let values = quarters.each_ref().map(figure);
        let [first, second, _, last] = values;
        let mut row = vec![name.to_owned()];
        row.extend(values.map(|value| format!("{value:.digits$}")));
        row.extend([last / first, last / second].map(|ratio| format!("{ratio:.2}")));
        row
    }));
    rows
}

fn ratios(seine: &RowRun, peers: &[RowRun]) -> Vec<Vec<String>> {
    let head = ["ratio", "pages/s", "CPU/page", "RSS", "anon"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(peers.iter().map(|peer| {
        let ratio = |figure: fn(&RowRun) -> f64| format!("{:.2}", figure(seine) / figure(peer));
        vec![
            format!("seine / {}", peer.name),
            ratio(RowRun::pages_per_second),
            ratio(RowRun::cpu_per_1000),
            ratio(|run| run.cost.peak_rss_mb),
            ratio(|run| run.cost.peak_anon_mb),
        ]
    }));
    rows
}
