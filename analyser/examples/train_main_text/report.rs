//! How good choices of units are, over all pages and for each kind of page.

use std::collections::BTreeMap;

use crate::pages::{Page, f1};

/// `runs` are choices for all pages. Prints the mean over them and, where there are several, its standard error.
pub fn report(name: &str, pages: &[Page], runs: &[Vec<Vec<bool>>]) {
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut means = Vec::new();
    for chosen in runs {
        let scores: Vec<f64> = pages.iter().zip(chosen).map(|(page, chosen)| f1(page, chosen)).collect();
        for (page, score) in pages.iter().zip(&scores) {
            kinds.entry(&page.kind).or_default().push(*score);
        }
        means.push(mean(&scores));
    }
    let each: Vec<String> = kinds.iter().map(|(kind, scores)| format!("{kind} {:.3}", mean(scores))).collect();
    let error = if runs.len() > 1 { format!(" ± {:.4}", standard_error(&means)) } else { String::new() };
    println!("{name}: F1 {:.4}{error}  {}", mean(&means), each.join("  "));
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (spread / count).sqrt()
}
