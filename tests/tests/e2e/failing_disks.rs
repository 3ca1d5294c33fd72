//! Disks that take no more: what is said, what is not fetched, and how the process ends.
//!
//! A limit on the size of files makes real errors of real writes, for a process that ignores SIGXFSZ.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine, binary, crawl_run, interrupt};
use seine_tests::{LiveWeb, eventually};
use serde_json::Value;

const DEADLINE: Duration = Duration::from_secs(60);

/// `seine` with these words, none of whose files may become larger than so many kilobytes.
fn limited(seine: &Seine, kilobytes: u32, words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let blocks = 2 * kilobytes;
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    command.arg(binary("seine")).args(words).arg("--data").arg(seine.data()).current_dir(seine.data());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for the end of a process; it is killed when the time is up.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let until = Instant::now() + DEADLINE;
    while child.try_wait().expect("it can be awaited").is_none() {
        if Instant::now() >= until {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut stderr = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut stderr).expect("it is text");
    (child.wait().expect("it has ended").code(), stderr)
}

/// A site whose pages do not compress, each larger than it looks.
fn heavy_site(pages: usize) -> LiveWeb {
    let web = LiveWeb::new();
    let links: Vec<String> = (0..pages).map(|number| format!("/{number}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    web.put("/", "the beginning", &links);
    for (number, path) in links.iter().enumerate() {
        let noise: String = (0..60_000).map(|_| char::from(33 + rand::random::<u8>() % 90)).collect();
        let noise = noise.replace(['-', '<', '>'], "+");
        let body = format!("<!doctype html><title>{number}</title><p>heavy page number {number}</p><!-- {noise} -->");
        web.put_file(path, "text/html; charset=utf-8", body.as_bytes());
    }
    web
}

fn shown(seine: &Seine, name: &str) -> Value {
    let output = seine.run(&["crawls", "show", name, "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test]
async fn while_pages_cannot_be_saved_nothing_is_fetched_the_reason_is_told_and_nothing_is_lost() {
    const PAGES: usize = 40;
    let web = heavy_site(PAGES);
    let seine = Seine::new();
    let url = web.url("/");
    let words = [&["crawl", &url, "--name", "c", "--delay", "0.01", "--json"], ALLOW_LOOPBACK.as_slice()].concat();
    let child = limited(&seine, 1_000, &words).spawn().expect("sh can be started");
    // Before that, nobody holds the directory.
    let mut asked = Vec::new();
    eventually(DEADLINE, "the crawl begins", async || {
        asked.extend(web.take_requests().into_iter().map(|request| request.path));
        !asked.is_empty()
    })
    .await;
    let reason = eventually(DEADLINE, "the reason is told", async || {
        let shown = shown(&seine, "c");
        let waiting = shown["waiting"].as_str().unwrap_or_default().to_owned();
        if waiting.starts_with("pages cannot be saved: cannot write ") { Ok(waiting) } else { Err(shown) }
    })
    .await;
    assert!(reason.contains("archive") && reason.contains("check free space"), "{reason}");
    asked.extend(web.take_requests().into_iter().map(|request| request.path));
    assert!(asked.len() > 5 && asked.len() < PAGES, "{asked:?}");
    // Long enough for what used to be fetched again every two seconds; the reason stays.
    for _ in 0..12 {
        let shown = shown(&seine, "c");
        assert_eq!(shown["waiting"], Value::String(reason.clone()), "{shown}");
        let troubles = shown["troubles"].to_string();
        assert!(troubles.contains("filesaver: cannot write") && troubles.contains("collector: pages"), "{troubles}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(web.take_requests(), [], "nothing is fetched that cannot be kept");
    interrupt(&child);
    let run = crawl_run(&child.wait_with_output().expect("it can be awaited"));
    assert_eq!(run.code, 130, "{run:?}");
    let saved = run.count("pages");
    assert!(saved > 3 && run.count("failed") == 0, "{run:?}");

    // With room again, the same command does the rest, and asks again only for what was under way.
    let run = seine.crawl(&url, &["--name", "c", "--delay", "0"]);
    assert_eq!((run.code, run.count("pages"), run.count("failed")), (0, PAGES as u64 + 1, 0), "{run:?}");
    let again = web.take_requests().into_iter().filter(|request| asked.contains(&request.path)).count();
    assert!(again as u64 <= asked.len() as u64 - saved, "{again} of {} pages, {saved} saved", asked.len());
}

#[tokio::test]
async fn a_monitor_whose_store_fails_ends_the_process_with_a_sentence_and_exit_1() {
    let seine = Seine::new();
    let words = ["serve", "--roles", "monitor", "--grpc", "127.0.0.1:0"];
    let mut server = limited(&seine, 1_500, &words).spawn().expect("sh can be started");
    let stdout = server.stdout.take().expect("it is piped");
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut first).expect("it says that it is ready");
    assert!(first.starts_with("ready http="), "{first}");
    let refused = eventually(DEADLINE, "the store takes no more", async || {
        let seeds: Vec<String> = (0..1_000).map(|_| format!("http://h.test/{:032x}", rand::random::<u128>())).collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let name = format!("{:x}", rand::random::<u64>());
        let output = seine.run(&[&["crawls", "add", "--name", &name], seeds.as_slice()].concat());
        if output.status.success() { Err("it was added".to_owned()) } else { Ok(output) }
    })
    .await;
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "a failure, not wrong usage: {stderr}");
    assert!(stderr.contains("the frontier cannot be read or written"), "{stderr}");
    let (code, stderr) = ended(server);
    assert_eq!(code, Some(1), "{stderr}");
    let sentence = stderr.lines().rfind(|line| line.starts_with("seine: ")).unwrap_or_default();
    assert!(sentence.starts_with("seine: the monitor has stopped: the frontier cannot be"), "{stderr}");
}

#[tokio::test]
async fn an_index_that_cannot_be_written_is_told_and_stops_neither_crawl_nor_search() {
    let web = LiveWeb::new();
    web.put("/", "the first page", &["/2"]);
    web.put("/2", "the second page", &[]);
    let seine = Seine::new();
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    // Where the index has its files, there is a file now.
    let index = seine.data().join("index");
    eventually(DEADLINE, "the index is there", async || index.join("CURRENT").exists() || index.exists()).await;
    std::fs::remove_dir_all(&index).expect("it can be removed");
    std::fs::write(&index, "in the way").expect("it can be written");
    let url = web.url("/");
    let add = [&["crawls", "add", &url, "--name", "c", "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
    assert!(seine.run(&add).status.success());
    eventually(DEADLINE, "the crawl ends and the index is said to be unwell", async || {
        let shown = shown(&seine, "c");
        let told = shown["troubles"].to_string().contains("indexer: ");
        if shown["pages"] == 2 && shown["state"] == "finished" && told { Ok(()) } else { Err(shown) }
    })
    .await;
    let (status, text) = crate::server::get(&server, "/readyz").await;
    assert!(text.contains("indexer: unwell: ") || status == 503, "{status} {text}");
}
