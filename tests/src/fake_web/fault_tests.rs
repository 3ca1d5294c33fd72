//! Each fault does what its path says.

use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Answer, exchange, get, get_as, hrefs, parse, request};
use super::fault::charset::{Charset, Declared};
use super::fault::coding::BOMB_BYTES;
use super::fault::{Fault, all_paths, unique_word};
use super::{FakeWeb, FakeWebConfig};

fn small_web() -> FakeWeb {
    FakeWeb::start(FakeWebConfig { huge_bytes: 3_000_000, retry_after: 7, ..FakeWebConfig::small(10) })
}

#[tokio::test]
async fn the_root_links_to_the_faults_asked_for_and_each_is_known() {
    let web = FakeWeb::start(FakeWebConfig { fault_links: all_paths(), ..FakeWebConfig::small(10) });
    let root = get(&web, "/").await;
    let linked: HashSet<&str> = hrefs(root.text()).into_iter().filter(|href| href.starts_with("/fault/")).collect();
    assert_eq!(linked.len(), all_paths().len());
    let words: HashSet<String> = linked.iter().map(|path| unique_word(path)).collect();
    assert_eq!(words.len(), linked.len());
    for path in linked {
        assert!(Fault::parse(path, || 0).is_some(), "{path}");
    }
    let without = get(&small_web(), "/").await;
    assert!(!without.text().contains("/fault/"));
}

#[tokio::test]
async fn statuses_are_as_asked_and_busy_ones_say_when_to_come_back() {
    let web = small_web();
    for status in [403, 404, 410, 429, 500, 503] {
        let answer = get(&web, &format!("/fault/status/{status}")).await;
        assert_eq!(answer.status, status);
        let retry_after = matches!(status, 429 | 503).then_some("7");
        assert_eq!(answer.field("retry-after"), retry_after);
    }
}

#[tokio::test]
async fn a_recovering_page_fails_as_often_as_asked() {
    let web = small_web();
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(get(&web, "/fault/recover/2").await.status);
    }
    assert_eq!(statuses, [503, 503, 200, 200]);
}

/// Follows redirects; gives the statuses and the last answer, or nothing after `most` hops.
async fn follow(web: &FakeWeb, path: &str, most: usize) -> Option<(Vec<u16>, String, Answer)> {
    let mut url = url::Url::parse(&web.url(path)).unwrap();
    let mut statuses = Vec::new();
    while statuses.len() <= most {
        let answer = get(web, url.path()).await;
        match answer.field("location") {
            Some(location) => url = url.join(location).unwrap(),
            None => return Some((statuses, url.path().to_owned(), answer)),
        }
        statuses.push(answer.status);
    }
    None
}

#[tokio::test]
async fn redirects_chain_loop_and_leave_the_host() {
    let web = small_web();
    let (statuses, path, end) = follow(&web, "/fault/redirect/chain/6", 20).await.unwrap();
    assert_eq!(statuses, [302, 301, 308, 307, 303, 302]);
    assert_eq!(path, "/fault/redirect/end.html");
    assert!(end.status == 200 && end.text().contains(&unique_word(&path)));
    assert!(follow(&web, "/fault/redirect/loop/a", 20).await.is_none());
    assert!(follow(&web, "/fault/redirect/self", 20).await.is_none());

    let alone = get(&web, "/fault/redirect/host").await;
    assert_eq!(alone.field("location").unwrap(), format!("http://localhost:{}/p/0.html", web.addr().port()));
    let two = FakeWeb::start(FakeWebConfig::small(10).with_named_hosts(2));
    let other = get_as(two.addr(), "host1.test", "/fault/redirect/host").await;
    assert_eq!(other.field("location").unwrap(), two.host_url(0, "/p/0.html"));
}

