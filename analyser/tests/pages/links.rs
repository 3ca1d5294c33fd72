//! The links of real pages are those of a parser that builds the whole tree as the standard says.

use std::collections::BTreeSet;

use scraper::{ElementRef, Html};
use seine_common::url::CanonicalUrl;

use crate::cases::{analysed, cases, page};

#[test]
fn links_of_real_pages_are_those_of_a_conforming_parser() {
    let Some(cases) = cases() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in cases {
        // Both must read the same characters.
        let html = String::from_utf8_lossy(&case.html).into_owned();
        let expected = links_of_tree(&html, &case.url);
        let description = analysed(&page(&case.url, html.into_bytes())).description;
        let found: BTreeSet<String> = description.links.into_iter().map(|link| link.url).collect();
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
    tree.tree.nodes().filter_map(ElementRef::wrap).filter(|element| !is_inert(tree, element))
}

/// Inside a template. Those of shadow roots this parser leaves beside the tree.
fn is_inert(tree: &Html, element: &ElementRef<'_>) -> bool {
    let is_beside = element.ancestors().last().is_none_or(|top| top.id() != tree.tree.root().id());
    is_beside || element.ancestors().filter_map(ElementRef::wrap).any(|ancestor| ancestor.value().name() == "template")
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
