//! Writes the main text of every page of a folder of cases, for a script that scores them.
//!
//! `main_texts CASES OUT [--full]`, where CASES holds `truth.jsonl` and `html/ID.html.gz`; writes `OUT/ID.txt`. With
//! `--full` the whole text is written, a `+` before the blocks of the main text.

use std::io::Read;
use std::path::PathBuf;

use seine_analyser::{AnalyserConfig, analyse};
use seine_proto::common::v1::{FetchedPage, Header};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cases, out] = [0, 1].map(|place| PathBuf::from(arguments.get(place).expect("CASES OUT")));
    let full = arguments.get(2).is_some_and(|flag| flag == "--full");
    std::fs::create_dir_all(&out).expect("a writable folder");
    let truth = std::fs::read_to_string(cases.join("truth.jsonl")).expect("truth.jsonl");
    for line in truth.lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
        let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let mut body = Vec::new();
        let file = std::fs::File::open(cases.join("html").join(text("id") + ".html.gz")).expect("a page");
        flate2::read::GzDecoder::new(file).read_to_end(&mut body).expect("gzip");
        let url = Some(text("url")).filter(|url| !url.is_empty()).unwrap_or("http://example.org/".to_owned());
        let headers = vec![Header { name: "content-type".into(), value: "text/html".into() }];
        let page = FetchedPage { url, status: 200, headers, body: body.into(), ..FetchedPage::default() };
        let description = analyse(&page, &AnalyserConfig::default()).expect("a valid page").description;
        let written = if full {
            let parts = description.parts();
            let parts =
                parts.map(|(block, text)| format!("{} {}\n", if block.main { '+' } else { ' ' }, text.trim_end()));
            parts.collect()
        } else {
            description.main_text()
        };
        std::fs::write(out.join(text("id") + ".txt"), written).expect("writable");
    }
}
