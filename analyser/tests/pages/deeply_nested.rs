//! Deep and long pages through every reader, on a small stack: none recurses by what it reads, and each is done with a
//! million of anything before long. A reader that takes quadratic time would keep the tests from ending.

use prost::Message;
use seine_analyser::convert::convert_here;
use seine_analyser::rewrite::{rewrite_css, rewrite_html};
use seine_analyser::{AnalyserConfig, analyse, sitemap};
use seine_common::limits::{MAX_BODY_BYTES, MAX_TEXT_BYTES};
use seine_proto::common::v1::{FetchedPage, Header};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::deep::{CSS, Case, HTML, JSON, MARKDOWN, TEXTS, XML, on_small_stack};
use crate::deep_documents::DOCUMENTS;

const MANY: usize = 10_000;
const VERY_MANY: usize = 1_000_000;
/// Of what is longer than a tag, such as whole entries of a feed, there are as many as make this.
const MAX_PAGE_BYTES: usize = 2 << 20;
const TAG_BYTES: usize = 16;

/// What reads a page: the analysis by its type, or one of those below.
type Read = fn(&str);

fn analysed(content_type: &str, text: &str) {
    let headers = vec![Header { name: "content-type".into(), value: content_type.into() }];
    let url = "http://example.org/a/b?c=d".to_owned();
    let page = FetchedPage { url, status: 200, headers, body: text.to_owned().into(), ..FetchedPage::default() };
    let description = analyse(&page, &AnalyserConfig::default()).unwrap().description;
    assert!(description.text.len() <= MAX_TEXT_BYTES && description.encoded_len() < 16 << 20);
}

fn base() -> Url {
    Url::parse("http://example.org/a/b").unwrap()
}

fn html(text: &str) {
    analysed("text/html; charset=utf-8", text);
}

fn linked_data(text: &str) {
    html(&format!("<script type=application/ld+json>{text}</script><p>text"));
}

fn markdown(text: &str) {
    analysed("text/markdown", text);
}

fn xml(text: &str) {
    analysed("application/xml", text);
}

fn feed(text: &str) {
    analysed("application/rss+xml", text);
}

fn json(text: &str) {
    analysed("application/json", text);
}

fn plain(text: &str) {
    analysed("text/plain", text);
}

fn read_sitemap(text: &str) {
    let page = FetchedPage { url: base().into(), body: text.to_owned().into(), ..FetchedPage::default() };
    sitemap::read(&page).unwrap();
}

fn sanitised(text: &str) {
    rewrite_html(text, base(), &mut |url, _| Some(url.to_string()), &CancellationToken::new()).unwrap();
}

fn style(text: &str) {
    rewrite_css(text, base(), &mut |url, _| Some(url.to_string()), &CancellationToken::new()).unwrap();
}

const READERS: [Read; 10] = [html, linked_data, markdown, xml, feed, json, plain, read_sitemap, sanitised, style];

fn check(read: Read, cases: &[Case], count: usize) {
    for case in cases {
        let started = std::time::Instant::now();
        let is_short = case.piece.len() <= TAG_BYTES && !case.piece.contains('=');
        let text = case.text(if is_short { count } else { count.min(MAX_PAGE_BYTES / case.piece.len()) });
        on_small_stack(|| read(&text));
        // Printed only when the test fails, or on request.
        println!("{:?} {:?}: {} ms", case.before, case.piece, started.elapsed().as_millis());
    }
}

#[test]
fn ten_thousand_of_anything_go_through_every_reader() {
    for read in READERS {
        TEXTS.iter().for_each(|cases| check(read, cases, MANY));
    }
}

#[test]
fn a_million_tags_are_analysed() {
    check(html, HTML, VERY_MANY);
}

#[test]
fn a_million_tags_are_sanitised() {
    check(sanitised, HTML, VERY_MANY);
}

#[test]
fn a_million_of_all_that_css_has_are_rewritten() {
    check(style, CSS, VERY_MANY);
}

#[test]
fn a_million_of_all_that_json_and_xml_have_are_read() {
    check(json, JSON, VERY_MANY);
    check(linked_data, JSON, VERY_MANY);
    // Other XML is read in the same way, and less of it.
    check(feed, XML, VERY_MANY);
    check(read_sitemap, XML, VERY_MANY);
}

#[test]
fn a_million_of_all_that_markdown_has_are_read() {
    check(markdown, MARKDOWN, VERY_MANY);
}

#[test]
fn documents_with_ten_thousand_and_a_million_of_anything_are_converted_or_refused() {
    for count in [MANY, VERY_MANY] {
        for document in DOCUMENTS {
            let started = std::time::Instant::now();
            // No longer body than four times this is fetched, and this tells as much.
            let counts = std::iter::successors(Some(count), |count| Some(count / 2));
            let mut bodies = counts.map(document.body).filter(|body| body.len() <= MAX_BODY_BYTES / 4);
            let body = bodies.next().expect("one is short enough");
            let converted = on_small_stack(|| convert_here(document.format, &body));
            let milliseconds = started.elapsed().as_millis();
            let what = converted.map(|converted| converted.text.len());
            println!("{} {} {count}: {what:?} in {milliseconds} ms", document.format, document.name);
        }
    }
}
