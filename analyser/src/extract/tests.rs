//! What is read from pages written by hand.

use seine_common::url::CanonicalUrl;

use super::links::{Link, MAX_ANCHOR_BYTES, MAX_LINK_BYTES, MAX_LINKS};
use super::*;
use crate::parse::parse;

struct Page {
    title: String,
    text: String,
    links: Vec<Link>,
}

fn read(html: &str) -> Page {
    let mut extraction = Extraction::new("seine");
    parse(html.as_bytes(), &mut extraction);
    let page = CanonicalUrl::parse("http://example.org/dir/page.html").unwrap();
    Page {
        title: extraction.metadata.title(),
        text: extraction.text.finish(),
        links: extraction.links.resolve(&page, extraction.metadata.base.as_deref()),
    }
}

fn text(html: &str) -> String {
    read(html).text
}

fn urls(html: &str) -> Vec<String> {
    read(html).links.into_iter().map(|link| link.url).collect()
}

/// URL and anchor text.
fn links(html: &str) -> Vec<(String, String)> {
    read(html).links.into_iter().map(|link| (link.url, link.text)).collect()
}

fn link(url: &str, text: &str) -> (String, String) {
    (url.to_owned(), text.to_owned())
}

#[test]
fn block_elements_end_a_line_and_inline_elements_do_not() {
    assert_eq!(
        text("<h1>Title</h1><p>One <b>bo</b>ld\n word.<p>Two<br>three<div>four</div>five"),
        "Title\nOne bold word.\nTwo\nthree\nfour\nfive"
    );
    assert_eq!(text("<table><tr><td>a</td><td>b</td></tr><tr><th>c<th>d</table>"), "a b\nc d");
    assert_eq!(text("<ul><li>x<li>y</ul>z"), "x\ny\nz");
}

#[test]
fn words_that_only_the_style_keeps_apart_are_kept_apart() {
    let card = "<a href=/><strong>Kinds of boats</strong><span>Canoe and punt</span></a>";
    assert_eq!(text(card), "Kinds of boats Canoe and punt");
    assert_eq!(links(card), [link("http://example.org/", "Kinds of boats Canoe and punt")]);
    assert_eq!(text("<b>2024</b><b><i>Říjen</i></b><b>Žluťoučký</b><b>Ďábel</b>"), "2024 Říjen Žluťoučký Ďábel");
    // A word with marks in it, an initial, a product, code.
    assert_eq!(text("<b>bo</b><i>ld</i> <i>T</i><b>he</b> <b>Mac</b>OS e<b>Bay</b>"), "bold The MacOS eBay");
    assert_eq!(text("<code><i>f</i><b>(</b><i>X</i><b>)</b></code>"), "f(X)");
}

#[test]
fn no_tag_script_style_or_template_survives() {
    let html = "a<script>var x = '<p>no</p>';</script>b<style>p { color: red }</style>c\
        <template><p>no <script>no</script></p><template>no</template>no</template>d<!-- no <p> -->e<noscript>no</noscript>f";
    assert_eq!(text(html), "abcdef");
    assert_eq!(text("a<script>document.write('<!-- <script> no <\\/script> -->')</script>b"), "ab");
    assert_eq!(text("a<SCRIPT>no</Script >b<![CDATA[no]]>c<?php no ?>d"), "abcd");
    assert_eq!(text("<iframe>no</iframe><noembed>no</noembed>yes"), "yes");
}

#[test]
fn entities_are_decoded_and_odd_signs_survive() {
    assert_eq!(
        text("Fish &amp; chips &lt;b&gt; &eacute;&#x4f60;&#22909; &nbsp; AT&T 1 < 2"),
        "Fish & chips <b> é你好 AT&T 1 < 2"
    );
    assert_eq!(text("<\u{e9} x <\u{4f60}"), "<\u{e9} x <\u{4f60}");
}

#[test]
fn the_first_title_outside_pictures_counts() {
    let page = read("<title> A &amp;\n b <i>c</i></title><title>second</title>text");
    assert_eq!((page.title.as_str(), page.text.as_str()), ("A & b <i>c</i>", "text"));
    let page = read("<svg><title>icon</title></svg><title>Page</title>text");
    assert_eq!((page.title.as_str(), page.text.as_str()), ("Page", "text"));
    assert_eq!(read("<svg><script href=x /><title/></svg>shown").text, "shown");
    assert_eq!(read("<template><title>no</title></template><title>yes</title>").title, "yes");
}

