//! The whole analysis, from bytes to description.

use proptest::prelude::*;
use seine_proto::common::v1::{Header, LeaseRef};

use super::*;
use crate::extract::links::MAX_LINKS;

fn page(headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> FetchedPage {
    let headers = headers.iter().map(|(name, value)| Header { name: (*name).into(), value: (*value).into() });
    FetchedPage {
        lease: Some(LeaseRef { token: 7, crawl: "demo".into() }),
        url: "http://example.org/".into(),
        depth: 3,
        fetched_at_ms: 1_700_000_000_000,
        status: 200,
        headers: headers.collect(),
        body: body.into().into(),
        ..FetchedPage::default()
    }
}

fn run(page: &FetchedPage) -> Analysis {
    analyse(page, &AnalyserConfig::default()).unwrap()
}

const HTML: (&str, &str) = ("content-type", "text/html");

#[test]
fn a_description_carries_everything_known_about_the_page() {
    let body = "<html lang=en><title>T</title><meta name=description content=D><p>Hello there</p><a href=/x>X</a>";
    let analysis = run(&page(&[("content-type", "Text/HTML; charset=UTF-8")], body));
    assert_eq!(analysis.follow, ["http://example.org/x"]);
    let description = analysis.description;
    let expected = Description {
        url: "http://example.org/".into(),
        crawl: "demo".into(),
        token: 7,
        fetched_at_ms: 1_700_000_000_000,
        status: 200,
        depth: 3,
        content_type: "text/html".into(),
        charset: "utf-8".into(),
        title: "T".into(),
        description: "D".into(),
        lang: "en".into(),
        text: "Hello there\nX".into(),
        links: vec![DescribedLink { url: "http://example.org/x".into(), text: "X".into(), kind: 1 }],
        fingerprint: seine_common::fingerprint::Fingerprinter::public().of(b"Hello there X"),
        generate: true,
        bytes: body.len() as u64,
        archive: None,
    };
    assert_eq!(description, expected);
}

#[test]
fn pages_that_must_not_be_indexed_are_not() {
    let generate = |page: &FetchedPage| run(page).description.generate;
    assert!(generate(&page(&[HTML], "<p>text")));
    assert!(generate(&page(&[HTML], "<title>only a title</title>")));
    assert!(!generate(&page(&[HTML], "<meta name=robots content=noindex><p>text")));
    assert!(!generate(&page(&[HTML, ("x-robots-tag", "noindex")], "<p>text")));
    assert!(!generate(&page(&[HTML], " <p> </p> ")));
    assert!(!generate(&page(&[("content-type", "image/png")], "<p>text")));
    assert!(!generate(&page(&[HTML, ("content-encoding", "rot13")], "<p>text")));
    assert!(!generate(&FetchedPage { status: 404, ..page(&[HTML], "<p>text") }));
}

#[test]
fn nofollow_empties_the_links_to_follow_and_nothing_else() {
    for page in [
        page(&[HTML], "<meta name=seine content=nofollow><a href=a>A</a>"),
        page(&[HTML, ("x-robots-tag", "none")], "<a href=a>A</a>"),
        page(&[HTML], "<a href=a rel=nofollow>A</a>"),
    ] {
        let analysis = run(&page);
        assert_eq!(analysis.follow, Vec::<String>::new());
        assert_eq!(analysis.description.links.len(), 1);
    }
}

#[test]
fn the_meta_tag_tells_the_charset_where_the_header_does_not() {
    let (body, _, _) = encoding_rs::GBK.encode("<meta charset=gb2312><title>你好</title><p>世界");
    let description = run(&page(&[HTML], body.into_owned())).description;
    assert_eq!(
        (description.title.as_str(), description.text.as_str(), description.charset.as_str()),
        ("你好", "世界", "gbk")
    );
}

#[test]
fn plain_text_is_kept_as_it_is() {
    let description = run(&page(&[("content-type", "text/plain")], "a  <b>\n\n c")).description;
    assert_eq!((description.text.as_str(), description.generate), ("a  <b>\n\n c", true));
    assert!(!run(&page(&[("content-type", "text/plain")], " \n ")).description.generate);
}

#[test]
fn text_is_cut_at_the_limit() {
    for kind in ["text/html", "text/plain"] {
        let text = run(&page(&[("content-type", kind)], "你好 ".repeat(MAX_TEXT_BYTES / 7 + 100))).description.text;
        assert!(text.len() <= MAX_TEXT_BYTES && text.len() > MAX_TEXT_BYTES - 8, "{}", text.len());
    }
}

#[test]
fn a_page_without_a_valid_url_is_refused() {
    assert!(matches!(
        analyse(&FetchedPage { url: "nonsense".into(), ..page(&[HTML], "") }, &AnalyserConfig::default()),
        Err(Error::PageUrl(_))
    ));
}

const MARKUP: &[&str] = &[
    "<a href='",
    "<a href=",
    "'>",
    "</a>",
    "<base href=/",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<title>",
    "</title>",
    "<svg>",
    "<template>",
    "</template>",
    "<meta http-equiv=refresh content='0;url=",
    "<meta charset=",
    "&#x",
    "&amp",
    "<p>",
    "<textarea>",
    "<![CDATA[",
    "<style>",
    "<plaintext>",
    "http://",
    "//",
];

/// Bytes with enough markup among them to reach the corners of the parser.
fn tag_soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..12),
        "[a-z<>&;/='\" \n\u{e9}\u{4f60}-]{0,16}".prop_map(String::into_bytes),
        prop::sample::select(MARKUP).prop_map(|markup| markup.as_bytes().to_vec()),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn any_bytes_give_a_valid_description(
        body in tag_soup(),
        header in prop::sample::select(vec!["text/html", "text/html;charset=utf-8", "text/html;charset=utf-16", "text/plain", "", "application/xhtml+xml;charset=gbk"]),
        encoding in prop::sample::select(vec!["", "gzip", "deflate", "br", "zstd"]),
    ) {
        let analysis = run(&page(&[("content-type", header), ("content-encoding", encoding)], body));
        let description = analysis.description;
        prop_assert!(description.text.len() <= MAX_TEXT_BYTES);
        prop_assert!(description.links.len() <= MAX_LINKS);
        for link in &description.links {
            let canonical = CanonicalUrl::parse(&link.url).unwrap();
            prop_assert_eq!(canonical.as_str(), link.url.as_str());
        }
        let known: Vec<&String> = description.links.iter().map(|link| &link.url).collect();
        let mut distinct = known.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), known.len());
        // Those to follow are a part of those described, in the same order.
        let mut described = known.iter();
        prop_assert!(analysis.follow.iter().all(|url| described.any(|known| *known == url)));
    }
}
