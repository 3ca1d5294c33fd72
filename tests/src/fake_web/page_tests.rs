//! The promises of the ordinary pages, asked for over HTTP.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::time::{Duration, Instant};

use url::Url;

use super::client::{get, get_as, hrefs, title, visible_text};
use super::{FakeWeb, FakeWebConfig, HostConfig, Lang, RobotsMode};

const ANY_HOST: &str = "same.test:8000";

async fn pages_of(web: &FakeWeb, paths: &[&str]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for path in paths {
        bodies.push(get_as(web.addr(), ANY_HOST, path).await.body);
    }
    bodies
}

#[tokio::test]
async fn equal_configurations_serve_equal_bytes_and_other_seeds_other_bytes() {
    let paths = ["/", "/p/0.html", "/p/17.html", "/p/99.html", "/private/3.html", "/robots.txt", "/fault/chunked"];
    let one = FakeWeb::start(FakeWebConfig::default());
    let two = FakeWeb::start(FakeWebConfig { threads: 2, ..FakeWebConfig::default() });
    let other = FakeWeb::start(FakeWebConfig { seed: 2, ..FakeWebConfig::default() });
    let bodies = pages_of(&one, &paths).await;
    assert_eq!(bodies, pages_of(&two, &paths).await);
    assert_eq!(bodies, pages_of(&one, &paths).await);
    let others = pages_of(&other, &paths).await;
    assert!((0..4).all(|page| bodies[page] != others[page]));
}

/// Follows every link from `/` on, except what robots.txt disallows.
async fn walk(web: &FakeWeb, host: usize) -> BTreeSet<String> {
    let start = Url::parse(&web.host_url(host, "/")).unwrap();
    let authority = web.host_url(host, "").replace("http://", "");
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut queue = VecDeque::from([start.clone()]);
    while let Some(url) = queue.pop_front() {
        let answer = get_as(web.host_addr(host), &authority, url.path()).await;
        assert_eq!(answer.status, 200, "{url}");
        for href in hrefs(answer.text()) {
            let link = url.join(href).unwrap();
            assert_eq!((link.host(), link.port()), (start.host(), start.port()), "{href} on {url}");
            if !link.path().starts_with("/private/") && seen.insert(link.path().to_owned()) {
                queue.push_back(link);
            }
        }
    }
    seen
}

#[tokio::test]
async fn a_walk_over_the_links_finds_exactly_the_reachable_pages() {
    for (pages, links) in [(1, 1), (7, 1), (50, 2), (300, 30)] {
        let config = FakeWebConfig { pages, links, ..FakeWebConfig::small(pages) };
        let web = FakeWeb::start(config.with_port_hosts(2));
        assert_eq!(walk(&web, 1).await, web.config().reachable(), "{pages} pages with {links} links");
    }
}

#[tokio::test]
async fn pages_have_their_size_their_share_of_text_and_their_number_of_links() {
    for share in [0.1, 0.3, 0.6] {
        let web = FakeWeb::start(FakeWebConfig { text_share: share, pages: 1000, ..FakeWebConfig::default() });
        let mut sizes = Vec::new();
        let (mut bytes, mut text) = (0, 0);
        for page in (0..1000).step_by(20) {
            let answer = get(&web, &format!("/p/{page}.html")).await;
            assert_eq!(answer.body.len(), answer.declared_length());
            assert_eq!(hrefs(answer.text()).len(), 30);
            sizes.push(answer.body.len());
            bytes += answer.body.len();
            text += visible_text(answer.text()).split_whitespace().map(|word| word.len() + 1).sum::<usize>();
        }
        assert!(sizes.iter().all(|size| (10_000..=30_000).contains(size)), "{sizes:?}");
        assert!(sizes.iter().min() < Some(&13_000) && sizes.iter().max() > Some(&27_000), "{sizes:?}");
        let measured = text as f64 / bytes as f64;
        assert!((measured - share).abs() < 0.03, "the share of text is {measured}, not {share}");
    }
}

#[tokio::test]
async fn every_page_has_a_title_and_a_word_of_its_own() {
    let web = FakeWeb::start(FakeWebConfig::small(200).with_port_hosts(2));
    let mut titles = HashSet::new();
    let mut texts = Vec::new();
    for page in 0..200 {
        let answer = get(&web, &format!("/p/{page}.html")).await;
        titles.insert(title(answer.text()).to_owned());
        texts.push(visible_text(answer.text()));
    }
    assert_eq!(titles.len(), 200);
    for page in 0..200 {
        let word = FakeWebConfig::unique_word(0, page);
        let having = |text: &&String| text.split_whitespace().any(|known| known == word);
        assert_eq!(texts.iter().filter(having).count(), 1, "{word}");
    }
}

#[tokio::test]
async fn links_come_in_all_forms() {
    let web = FakeWeb::start(FakeWebConfig { pages: 1000, ..FakeWebConfig::default() });
    let mut all = Vec::new();
    let mut pages_with_repeats = 0;
    for page in 900..950 {
        let answer = get(&web, &format!("/p/{page}.html")).await;
        let links: Vec<String> = hrefs(answer.text()).into_iter().map(str::to_owned).collect();
        let base = Url::parse(&web.url(&format!("/p/{page}.html"))).unwrap();
        let targets: HashSet<String> = links.iter().map(|href| base.join(href).unwrap().path().to_owned()).collect();
        pages_with_repeats += usize::from(targets.len() < links.len());
        all.extend(links);
    }
    let count = |form: &dyn Fn(&str) -> bool| all.iter().filter(|href| form(href)).count();
    assert!(count(&|href| href.starts_with("http://127.0.0.1:")) > 100);
    assert!(count(&|href| href.starts_with("/p/")) > 100);
    assert!(count(&|href| href.starts_with(|first: char| first.is_ascii_digit())) > 100);
    assert!(count(&|href| href.contains('#')) > 50);
    assert!((2..20).contains(&count(&|href| href.starts_with("/private/"))));
    assert_eq!(pages_with_repeats, 50);
}

