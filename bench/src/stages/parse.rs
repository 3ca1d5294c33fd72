//! Parsing: the analyser's one function, page after page.

use seine_analyser::{AnalyserConfig, Analysis, analyse};
use seine_proto::common::v1::FetchedPage;

pub fn run(pages: &[FetchedPage]) -> anyhow::Result<Vec<Analysis>> {
    let config = AnalyserConfig::default();
    pages.iter().map(|page| Ok(analyse(page, &config)?)).collect()
}
