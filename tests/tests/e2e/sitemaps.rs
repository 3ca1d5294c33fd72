//! Sitemaps: pages that nothing links to are found, and nothing else changes.

use std::io::Write;

use seine_tests::LiveWeb;
use seine_tests::sandbox::Seine;

fn web_with_a_sitemap() -> LiveWeb {
    let web = LiveWeb::new();
    web.put("/", "start here", &["/linked"]);
    web.put("/linked", "a linked page speaks of rivers", &[]);
    web.put("/orphan", "a page that nothing links to speaks of boats", &[]);
    web.put("/secret", "nobody may read of trains", &[]);
    let index = format!("<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>", web.url("/pages.xml.gz"));
    web.put_file("/sitemap.xml", "application/xml", index.as_bytes());
    let entry = |path: &str| format!("<url><loc>{}</loc><lastmod>2024-05-06</lastmod></url>", web.url(path));
    let pages = format!(
        "<urlset>{}{}{}{}<url><loc>http://elsewhere.test/</loc></url></urlset>",
        entry("/"),
        entry("/linked"),
        entry("/orphan"),
        entry("/secret")
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(pages.as_bytes()).unwrap();
    web.put_file("/pages.xml.gz", "application/octet-stream", &packed.finish().unwrap());
    let robots = format!("User-agent: *\nDisallow: /secret\nSitemap: {}\n", web.url("/sitemap.xml"));
    web.put_file("/robots.txt", "text/plain", robots.as_bytes());
    web
}

fn paths(web: &LiveWeb) -> Vec<String> {
    web.take_requests().into_iter().map(|request| request.path).collect()
}

#[test]
fn pages_of_a_sitemap_are_fetched_after_those_that_links_lead_to() {
    let web = web_with_a_sitemap();
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--connections-per-host", "1"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed"), run.count("failed")), (0, 3, 3, 0), "{run:?}");
    assert_eq!(run.count("refused_by_robots"), 1, "{run:?}");
    assert_eq!(paths(&web), ["/robots.txt", "/", "/linked", "/sitemap.xml", "/pages.xml.gz", "/orphan"]);
    assert_eq!(seine.search("boats", &[])["total"], 1);

    web.put("/orphan", "the page speaks of planes now", &[]);
    let again = seine.crawl(&web.url("/"), &["--delay", "0", "--again"]);
    assert_eq!((again.code, again.count("pages"), again.count("failed")), (0, 3, 0), "{again:?}");
    let mut asked: Vec<_> = web.take_requests().into_iter().map(|request| (request.path, request.status)).collect();
    asked.retain(|(path, _)| path != "/robots.txt");
    asked.sort();
    let expected = [("/", 304), ("/linked", 304), ("/orphan", 200), ("/pages.xml.gz", 304), ("/sitemap.xml", 304)];
    assert_eq!(asked, expected.map(|(path, status)| (path.to_owned(), status)));
    assert_eq!(seine.search("planes", &[])["total"], 1);
}

#[test]
fn a_crawl_can_do_without_sitemaps_and_a_missing_one_is_no_failure() {
    let web = web_with_a_sitemap();
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0", "--no-sitemaps"]);
    assert_eq!((run.code, run.count("pages")), (0, 2), "{run:?}");
    assert!(!paths(&web).iter().any(|path| path.contains("xml")));

    web.fail("/sitemap.xml", 404);
    let run = Seine::new().crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, 2, 0), "{run:?}");
}