#[tokio::test]
async fn a_drip_comes_byte_by_byte() {
    let web = small_web();
    let start = Instant::now();
    let answer = get(&web, "/fault/drip/20/10").await;
    assert_eq!((answer.body.len(), answer.declared_length()), (10, 10));
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn never_answers_but_holds_the_connection() {
    let web = small_web();
    let mut stream = TcpStream::connect(web.addr()).await.unwrap();
    stream.write_all(request("any", "/fault/never").as_bytes()).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_millis(300), stream.read_u8()).await;
    assert!(answer.is_err(), "it gave {answer:?}");
    assert_eq!(web.requests()[0].status, 0);
}

#[tokio::test]
async fn huge_bodies_go_up_to_their_bound() {
    let web = small_web();
    let declared = get(&web, "/fault/huge/declared").await;
    assert_eq!((declared.body.len(), declared.declared_length()), (3_000_000, 3_000_000));
    let endless = get(&web, "/fault/huge/endless").await;
    assert_eq!(endless.field("content-length"), None);
    assert!(unchunk(&endless.body).len() >= 3_000_000);
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line_end = bytes.windows(2).position(|pair| pair == b"\r\n").expect("a chunk has a line");
        let line = std::str::from_utf8(&bytes[..line_end]).unwrap();
        let size = usize::from_str_radix(line.split(';').next().unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        let start = line_end + 2;
        body.extend_from_slice(&bytes[start..start + size]);
        assert_eq!(&bytes[start + size..start + size + 2], b"\r\n");
        bytes = &bytes[start + size + 2..];
    }
}

#[tokio::test]
async fn a_chunked_page_comes_in_many_chunks() {
    let web = small_web();
    let answer = get(&web, "/fault/chunked").await;
    assert_eq!(answer.field("transfer-encoding"), Some("chunked"));
    let page = String::from_utf8(unchunk(&answer.body)).unwrap();
    assert!(page.contains(&unique_word("/fault/chunked")) && page.ends_with("</html>\n"));
    assert!(answer.body.len() > page.len() + 20);
}

#[tokio::test]
async fn lengths_are_wrong_in_both_directions() {
    let web = small_web();
    let short = get(&web, "/fault/length/short").await;
    assert!(short.body.len() < short.declared_length());
    let long = get(&web, "/fault/length/long").await;
    assert!(long.body.len() > long.declared_length());
}

#[tokio::test]
async fn codings_are_right_broken_cut_and_explosive() {
    let web = small_web();
    let unpack = |answer: &Answer| {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut text).map(|_| text)
    };
    let valid = get(&web, "/fault/gzip/valid").await;
    assert_eq!(valid.field("content-encoding"), Some("gzip"));
    assert!(String::from_utf8(unpack(&valid).unwrap()).unwrap().contains(&unique_word("/fault/gzip/valid")));
    for path in ["/fault/gzip/broken", "/fault/gzip/truncated"] {
        let answer = get(&web, path).await;
        assert_eq!((answer.status, answer.body.len()), (200, answer.declared_length()));
        assert!(unpack(&answer).is_err(), "{path}");
    }
    let bomb = get(&web, "/fault/gzip/bomb").await;
    assert!(bomb.body.len() < BOMB_BYTES / 500);
    assert_eq!(unpack(&bomb).unwrap().len(), BOMB_BYTES);
    let deflate = get(&web, "/fault/deflate/valid").await;
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(&deflate.body[..]).read_to_string(&mut text).unwrap();
    assert!(text.contains(&unique_word("/fault/deflate/valid")));
}

#[tokio::test]
async fn resets_come_before_the_answer_and_within_the_body() {
    let web = small_web();
    let (bytes, ended) = exchange(web.addr(), &request("any", "/fault/reset/before")).await;
    assert!(bytes.is_empty());
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let (bytes, ended) = exchange(web.addr(), &request("any", "/fault/reset/body")).await;
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let answer = parse(&bytes);
    assert!(!answer.body.is_empty() && answer.body.len() < answer.declared_length());
}