#[test]
fn all_kinds_of_links_are_found_in_page_order() {
    let html = r#"<meta http-equiv="Refresh" content="5; URL='next.html'"><a href=a>A</a>
        <map><area href="/b" alt="B side"></map><iframe src="c"></iframe>
        <frameset><frame src='d'></frameset><a name=x>not a link</a>"#;
    let found = read(html).links;
    let expected = [
        ("http://example.org/dir/next.html", "", LinkKind::Refresh),
        ("http://example.org/dir/a", "A", LinkKind::Anchor),
        ("http://example.org/b", "B side", LinkKind::Area),
        ("http://example.org/dir/c", "", LinkKind::Frame),
        ("http://example.org/dir/d", "", LinkKind::Frame),
    ];
    let expected = expected.map(|(url, text, kind)| Link { url: url.into(), text: text.into(), kind, follow: true });
    assert_eq!(found, expected);
}

#[test]
fn the_first_base_holds_for_all_links_wherever_it_stands() {
    let html =
        "<a href=one></a><base target=_top><base href='/other/'><base href=/third/><a href='two?x=1&amp;y=2#part'>";
    assert_eq!(urls(html), ["http://example.org/other/one", "http://example.org/other/two?x=1&y=2"]);
    assert_eq!(urls("<base href='https://cdn.test/d/'><a href=x>"), ["https://cdn.test/d/x"]);
    assert_eq!(urls("<base href='http://['><a href=x>"), ["http://example.org/dir/x"]);
}

#[test]
fn what_is_not_http_or_not_a_url_is_dropped() {
    let html = "<a href='mailto:a@b.c'></a><a href='javascript:void(0)'></a><a href='http://'></a><a href='tel:1'></a>\
        <a href=''></a><a href='#top'></a><a href></a><a href='  ok  '></a>";
    assert_eq!(urls(html), ["http://example.org/dir/ok"]);
    // A place on another page is a link to that page.
    assert_eq!(urls("<base href=/><a href='#top'>"), ["http://example.org/"]);
}

#[test]
fn a_link_counts_once_with_its_first_text() {
    let html = "<a href=a#1><img></a><a href=./a>Text</a><a href=a>Other</a>";
    assert_eq!(links(html), [link("http://example.org/dir/a", "Text")]);
}

#[test]
fn nofollow_links_are_described_but_not_followed() {
    let html =
        "<a href=a rel='external NOFOLLOW'>A</a><a href=b rel=next>B</a><a href=c rel=nofollow></a><a href=c></a>";
    let found: Vec<_> = read(html).links.into_iter().map(|link| (link.url, link.follow)).collect();
    let expected = [("a", false), ("b", true), ("c", true)];
    assert_eq!(found, expected.map(|(name, follow)| (format!("http://example.org/dir/{name}"), follow)));
}

#[test]
fn anchor_text_is_what_a_reader_would_see() {
    let html = "<a href=a> To <b>the</b><br>top <img alt='of the hill'><script>no</script></a> outside";
    assert_eq!(links(html), [link("http://example.org/dir/a", "To the top of the hill")]);
    assert_eq!(text(html), "To the\ntop outside");
    let long = format!("<a href=a>{}</a>", "word ".repeat(1000));
    assert!(links(&long)[0].1.len() <= MAX_ANCHOR_BYTES);
}

#[test]
fn broken_markup_gives_what_browsers_make_of_it() {
    // An anchor that is never closed ends where the next begins.
    assert_eq!(
        links("<a href=a>one<p><a href=b>two"),
        [link("http://example.org/dir/a", "one"), link("http://example.org/dir/b", "two")]
    );
    // The first of two equal attributes counts; quotes may be missing; case does not matter.
    assert_eq!(
        urls("<A HREF=a href=b><a\nhref = 'c'class=x><a/href=d/>"),
        ["a", "c", "d/"].map(|name| format!("http://example.org/dir/{name}"))
    );
    // A tag that never ends is no tag.
    assert_eq!(links("<a href=a>x</a><a href='b"), [link("http://example.org/dir/a", "x")]);
    assert_eq!(urls("<a href=a</a>"), ["http://example.org/dir/a%3C/a"]);
}

#[test]
fn links_that_only_look_like_links_are_none() {
    let html = "<!-- <a href=a> --><script>'<a href=b>'</script><style><a href=c></style><textarea><a href=d></textarea>\
        <title><a href=e></title><template><a href=f></template><xmp><a href=g></xmp><iframe><a href=h></iframe>";
    assert_eq!(urls(html), Vec::<String>::new());
    assert_eq!(urls("<noscript><a href=real>x</a></noscript>"), ["http://example.org/dir/real"]);
}

