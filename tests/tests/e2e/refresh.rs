//! Visiting pages again: what is asked for, what is found, and when a page leaves the index.

use seine_tests::LiveWeb;
use seine_tests::live_web::LiveRequest;
use seine_tests::sandbox::{CrawlRun, Seine};

fn web_of_three() -> LiveWeb {
    let web = LiveWeb::new();
    web.put("/", "start here", &["/one", "/two"]);
    web.put("/one", "the first page speaks of rivers", &[]);
    web.put("/two", "the second page speaks of boats", &[]);
    web
}

fn again(seine: &Seine, web: &LiveWeb, flags: &[&str]) -> (CrawlRun, Vec<LiveRequest>) {
    web.take_requests();
    let run = seine.crawl(&web.url("/"), &[&["--delay", "0", "--again"], flags].concat());
    let mut requests = web.take_requests();
    requests.retain(|request| request.path != "/robots.txt");
    requests.sort_by(|a, b| a.path.cmp(&b.path));
    (run, requests)
}

fn found(seine: &Seine, word: &str) -> u64 {
    seine.search(word, &[])["total"].as_u64().unwrap()
}

#[test]
fn a_second_round_asks_only_for_what_changed_and_finds_what_is_new() {
    let web = web_of_three();
    let seine = Seine::new();
    let first = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((first.code, first.count("pages")), (0, 3), "{first:?}");

    let nothing = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert!(nothing.stderr.contains("--again"), "{}", nothing.stderr);

    web.put("/two", "the second page speaks of trains now", &["/three"]);
    web.put("/three", "a third page speaks of planes", &[]);
    let (run, requests) = again(&seine, &web, &[]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 4, 4), "{run:?}");
    let seen: Vec<_> = requests.iter().map(|request| (request.path.as_str(), request.status)).collect();
    assert_eq!(seen, [("/", 304), ("/one", 304), ("/three", 200), ("/two", 200)]);
    assert!(requests.iter().all(|request| request.known_tag.is_some() == (request.path != "/three")));
    assert_eq!([found(&seine, "boats"), found(&seine, "trains"), found(&seine, "planes")], [0, 1, 1]);
    assert_eq!(found(&seine, "rivers"), 1, "an unchanged page stays");

    let (run, requests) = again(&seine, &web, &[]);
    assert_eq!((run.code, run.count("pages")), (0, 4), "{run:?}");
    assert!(requests.iter().all(|request| request.status == 304) && requests.len() == 4, "{requests:?}");
}

#[test]
fn a_page_leaves_the_index_only_when_it_was_missing_twice_and_never_because_of_trouble() {
    let web = web_of_three();
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    let flags = ["--gone-after", "0s", "--attempts", "1"];

    web.fail("/two", 500);
    for _ in 0..3 {
        assert_eq!(again(&seine, &web, &flags).0.code, 0);
        assert_eq!(found(&seine, "boats"), 1, "a server error takes nothing away");
    }
    web.fail("/two", 404);
    let (run, _) = again(&seine, &web, &flags);
    assert_eq!((run.count("pages"), found(&seine, "boats")), (3, 1), "missing once may be a mistake: {run:?}");
    let (run, _) = again(&seine, &web, &flags);
    assert_eq!((run.count("pages"), found(&seine, "boats")), (2, 0), "{run:?}");
    assert_eq!(run.count("indexed"), 2, "{run:?}");

    web.put("/two", "the second page is back with boats", &[]);
    let (run, _) = again(&seine, &web, &flags);
    assert_eq!((run.count("pages"), found(&seine, "boats")), (3, 1), "{run:?}");
}

#[test]
fn a_page_that_is_gone_is_counted_and_explained_as_gone_at_every_later_visit() {
    let web = web_of_three();
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    let flags = ["--gone-after", "0s", "--attempts", "1"];
    let told = || {
        let json = |words: &[&str]| -> serde_json::Value {
            let output = seine.run(words);
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
        };
        let crawl = json(&["crawls", "list", "--json"])[0].clone();
        let page = json(&["explain", &web.url("/two"), "--json"])["crawls"][0].clone();
        (crawl["gone"].as_u64(), crawl["failed"].as_u64(), page["state"].as_str().unwrap_or_default().to_owned())
    };
    web.fail("/two", 404);
    again(&seine, &web, &flags);
    again(&seine, &web, &flags);
    assert_eq!(told(), (Some(1), Some(0), "gone".to_owned()));
    for status in [404, 500] {
        web.fail("/two", status);
        let (_, requests) = again(&seine, &web, &flags);
        assert!(requests.iter().any(|request| request.path == "/two"), "it is still looked for: {requests:?}");
        assert_eq!(told(), (Some(1), Some(0), "gone".to_owned()), "after {status}");
    }
    web.put("/two", "the second page is back with boats", &[]);
    again(&seine, &web, &flags);
    assert_eq!(told(), (Some(0), Some(0), "saved".to_owned()));
}

#[test]
fn a_page_missing_for_less_than_a_day_stays() {
    let web = web_of_three();
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    web.fail("/two", 404);
    for _ in 0..3 {
        again(&seine, &web, &[]);
    }
    assert_eq!(found(&seine, "boats"), 1);
}

