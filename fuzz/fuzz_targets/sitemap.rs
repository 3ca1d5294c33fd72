//! A sitemap of any bytes: read for what it has, each address with a date or none.
#![no_main]

use fuzz_targets::deep::{XML, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_analyser::sitemap;
use seine_proto::common::v1::FetchedPage;

fuzz_target!(|input: &[u8]| {
    let page = FetchedPage {
        url: "http://example.org/sitemap.xml".to_owned(),
        body: expanded_or_plain(XML, input).into_owned().into(),
        ..FetchedPage::default()
    };
    let read = sitemap::read(&page).expect("the address is one");
    assert_eq!(read.pages.len(), read.lastmod_ms.len());
});
