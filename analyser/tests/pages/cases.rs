//! Real pages with known main texts, from a folder beside the project. It is no part of the project.

use std::io::Read;
use std::path::Path;

use seine_analyser::{AnalyserConfig, Analysis, analyse};
use seine_proto::common::v1::{FetchedPage, Header};

pub struct Case {
    pub id: String,
    pub url: String,
    pub kind: String,
    pub main_text: String,
    pub html: Vec<u8>,
}

/// `None`, with the reason printed, where the folder is missing.
pub fn cases() -> Option<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases/content-dev");
    let Ok(truth) = std::fs::read_to_string(folder.join("truth.jsonl")) else {
        println!("skipped: {} is not there", folder.display());
        return None;
    };
    Some(truth.lines().map(|line| case(&folder, line)).collect())
}

fn case(folder: &Path, line: &str) -> Case {
    let case: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
    let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let mut html = Vec::new();
    let file = std::fs::File::open(folder.join("html").join(text("id") + ".html.gz")).expect("a page");
    flate2::read::GzDecoder::new(file).read_to_end(&mut html).expect("gzip");
    let url = Some(text("url")).filter(|url| !url.is_empty()).unwrap_or("http://example.org/".to_owned());
    Case { id: text("id"), url, kind: text("kind"), main_text: text("main_text"), html }
}

pub fn page(url: &str, html: Vec<u8>) -> FetchedPage {
    let headers = vec![Header { name: "content-type".into(), value: "text/html; charset=utf-8".into() }];
    FetchedPage { url: url.into(), status: 200, headers, body: html.into(), ..FetchedPage::default() }
}

pub fn analysed(page: &FetchedPage) -> Analysis {
    analyse(page, &AnalyserConfig::default()).expect("a valid URL")
}
