use proptest::prelude::*;

use super::*;

fn base() -> Url {
    Url::parse("http://example.org/a/b").unwrap()
}

fn rewritten(html: &str, link: &mut LinkRewriter<'_>) -> String {
    rewrite_html(html, base(), link, &CancellationToken::new()).unwrap()
}

fn safe(html: &str) -> String {
    rewritten(html, &mut |url, _| Some(url.as_str().to_owned()))
}

fn css(css: &str, link: &mut LinkRewriter<'_>) -> String {
    rewrite_css(css, base(), link, &CancellationToken::new()).unwrap()
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
        "<style>a{b:\\</style><script>alert(1)</script>",
        "<style>a{b:'\\</style><script>alert(1)</script>",
        "<style>a{b:'<!--</style><script>alert(1)</script>",
        "<noscript><noscript><script>alert(1)</script>",
        "<noscript><style></noscript><script>alert(1)</script>",
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
        <p style=\"background:url( &quot;m/a/x.png&quot; ) red\"><style>@import \"m/a/y.css\"; a{b:url(\"m/a/z.png\")} c{d:url(\"data:image/gif;base64,R\")}</style>";
    let mut rewriter = mirror;
    assert_eq!(rewritten(page, &mut rewriter), expected);
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
    rewritten(page, &mut note);
    let links: Vec<&str> = uses.iter().filter(|used| used.1 == Use::Link).map(|used| used.0.as_str()).collect();
    let styles: Vec<&str> = uses.iter().filter(|used| used.1 == Use::Style).map(|used| used.0.as_str()).collect();
    assert_eq!((links, styles), (vec!["d", "e"], vec!["s.css"]));
    let mut offline = |url: &Url, wanted_as: Use| (wanted_as == Use::Link).then(|| url.path()[3..].to_owned());
    assert_eq!(rewritten(page, &mut offline), expected);
}

#[test]
fn addresses_in_css_are_found_however_they_are_written() {
    let mut mirror = |url: &Url, _: Use| Some(format!("m{}", url.path()));
    for (style, expected) in [
        ("@import/**/\"y.css\";", "@import/**/\"m/a/y.css\";"),
        ("@import/* '*/'y.css' screen", "@import/**/\"m/a/y.css\" screen"),
        ("@im\\70ort'y.css'", "@im\\70ort\"m/a/y.css\""),
        ("@import <!-- 'y.css'", "@import   \"m/a/y.css\""),
        ("@import 'y.css", "@import \"m/a/y.css\""),
        (
            "a{b:image-set(\"x\" 1x,'y' type('image/png') 2x)}",
            "a{b:image-set(\"m/a/x\" 1x,\"m/a/y\" type('image/png') 2x)}",
        ),
        ("a{b:-webkit-image-set(url(x) 1x)}", "a{b:-webkit-image-set(url(\"m/a/x\") 1x)}"),
        ("a{b:image-set([ 'x' ] 'y')}", "a{b:image-set([ 'x' ] \"m/a/y\")}"),
        ("a{--v:'x';b:image-set(var(--v) 1x)}", "a{--v:'x';b:image-set(unknown(--v) 1x)}"),
        ("a{b:image-set(linear-gradient(red,blue) 1x)}", "a{b:image-set(linear-gradient(red,blue) 1x)}"),
        ("a{b:u\\72l(x)}", "a{b:url(\"m/a/x\")}"),
        ("a{b:u\\72l('x')}", "a{b:u\\72l(\"m/a/x\")}"),
        ("a{b:url(\\78)}", "a{b:url(\"m/a/x\")}"),
        ("a{b:URL( x )}", "a{b:url(\"m/a/x\")}"),
        ("a{b:src('x')}", "a{b:src(\"m/a/x\")}"),
        ("a{b:url(x y)}", "a{b:url(\"\")}"),
        ("a{b:url()}", "a{b:url(\"\")}"),
        ("a{b:url(x", "a{b:url(\"m/a/x\")"),
        // No address by the rules of browsers, nor by what was read wrongly once.
        ("a{b:ur<!--l(x)}", "a{b:ur l(x)}"),
        ("a{b:ur/**/l(x)}", "a{b:ur/**/l(x)}"),
        ("a{b:'url(x)'}", "a{b:'url(x)'}"),
        ("a{b:\u{d7}url(x)}", "a{b:\\d7 url(x)}"),
        ("a{b:\\\u{d7}\u{e9}}", "a{b:\\d7 \u{e9}}"),
        ("/* url(x) */a{}", "/**/a{}"),
        // Nothing looks like a tag, and what is compared stays.
        ("a{b:'</style>'}", "a{b:\"\\3c /style>\"}"),
        ("a{b:\\</style>}", "a{b:\\3c /style>}"),
        ("@media (1px<=width) and (width<2px){}", "@media (1px<=width) and (width< 2px){}"),
        ("@charset \"gbk\";", "@charset \"utf-8\";"),
    ] {
        assert_eq!(css(style, &mut mirror), expected, "{style}");
        let page = format!("<p style=\"{}\">", style.replace('"', "&quot;"));
        let mut written = String::new();
        escape(expected, &mut written);
        assert_eq!(rewritten(&page, &mut mirror), format!("<p style=\"{written}\">"), "as an attribute");
    }
}

#[test]
fn a_long_base_does_not_make_a_short_page_endless() {
    let base = format!("http://example.org/{}/", "x".repeat(4000));
    for part in ["<a href=y>", "<img srcset='y 1x, z 2x'>", "<p style='background:url(y)'>"] {
        let written = safe(&format!("<base href={base}>{}", part.repeat(100_000)));
        assert!(written.contains(&base) && written.len() < 40 << 20, "{} bytes of {part}", written.len());
    }
    let endless = format!("<base href=http://example.org/{}/><a href=y>", "x".repeat(1 << 20));
    assert_eq!(safe(&endless), "<a href=\"http://example.org/a/y\">");
}

#[test]
fn work_ends_when_nobody_waits_for_it() {
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let mut asked = 0;
    let mut link = |_: &Url, _: Use| {
        asked += 1;
        None
    };
    for page in ["<a href=x>".repeat(100_000), format!("<style>{}", "a{b:url(x)}".repeat(100_000))] {
        assert_eq!(rewrite_html(&page, base(), &mut link, &cancelled), Err(Cancelled));
    }
    assert_eq!(rewrite_css(&"a{b:url(x)}".repeat(100_000), base(), &mut link, &cancelled), Err(Cancelled));
    assert!(asked < 20_000, "{asked}");
}

const STYLES: &str = "(url\\(|src\\(|image-set\\(|@import|u\\\\72l\\(|var\\(|/\\*|\\*/|<!--|-->|</style|[\"'()\\[\\]{};a\\\\ é×<=!\n-]){0,24}";

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
    fn no_style_makes_it_panic_and_writing_again_changes_nothing(style in STYLES) {
        let mut link = |url: &Url, _: Use| Some(url.as_str().to_owned());
        let once = css(&style, &mut link);
        prop_assert!(!once.contains("</"), "{} became {}", style, once);
        prop_assert_eq!(css(&once, &mut link), once);
    }

    #[test]
    fn a_style_without_addresses_fetches_nothing(style in STYLES) {
        let offline = css(&style, &mut |_, _| None);
        let mut fetched = Vec::new();
        css(&offline, &mut |url, _| {
            fetched.push(url.to_string());
            None
        });
        prop_assert_eq!(fetched, [""; 0], "{} became {}", style, offline);
    }
}
