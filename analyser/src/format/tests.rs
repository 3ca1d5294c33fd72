//! What is read from formats other than HTML.

use seine_proto::common::v1::LinkKind;

use super::*;
use crate::extract::links::Link;

fn read(content_type: &str, body: &str) -> (Content, Vec<Link>) {
    let url = CanonicalUrl::parse("http://example.org/dir/feed").unwrap();
    let source = Source { body: body.as_bytes(), charset: Some("utf-8"), url: &url, product_token: "seine" };
    let format = of(content_type, body.as_bytes()).expect("a format");
    let mut content = format.read(&source, LinkCollector::default());
    let links = std::mem::take(&mut content.links).resolve(&url, content.base.as_deref());
    (content, links)
}

fn described(links: &[Link]) -> Vec<(&str, &str, LinkKind)> {
    links.iter().map(|link| (link.url.as_str(), link.text.as_str(), link.kind)).collect()
}

#[test]
fn rss_gives_titles_texts_and_links() {
    let body = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title><link>http://example.org/</link>
        <description>All that happens</description><language>en</language>
        <item><title>First</title><link>http://example.org/1</link>
          <description><![CDATA[<p>One <a href="/in">text</a></p>]]></description><enclosure url="a.mp3"/></item>
        <item><title>Second</title><link>/2</link><description>&lt;b&gt;Two&lt;/b&gt;</description></item></channel></rss>"#;
    for content_type in ["application/rss+xml", "text/xml"] {
        let (content, links) = read(content_type, body);
        assert_eq!((content.title.as_str(), content.description.as_str()), ("News & more", "All that happens"));
        assert_eq!(content.declared_lang.as_deref(), Some("en"));
        assert_eq!(content.text, "News & more\nAll that happens\nFirst\nOne text\nSecond\nTwo");
        let expected = [
            ("http://example.org/", "", LinkKind::Anchor),
            ("http://example.org/in", "text", LinkKind::Anchor),
            ("http://example.org/1", "First", LinkKind::Anchor),
            ("http://example.org/dir/a.mp3", "First", LinkKind::Media),
            ("http://example.org/2", "Second", LinkKind::Anchor),
        ];
        assert_eq!(described(&links), expected);
    }
}

#[test]
fn atom_gives_titles_texts_and_links() {
    let body = r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><updated>2024-05-06T00:00:00Z</updated>
        <author><name>Ann</name></author><link rel="self" href="/atom"/>
        <entry><title>Entry</title><link href="/e"/><link rel="enclosure" href="/e.pdf"/><summary>Short</summary>
        <content type="html">&lt;p&gt;Long&lt;/p&gt;</content></entry></feed>"#;
    let (content, links) = read("application/atom+xml", body);
    assert_eq!((content.title.as_str(), content.author.as_str()), ("Log", "Ann"));
    assert_eq!((content.text.as_str(), content.modified_at_ms), ("Log\nEntry\nShort\nLong", 1_714_953_600_000));
    let expected = [
        ("http://example.org/atom", "", LinkKind::Feed),
        ("http://example.org/e", "Entry", LinkKind::Anchor),
        ("http://example.org/e.pdf", "Entry", LinkKind::Media),
    ];
    assert_eq!(described(&links), expected);
}

#[test]
fn markdown_is_read_as_what_it_means() {
    let (content, links) = read("text/markdown", "# Title\n\nSome *text* with a [link](/x).\n\n- one\n- two\n");
    assert_eq!(content.title, "Title");
    assert_eq!(content.text, "Title\nSome text with a link.\none\ntwo");
    assert!(content.blocks.iter().all(|block| block.main));
    assert_eq!(described(&links), [("http://example.org/x", "link", LinkKind::Anchor)]);
}

#[test]
fn xml_is_its_text() {
    let body = "<?xml version='1.0'?><book><title>Rivers</title><p>One &lt; <i>two</i></p><!-- no --><p><![CDATA[a <b>]]></p></book>";
    let (content, _) = read("application/xml", body);
    assert_eq!((content.title.as_str(), content.text.as_str()), ("Rivers", "Rivers\nOne <\ntwo\na <b>"));
}

#[test]
fn json_is_the_strings_in_it() {
    let (content, _) =
        read("application/json", r#"{"key": "One \u00e9\"x\"", "list": ["two", 3, {"b": "four"}], "cut": "fi"#);
    assert_eq!(content.text, "One é\"x\"\ntwo\nfour");
    assert_eq!(read("application/json", r#""\""#).0.text, "");
}

#[test]
fn what_no_format_reads_is_not_converted() {
    for content_type in ["image/png", "application/pdf", "application/octet-stream"] {
        assert!(of(content_type, b"<html>").is_none(), "{content_type}");
    }
    assert!(of("application/ld+json", b"{}").is_some());
    assert!(of("image/svg+xml", b"<svg>").is_some());
}
