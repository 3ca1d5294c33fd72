//! Whole pages through the whole analysis: pages of the real web where they are at hand, and broken ones in any case.

mod cases;
mod main_text;
mod random;
mod mutated;
mod mutated_documents;
