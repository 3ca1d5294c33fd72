//! A bit that flips, a file that is cut or gone: the program starts, says so, and every page whose log entry and archive
//! record are whole is found, exported and in the rebuilt index.
//!
//! Most cases open the tiers in this process, with the code that the program runs; some start the program.
//! `SEINE_SEED=N` repeats the cases of a run.

mod crawled;
mod harm;
mod opened;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use seine_tests::eventually;
use seine_tests::fake_web::dice::Dice;
use seine_tests::sandbox::{ALLOW_LOOPBACK, Seine};

use crate::killing::COMMON_WORD;
use crawled::Crawled;
use harm::Harm;
use opened::examine;

const CASES: usize = 200;
const CASES_OF_THE_PROGRAM: usize = 6;
/// Opening mostly waits for the disk.
const AT_ONCE: usize = 6;

fn seed() -> u64 {
    let seed = std::env::var("SEINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("SEINE_SEED={seed}");
    seed
}

#[test]
fn every_page_that_is_whole_survives_any_bit_and_any_cut() {
    let mut dice = Dice::new(seed());
    opened::listen_to_logs();
    let directories = [Crawled::cleanly(), Crawled::killed()];
    let undamaged = directories.iter().map(|directory| (directory, Harm::none()));
    let damaged = (0..CASES).map(|_| {
        let directory = dice.pick(&directories);
        (directory, Harm::draw(directory, &mut dice))
    });
    let cases: Vec<_> = undamaged.chain(damaged).collect();
    let (runtime, next) = (tokio::runtime::Runtime::new().expect("a runtime starts"), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((directory, harm)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    runtime.block_on(examine(directory, harm));
                }
            });
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_starts_on_a_damaged_directory_and_names_the_damage() {
    let mut dice = Dice::new(seed());
    let directory = Crawled::killed();
    let cases = (0..CASES_OF_THE_PROGRAM).map(|_| Harm::draw(&directory, &mut dice)).collect::<Vec<_>>();
    for harm in cases {
        let (seine, expected) = (Seine::new(), directory.whole(&harm));
        directory.copy_to(seine.data());
        harm.inflict(seine.data());
        let serve = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
        let server = seine.start_logging(&serve, &seine.data().join("serve.log"));
        eventually(Duration::from_secs(60), "what is whole can be found", async || {
            let output = seine.run(&["search", "--json", "--limit", "1", COMMON_WORD]);
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let total = answer["total"].as_u64().unwrap_or(0);
            if total >= expected.len() as u64 { Ok(()) } else { Err(format!("{total} after {harm:?}")) }
        })
        .await;
        assert_eq!(server.interrupt(), 130, "{harm:?}");

        let rebuilt = seine.run(&["index", "rebuild"]);
        let exported = seine.run(&["export", "urls"]);
        for (what, output) in [("rebuild", &rebuilt), ("export", &exported)] {
            assert!(output.status.success(), "{what} after {harm:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let found: BTreeSet<String> = seine.documents(COMMON_WORD).into_iter().map(|document| document.url).collect();
        let exported_urls: BTreeSet<String> =
            String::from_utf8_lossy(&exported.stdout).lines().map(str::to_owned).collect();
        let missing = |urls: &BTreeSet<String>| expected.difference(urls).cloned().collect::<Vec<_>>();
        assert_eq!((missing(&found), missing(&exported_urls)), (vec![], vec![]), "{harm:?}");
        let told = [rebuilt.stderr, exported.stderr, std::fs::read(seine.data().join("serve.log")).unwrap()].concat();
        let told = String::from_utf8_lossy(&told);
        let lost = directory.pages().difference(&exported_urls).count();
        let is_noticeable = lost > 0 && !directory.is_cut_at_its_end(&harm);
        assert!(!is_noticeable || harm::is_named(&told), "{lost} pages lost without a word after {harm:?}: {told}");
    }
}

#[test]
fn a_damaged_frontier_is_refused_by_name_while_search_and_export_go_on() {
    let directory = Crawled::cleanly();
    let pages = directory.pages();
    for (name, is_removed) in [("CURRENT", false), ("CURRENT", true), ("MANIFEST", false)] {
        let seine = Seine::new();
        directory.copy_to(seine.data());
        let monitor = seine.data().join("monitor");
        let files = std::fs::read_dir(&monitor).unwrap().map(|entry| entry.unwrap().path());
        let is_wanted = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(name);
        let file = files.into_iter().find(is_wanted).unwrap();
        let bytes: Vec<u8> = std::fs::read(&file).unwrap().iter().map(|byte| byte ^ 0x55).collect();
        match is_removed {
            true => std::fs::remove_file(&file).unwrap(),
            false => std::fs::write(&file, bytes).unwrap(),
        }

        let crawl = [&["crawl", "http://127.0.0.1:2/"], ALLOW_LOOPBACK.as_slice()].concat();
        for words in [&crawl[..], &["crawls", "list"]] {
            let refused = seine.run(words);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(1), "{words:?}: {said}");
            assert!(said.contains(&monitor.display().to_string()), "{words:?}: {said}");
        }
        let search = || seine.documents(COMMON_WORD).into_iter().map(|document| document.url).collect::<BTreeSet<_>>();
        assert_eq!(search(), pages);
        let exported = seine.run(&["export", "urls"]);
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        assert_eq!(String::from_utf8_lossy(&exported.stdout).lines().count(), pages.len());
        let rebuilt = seine.run(&["index", "rebuild"]);
        assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
        assert_eq!(search(), pages);
        let served = ["serve", "--roles", "query,filesaver", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
        assert_eq!(seine.start(&served).interrupt(), 130);
    }
}
