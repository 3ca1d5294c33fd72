//! Deep and long input: of each thing that a reader of foreign bytes knows, as many as one likes.
//!
//! The property tests of the readers take this file in too (by `#[path]`), so that there is one list of what can be
//! repeated. Readers must neither recurse by their input nor take more than linear time: tests run them on
//! [a small stack](on_small_stack), and what takes quadratic time on a million does not end.

/// `before`, then `piece` many times, then `behind`. `{n}` in a piece becomes a number of its own.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub before: &'static str,
    pub piece: &'static str,
    pub behind: &'static str,
}

const fn many(piece: &'static str) -> Case {
    Case { before: "", piece, behind: "" }
}

const fn within(before: &'static str, piece: &'static str, behind: &'static str) -> Case {
    Case { before, piece, behind }
}

pub const HTML: &[Case] = &[
    many("<noscript>"),
    many("<noscript></noscript>"),
    many("<noframes>"),
    many("<div class=a>"),
    many("<p>t"),
    many("<div>t</div>"),
    many("<a href=x>"),
    many("<a href={n}>t</a>"),
    many("<b>t"),
    many("<ul><li>t"),
    many("<dl><dt>"),
    many("<table><tr><td>"),
    many("<td>"),
    many("<h1>t"),
    many("<select><option>"),
    many("<button>"),
    many("<form>"),
    many("<my-card>"),
    many("<svg>"),
    many("<svg><foreignObject>"),
    many("<svg><title>"),
    many("<math>"),
    many("<template>"),
    many("<template shadowrootmode=open>"),
    many("<iframe>"),
    many("<frameset>"),
    many("<object>"),
    many("<textarea>"),
    many("<title>"),
    many("<style>"),
    many("<script>"),
    many("<script type=application/ld+json>"),
    many("<base href=x>"),
    many("<meta name=a content=b>"),
    many("<link rel=stylesheet href=x>"),
    many("<img src={n} srcset='a 1x, b 2x'>"),
    many("</div>"),
    many("</p>"),
    many("</noscript>"),
    many("<"),
    many("</"),
    many("<!"),
    many("<!--"),
    many("<!-->"),
    many("<!doctype html>"),
    many("<?x"),
    many("<![CDATA["),
    many("&"),
    many("&amp"),
    many("&notit"),
    many("&#x41"),
    many("\""),
    many("t "),
    many("T"),
    many("t."),
    many("é"),
    many("\u{ad}"),
    many("图"),
    many("图书馆。"),
    many("\0"),
    many("\n"),
    within("<p", " a{n}=1", ">"),
    within("<p", " a", ">"),
    within("<p ", "a", "=1>"),
    within("<p a='", "\"", "'>"),
    within("<p class='", "a ", "'>"),
    within("<p style='", "a:b;", "'>"),
    within("<p style='", "url(", "'>"),
    within("<img srcset='", "a,", "'>"),
    within("<img srcset='", "a (", "'>"),
    within("<img srcset='", "a 1x,", "'>"),
    within("<a rel='", "a ", "' href=x>"),
    within("<meta name=robots content='", "a,", "'>"),
    within("<meta http-equiv=refresh content='0;url=", "'", "'>"),
    within("<base href='", "a/", "'><a href=x>"),
    within("<a href='", "../", "'>"),
    within("<a href='http://", "a.", "'>"),
    within("<div><p>", "</span>", ""),
    within("<script>", "<!--<script>", ""),
    within("<script>", "</script ", ""),
    within("<title>", "</titl", ""),
    within("<style>", "@import", "</style>"),
    within("<p>", "&lt", ""),
];

