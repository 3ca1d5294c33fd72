//! The order of results on judged collections, under different weights.
//!
//! `measure_ranking [FOLDER] [name=value,name=value …]…`: a line per setting, beginning with the defaults; without a
//! folder the collections beside the project. Names: k1, title, summary, address, rest, anchors, b, bt (of the title),
//! proximity, between, long.

#[path = "../tests/support/collection.rs"]
mod collection;

use std::path::PathBuf;

use collection::{Collection, folder};
use seine_query::RankingWeights;

fn weights(setting: &str) -> RankingWeights {
    let mut weights = RankingWeights::default();
    for (name, value) in setting.split(',').filter_map(|pair| pair.split_once('=')) {
        let value: f32 = value.parse().expect("a number");
        match name {
            "k1" => weights.saturation = value,
            "title" => weights.fields[1] = value,
            "summary" => weights.fields[2] = value,
            "address" => weights.fields[3] = value,
            "rest" => weights.fields[4] = value,
            "anchors" => weights.fields[5] = value,
            "b" => weights.length[0] = value,
            "bt" => weights.length[1] = value,
            "proximity" => weights.proximity = value,
            "between" => weights.between_words = value,
            "long" => weights.long_words = value,
            other => panic!("there is no weight called {other}"),
        }
    }
    weights
}

fn main() {
    let mut settings: Vec<String> = std::env::args().skip(1).collect();
    let folder = match settings.first() {
        Some(first) if !first.contains('=') => PathBuf::from(settings.remove(0)),
        _ => folder(),
    };
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder of collections")
        .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let collections: Vec<(Collection, tempfile::TempDir)> = names
        .iter()
        .map(|name| {
            let collection = Collection::read(&folder, name).expect("a collection");
            let index = tempfile::tempdir().expect("a directory");
            collection.index(index.path());
            (collection, index)
        })
        .collect();
    for setting in std::iter::once(String::new()).chain(settings) {
        print!("{setting:<40}");
        for (collection, index) in &collections {
            let measured = collection.measure(index.path(), weights(&setting));
            print!(
                "  {} {:.4} {:.3} {:.3}",
                collection.name, measured.ndcg_at_10, measured.mean_average_precision, measured.recall_at_100
            );
        }
        println!();
    }
}