#[test]
fn what_browsers_show_of_a_shadow_root_is_part_of_the_page() {
    let html = "<my-menu><template shadowrootmode=Open><style>no</style><nav><a href=a>one</a> \
        <b-tn><template shadowroot=open shadowrootmode=closed>two</template></b-tn>\
        <template>no<template shadowrootmode=open>no</template>no</template></nav></template></my-menu> three \
        <template shadowrootmode=none>no</template><template shadowrootmode>no</template><p>four";
    assert_eq!(text(html), "one two\nthree\nfour");
    assert_eq!(urls(html), ["http://example.org/dir/a"]);
}

#[test]
fn meta_tags_describe_the_page() {
    let mut extraction = Extraction::new("seine");
    let html = "<html lang=' '><html lang=cs-CZ><meta name=Description content=' Short\n one '><meta name=description content=second>\
        <meta name=robots content=nofollow><meta name=SEINE content=noindex><meta name=otherbot content=none>\
        <meta http-equiv=Content-Type content='text/html; charset=windows-1250'><meta charset=utf-8>";
    parse(html.as_bytes(), &mut extraction);
    let mut metadata = extraction.metadata;
    assert_eq!(metadata.facts().description, "Short one");
    assert_eq!(metadata.lang.as_deref(), Some("cs-CZ"));
    assert_eq!(metadata.charset.as_deref(), Some("windows-1250"));
    assert!(metadata.robots.noindex && metadata.robots.nofollow);
}

#[test]
fn refresh_is_read_as_browsers_read_it() {
    let target = |content: &str| links::refresh_target(content).map(|target| String::from_utf8(target).unwrap());
    assert_eq!(target("0;url=a").as_deref(), Some("a"));
    assert_eq!(target(" 3.5 , URL = \"b c\" ignored").as_deref(), Some("b c"));
    assert_eq!(target("1 d").as_deref(), Some("d"));
    assert_eq!(target("5"), None);
    assert_eq!(target("5;"), None);
    assert_eq!(target("url=a"), None);
    assert_eq!(target("1;ur\u{e9}"), Some("ur\u{e9}".into()));
}

#[test]
fn endless_pages_give_a_bounded_description() {
    let many: String = (0..MAX_LINKS + 10).map(|i| format!("<a href={i}>x</a>")).collect();
    assert_eq!(urls(&many).len(), MAX_LINKS);
    let long: String = (0..3000).map(|i| format!("<a href={i}{}>x</a>", "y".repeat(4000))).collect();
    let total: usize = links(&long).iter().map(|(url, text)| url.len() + text.len()).sum();
    assert!(total <= MAX_LINK_BYTES && total > MAX_LINK_BYTES / 2, "{total}");
}

/// URL and kind.
fn kinds(html: &str) -> Vec<(String, LinkKind)> {
    let name = |url: &str| url.trim_start_matches("http://example.org/dir/").to_owned();
    read(html).links.into_iter().map(|link| (name(&link.url), link.kind)).collect()
}

#[test]
fn every_element_that_carries_a_url_is_a_link_of_its_kind() {
    use LinkKind::{Alternate, Canonical, Feed, Form, Image, Media, Other, Script, Sequence, Style};
    for (html, expected) in [
        ("<link rel=canonical href=u>", Canonical),
        ("<link rel='alternate' hreflang=de href=u>", Alternate),
        ("<link rel=alternate type='application/rss+xml' href=u>", Feed),
        ("<link rel=next href=u>", Sequence),
        ("<link rel='preload stylesheet' href=u>", Style),
        ("<link rel='shortcut icon' href=u>", Image),
        ("<link rel=manifest href=u>", Other),
        ("<script src=u></script>", Script),
        ("<img src=u>", Image),
        ("<body background=u>", Image),
        ("<table background=u>", Image),
        ("<video poster=u>", Image),
        ("<video src=u>", Media),
        ("<video><source src=u>", Media),
        ("<embed src=u>", Media),
        ("<object data=u>", Media),
        ("<form action=u>", Form),
        ("<button formaction=u>", Form),
        ("<blockquote cite=u>", Other),
        ("<svg><image xlink:href=u /></svg>", Image),
        ("<svg><a xlink:href=u></a></svg>", LinkKind::Anchor),
    ] {
        assert_eq!(kinds(html), [("u".to_owned(), expected)], "{html}");
    }
    assert_eq!(kinds("<a xlink:href=u>"), []);
}

