//! Trains the forest that tells main text from the rest, on pages whose main text is known.
//!
//! `train_main_text CASES [--seeds N] [--write FILE] [--trees N] [--rate R] [--calm C] [--features S] [--pages S]
//! [--heavy W] [--seed S]`, where CASES holds `truth.jsonl` and `html/ID.html.gz`. Prints the F1 of words over pages by
//! cross-validation: each page is judged by a forest that was trained without it (and without any page of its host).
//! That is done with several divisions into folds, and the mean is given with its standard error, so that it is known
//! which differences are none. With `--write` the forest of all pages is written instead.

mod pages;
mod binned;
mod cuts;
mod report;

use std::collections::HashMap;
use std::path::PathBuf;

use seine_analyser::main_text::training::{Forest, choose, feature_names};

use binned::{Binned, Settings, leaf};
use pages::{Page, load};
use report::report;

const FOLDS: usize = 6;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cases = PathBuf::from(arguments.next().expect("the folder of cases"));
    let mut settings = Settings { trees: 220, rate: 0.06, calm: 0.2, features: 0.3, pages: 0.7, heavy: 0.01, seed: 1 };
    let mut seeds = 5;
    let mut write = None;
    while let Some(name) = arguments.next() {
        let value = arguments.next().expect("a value");
        let number = || value.parse::<f64>().expect("a number");
        match name.as_str() {
            "--write" => write = Some(PathBuf::from(&value)),
            "--trees" => settings.trees = number() as usize,
            "--rate" => settings.rate = number() as f32,
            "--calm" => settings.calm = number() as f32,
            "--features" => settings.features = number(),
            "--pages" => settings.pages = number(),
            "--heavy" => settings.heavy = number() as f32,
            "--seeds" => seeds = number() as u64,
            "--seed" => settings.seed = number() as u64,
            other => panic!("unknown flag {other}"),
        }
    }
    let pages = load(&cases);
    let rows: usize = pages.iter().map(|page| page.units.len()).sum();
    println!("{} pages, {rows} units, {} features", pages.len(), feature_names().len());
    let whole = |page: &Page| page.labels.iter().map(|label| *label >= 0.5).collect::<Vec<bool>>();
    report("best possible", &pages, &[pages.iter().map(whole).collect()]);
    report("everything", &pages, &[pages.iter().map(|page| vec![true; page.units.len()]).collect()]);

    let binned = Binned::of(&pages);
    if let Some(path) = write {
        let all: Vec<usize> = (0..pages.len()).collect();
        let forest = binned.train(&all, &settings);
        report("on its own pages", &pages, &[pages.iter().map(|page| chosen(page, &forest)).collect()]);
        importance(&forest);
        let text = format!("# Trained by examples/train_main_text; see `forest.rs` for its form.\n{}", forest.write());
        std::fs::write(path, text).expect("writable");
        return;
    }
    let mut judged = Vec::new();
    for seed in 1..=seeds {
        settings.seed = seed;
        judged.push(cross_validated(&pages, &binned, &settings));
    }
    report("cross-validated", &pages, &judged);
}

/// For each page the units that a forest chooses which knows nothing of its host.
fn cross_validated(pages: &[Page], binned: &Binned, settings: &Settings) -> Vec<Vec<bool>> {
    let fold_of: Vec<usize> = pages.iter().map(|page| fold(&page.host, settings.seed)).collect();
    let mut judged: Vec<Vec<bool>> = vec![Vec::new(); pages.len()];
    for number in 0..FOLDS {
        let (held_back, known): (Vec<usize>, Vec<usize>) = (0..pages.len()).partition(|page| fold_of[*page] == number);
        let forest = binned.train(&known, settings);
        for page in held_back {
            judged[page] = chosen(&pages[page], &forest);
        }
    }
    judged
}

fn fold(host: &str, seed: u64) -> usize {
    let hash = host.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9), |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((hash >> 20) % FOLDS as u64) as usize
}

fn chosen(page: &Page, forest: &Forest) -> Vec<bool> {
    let probabilities: Vec<f32> = (0..page.units.len())
        .map(|row| {
            let sum: f32 = forest.trees.iter().map(|tree| tree.leaves[leaf(tree, |f| page.features[f][row])]).sum();
            1.0 / (1.0 + (-(forest.bias + sum)).exp())
        })
        .collect();
    let lengths: Vec<f32> = page.units.iter().map(|unit| unit.len() as f32).collect();
    choose(&probabilities, &lengths)
}

fn importance(forest: &Forest) {
    let names = feature_names();
    let mut weight: HashMap<&str, f32> = HashMap::new();
    for tree in &forest.trees {
        let spread = tree.leaves.iter().map(|leaf| leaf.abs()).sum::<f32>() / tree.leaves.len() as f32;
        for (feature, _) in &tree.questions {
            *weight.entry(&names[usize::from(*feature)]).or_default() += spread;
        }
    }
    let mut order: Vec<_> = weight.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shown: Vec<String> = order.iter().take(60).map(|(name, weight)| format!("{name} {weight:.2}")).collect();
    println!("{}", shown.join(", "));
}