pub const CSS: &[Case] = &[
    many("url("),
    many("url( "),
    many("url(\""),
    many("url(a)"),
    many("u\\72l("),
    many("image-set("),
    many("image-set(\"a\" 1x)"),
    many("var("),
    many("@import"),
    many("@import/**/\"a\";"),
    many("@media{"),
    many("("),
    many(")"),
    many("["),
    many("{"),
    many("}"),
    many("a{b:c}"),
    many("\""),
    many("'\n"),
    many("/*"),
    many("/**/"),
    many("*/"),
    many("<!--"),
    many("-->"),
    many("\\"),
    many("\\a"),
    many("\\\n"),
    many("<"),
    many("</style"),
    many("#"),
    many("1e1"),
    many("a"),
    many("-"),
    many("×"),
    many(" "),
    many("\n"),
    many("\0"),
    within("url(", " ", "\"a\")"),
    within("url(\"", "a", "\")"),
];

pub const JSON: &[Case] = &[
    many("["),
    many("]"),
    many("{"),
    many("{\"a\":"),
    many("{\"@graph\":["),
    many("\""),
    many("\"\\"),
    many("\\"),
    many("\\u0041"),
    many(":"),
    many(","),
    many("0"),
    many("-"),
    many("\"a\" "),
    within("{", "\"a{n}\":1,", "\"b\":2}"),
    within("{", "\"@type\":\"Article\",", "\"b\":2}"),
    within("[", "{\"@type\":\"Article\",\"author\":[{\"name\":\"a\"}]},", "1]"),
    within("[", "[],", "1]"),
    within("[", "\"a\",", "1]"),
    within("{\"@type\":\"Article\",\"author\":[", "{\"name\":\"a\"},", "1]}"),
    within("\"", "\\\\", "\""),
];

pub const XML: &[Case] = &[
    many("<a>"),
    many("<a/>"),
    many("</a>"),
    many("<a b='c'>"),
    many("<?xml version='1.0'?>"),
    many("<!ENTITY a '&b;'>"),
    many("<![CDATA["),
    many("]]>"),
    many("<!--"),
    many("&amp;"),
    many("&a;"),
    within("<a", " b{n}='c'", ">"),
    within("<rss><channel>", "<item>", ""),
    within("<rss><channel>", "<item><title>a</title><link>/{n}</link></item>", ""),
    within("<rss><channel><item>", "<link>a", ""),
    within("<rss><channel><item>", "<description>a</description>", ""),
    within("<rss><channel>", "<description/>", ""),
    within("<rss><channel><item><description>", "&lt;div&gt;", "</description>"),
    within("<feed>", "<entry>", ""),
    within("<feed><entry>", "<link href='{n}'/>", ""),
    within("<urlset>", "<url>", ""),
    within("<urlset>", "<url><loc>/{n}</loc></url>", ""),
    within("<urlset><url>", "<loc>", ""),
    within("<urlset><url><loc>", "a", ""),
    within("<sitemapindex>", "<sitemap><loc>/{n}</loc></sitemap>", ""),
];

pub const MARKDOWN: &[Case] = &[
    many("> "),
    many(">"),
    many("- "),
    many("1. "),
    many("* "),
    many("- a\n"),
    many("> a\n"),
    many("# "),
    many("# a\n"),
    many("*"),
    many("**a"),
    many("*a_"),
    many("_"),
    many("`"),
    many("`a``"),
    many("```\n"),
    many("["),
    many("![a"),
    many("[a]("),
    many("[a](b)"),
    many("[a][{n}]"),
    many("[a{n}]: b\n"),
    many("[a]: <"),
    many("]"),
    many("("),
    many("<"),
    many("<a"),
    many("<a@"),
    many("<!--"),
    many("<?"),
    many("&"),
    many("\\"),
    many("a\n"),
    many("a\n\n"),
    many("\n"),
    many("    a\n"),
    many("a|"),
    many("|a\n"),
    many("a\n=\n"),
    many("---\n"),
    within("", "- ", "\na\n\n\n\n"),
    within("", "> ", "\na\na\na\n"),
    within("[a](", "(", ")"),
    within("[", "a", "]"),
];

