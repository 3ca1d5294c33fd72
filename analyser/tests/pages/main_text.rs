//! How near the main text comes to what a reader would want, and that the full text has all of it.

use std::collections::{BTreeMap, HashMap};

use crate::cases::{analysed, cases, page};

fn words(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

/// Of precision and recall over words.
fn f1(found: &str, wanted: &str) -> f64 {
    let (found, wanted) = (words(found), words(wanted));
    let (found_words, wanted_words) = (found.values().sum::<u32>(), wanted.values().sum::<u32>());
    if found_words + wanted_words == 0 {
        return 1.0;
    }
    let common: u32 = found.iter().map(|(word, count)| *count.min(wanted.get(word).unwrap_or(&0))).sum();
    2.0 * f64::from(common) / f64::from(found_words + wanted_words)
}

#[test]
fn main_texts_of_real_pages_are_what_readers_want() {
    // The forest knows these pages, so this tells whether it is still applied as it was trained, not how good it is on
    // others: the training tool cross-validates.
    const MUST_HOLD: f64 = 0.85;
    let Some(cases) = cases() else { return };
    let mut kinds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for case in cases {
        let description = analysed(&page(&case.url, case.html)).description;
        let main = description.main_text();
        for line in main.lines() {
            assert!(description.text.contains(line), "{}: {line:?} is missing in the full text", case.id);
        }
        kinds.entry(case.kind).or_default().push(f1(&main, &case.main_text));
    }
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    for (kind, scores) in &kinds {
        println!("{kind} {:.3}", mean(scores));
    }
    let all: Vec<f64> = kinds.into_values().flatten().collect();
    println!("F1 {:.4}", mean(&all));
    assert!(mean(&all) >= MUST_HOLD, "F1 {:.4}", mean(&all));
}
