//! Seine where the system allows it less: under the filter of its systemd unit, and on a kernel without sandboxes.

use std::time::{Duration, Instant};

use seine_tests::LiveWeb;
use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};
use seine_tests::system_calls;

const UNIT: &str = include_str!("../../../deploy/systemd/seine.service");
const PDF: &[u8] = include_bytes!("../../../analyser/tests/data/drawn.pdf");

fn web() -> LiveWeb {
    let web = LiveWeb::new();
    web.put("/robots.txt", "", &[]);
    web.put("/", "a page about windmills", &["/one.pdf", "/two.pdf", "/three.pdf"]);
    for path in ["/one.pdf", "/two.pdf", "/three.pdf"] {
        web.put_file(path, "application/pdf", PDF);
    }
    web
}

/// Niceness of the threads of a process whose name begins like this.
fn niceness(process: u32, name: &str) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let tasks = tasks.flatten().filter(|task| read(task.path().join("comm")).starts_with(name));
    tasks
        .filter_map(|task| {
            let stat = read(task.path().join("stat"));
            // Behind the name in parentheses, which may hold anything: state is field 3, niceness field 19.
            stat.rsplit_once(") ")?.1.split(' ').nth(16)?.parse().ok()
        })
        .collect()
}

#[test]
fn under_the_filter_of_the_unit_pages_and_documents_are_read_and_analysis_gives_way_to_searches() {
    let Some(allowed) = system_calls::allowed_by_unit(UNIT) else {
        println!("skipped: without systemd-analyze nobody knows what the unit's groups of system calls are");
        return;
    };
    assert!(allowed.contains("read") && !allowed.contains("sched_setscheduler") && !allowed.contains("chroot"));
    let (web, seine) = (web(), Seine::new());
    let nice = system_calls::with_only(&allowed, || {
        let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
        let url = web.url("/");
        let add = [&["crawls", "add", &url, "--name", "site", "--delay", "0"], ALLOW_LOOPBACK.as_slice()].concat();
        let added = seine.run(&add);
        assert!(added.status.success(), "{added:?}");
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let shown = seine.run(&["crawls", "show", "site", "--json"]);
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            if shown.contains("\"pages\":4") {
                break;
            }
            assert!(Instant::now() < deadline, "{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
        let nice = niceness(server.process(), "analyser-cpu");
        assert_eq!(server.interrupt(), 130);
        nice
    });
    assert!(!nice.is_empty() && nice.iter().all(|nice| *nice == 10), "{nice:?}");
    assert_eq!(seine.search("windmills", &[])["total"], 1);
    assert_ne!(seine.search("žluťoučký", &[])["total"], 0, "documents are converted inside two sandboxes");
}

#[test]
fn on_a_kernel_without_sandboxes_documents_are_converted_and_the_log_says_so_once() {
    let (web, seine) = (web(), Seine::new());
    let lacking = "converters run without part of their sandbox";
    let run = system_calls::without(&["landlock_create_ruleset", "seccomp"], || {
        seine.crawl(&web.url("/"), &["--delay", "0"])
    });
    assert_eq!((run.code, run.count("pages")), (0, 4), "{run:?}");
    assert_eq!(run.stderr.matches(lacking).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("Landlock") && run.stderr.contains("seccomp"), "{}", run.stderr);
    assert_ne!(seine.search("žluťoučký", &[])["total"], 0);

    let seine = Seine::new();
    let run = seine.crawl(&web.url("/"), &["--delay", "0"]);
    assert_eq!((run.code, run.count("pages")), (0, 4), "{run:?}");
    assert!(!run.stderr.contains(lacking), "{}", run.stderr);
}
