//! What a run came to: its figures, and every promise that was broken.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::faults::Done;
use super::form::Form;
use super::plan::{Fault, Plan};
use super::record;
use super::searches::Searched;
use crate::FakeWeb;

/// Another Monitor leads so soon after the one that led was struck.
const TAKES_OVER_IN: Duration = Duration::from_secs(10);
/// How many of one kind are told.
const SHOWN: usize = 10;

pub struct Evidence<'a> {
    pub form: &'a Form,
    pub plan: &'a Plan,
    pub web: &'a FakeWeb,
    /// What the Monitor says of the crawl.
    pub status: Value,
    /// URLs in the index, sorted, each as often as it is there.
    pub indexed: Vec<String>,
    /// Who is not the one that he should be by now.
    pub misplaced: Vec<String>,
    pub searches: Searched,
    pub done: Vec<Done>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    pub seed: u64,
    /// Each with the second at which it came and the one at which it was over, and of a collector with the pages that were
    /// asked for and not settled.
    pub faults: Vec<String>,
    pub pages: u64,
    pub hosts: usize,
    pub requests: usize,
    /// From the first request to the last.
    pub seconds: f64,
    /// Asked for again.
    pub repeated: usize,
    /// In which nobody asked for anything, and in which one host was not asked.
    pub longest_silence_seconds: f64,
    pub longest_silence_of_a_host_seconds: f64,
    /// Until another Monitor led, of each fault that struck one.
    pub take_overs_seconds: Vec<f64>,
    pub searches: usize,
    pub search_p50_ms: f64,
    pub search_p99_ms: f64,
    pub search_longest_ms: f64,
    /// Empty when every promise was kept.
    pub broken: Vec<String>,
}

pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let Evidence { form, web, searches, done, .. } = evidence;
    let requests = web.requests();
    let (first, last) = (requests.first().expect("something was asked").at, requests.last().expect("likewise").at);
    let silence = record::longest_silence(&requests);
    let count = requests.len();
    let hosts = record::by_host(requests);
    let repeats = record::repeats(&hosts);
    let strikes: Vec<_> = done.iter().filter_map(|done| done.strike.as_ref()).collect();

    let mut broken = Broken::default();
    broken.add("the crawl has not all pages", crawl_counts(evidence));
    broken.add("the index is not the web", index_differs(evidence));
    let unexplained = record::unexplained(&hosts, &repeats, &strikes);
    broken.add(
        "fetched again and not in flight",
        unexplained.iter().map(|repeat| {
            let seconds = |at: std::time::Instant| at.saturating_duration_since(first).as_secs_f64();
            format!(
                "{}{} at {:.1} s and {:.1} s",
                repeat.host,
                repeat.path,
                seconds(repeat.first),
                seconds(repeat.second)
            )
        }),
    );
    for (number, host) in (0..form.hosts).map(|number| (number, web.host_addr(number).to_string())) {
        let requests = hosts.get(&host).map(Vec::as_slice).unwrap_or_default();
        broken.add("a delay was not kept", record::too_close(requests, form.delay));
        // What robots.txt asks for is known from its answer on.
        broken.add(
            "a crawl delay was not kept",
            record::too_close(requests.get(1..).unwrap_or_default(), form.delay_of(number)),
        );
        broken.add("two collectors at one host", record::at_once(requests));
    }
    if searches.failed > 0 {
        broken.add(&format!("{} searches failed", searches.failed), searches.failures.iter().cloned());
    }
    let late = done.iter().filter(|done| done.over > last).map(|done| format!("{:?}", done.fault));
    broken.add("the crawl was over before a fault was, make it larger", late);
    broken.add("a standby is not what it should be", evidence.misplaced.iter().cloned());
    let take_overs: Vec<Duration> = done.iter().filter_map(|done| done.taken_over_after).collect();
    let slow = take_overs.iter().filter(|after| **after > TAKES_OVER_IN).map(|after| format!("after {after:?}"));
    broken.add("another Monitor led late", slow);
    let ms = |took: Duration| took.as_secs_f64() * 1_000.0;
    Verdict {
        seed: evidence.plan.seed,
        faults: done
            .iter()
            .map(|done| {
                let second = |at: std::time::Instant| at.saturating_duration_since(first).as_secs_f64();
                let in_flight =
                    done.strike.as_ref().map(|strike| record::in_flight(&hosts, strike).into_values().sum());
                let in_flight = in_flight.map(|pages: u64| format!(" ({pages} pages in flight)")).unwrap_or_default();
                let led =
                    done.taken_over_after.map(|after| format!(" (another led after {:.1} s)", after.as_secs_f64()));
                let led = led.unwrap_or_default();
                format!("{} {:.1} to {:.1} s{in_flight}{led}", name(done.fault), second(done.at), second(done.over))
            })
            .collect(),
        pages: form.pages_in_all(),
        hosts: form.hosts,
        requests: count,
        seconds: (last - first).as_secs_f64(),
        repeated: repeats.len(),
        longest_silence_seconds: silence.as_secs_f64(),
        longest_silence_of_a_host_seconds: hosts
            .values()
            .map(|requests| record::longest_silence(requests))
            .max()
            .unwrap_or_default()
            .as_secs_f64(),
        take_overs_seconds: take_overs.iter().map(Duration::as_secs_f64).collect(),
        searches: searches.took.len(),
        search_p50_ms: ms(searches.quantile(0.5)),
        search_p99_ms: ms(searches.quantile(0.99)),
        search_longest_ms: ms(searches.quantile(1.0)),
        broken: broken.0,
    }
}

