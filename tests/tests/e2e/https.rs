//! Sites behind TLS: read over HTTP/1.1 and HTTP/2, and only with a certificate that is trusted.

use axum::http::Version;
use seine_tests::sandbox::{CrawlRun, Seine, crawl_run};
use seine_tests::tls_web::{Speaks, TlsWeb};

use crate::archive::assert_archives_pass_warcio;

const PAGES: [(&str, &str); 2] = [
    ("/", "<title>Start</title><p>start here <a href='/boats'>boats</a></p>"),
    ("/boats", "<title>Boats</title><p>a page about boats on the river</p>"),
];

fn crawl(seine: &Seine, web: &TlsWeb, is_trusted: bool) -> CrawlRun {
    let mut command = seine.crawl_command(&web.url("/"), &["--delay", "0", "--resolve", &web.fixed_address()]);
    if is_trusted {
        command.env("SSL_CERT_FILE", web.root_certificate());
    }
    crawl_run(&command.output().expect("seine can be started"))
}

#[test]
fn pages_behind_tls_are_crawled_over_both_versions_of_http_and_archived() {
    for (speaks, version) in [(Speaks::Http1, Version::HTTP_11), (Speaks::Http2, Version::HTTP_2)] {
        let web = TlsWeb::start(&PAGES, speaks);
        let seine = Seine::new();
        let run = crawl(&seine, &web, true);
        assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 2, 2), "{speaks:?} {run:?}");
        let asked: Vec<_> = web.requests();
        assert_eq!(asked, ["/robots.txt", "/", "/boats"].map(|path| (path.to_owned(), version)));
        assert_eq!(seine.search("river", &[])["hits"][0]["url"], web.url("/boats"));
        assert_archives_pass_warcio(&seine);
    }
}

#[test]
fn a_site_whose_certificate_nobody_trusts_is_not_asked_for_anything() {
    let web = TlsWeb::start(&PAGES, Speaks::Http1);
    let seine = Seine::new();
    let run = crawl(&seine, &web, false);
    assert_eq!((run.code, run.count("pages")), (1, 0), "{run:?}");
    assert_eq!(web.requests(), []);
    let explained = seine.run(&["explain", &web.url("/"), "--json"]);
    let text = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(text.to_lowercase().contains("certificate"), "the reason is told: {text}");
}
