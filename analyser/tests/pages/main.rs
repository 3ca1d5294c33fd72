//! Whole pages through the whole analysis: pages of the real web where they are at hand, and broken ones in any case.

mod cases;
mod main_text;
mod random;
mod mutated;
mod mutated_documents;
mod deeply_nested;

#[allow(dead_code, reason = "the fuzz targets use more of it")]
#[path = "../../../fuzz/src/deep.rs"]
mod deep;
#[path = "../../../fuzz/src/deep_documents.rs"]
mod deep_documents;