#[test]
fn the_classes_of_an_applet_stand_where_its_codebase_says() {
    let found = |html: &str| kinds(html).into_iter().map(|(url, _)| url).collect::<Vec<_>>();
    assert_eq!(found("<applet code=Clock.class></applet>"), ["Clock.class"]);
    assert_eq!(found("<applet codebase=classes code='Clock.class'>"), ["classes/Clock.class"]);
    assert_eq!(
        found("<applet code=org.example.Clock codebase='../java/'>"),
        ["http://example.org/java/org/example/Clock.class"]
    );
    assert_eq!(
        found("<applet codebase=http://a.test/j code=Clock archive='one.jar, two.jar'>"),
        ["http://a.test/j/Clock.class", "http://a.test/j/one.jar", "http://a.test/j/two.jar",]
    );
    assert_eq!(
        found("<base href=/other/><applet code=/Clock.class archive=http://b.test/x.jar>"),
        ["http://example.org/Clock.class", "http://b.test/x.jar",]
    );
    assert_eq!(
        links("<applet code=Clock.class alt='the time'>"),
        [link("http://example.org/dir/Clock.class", "the time")]
    );
}

#[test]
fn frames_areas_and_applets_are_links_as_anchors_and_pictures_are() {
    use LinkKind::{Anchor, Area, Frame, Image, Media};
    let html = "<base href=http://example.org/dir/><body background=b><a href=a></a><map><area href=m alt=x></map>\
                <iframe src=i></iframe><img src=p><applet code=c.class></applet>";
    let expected = [("b", Image), ("a", Anchor), ("m", Area), ("i", Frame), ("p", Image), ("c.class", Media)];
    assert_eq!(kinds(html), expected.map(|(url, kind)| (url.to_owned(), kind)));
    assert_eq!(kinds("<frameset><frame src=f></frameset>"), [("f".to_owned(), Frame)]);
}

#[test]
fn pictures_in_several_sizes_are_several_links() {
    let html = "<img src=a srcset='b 1x, c,d 2x,  e(1,2) 3x ,data:x 4x'><source srcset='f, g'>";
    let found: Vec<String> = kinds(html).into_iter().map(|(url, _)| url).collect();
    assert_eq!(found, ["a", "b", "c,d", "e(1,2)", "f", "g"]);
}

#[test]
fn only_pages_are_followed_and_an_anchor_keeps_its_text_around_a_picture() {
    let html = "<a href=page><img src=picture.png> Text</a><script src=code.js></script><link rel=next href=more>";
    let found = read(html).links;
    let followed: Vec<&str> = found.iter().filter(|link| link.follow).map(|link| link.url.as_str()).collect();
    assert_eq!(followed, ["http://example.org/dir/page", "http://example.org/dir/more"]);
    assert_eq!(found[0].text, "Text");
}

#[test]
fn long_text_for_clients_without_scripts_is_text() {
    let long = "A sentence that is part of the page. ".repeat(20);
    let html = format!(
        "<p>a<noscript><div><iframe src=x /><p>no</noscript>b<p>c<noscript><p>{long}<iframe src=y></noscript><p>d"
    );
    assert_eq!(text(&html), format!("ab\nc\n{}\nd", long.trim()));
    assert_eq!(urls(&html), ["http://example.org/dir/x", "http://example.org/dir/y"]);
    assert_eq!(urls("<noscript><noscript><iframe src=z></iframe></noscript>"), ["http://example.org/dir/z"]);
}

#[test]
fn a_page_states_facts_about_itself_in_many_ways() {
    let facts = |html: &str| {
        let mut extraction = Extraction::new("seine");
        parse(html.as_bytes(), &mut extraction);
        extraction.metadata.facts()
    };
    let html = r#"<meta property="og:title" content="Shared"><meta name=keywords content="a, b"><meta name=author content="Ann">
        <meta property="article:published_time" content="2024-05-06T07:08:09Z"><meta property=og:description content=D>"#;
    let found = facts(html);
    assert_eq!((found.title.as_str(), found.keywords.as_str(), found.author.as_str()), ("Shared", "a, b", "Ann"));
    assert_eq!((found.description.as_str(), found.published_at_ms), ("D", 1_714_979_289_000));
    let html = r#"<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
        {"@type": "WebSite", "name": "Site"},
        {"@type": ["NewsArticle"], "headline": "News", "author": [{"name": "Bob"}, {"name": "Cy"}], "keywords": ["x", "y"],
         "datePublished": "2024-05-06", "dateModified": "2024-05-07", "description": "About"}]}</script>"#;
    let found = facts(html);
    assert_eq!((found.title.as_str(), found.author.as_str(), found.keywords.as_str()), ("News", "Bob, Cy", "x, y"));
    assert_eq!((found.published_at_ms, found.modified_at_ms), (1_714_953_600_000, 1_715_040_000_000));
    assert_eq!(facts("<script type='application/ld+json'>{broken").title, "");
}
