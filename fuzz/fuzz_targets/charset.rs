//! Bytes that claim one charset or content encoding and are another.
#![no_main]

use fuzz_targets::deep::{HTML, expanded_or_plain};
use libfuzzer_sys::fuzz_target;
use seine_analyser::{AnalyserConfig, analyse};
use seine_proto::common::v1::{FetchedPage, Header};

const CHARSETS: [&str; 10] = [
    "",
    "utf-8",
    "utf-16le",
    "gb18030",
    "big5",
    "shift_jis",
    "euc-kr",
    "iso-2022-jp",
    "windows-1250",
    "x-user-defined",
];
const ENCODINGS: [&str; 6] = ["", "gzip", "deflate", "br", "zstd", "gzip, br"];

fuzz_target!(|input: &[u8]| {
    let [choice, body @ ..] = input else { return };
    let charset = CHARSETS[usize::from(*choice) % CHARSETS.len()];
    let encoding = ENCODINGS[usize::from(*choice) / CHARSETS.len() % ENCODINGS.len()];
    let header = |name: &str, value: String| Header { name: name.to_owned(), value };
    let page = FetchedPage {
        url: "http://example.org/".to_owned(),
        status: 200,
        headers: vec![
            header("content-type", format!("text/html; charset={charset}")),
            header("content-encoding", encoding.to_owned()),
        ],
        body: expanded_or_plain(HTML, body).into_owned().into(),
        ..FetchedPage::default()
    };
    analyse(&page, &AnalyserConfig::default()).expect("the address is one");
});
