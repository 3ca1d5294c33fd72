//! A page of any bytes: the whole analysis ends, and what it gives fits the promises of its parts.
#![no_main]

use fuzz_targets::deep::{HTML, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_analyser::{AnalyserConfig, analyse};
use seine_proto::common::v1::{FetchedPage, Header};

fuzz_target!(|input: &[u8]| {
    let page = FetchedPage {
        url: "http://example.org/a/b?c=d".to_owned(),
        status: 200,
        headers: vec![Header { name: "content-type".to_owned(), value: "text/html; charset=utf-8".to_owned() }],
        body: expanded_or_plain(HTML, input).into_owned().into(),
        ..FetchedPage::default()
    };
    let analysis = analyse(&page, &AnalyserConfig::default()).expect("the address is one");
    let description = analysis.description;
    let covered: usize = description.blocks.iter().map(|block| block.bytes as usize).sum();
    assert!(description.blocks.is_empty() || covered == description.text.len(), "blocks cover the text");
});
