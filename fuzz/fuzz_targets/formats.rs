//! Pages of the formats beside HTML, and JSON-LD within it. The first byte chooses the format.
#![no_main]

use fuzz_targets::deep::{Case, HTML, JSON, MARKDOWN, XML, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_analyser::{AnalyserConfig, analyse};
use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::common::v1::{FetchedPage, Header};

const FORMATS: [(&str, &[Case]); 6] = [
    ("text/markdown", MARKDOWN),
    ("application/xml", XML),
    ("application/rss+xml", XML),
    ("application/json", JSON),
    ("text/plain", HTML),
    ("text/html", JSON),
];

fuzz_target!(|input: &[u8]| {
    let [choice, input @ ..] = input else { return };
    let (content_type, cases) = FORMATS[usize::from(*choice) % FORMATS.len()];
    let mut body = expanded_or_plain(cases, input).into_owned();
    if content_type == "text/html" {
        body = [b"<script type=application/ld+json>", body.as_slice(), b"</script>"].concat();
    }
    let page = FetchedPage {
        url: "http://example.org/a/b?c=d".to_owned(),
        status: 200,
        headers: vec![Header { name: "content-type".to_owned(), value: content_type.to_owned() }],
        body: body.into(),
        ..FetchedPage::default()
    };
    let description = analyse(&page, &AnalyserConfig::default()).expect("the address is one").description;
    assert!(description.text.len() <= MAX_TEXT_BYTES);
});
