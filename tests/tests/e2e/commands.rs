//! Commands: exit codes, messages, what goes to which stream, Ctrl-C.

use std::process::Command;
use std::time::{Duration, Instant};

use seine_tests::sandbox::{Seine, binary, crawl_run, interrupt};
use seine_tests::{FakeWeb, FakeWebConfig};

fn plain(words: &[&str]) -> (i32, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(binary("seine")).current_dir(directory.path()).args(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn wrong_usage_exits_2_with_one_sentence_that_holds_the_value() {
    for (words, value) in [
        (vec!["crawl", "example.org"], "example.org"),
        (vec!["crawl", "ftp://example.org/"], "ftp"),
        (vec!["crawl", "http://example.org/", "--delay", "-3"], "-3"),
        (vec!["crawl", "http://example.org/", "--allow-net", "nowhere"], "nowhere"),
        (vec!["crawl", "http://example.org/", "--resolve", "x:y"], "x:y"),
        (vec!["crawl", "http://example.org/", "--scope", "planet"], "planet"),
        (vec!["crawl", "http://example.org/", "--strategy", "bounded-breadth"], "--keyword"),
        (vec!["crawl", "http://example.org/", "--deny-url", "re:("], "re:("),
        (vec!["crawl", "http://example.org/", "--host-settings", "a.test speed=9"], "speed"),
        (vec!["crawl", "http://example.org/", "--every", "sometimes"], "sometimes"),
        (vec!["crawl", "http://example.org/", "--refresh-policy", "best"], "best"),
        (vec!["export", "urls", "--site", "http://a/"], "http://a/"),
        (vec!["serve", "--roles", "query", "--grpc", "0.0.0.0:0"], "loopback"),
        (vec!["crawls", "list", "--server", "192.0.2.1:7070"], "https://192.0.2.1:7070"),
        (vec!["nodes", "token", "create", "--ttl", "soon"], "soon"),
        (vec!["nodes", "token", "create", "--roles", "boss"], "boss"),
        (vec!["nodes", "label", "some-node", "room"], "room"),
        (vec!["node", "--roles", "collector", "--token", "@/nowhere"], "/nowhere"),
        (vec!["node", "--roles", "collector"], "--join"),
        (vec!["serve", "--roles", "collector"], "collector"),
        (vec!["node", "--roles", "collector", "--join", "192.0.2.1:7070"], "192.0.2.1:7070"),
        (vec!["search"], "WORDS"),
    ] {
        let (code, stdout, stderr) = plain(&words);
        assert_eq!(code, 2, "{words:?}: {stderr}");
        assert!(stderr.contains(value) && stdout.is_empty(), "{words:?}: {stderr}");
    }
}

#[test]
fn a_seed_on_a_private_address_is_refused_before_any_request_and_names_allow_net() {
    let web = FakeWeb::start(FakeWebConfig::small(2));
    let (code, _, stderr) = plain(&["crawl", &web.url("/")]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("--allow-net 127.0.0.0/8"), "{stderr}");
    assert!(web.requests().is_empty());
    let fixed = format!("site.test:{}:127.0.0.1", web.addr().port());
    let (code, _, stderr) = plain(&["crawl", &format!("http://site.test:{}/", web.addr().port()), "--resolve", &fixed]);
    assert_eq!(code, 2, "--resolve does not imply --allow-net: {stderr}");
    assert!(web.requests().is_empty());
}

#[test]
fn a_crawl_that_fetches_no_page_exits_1_and_tells_how_to_learn_why() {
    let seine = Seine::new();
    let run = seine.crawl("http://127.0.0.1:2/", &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (1, 0, 1), "{run:?}");
    assert!(run.stderr.contains("seine explain"), "{}", run.stderr);
}

#[test]
fn a_second_process_on_a_data_directory_is_told_which_process_holds_it() {
    let web = FakeWeb::start(FakeWebConfig { latency: Duration::from_millis(50), ..FakeWebConfig::small(200) });
    let seine = Seine::new();
    let mut first = seine.crawl_command(&web.url("/"), &["--delay", "0.1"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while web.requests().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = seine.crawl(&web.url("/"), &[]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains(&first.id().to_string()), "{}", second.stderr);
    // Other commands reach the process that holds it.
    let listed = seine.run(&["crawls", "list", "--json"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("\"state\":\"running\""), "{listed:?}");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn ctrl_c_saves_prints_the_line_and_the_same_command_goes_on() {
    let web = FakeWeb::start(FakeWebConfig::small(100));
    let seine = Seine::new();
    let child = seine.crawl_command(&web.url("/"), &["--delay", "0.02"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while web.requests().len() < 20 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&child);
    let run = crawl_run(&child.wait_with_output().unwrap());
    assert_eq!(run.code, 130, "{run:?}");
    let pages = run.count("pages");
    assert!(pages > 0 && pages < 101 && run.count("indexed") == pages, "{run:?}");
    assert!(!seine.archives().is_empty());
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("indexed")), (0, 101, 101), "{run:?}");
    crate::completeness::assert_complete_and_exact(&web);
}

#[test]
fn settings_are_printed_checked_and_used() {
    let (code, defaults, _) = plain(&["config", "default"]);
    assert_eq!(code, 0);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("seine.toml");
    std::fs::write(&file, &defaults).unwrap();
    assert_eq!(plain(&["config", "check", file.to_str().unwrap()]).0, 0);
    std::fs::write(&file, "[crawl]\ndely = 1\n").unwrap();
    let (code, _, stderr) = plain(&["config", "check", file.to_str().unwrap()]);
    assert!(code == 2 && stderr.contains("crawl.delay"), "{stderr}");
}

#[test]
fn what_is_not_text_in_the_environment_or_a_path_is_no_panic() {
    use std::os::unix::ffi::OsStrExt;
    let broken = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let directory = tempfile::tempdir().unwrap();
    let check = |name: &str| {
        let words = ["search", "--data", directory.path().to_str().unwrap(), "river"];
        let output = Command::new(binary("seine")).args(words).env(name, broken).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for name in ["SEINE_CRAWL_SCOPE", "SEINE_TOKEN", "SEINE_LOG"] {
        let (code, stderr) = check(name);
        assert!(code == Some(2) && stderr.contains(name) && stderr.contains("not UTF-8"), "{name}: {code:?} {stderr}");
    }
    // What belongs to others does not matter.
    let (code, stderr) = check("SOMEBODY_ELSES");
    assert!(code == Some(1) && stderr.contains("no data directory"), "{code:?} {stderr}");
    // Words must be text, paths need not.
    let crawl = |data: &std::path::Path| {
        let words = ["crawl", "http://127.0.0.1:2/", "--allow-net", "127.0.0.0/8", "--delay", "0", "--json", "--data"];
        Command::new(binary("seine")).args(words).arg(data).output().unwrap()
    };
    let output = crawl(&directory.path().join(broken));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"failed\":1"), "{output:?}");
    let output = Command::new(binary("seine")).args(["crawl".as_ref(), broken]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn the_index_can_be_rebuilt_from_the_log_without_fetching() {
    let web = FakeWeb::start(FakeWebConfig::small(30));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let before = seine.documents(crate::killing::COMMON_WORD);
    web.clear();
    let rebuilt = seine.run(&["index", "rebuild", "--json"]);
    assert_eq!(String::from_utf8_lossy(&rebuilt.stdout).trim(), "{\"documents\":31}", "{rebuilt:?}");
    assert_eq!(seine.documents(crate::killing::COMMON_WORD), before);
    assert!(web.requests().is_empty());
}

#[test]
fn a_command_whose_reader_has_seen_enough_ends_quietly() {
    let mut child = Command::new(binary("seine"))
        .args(["config", "default"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // As `head` does once it has its lines.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}
