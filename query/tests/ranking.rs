//! The order of results, measured on collections that other people judged.

#[path = "support/collection.rs"]
mod collection;

use collection::{Collection, folder};
use seine_query::RankingWeights;

/// What plain BM25 with the right analysis reaches, and we must.
const MUST_HOLD: [(&str, f64); 3] = [("cranfield", 0.369), ("npl", 0.434), ("cmrc2018-zh", 0.97)];

#[test]
fn judged_collections_are_ranked_at_least_as_well_as_by_plain_bm25() {
    if !folder().is_dir() {
        println!("skipped: there are no judged collections in {}", folder().display());
        return;
    }
    for (name, least) in MUST_HOLD {
        let collection = Collection::read(&folder(), name).unwrap();
        let index = tempfile::tempdir().unwrap();
        collection.index(index.path());
        let measured = collection.measure(index.path(), RankingWeights::default());
        println!("{}: {measured:.4?}", collection.name);
        assert!(measured.ndcg_at_10 >= least, "nDCG@10 of {name} is {:.4}, below {least}", measured.ndcg_at_10);
    }
}
