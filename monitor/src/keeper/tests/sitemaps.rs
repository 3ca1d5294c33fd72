//! Sitemaps: read once per crawl, behind the pages, and what they say of known pages.

use seine_proto::monitor::v1::{Robots, RobotsFound, RobotsVerdict};

use super::*;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn robots(body: &'static str) -> Robots {
    Robots {
        origin: "http://a.test".to_owned(),
        fetched_at_ms: 1_000_000,
        verdict: RobotsVerdict::Rules.into(),
        body: body.into(),
    }
}

impl Bench {
    fn find_robots(&mut self, token: u64, body: &'static str) {
        let found = RobotsFound { token, robots: Some(robots(body)) };
        self.say(collector_message::Message::Robots(found));
    }

    fn read_sitemap(&mut self, token: u64, from: &QueuedUrl, pages: &[(&str, i64)]) -> Vec<QueuedUrl> {
        let discover = Discover {
            token,
            request_id: 1,
            from_url: from.url.clone(),
            from_place: from.place.clone(),
            links: pages.iter().map(|(url, _)| (*url).to_owned()).collect(),
            lastmod_ms: pages.iter().map(|(_, lastmod)| *lastmod).collect(),
            ..Discover::default()
        };
        self.say(collector_message::Message::Discover(discover));
        self.hear_discovered()
    }

    fn want_more(&mut self, token: u64, after: &QueuedUrl) -> Vec<QueuedUrl> {
        let want = WantUrls { token, after_place: after.place.clone(), limit: 10, ..WantUrls::default() };
        self.say(collector_message::Message::WantUrls(want));
        match self.hear() {
            monitor_message::Message::Urls(urls) => urls.urls,
            other => panic!("expected URLs, heard {other:?}"),
        }
    }
}

#[test]
fn a_sitemap_stands_behind_the_pages_and_is_not_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    let file = "Sitemap: /map.xml\nSitemap: http://other.test/map.xml\n";
    bench.find_robots(lease.token, file);
    bench.find_robots(lease.token, file);
    let linked = bench.discover(lease.token, &root, &["http://a.test/1"], false);
    let waiting = bench.want_more(lease.token, &root);
    assert_eq!(linked.len(), 1);
    let [map] = &waiting[..] else { panic!("one sitemap, once, of the host alone: {waiting:?}") };
    assert_eq!((map.url.as_str(), map.sitemap_level), ("http://a.test/map.xml", 1));
    assert!(map.place > root.place && map.place > linked[0].place);
    bench.settle(lease.token, &root, saved());
    bench.settle(lease.token, &linked[0], saved());
    let found = bench.read_sitemap(lease.token, map, &[("http://a.test/1", 5), ("http://a.test/2", 5)]);
    assert_eq!(found.iter().map(|url| (url.url.as_str(), url.depth)).collect::<Vec<_>>(), [("http://a.test/2", 1)]);
    bench.settle(lease.token, &found[0], saved());
    bench.settle(lease.token, map, Outcome { status: 200, ..outcome(OutcomeKind::SitemapRead) });
    bench.give_back(lease.token, Some(0));
    let status = bench.keeper.status(bench.keeper.crawl_named("c").unwrap()).unwrap();
    assert_eq!((status.state(), status.pages, status.failed), (CrawlState::Finished, 3, 0));
}

#[test]
fn a_crawl_without_sitemaps_reads_none_and_another_one_reads_those_that_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(Crawl { ignore_sitemaps: Some(true), ..crawl("without", &["http://a.test/"]) });
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    bench.find_robots(lease.token, "Sitemap: http://a.test/map.xml\n");
    bench.settle(lease.token, &root, saved());
    bench.give_back(lease.token, None);
    assert_eq!(bench.state("without"), CrawlState::Finished);
    bench.hear_settled();
    bench.add(crawl("with", &["http://a.test/"]));
    let known = urls(&bench.hear_lease());
    let names: Vec<_> = known.iter().map(|url| (url.url.as_str(), url.sitemap_level)).collect();
    assert_eq!(names, [("http://a.test/", 0), ("http://a.test/map.xml", 1)]);
}

#[test]
fn a_date_after_the_last_visit_brings_the_next_one_forward() {
    let dir = tempfile::tempdir().unwrap();
    let now = 1_000 * DAY_MS;
    let mut bench = Bench::new(dir.path(), Clock::manual(now), true);
    let refresh = Refresh {
        policy: RefreshPolicy::Uniform.into(),
        interval_ms: Some(40 * DAY_MS as u64),
        gone_after_ms: Some(1),
    };
    bench.add(Crawl { refresh: Some(refresh), ..crawl("c", &["http://a.test/"]) });
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    bench.find_robots(lease.token, "Sitemap: http://a.test/map.xml\n");
    let [map] = &bench.want_more(lease.token, &root)[..] else { panic!("there is a sitemap") };
    bench.settle(lease.token, &root, saved());
    bench.hear_settled();
    let next = |bench: &Bench| {
        let explained = bench.keeper.explain("http://a.test/").unwrap();
        explained.crawls[0].next_visit_ms.unwrap() - now
    };
    let planned = next(&bench);
    assert!(planned > 30 * DAY_MS, "{planned}");
    bench.read_sitemap(lease.token, map, &[("http://a.test/", now - 1)]);
    assert_eq!(next(&bench), planned, "it was there already at the last visit");
    bench.read_sitemap(lease.token, map, &[("http://a.test/", now + 1)]);
    assert!((next(&bench) - planned / 4).abs() < DAY_MS, "{} of {planned}", next(&bench));
}

#[test]
fn sitemaps_that_name_each_other_come_to_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    let root = urls(&lease).remove(0);
    bench.find_robots(lease.token, "Sitemap: http://a.test/map0.xml\n");
    let mut last = bench.want_more(lease.token, &root).remove(0);
    for level in 1..10 {
        let discover = Discover {
            token: lease.token,
            request_id: 1,
            from_url: last.url.clone(),
            from_place: last.place.clone(),
            links: vec![format!("http://a.test/map{level}.xml")],
            sitemaps: true,
            ..Discover::default()
        };
        bench.say(collector_message::Message::Discover(discover));
        assert_eq!(bench.hear_discovered(), []);
        match bench.want_more(lease.token, &last).pop() {
            Some(named) => last = named,
            None => return assert_eq!(last.sitemap_level, 3),
        }
    }
    panic!("nothing ended it");
}
