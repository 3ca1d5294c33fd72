//! The whole analysis, from bytes to description.

use proptest::prelude::*;
use seine_proto::common::v1::{Header, LeaseRef};

use seine_common::limits::MAX_TEXT_BYTES;
use seine_proto::common::v1::{BlockForm, TextBlock};

use super::*;
use crate::extract::links::MAX_LINKS;

fn page(headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> FetchedPage {
    let headers = headers.iter().map(|(name, value)| Header { name: (*name).into(), value: (*value).into() });
    FetchedPage {
        lease: Some(LeaseRef { token: 7, crawl: "demo".into(), epoch: 3 }),
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
        epoch: 3,
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
        declared_lang: "en".into(),
        simhash: crate::simhash::simhash(&description.main_text()),
        blocks: description.blocks.clone(),
        ..Description::default()
    };
    assert_eq!(description, expected);
}

#[test]
fn headers_tell_what_the_page_does_not() {
    let page = FetchedPage {
        ip: "192.0.2.1".into(),
        ..page(
            &[
                HTML,
                ("content-language", "de"),
                ("last-modified", "Mon, 06 May 2024 07:08:09 GMT"),
                ("expires", "Tue, 07 May 2024 07:08:09 GMT"),
                ("link", "</next>; rel=next, <https://example.org/own>; rel=\"canonical\""),
                ("x-robots-tag", "noarchive"),
            ],
            "<base href=http://other.test/><p>text<a href=x>X</a>",
        )
    };
    let config = AnalyserConfig { keeps_ip: true, ..AnalyserConfig::default() };
    let Analysis { description, follow, .. } = analyse(&page, &config).unwrap();
    assert_eq!((description.last_modified_ms, description.expires_ms), (1_714_979_289_000, 1_715_065_689_000));
    assert_eq!((description.declared_lang.as_str(), description.ip.as_str()), ("de", "192.0.2.1"));
    assert_eq!(
        (description.canonical_url.as_str(), description.robots),
        ("https://example.org/own", vec!["noarchive".to_owned()])
    );
    assert_eq!(follow, ["http://example.org/next", "https://example.org/own", "http://other.test/x"]);
    assert_eq!(run(&page).description.ip, "");
}

#[test]
fn blocks_keep_the_form_of_the_text() {
    let html = "<title>The Title of it</title><h1>The Title of it</h1><p>Plain <b>bold</b> words.</p><h3>Part</h3>\
        <ul><li><a href=x>linked</a></li></ul><table><tr><td>a</td><td>b</td></tr></table><pre>code</pre>\
        <blockquote>said</blockquote><button>Press</button>";
    let description = run(&page(&[HTML], html)).description;
    let parts: Vec<(BlockForm, TextBlock, &str)> =
        description.parts().map(|(block, text)| (block.form(), block, text.trim())).collect();
    let forms: Vec<(BlockForm, &str)> = parts.iter().map(|(form, _, text)| (*form, *text)).collect();
    let expected = [
        (BlockForm::Title, "The Title of it"),
        (BlockForm::Paragraph, "Plain bold words."),
        (BlockForm::Heading, "Part"),
        (BlockForm::ListItem, "linked"),
        (BlockForm::TableRow, "a"),
        (BlockForm::TableRow, "b"),
        (BlockForm::Code, "code"),
        (BlockForm::Quote, "said"),
        (BlockForm::Control, "Press"),
    ];
    // Neighbours of one form are one block where they are main text alike.
    let joined = forms.iter().map(|(form, text)| (*form, text.replace('\n', " ")));
    let joined: Vec<(BlockForm, String)> = joined
        .flat_map(|(form, text)| {
            let one = form == BlockForm::TableRow;
            text.split(if one { ' ' } else { '\n' }).map(move |word| (form, word.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(joined, expected.map(|(form, text)| (form, text.to_owned())));
    assert_eq!((parts[0].1.heading_level, parts[2].1.heading_level), (1, 3));
    assert_eq!(parts[1].1.emphasis_percent, 20);
    assert_eq!(parts[3].1.link_percent, 100);
}

#[test]
fn navigation_and_footer_are_kept_apart_from_an_article() {
    let sentence = "The river rises in the hills, flows through several old towns, and reaches the sea at last. ";
    let paragraphs: String = (0..8).map(|n| format!("<p>{n}. {}</p>", sentence.repeat(3))).collect();
    let html = format!(
        "<title>River</title><nav class=menu><ul><li><a href=/>Home</a><li><a href=/a>About</a><li><a href=/c>Contact</a></ul></nav>\
         <main><article><h1>River</h1>{paragraphs}</article></main>\
         <footer class=site-footer><p>© 2024 Example. All rights reserved.</p><a href=/p>Privacy Policy</a></footer>"
    );
    let description = run(&page(&[HTML], html)).description;
    let (main, rest) = (description.main_text(), description.remainder());
    assert_eq!(main.matches("river rises").count(), 24, "{main}");
    for boilerplate in ["Home", "Contact", "rights reserved", "Privacy"] {
        assert!(!main.contains(boilerplate) && rest.contains(boilerplate), "{boilerplate}");
    }
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
        // Main text and remainder share the text between them, and no paragraph of either is missing in it.
        let covered: u64 = description.blocks.iter().map(|block| u64::from(block.bytes)).sum();
        prop_assert!(description.blocks.is_empty() || covered == description.text.len() as u64);
        let (main, rest) = (description.main_text(), description.remainder());
        let mut words: Vec<&str> = main.split_whitespace().chain(rest.split_whitespace()).collect();
        let mut all: Vec<&str> = description.text.split_whitespace().collect();
        prop_assert!(description.parts().all(|(_, part)| description.text.contains(part)));
        if words.len() == all.len() {
            words.sort_unstable();
            all.sort_unstable();
            prop_assert_eq!(words, all);
        }
        prop_assert!((0.0..=1.0).contains(&description.usability));
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
