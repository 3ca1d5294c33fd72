//! What the fuzz targets share: input that is deep and long.

pub mod deep;
pub mod deep_documents;