#[tokio::test]
async fn absolute_links_name_the_host_as_the_client_did_but_always_with_its_port() {
    let web = FakeWeb::start(FakeWebConfig { links: 200, ..FakeWebConfig::default() });
    let port = web.addr().port();
    for (sent, named) in [("other.test:81", "other.test:81".to_owned()), ("other.test", format!("other.test:{port}"))] {
        let page = get_as(web.addr(), sent, "/p/1.html").await;
        let absolute: Vec<&str> = hrefs(page.text()).into_iter().filter(|href| href.starts_with("http")).collect();
        assert!(absolute.len() > 10);
        assert!(absolute.iter().all(|href| href.starts_with(&format!("http://{named}/"))), "{absolute:?}");
    }
}

#[tokio::test]
async fn languages_come_in_the_proportion_asked_for_and_are_recognised() {
    let langs = vec![(Lang::English, 2), (Lang::Chinese, 1), (Lang::Czech, 1)];
    let web = FakeWeb::start(FakeWebConfig { langs, ..FakeWebConfig::small(200) });
    let mut counts = [0; 3];
    for page in 0..200 {
        let answer = get(&web, &format!("/p/{page}.html")).await;
        let text = visible_text(answer.text());
        let lang =
            ["en", "zh", "cs"].iter().position(|code| answer.text().contains(&format!("<html lang=\"{code}\">")));
        counts[lang.unwrap()] += 1;
        let recognised = [whatlang::Lang::Eng, whatlang::Lang::Cmn, whatlang::Lang::Ces][lang.unwrap()];
        assert_eq!(whatlang::detect_lang(&text), Some(recognised), "page {page}");
    }
    assert!((80..=120).contains(&counts[0]) && counts[1] >= 30 && counts[2] >= 30, "{counts:?}");
}

#[tokio::test]
async fn hosts_are_told_apart_by_name_or_by_port() {
    let mut config = FakeWebConfig::small(20).with_named_hosts(3);
    config.hosts.push(HostConfig { ip: "127.0.0.2".parse().unwrap(), ..HostConfig::default() });
    let web = FakeWeb::start(config);
    for (host, name) in ["host0.test", "HOST1.test:80", "host2.test"].into_iter().enumerate() {
        let page = get_as(web.addr(), name, "/p/3.html").await;
        assert!(page.text().contains(&FakeWebConfig::unique_word(host, 3)), "{name}");
    }
    let own = get_as(web.host_addr(3), "anything", "/p/3.html").await;
    assert!(own.text().contains(&FakeWebConfig::unique_word(3, 3)));
    assert_eq!(web.host_addr(3).ip().to_string(), "127.0.0.2");
    assert_ne!(web.host_addr(3).port(), web.addr().port());
    assert_eq!(web.resolve_args()[1], format!("host1.test:{}:127.0.0.1", web.addr().port()));
}

#[tokio::test]
async fn robots_answers_in_the_mode_of_its_host() {
    let modes = [
        RobotsMode::Rules,
        RobotsMode::Status(404),
        RobotsMode::Status(403),
        RobotsMode::Status(500),
        RobotsMode::Slow(Duration::from_millis(150)),
        RobotsMode::Redirect,
        RobotsMode::Huge,
        RobotsMode::Garbage,
        RobotsMode::Text("User-agent: *\nDisallow: /p/\n".into()),
    ];
    let mut config = FakeWebConfig::small(5).with_port_hosts(modes.len());
    for (host, mode) in config.hosts.iter_mut().zip(modes) {
        host.robots = mode;
        host.crawl_delay = Some(0.5);
    }
    let web = FakeWeb::start(config);
    let rules = "# The test web\nUser-agent: *\nDisallow: /private/\nCrawl-delay: 0.5\n";
    let mut answers = Vec::new();
    for host in 0..web.config().hosts.len() {
        let start = Instant::now();
        answers.push(get_as(web.host_addr(host), "any", "/robots.txt").await);
        assert!(host != 4 || start.elapsed() >= Duration::from_millis(150));
    }
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 404, 403, 500, 200, 301, 200, 200, 200]);
    assert_eq!(answers[0].text(), rules);
    assert_eq!(answers[4].text(), rules);
    let moved = answers[5].field("location").unwrap();
    assert_eq!(get_as(web.host_addr(5), "any", moved).await.text(), rules);
    assert_eq!(get_as(web.host_addr(0), "any", moved).await.status, 404);
    assert!(answers[6].text().starts_with(rules) && answers[6].body.len() > 1_000_000);
    assert!(std::str::from_utf8(&answers[7].body).is_err());
    assert_eq!(answers[8].text(), "User-agent: *\nDisallow: /p/\n");
}

#[tokio::test]
async fn latency_comes_before_the_answer() {
    let web = FakeWeb::start(FakeWebConfig { latency: Duration::from_millis(120), ..FakeWebConfig::small(5) });
    get(&web, "/p/1.html").await;
    assert!(web.requests()[0].at.elapsed() >= Duration::from_millis(120), "a request is recorded when it comes");
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let web = FakeWeb::start(FakeWebConfig::small(5));
    for path in ["/p/5.html", "/p/", "/favicon.ico", "/fault/unknown", "/fault/base/target.html", "/p/1.html/"] {
        assert_eq!(get(&web, path).await.status, 404, "{path}");
    }
}