#[test]
fn a_changed_rule_takes_pages_out_without_asking_for_them() {
    let web = web_of_three();
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    let (run, requests) = again(&seine, &web, &["--deny-url", "*/two"]);
    assert_eq!((run.code, run.count("pages")), (0, 2), "{run:?}");
    assert_eq!(requests.iter().map(|request| request.path.as_str()).collect::<Vec<_>>(), ["/", "/one"]);
    assert_eq!([found(&seine, "boats"), found(&seine, "rivers")], [0, 1]);
    let (run, _) = again(&seine, &web, &[]);
    assert_eq!((run.count("pages"), found(&seine, "boats")), (3, 1), "the rule is gone: {run:?}");
}

#[test]
fn a_full_crawl_visits_its_pages_again_and_takes_no_new_ones() {
    let web = web_of_three();
    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0", "--max-pages", "2"]);
    assert_eq!((run.code, run.count("pages")), (0, 2), "{run:?}");
    web.put("/one", "the first page speaks of lakes", &[]);
    let (run, requests) = again(&seine, &web, &["--max-pages", "2"]);
    assert_eq!((run.code, run.count("pages")), (0, 2), "{run:?}");
    assert_eq!(requests.iter().map(|request| request.path.as_str()).collect::<Vec<_>>(), ["/", "/one"]);
    assert_eq!([found(&seine, "lakes"), found(&seine, "rivers")], [1, 0]);
}

#[test]
fn what_is_forgotten_is_not_found_and_never_visited_again() {
    let web = web_of_three();
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    let output = seine.run(&["index", "forget", &web.url("/two"), "--json"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "{\"forgotten\":1}", "{output:?}");
    assert_eq!([found(&seine, "boats"), found(&seine, "rivers")], [0, 1]);
    let (run, requests) = again(&seine, &web, &[]);
    assert_eq!(requests.iter().map(|request| request.path.as_str()).collect::<Vec<_>>(), ["/", "/one"], "{run:?}");
    assert!(seine.run(&["index", "rebuild"]).status.success());
    assert_eq!(found(&seine, "boats"), 0, "not by a rebuild either");

    let output = seine.run(&["index", "forget", &web.host()]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(found(&seine, "rivers"), 0);
    let (run, requests) = again(&seine, &web, &[]);
    assert!(requests.is_empty(), "{requests:?} {run:?}");
}

#[test]
fn what_was_forgotten_can_be_let_back_in_and_a_crawl_without_it_does_not_fail() {
    let web = web_of_three();
    let seine = Seine::new();
    let crawl = || seine.crawl(&web.url("/"), &["--delay", "0"]);
    crawl();
    assert!(seine.run(&["index", "forget", &web.url("/two")]).status.success());
    let output = seine.run(&["index", "forget", "--undo", &web.url("/two"), "--json"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "{\"let_back_in\":1}", "{output:?}");
    web.take_requests();
    let run = crawl();
    assert_eq!((run.code, run.count("pages"), run.count("indexed"), run.count("duplicates")), (0, 3, 3, 0), "{run:?}");
    assert_eq!(web.take_requests().iter().filter(|request| request.path == "/two").count(), 1);
    assert_eq!(found(&seine, "boats"), 1);

    assert!(seine.run(&["index", "forget", &web.host()]).status.success());
    web.take_requests();
    for _ in 0..2 {
        let run = crawl();
        assert_eq!((run.code, run.count("pages")), (0, 0), "nothing failed, somebody wanted it so: {run:?}");
        assert!(run.stderr.contains("--undo"), "{}", run.stderr);
    }
    assert!(web.take_requests().is_empty());
    let output = seine.run(&["index", "forget", "--undo", &web.host()]);
    assert!(output.status.success(), "{output:?}");
    let run = crawl();
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 3, 3), "{run:?}");
    assert_eq!([found(&seine, "boats"), found(&seine, "rivers")], [1, 1]);
    assert!(seine.run(&["index", "rebuild"]).status.success());
    assert_eq!([found(&seine, "boats"), found(&seine, "rivers")], [1, 1], "not only until the index is made anew");
}

#[test]
fn a_frontier_made_anew_beside_an_old_log_goes_on_above_it() {
    let web = web_of_three();
    let seine = Seine::new();
    seine.crawl(&web.url("/"), &["--delay", "0"]);
    // Leases enough that those of a new frontier have lower numbers.
    for number in 0..3 {
        web.put("/two", &format!("the second page speaks of {number} boats"), &[]);
        again(&seine, &web, &[]);
    }
    seine.lose_frontier();
    web.put("/two", "the second page speaks of trains now", &[]);
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 3), "{run:?}");
    assert_eq!([found(&seine, "boats"), found(&seine, "trains")], [0, 1]);
    let output = seine.run(&["index", "forget", &web.url("/two")]);
    assert!(output.status.success(), "{output:?}");
    assert!(seine.run(&["index", "rebuild"]).status.success());
    assert_eq!([found(&seine, "boats"), found(&seine, "trains")], [0, 0], "no older version comes back");
}
