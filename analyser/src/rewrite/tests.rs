use proptest::prelude::*;

use super::*;

fn safe(html: &str) -> String {
    rewrite_html(html, Url::parse("http://example.org/a/b").unwrap(), &mut |url, _| Some(url.as_str().to_owned()))
}

#[test]
fn what_runs_posts_or_refreshes_is_left_out_and_what_is_read_stays() {
    let page = "<!DOCTYPE html><html><head><title>A &amp; B</title><meta charset=gbk>\
        <meta http-equiv=refresh content='0;url=http://evil.test/'><base href=/c/>\
        <script src=x.js>alert(1)</script><link rel=preconnect href=//evil.test><link rel=stylesheet href=s.css></head>\
        <body onload=alert(1)><p onclick='x()' class=k>Hello &lt;b&gt; <b>bold</b></p>\
        <form action=/post><input name=q><button formaction=/x>go</button></form>\
        <iframe src=http://evil.test/></iframe><object data=x><p>instead</p></object>\
        <noscript><img src=i.png></noscript><a href='javascript:alert(1)'>j</a><a href=d#e ping=/p>d</a></body></html>";
    let expected = "<!doctype html><html><head><title>A &amp; B</title>\
        <link href=\"http://example.org/c/s.css\" rel=\"stylesheet\"></head>\
        <body><p class=\"k\">Hello &lt;b&gt; <b>bold</b></p>\
        <input name=\"q\"><button>go</button><p>instead</p>\
        <img src=\"http://example.org/c/i.png\"><a>j</a><a href=\"http://example.org/c/d#e\">d</a></body></html>";
    assert_eq!(safe(page), expected);
}

#[test]
fn known_tricks_do_not_get_through() {
    for trick in [
        "<svg><script>alert(1)</script></svg>",
        "<svg><style><img src=x onerror=alert(1)></style></svg>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        "<img src=x onerror=alert(1)//",
        "<a href=' jAvAsCrIpT:alert(1)'>x</a>",
        "<a href='java\nscript:alert(1)'>x</a>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
        "<p \"onclick=alert(1) x/onclick=alert(1)>y",
        "<scr<script>ipt>alert(1)</script>",
        "<style>@import 'javascript:alert(1)';</style><style>a{b:url(javascript:alert(1))}</style>",
        "<plaintext><script>alert(1)</script>",
        "<xmp><script>alert(1)</script></xmp>",
        "<textarea></textarea><script>alert(1)</script>",
        "<!--><script>alert(1)</script>-->",
        "<template><script>alert(1)</script></template>",
        "<a href=\"data:text/html,<script>alert(1)</script>\">x</a>",
    ] {
        let shown = safe(trick).to_ascii_lowercase();
        for forbidden in ["<script", "<svg", "<math", "<iframe", "javascript:", "data:text"] {
            assert!(!shown.contains(forbidden), "{trick} became {shown}");
        }
        // No tag has a handler left: the tokenizer that reads the result would see it as an attribute.
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(shown.as_str(), emitter) {
            if let Token::StartTag(tag) = token {
                assert!(tag.attributes.keys().all(|name| !name.starts_with(b"on")), "{trick} became {shown}");
            }
        }
    }
}

#[test]
fn images_and_styles_keep_their_addresses_through_the_rewriter() {
    let mirror = |url: &Url, _: Use| Some(format!("m{}", url.path()));
    let page = "<img srcset='a.png 1x, /b.png 2x,c,d 3x' src=\"data:image/png;base64,AA\">\
        <p style=\"background:url( 'x.png' ) red\"><style>@import \"y.css\"; a{b:URL(z.png)} c{d:url(data:image/gif;base64,R)}</style>";
    let expected = "<img src=\"data:image/png;base64,AA\" srcset=\"m/a/a.png 1x, m/b.png 2x, m/a/c%2Cd 3x\">\
        <p style=\"background:url(&quot;m/a/x.png&quot;) red\"><style>@import \"m/a/y.css\"; a{b:url(\"m/a/z.png\")} c{d:url(\"data:image/gif;base64,R\")}</style>";
    let mut rewriter = mirror;
    assert_eq!(rewrite_html(page, Url::parse("http://example.org/a/b").unwrap(), &mut rewriter), expected);
}

#[test]
fn parts_that_are_not_to_be_fetched_are_left_out_and_links_stay() {
    let page = "<link rel=stylesheet href=s.css><img src=a.png srcset='b.png 2x, c.png' alt=A>\
        <video poster=p.png src=v.mp4></video><table background=t.png></table><p style='background:url(x.png)'>\
        <style>@import 'y.css'; a{b:url(z.png)}</style><a href=d>d</a><blockquote cite=e>e</blockquote>";
    let expected = "<link rel=\"stylesheet\"><img alt=\"A\">\
        <video></video><table></table><p style=\"background:url(&quot;&quot;)\">\
        <style>@import \"\"; a{b:url(\"\")}</style><a href=\"d\">d</a><blockquote cite=\"e\">e</blockquote>";
    let mut uses = Vec::new();
    let mut note = |url: &Url, wanted_as: Use| {
        uses.push((url.path()[3..].to_owned(), wanted_as));
        None
    };
    rewrite_html(page, Url::parse("http://example.org/a/b").unwrap(), &mut note);
    let links: Vec<&str> = uses.iter().filter(|used| used.1 == Use::Link).map(|used| used.0.as_str()).collect();
    let styles: Vec<&str> = uses.iter().filter(|used| used.1 == Use::Style).map(|used| used.0.as_str()).collect();
    assert_eq!((links, styles), (vec!["d", "e"], vec!["s.css"]));
    let mut offline = |url: &Url, wanted_as: Use| (wanted_as == Use::Link).then(|| url.path()[3..].to_owned());
    assert_eq!(rewrite_html(page, Url::parse("http://example.org/a/b").unwrap(), &mut offline), expected);
}

proptest! {
    #[test]
    fn no_page_makes_it_panic_and_writing_again_changes_nothing(
        html in "(<[a-z/!]{1,8}( [a-z\"'=:]{0,12})?>?|[a-z &;<]{0,6}|</?(script|style|noscript|svg|title)>){0,12}",
    ) {
        let once = safe(&html);
        prop_assert!(!once.contains("<script"));
        prop_assert_eq!(safe(&once), once);
    }

    #[test]
    fn no_style_makes_it_panic(css in "(url\\(|@import|[\"')a\\\\ é]){0,20}") {
        rewrite_css(&css, Url::parse("http://example.org/").unwrap(), &mut |url, _| Some(url.to_string()));
    }
}
