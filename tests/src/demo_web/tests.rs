//! The demo web is whole: every file is served and linked, every link leads somewhere.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use url::Url;

use super::{DemoWeb, HOST_COUNT, HOSTS};
use crate::fake_web::client::{get_as, hrefs, title};

async fn get(url: &Url) -> crate::fake_web::client::Answer {
    let addr = url.socket_addrs(|| None).unwrap()[0];
    get_as(addr, &addr.to_string(), url.path()).await
}

#[tokio::test]
async fn a_walk_from_the_first_host_finds_every_page_of_all_three() {
    let web = DemoWeb::start([0; HOST_COUNT]).await.unwrap();
    let start = Url::parse(&web.urls()[0]).unwrap();
    let mut seen = BTreeSet::from([start.to_string()]);
    let mut titles = BTreeSet::new();
    let mut queue = VecDeque::from([start]);
    while let Some(url) = queue.pop_front() {
        let answer = get(&url).await;
        assert_eq!(answer.status, 200, "{url}");
        let page = answer.text();
        assert!(!page.contains("{{"), "{url} has a placeholder left");
        assert!(titles.insert(title(page).to_owned()), "{url} has the title of another page");
        for href in hrefs(page) {
            let link = url.join(href).unwrap();
            if seen.insert(link.to_string()) {
                queue.push_back(link);
            }
        }
    }
    let mut expected = BTreeSet::new();
    for (host, url) in HOSTS.iter().zip(web.urls()) {
        for (path, _) in host.files.iter().filter(|(path, _)| path.ends_with(".html")) {
            expected.insert(url.clone() + path.strip_prefix("/").unwrap().trim_start_matches("index.html"));
        }
    }
    assert_eq!(seen, expected);
    web.shutdown().await;
}

#[test]
fn every_file_on_disk_is_built_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    for host in &HOSTS {
        let mut on_disk = BTreeSet::from(["/style.css".to_owned()]);
        let mut folders = vec![root.join(host.name)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    on_disk.insert(format!("/{}", path.strip_prefix(root.join(host.name)).unwrap().display()));
                }
            }
        }
        let built_in: BTreeSet<String> = host.files.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(built_in, on_disk);
    }
}

#[tokio::test]
async fn hosts_have_their_language_their_robots_and_their_style() {
    let web = DemoWeb::start([0; HOST_COUNT]).await.unwrap();
    for (number, (url, lang)) in web.urls().iter().zip(["en", "zh-Hans", "cs"]).enumerate() {
        let url = Url::parse(url).unwrap();
        assert!(get(&url).await.text().contains(&format!("<html lang=\"{lang}\">")));
        let robots = get(&url.join("/robots.txt").unwrap()).await;
        assert_eq!(robots.field("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(robots.text().contains("Disallow: /readers/"), number == 1);
        let style = get(&url.join("/style.css").unwrap()).await;
        assert_eq!(style.field("content-type"), Some("text/css; charset=utf-8"));
        assert_eq!(get(&url.join("/nothing.html").unwrap()).await.status, 404);
    }
}
