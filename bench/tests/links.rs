//! The links of real pages are those of a parser that builds the whole tree as the standard says.
//!
//! It stands here because the other parser is a dependency of this crate. The pages are no part of the project; where
//! their folder is missing, nothing is compared.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use scraper::{ElementRef, Html};
use seine_analyser::{AnalyserConfig, analyse};
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{FetchedPage, Header};

/// From the root of the project.
const CASES: &str = "../shared/cases/content-dev";

struct Case {
    id: String,
    url: String,
    html: String,
}

/// `None`, with the reason printed, where the folder is missing.
fn cases() -> Option<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(CASES);
    let Ok(list) = std::fs::read_to_string(folder.join("truth.jsonl")) else {
        println!("skipped: {} is not there", folder.display());
        return None;
    };
    Some(list.lines().map(|line| case(&folder, line)).collect())
}

fn case(folder: &Path, line: &str) -> Case {
    let case: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
    let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let file = std::fs::File::open(folder.join("html").join(text("id") + ".html.gz")).expect("a page");
    let mut html = Vec::new();
    GzDecoder::new(file).read_to_end(&mut html).expect("gzip");
    let url = Some(text("url")).filter(|url| !url.is_empty()).unwrap_or("http://example.org/".to_owned());
    // Both must read the same characters.
    Case { id: text("id"), url, html: String::from_utf8_lossy(&html).into_owned() }
}

fn links_found(case: &Case) -> BTreeSet<String> {
    let headers = vec![Header { name: "content-type".into(), value: "text/html; charset=utf-8".into() }];
    let body = case.html.clone().into_bytes().into();
    let page = FetchedPage { url: case.url.clone(), status: 200, headers, body, ..FetchedPage::default() };
    let analysis = analyse(&page, &AnalyserConfig::default()).expect("a valid URL");
    analysis.description.links.into_iter().map(|link| link.url).collect()
}

#[test]
fn links_of_real_pages_are_those_of_a_conforming_parser() {
    let Some(cases) = cases() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in cases {
        let (expected, found) = (links_of_tree(&case.html, &case.url), links_found(&case));
        compared += expected.len();
        let missing: Vec<&String> = expected.difference(&found).take(5).collect();
        let extra: Vec<&String> = found.difference(&expected).take(5).collect();
        if !missing.is_empty() || !extra.is_empty() {
            wrong.push(format!("{}: missing {missing:?}, too many {extra:?}", case.id));
        }
    }
    println!("{compared} links compared");
    assert!(compared > 10_000);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn links_of_tree(html: &str, url: &str) -> BTreeSet<String> {
    let page = CanonicalUrl::parse(url).expect("a valid URL");
    let tree = Html::parse_document(html);
    let base = elements(&tree).find(|element| element.value().name() == "base" && element.attr("href").is_some());
    let base = base.and_then(|base| page.as_url().join(base.attr("href")?).ok());
    let base = base.filter(|base| !base.cannot_be_a_base()).unwrap_or_else(|| page.as_url().clone());
    let mut targets = Vec::new();
    collect(&tree, &mut targets);
    let mut found = BTreeSet::new();
    for target in targets {
        let target = target.trim_matches(|c: char| c.is_ascii_whitespace());
        let is_place = target.is_empty() || target.starts_with('#');
        if let Ok(url) = CanonicalUrl::join(&base, target)
            && !(is_place && url == page)
        {
            found.insert(url.as_str().to_owned());
        }
    }
    found
}

fn elements(tree: &Html) -> impl Iterator<Item = ElementRef<'_>> {
    tree.tree.nodes().filter_map(ElementRef::wrap).filter(|element| !is_inert(element))
}

/// Inside a template. One with `shadowrootmode` is none: browsers show what it holds in the element it stands in, and there
/// this parser leaves it.
fn is_inert(element: &ElementRef<'_>) -> bool {
    element.ancestors().filter_map(ElementRef::wrap).any(|ancestor| ancestor.value().name() == "template")
}

fn collect(tree: &Html, targets: &mut Vec<String>) {
    for element in elements(tree) {
        let name = element.value().name();
        // What is for clients without scripts is text to a parser with scripts; a crawler is one without.
        if matches!(name, "noscript" | "noframes") {
            let source: String = element.text().collect();
            collect(&Html::parse_fragment(&source), targets);
        }
        for (attribute, value) in element.value().attrs() {
            match (name, attribute) {
                ("a" | "area" | "link" | "image" | "use" | "feImage", "href")
                | ("img" | "iframe" | "frame" | "script" | "video" | "audio" | "source" | "track" | "embed", "src")
                | ("input", "src" | "formaction")
                | ("img" | "iframe" | "frame", "longdesc")
                | ("video" | "audio" | "source" | "track" | "embed", "poster")
                | ("object" | "applet", "data" | "archive")
                | ("form", "action" | "formaction")
                | ("button", "formaction" | "action")
                | ("input", "action")
                | ("body" | "table" | "tr" | "td" | "th" | "thead" | "tbody" | "tfoot", "background")
                | ("blockquote" | "q" | "ins" | "del", "cite")
                | ("html", "manifest") => targets.push(value.to_owned()),
                ("script", "href") => targets.push(value.to_owned()),
                ("img" | "source" | "video" | "audio" | "track" | "embed", "srcset")
                | ("link", "imagesrcset" | "srcset") => {
                    targets.extend(candidates(value));
                }
                ("img", "imagesrcset") => targets.extend(candidates(value)),
                ("meta", "content") if is_refresh(&element) => targets.extend(refresh(value)),
                _ => {}
            }
        }
    }
}

fn is_refresh(element: &ElementRef<'_>) -> bool {
    element.attr("http-equiv").is_some_and(|value| value.trim().eq_ignore_ascii_case("refresh"))
}

/// Plain cases are enough here; the hard ones are tested where the reading is.
fn refresh(content: &str) -> Option<String> {
    let (_, target) =
        content.split_once(['=']).filter(|(before, _)| before.to_ascii_lowercase().trim().ends_with("url"))?;
    Some(target.trim().trim_matches(['"', '\'']).to_owned())
}

/// As the standard parses a `srcset`.
fn candidates(list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return found;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = &rest[..end];
        rest = &rest[end..];
        found.push(url.trim_end_matches(',').to_owned());
        if !url.ends_with(',') {
            let mut depth = 0;
            let end = rest.find(|c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')' && depth > 0);
                c == ',' && depth == 0
            });
            rest = &rest[end.unwrap_or(rest.len())..];
        }
    }
}