fn name(fault: Fault) -> &'static str {
    match fault {
        Fault::KillCollector => "collector killed",
        Fault::AddCollector => "collector added",
        Fault::KillAnalyser => "analyser killed",
        Fault::RestartFilesaver => "filesaver killed and restarted",
        Fault::KillIndexer => "active indexer killed",
        Fault::RestartMonitor => "Monitor killed and restarted",
        Fault::StopCollector => "collector stopped",
        Fault::SeverCollector => "collector cut off",
        Fault::KillStoreMaster => "master of the store killed, then its replica",
        Fault::KillMonitor => "leading Monitor killed, then standby",
        Fault::StopMonitor => "leading Monitor stopped, then standby",
        Fault::MoveSlots => "a third of the store's slots moved",
    }
}

#[derive(Default)]
struct Broken(Vec<String>);

impl Broken {
    fn add(&mut self, what: &str, found: impl IntoIterator<Item = String>) {
        let found: Vec<String> = found.into_iter().collect();
        if !found.is_empty() {
            let more = if found.len() > SHOWN { ", …" } else { "" };
            let shown = found[..found.len().min(SHOWN)].join(", ");
            self.0.push(format!("{what} ({}): {shown}{more}", found.len()));
        }
    }
}

fn crawl_counts(evidence: &Evidence<'_>) -> Option<String> {
    let Evidence { form, status, .. } = evidence;
    let is_whole = status["pages"] == form.pages_in_all() && status["failed"] == 0;
    (!is_whole).then(|| format!("{} pages, {} failed, of {}", status["pages"], status["failed"], form.pages_in_all()))
}

/// Pages that are missing, there twice, or not of the web.
fn index_differs(evidence: &Evidence<'_>) -> Vec<String> {
    let Evidence { form, web, indexed, .. } = evidence;
    let paths = web.config().reachable();
    let expected: BTreeSet<String> =
        (0..form.hosts).flat_map(|host| paths.iter().map(move |path| web.host_url(host, path))).collect();
    let found: BTreeSet<String> = indexed.iter().cloned().collect();
    let missing = expected.difference(&found).map(|url| format!("{url} is missing"));
    let foreign = found.difference(&expected).map(|url| format!("{url} is no page"));
    let twice = indexed.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| format!("{} is there twice", pair[0]));
    missing.chain(foreign).chain(twice).collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "chaos, seed {}: {} pages over {} hosts in {:.0} s",
            self.seed, self.pages, self.hosts, self.seconds
        )?;
        writeln!(out, "  {}", self.faults.join("; "))?;
        writeln!(out, "  {} requests, {} of them for what had been asked for before", self.requests, self.repeated)?;
        writeln!(
            out,
            "  longest time without a request {:.1} s, of one host {:.1} s",
            self.longest_silence_seconds, self.longest_silence_of_a_host_seconds
        )?;
        writeln!(
            out,
            "  {} searches answered: p50 {:.1} ms, p99 {:.1} ms, longest {:.0} ms",
            self.searches, self.search_p50_ms, self.search_p99_ms, self.search_longest_ms
        )?;
        for broken in &self.broken {
            writeln!(out, "  broken: {broken}")?;
        }
        Ok(())
    }
}
