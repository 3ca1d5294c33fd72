//! Where our matcher for robots.txt is known to decide otherwise, over the collected cases, and why.

/// Agents and URLs of cases that differ for one reason.
pub struct Known {
    pub reason: &'static str,
    pub cases: &'static [(&'static str, &'static str)],
}

/// `texting_robots` decides otherwise than ours.
pub const OTHER: &[Known] = &[
    Known {
        reason: "Ours compares the product token, without version and what follows a blank, and reads lists with commas (RFC 9309, 2.2.1); the other compares the whole line.",
        cases: &[
            ("Foo", "http://foo.bar/a/b"),
            ("foo", "http://foo.bar/a/b"),
            ("webcrawler/3.0", "http://www.fict.org/"),
            ("webcrawler/3.0", "http://www.fict.org/index.html"),
            ("agent2", "http://www.domain.com/d"),
            ("agent2", "http://www.domain.com/foo/bar/baz.html"),
            ("three", "http://www.fict.com/fish"),
            ("excite/1.0", "http://www.fict.org/"),
            ("webcrawler/3.0", "http://www.fict.org/index.html"),
            ("unhipbot/0.1", "http://www.fict.org/services/slow.html"),
            ("unhipbot/0.1", "http://www.fict.org/org/about.html"),
            ("excite/1.0", "http://www.fict.org/%7Ejim/jim.html"),
            ("webcrawler/3.0", "http://www.fict.org/%7Emak/mak.html"),
            ("go!zilla", "https://example.org/other/page.html"),
            ("foo", "http://foo.bar/x/y"),
            ("foo", "http://foo.bar/a/b"),
            ("foo", "http://foo.bar/a/b"),
        ],
    },
    Known {
        reason: "Ours compares path and pattern in normal form: escapes of unreserved characters are undone, digits are upper case, a literal star or dollar is escaped (RFC 9309, 2.2.2).",
        cases: &[
            ("FooBot", "http://foo.bar/foo/bar/baz"),
            ("unknown/1.0", "http://www.fict.org/%7Emak/mak.html"),
            ("mybot", "https://www.example.com/search/%2a/"),
            ("mybot", "https://www.example.com/search/*/"),
            ("mybot", "https://www.example.com/path/file-with-a-*.html"),
            ("foobot", "http://foo.bar/foo/bar/baz"),
            ("3bot", "/a%3Cd.html"),
            ("4bot", "/a%3cd.html"),
            ("7bot", "/~joe/index.html"),
            ("OtherBot", "http://www.example.org/%7Emak/mak.html"),
            ("FooBot", "http://foo.bar/x/abc$abc"),
            ("*", "https://www.site.local/a<d.html"),
            ("*", "https://www.site.local/a<d.html"),
            ("FooBot", "http://foo.bar/foo/bar/baz"),
            ("*", "https://www.site.local/a%3cd.html"),
            ("anything", "http://example.com/%7Emak/mak.html"),
        ],
    },
    Known {
        reason: "A dollar is special at the end of a pattern only; the other takes every one for the end.",
        cases: &[
            ("FooBot", "http://foo.bar/x%24/abcdef"),
            ("FooBot", "http://foo.bar/xabcx$/abcdef"),
            ("FooBot", "http://foo.bar/xabcx%24/abcdef"),
        ],
    },
    Known {
        reason: "A Crawl-delay does not end a group (RFC 9309, 2.2.4): the robot shares the rules that follow the next names.",
        cases: &[
            ("googlebot", "http://www.krugle.com/"),
            ("bingbot", "http://www.example.com/login"),
            ("bingbot", "http://www.example.com/assets/"),
            ("msnbot", "http://www.example.com/login"),
            ("msnbot", "http://www.example.com/assets/"),
        ],
    },
    Known { reason: "The file is UTF-16.", cases: &[("foobot", "http://www.domain.com/profile")] },
    Known {
        reason: "The file is HTML: its lines end in a tag.",
        cases: &[("bogusbot", "http://www.domain.com/index.html")],
    },
    Known {
        reason: "Ours reads a line without a colon only when it has two words: a sentence is no rule.",
        cases: &[("harry potter", "http://foo.bar/horcrux")],
    },
    Known {
        reason: "Rules before any user-agent line are for nobody (RFC 9309, 2.2.1).",
        cases: &[("agent", "http://example.com/path")],
    },
];

/// The case wants another answer than ours. None of them is one on which the collected test suites agree.
pub const CASES: &[Known] = &[
    Known {
        reason: "The case wants URLs compared as they are given; RFC 9309, 2.2.2, wants a normal form.",
        cases: &[
            ("FooBot", "http://foo.bar/foo/bar/ツ"),
            ("FooBot", "http://foo.bar/foo/bar/ツ"),
            ("FooBot", "http://foo.bar/foo/bar/baz"),
        ],
    },
    Known {
        reason: "The case wants several names in one line, or a name with a blank.",
        cases: &[
            ("agent3", "http://www.domain.com/e/d/foo.html"),
            ("agent3", "http://www.domain.com/foo/bar/baz.html"),
            ("crawler2", "http://www.domain.com/index.html"),
            ("harry potter", "http://foo.bar/horcrux"),
        ],
    },
    Known {
        reason: "The case takes a very long Crawl-delay for a refusal; ours waits as long as it waits for anybody.",
        cases: &[("bixo", "http://www.domain.com/")],
    },
    Known {
        reason: "The case wants a star within a name to stand for anything.",
        cases: &[("foobot", "http://foo.bar/myprofile")],
    },
    Known {
        reason: "The case lets lines that nobody understands end a group; RFC 9309, 2.2.4, does not.",
        cases: &[("agent", "/content/2"), ("agent", "http://example.com/foo")],
    },
    Known {
        reason: "The case wants a dollar at the end to stand for itself as well.",
        cases: &[("FooBot", "http://foo.bar/x/abc$"), ("FooBot", "http://foo.bar/x/abc%24")],
    },
    Known {
        reason: "The case wants a whole address as a pattern; patterns are paths.",
        cases: &[("FooBot", "http://foo.bar/http://ms-web00.walkerplus.com/")],
    },
    Known {
        reason: "The case wants rules before any user-agent line to be for everybody; RFC 9309, 2.2.1, has them for nobody.",
        cases: &[("agent", "http://example.com/path")],
    },
    Known {
        reason: "The case wants a line without a colon ignored; its author meant to be obeyed.",
        cases: &[("agent", "http://example.com/no/colon/in/this/line")],
    },
];