#[tokio::test]
async fn garbage_is_no_http() {
    let web = small_web();
    let (bytes, _) = exchange(web.addr(), &request("any", "/fault/garbage")).await;
    assert!(bytes.len() > 1000 && !bytes.starts_with(b"HTTP"));
}

#[tokio::test]
async fn headers_are_huge_or_many() {
    let web = small_web();
    let huge = get(&web, "/fault/headers/huge").await;
    assert!(huge.field("x-huge").unwrap().len() > 1_000_000);
    let many = get(&web, "/fault/headers/many").await;
    assert!(many.fields.len() > 5_000);
    assert_eq!(many.body.len(), many.declared_length());
}

#[tokio::test]
async fn the_calendar_goes_on_in_both_directions() {
    let web = small_web();
    let mut path = "/fault/calendar/2020/1".to_owned();
    for _ in 0..30 {
        let page = get(&web, &path).await;
        assert_eq!(page.status, 200);
        path = hrefs(page.text())[1].to_owned();
    }
    assert_eq!(path, "/fault/calendar/2022/7");
    let first = get(&web, "/fault/calendar/2020/1").await;
    assert_eq!(hrefs(first.text())[0], "/fault/calendar/2019/12");
}

#[tokio::test]
async fn directives_stand_in_the_page_or_in_the_header() {
    let web = small_web();
    for content in ["noindex", "nofollow", "none"] {
        let tag = format!("<meta name=\"robots\" content=\"{content}\">");
        let meta = get(&web, &format!("/fault/robots/{content}-meta.html")).await;
        assert!(meta.text().contains(&tag) && meta.field("x-robots-tag").is_none());
        let header = get(&web, &format!("/fault/robots/{content}-header.html")).await;
        assert!(!header.text().contains(&tag) && header.field("x-robots-tag") == Some(content));
        let beyond = format!("beyond-{content}-meta.html");
        assert_eq!(hrefs(meta.text()), [beyond.as_str()]);
        assert_eq!(get(&web, &format!("/fault/robots/{beyond}")).await.status, 200);
    }
}

#[tokio::test]
async fn the_base_page_links_right_only_with_its_base() {
    let web = small_web();
    let page = get(&web, "/fault/base/page.html").await;
    assert_eq!(hrefs(page.text()), ["target.html"]);
    assert!(page.text().contains("<base href=\"/fault/base/deep/er/\">"));
    assert_eq!(get(&web, "/fault/base/deep/er/target.html").await.status, 200);
    assert_eq!(get(&web, "/fault/base/target.html").await.status, 404);
}

#[tokio::test]
async fn pages_in_other_charsets_declare_them_or_not() {
    let web = small_web();
    for charset in Charset::ALL {
        for declared in charset.ways() {
            let path = format!("/fault/charset/{}/{}.html", charset.name(), declared.name());
            let answer = get(&web, &path).await;
            let encoding = encoding_rs::Encoding::for_label(charset.name().as_bytes()).unwrap();
            let (page, _, wrong) = encoding.decode(&answer.body);
            assert!(!wrong && page.contains(charset.text()) && page.contains(&unique_word(&path)), "{path}");
            let in_header = answer.field("content-type").unwrap().contains(charset.name());
            assert_eq!(in_header, *declared == Declared::Header, "{path}");
            assert_eq!(page.contains("charset="), *declared == Declared::Meta, "{path}");
            assert!(std::str::from_utf8(&answer.body).is_err() || charset.name().starts_with("utf-16"), "{path}");
        }
    }
}

#[tokio::test]
async fn odd_bodies_are_empty_binary_and_untyped() {
    let web = small_web();
    let empty = get(&web, "/fault/empty").await;
    assert_eq!((empty.status, empty.body.len(), empty.declared_length()), (200, 0, 0));
    assert_eq!(get(&web, "/fault/binary").await.field("content-type"), Some("image/png"));
    let untyped = get(&web, "/fault/untyped").await;
    assert!(untyped.field("content-type").is_none() && untyped.text().contains(&unique_word("/fault/untyped")));
}
