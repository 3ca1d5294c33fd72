//! `seine export text`: what the pages say, as lines of JSON or as one file a page.
//!
//! Files are named after their URLs; `pages.jsonl` beside them says which is which.

use std::fs;
use std::path::Path;

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Description;
use serde_json::json;

use super::Written;
use super::file_name::FileNames;
use super::pages::Pages;
use super::sink::{Sink, cannot};
use crate::failure::Result;

const LIST: &str = "pages.jsonl";

/// A path that ends with a slash or has no suffix is a directory, as is one that exists.
pub fn is_directory(path: &Path) -> bool {
    path.is_dir()
        || path.as_os_str().as_encoded_bytes().ends_with(b"/")
        || (path != Path::new("-") && path.extension().is_none())
}

pub fn write(page: &Description, main: bool, sink: &mut Sink) -> Result<u64> {
    sink.json(&json!({ "url": page.url, "title": page.title, "text": text(page, main) }))?;
    Ok(1)
}

fn text(page: &Description, main: bool) -> String {
    if main { page.main_text() } else { page.text.clone() }
}

pub async fn files(pages: &mut Pages, directory: &Path, main: bool) -> Result<Written> {
    fs::create_dir_all(directory).map_err(|error| cannot("create", directory, &error))?;
    let mut list = Sink::open(Some(&directory.join(LIST)))?;
    let mut names = FileNames::keeping(&[LIST]);
    let mut written = Written::default();
    while let Some(batch) = pages.next_batch().await? {
        for page in &batch {
            let Ok(url) = CanonicalUrl::parse(&page.url) else { continue };
            let name = names.assign(&url, "txt");
            let path = directory.join(&name);
            let parent = path.parent().unwrap_or(directory);
            fs::create_dir_all(parent).map_err(|error| cannot("create", parent, &error))?;
            fs::write(&path, text(page, main)).map_err(|error| cannot("write", &path, &error))?;
            list.json(&json!({ "file": name, "url": page.url, "title": page.title }))?;
            written.pages += 1;
            written.lines += 1;
        }
    }
    list.finish()?;
    Ok(written)
}