pub const ROBOTS: &[Case] = &[
    many("user-agent: *\n"),
    many("user-agent: a{n}\n"),
    many("disallow: /*{n}\n"),
    many("sitemap: /{n}\n"),
    many("crawl-delay: 1\r"),
    many("a"),
    many("#"),
    many(":"),
    many("\n"),
    many("\r\n"),
    many("\0"),
    many("\u{feff}"),
    within("user-agent: *\n", "disallow: /{n}\n", ""),
    within("user-agent: *\n", "allow: /{n}*a$\n", ""),
    within("user-agent: *\ndisallow: /", "*", ""),
    within("user-agent: *\ndisallow: /", "*a", "$"),
    within("user-agent: *\ndisallow: /", "a", ""),
    within("user-agent: *\ndisallow: /", "%41", ""),
];

pub const RULES: &[Case] = &[
    many("deny path glob *a*\n"),
    many("("),
    many("{"),
    many("\""),
    many("'"),
    many("deny "),
    within("deny path glob ", "*a", ""),
    within("deny title {", "a,", "}"),
    within("deny path = '", "a", "'"),
    within("deny path = a", " and path = a", ""),
    within("deny path re ", "(", ""),
    within("deny path re ", "a*", ""),
    within("deny path re ", "a{9}", ""),
];

/// What text is made of, for those that cut it into words.
pub const WORDS: &[Case] = &[
    many("a "),
    many("a"),
    many("A"),
    many("aA"),
    many("a_"),
    many("_"),
    many("a__"),
    many("1.1"),
    many("1,111"),
    many("a."),
    many("a-"),
    many("a'"),
    many("a+"),
    many("a#"),
    many("é"),
    many("aé"),
    many("a\u{301}"),
    many("a\u{ad}"),
    many("\u{200d}"),
    many("图"),
    many("图书馆"),
    many("图a"),
    many("か"),
    many("한"),
    within("", "a_", "é"),
    within("", "1.", "a"),
    within("", "1,", "é"),
];

/// All that is text.
pub const TEXTS: [&[Case]; 8] = [HTML, CSS, JSON, XML, MARKDOWN, ROBOTS, RULES, WORDS];

impl Case {
    pub fn text(&self, count: usize) -> String {
        let mut text = String::with_capacity(self.before.len() + self.piece.len() * count + self.behind.len());
        text.push_str(self.before);
        match self.piece.split_once("{n}") {
            None => text.push_str(&self.piece.repeat(count)),
            Some((start, end)) => (0..count).for_each(|number| text.push_str(&format!("{start}{number}{end}"))),
        }
        text.push_str(self.behind);
        text
    }
}

/// What the first byte of a fuzzer's input must be for the rest to be [`expanded`].
pub const DEEP: u8 = 0xff;
/// Expanded input is not longer.
const MAX_EXPANDED_BYTES: usize = 4 << 20;

/// The structured mode of the fuzz targets: each two bytes of the input choose one of the cases and how many of it, by
/// powers of two up to a million. `None` for input that is to be taken as it is.
pub fn expanded(cases: &[Case], input: &[u8]) -> Option<Vec<u8>> {
    let [DEEP, choices @ ..] = input else { return None };
    let mut bytes = Vec::new();
    for choice in choices.as_chunks::<2>().0 {
        let case = cases[usize::from(choice[0]) % cases.len()];
        let room = MAX_EXPANDED_BYTES.saturating_sub(bytes.len());
        let count = (1usize << (choice[1] % 21)).min(room / case.piece.len().max(1));
        if count > 0 {
            bytes.extend_from_slice(case.text(count).as_bytes());
        }
    }
    Some(bytes)
}

/// As [`expanded`], or the input itself.
pub fn expanded_or_plain<'i>(cases: &[Case], input: &'i [u8]) -> std::borrow::Cow<'i, [u8]> {
    expanded(cases, input).map_or(input.into(), Into::into)
}

/// Runs the work on a thread with less stack than any thread of the program has.
pub fn on_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const STACK_BYTES: usize = 512 << 10;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        thread.expect("a thread starts").join().expect("the work does not panic")
    })
}
