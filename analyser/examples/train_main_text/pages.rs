//! Pages with known main texts: which units are wanted, and how good a choice of them is.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use seine_analyser::main_text::training::TrainingPage;

pub struct Page {
    pub host: String,
    pub kind: String,
    pub truth: HashMap<String, u32>,
    pub units: Vec<Vec<String>>,
    pub features: Vec<Vec<f32>>,
    pub labels: Vec<f32>,
    pub weights: Vec<f32>,
}

pub fn load(cases: &Path) -> Vec<Page> {
    let truth = std::fs::read_to_string(cases.join("truth.jsonl")).expect("truth.jsonl");
    truth.lines().filter_map(|line| load_page(cases, line)).collect()
}

fn load_page(cases: &Path, line: &str) -> Option<Page> {
    let case: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
    let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let mut body = Vec::new();
    let file = std::fs::File::open(cases.join("html").join(text("id") + ".html.gz")).expect("a page");
    flate2::read::GzDecoder::new(file).read_to_end(&mut body).expect("gzip");
    let url = Some(text("url")).filter(|url| !url.is_empty()).unwrap_or("http://example.org/".to_owned());
    let page = TrainingPage::of(&body, &url)?;
    let units: Vec<Vec<String>> = page.units.iter().map(|unit| words(unit)).collect();
    let truth = text("main_text");
    let mut counts: HashMap<String, u32> = HashMap::new();
    for word in words(&truth) {
        *counts.entry(word).or_default() += 1;
    }
    let mut labels = labels(&units, &truth);
    unwant_repetitions(&mut labels, &units, &counts);
    let wanted: u32 = counts.values().sum();
    let whole: usize = units.iter().map(Vec::len).sum();
    let scale = 1.0 / (wanted as f32 + 0.15 * whole as f32 + 60.0);
    let weights = units.iter().map(|unit| unit.len() as f32 * scale).collect();
    let host = text("url").split('/').nth(2).unwrap_or_default().to_owned();
    Some(Page { host, kind: text("kind"), truth: counts, units, features: page.features, labels, weights })
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// For each unit which share of its words is in the truth: in a run of four words that the truth has too, or as a whole
/// line of it.
fn labels(units: &[Vec<String>], truth: &str) -> Vec<f32> {
    const RUN: usize = 4;
    let wanted = words(truth);
    let runs: HashSet<&[String]> = wanted.windows(RUN).collect();
    let lines: HashSet<Vec<String>> = truth.lines().map(words).filter(|line| !line.is_empty()).collect();
    let stream: Vec<String> = units.iter().flatten().cloned().collect();
    let mut covered = vec![false; stream.len()];
    for (start, run) in stream.windows(RUN).enumerate() {
        if runs.contains(run) {
            covered[start..start + RUN].fill(true);
        }
    }
    let mut at = 0;
    units
        .iter()
        .map(|unit| {
            let found = covered[at..at + unit.len()].iter().filter(|known| **known).count();
            at += unit.len();
            if lines.contains(unit) { 1.0 } else { found as f32 / unit.len().max(1) as f32 }
        })
        .collect()
}

/// A text that the page repeats is wanted only as often as the truth has words for it; the first ones count.
fn unwant_repetitions(labels: &mut [f32], units: &[Vec<String>], truth: &HashMap<String, u32>) {
    let mut times_before: HashMap<&[String], u32> = HashMap::new();
    for (label, unit) in labels.iter_mut().zip(units) {
        let before = times_before.entry(unit).or_default();
        if *before > 0 && *before >= times_possible(unit, truth) {
            *label = 0.0;
        }
        *before += 1;
    }
}

/// How often the truth can hold the text, by its rarest word.
fn times_possible(unit: &[String], truth: &HashMap<String, u32>) -> u32 {
    let times = |word: &String| {
        let own = unit.iter().filter(|other| *other == word).count() as u32;
        truth.get(word).map_or(0, |known| known.div_ceil(own))
    };
    unit.iter().map(times).min().unwrap_or(0)
}

pub fn f1(page: &Page, chosen: &[bool]) -> f64 {
    let mut found: HashMap<&str, u32> = HashMap::new();
    for (unit, _) in page.units.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
        for word in unit {
            *found.entry(word).or_default() += 1;
        }
    }
    let (found_words, wanted) = (found.values().sum::<u32>(), page.truth.values().sum::<u32>());
    if found_words == 0 && wanted == 0 {
        return 1.0;
    }
    let common: u32 = found.iter().map(|(word, count)| *count.min(page.truth.get(*word).unwrap_or(&0))).sum();
    2.0 * f64::from(common) / f64::from(found_words + wanted)
}
