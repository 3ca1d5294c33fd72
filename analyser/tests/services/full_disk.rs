//! A disk that takes no more. The test runs itself again under a limit on the size of files, which gives real errors
//! from real writes; a process that ignores SIGXFSZ sees them as a full disk.

use std::process::Command;

use crate::support::*;

const LIMITED: &str = "SEINE_TEST_LIMITED_DIR";
/// In units of 512 bytes, as the shell counts.
const LIMIT_BLOCKS: u64 = 64;

#[test]
fn a_full_disk_fails_the_batch_and_nothing_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let test = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("trap '' XFSZ; ulimit -f {LIMIT_BLOCKS}; exec \"$0\" --exact full_disk::under_the_limit --ignored --nocapture")])
        .arg(test)
        .env(LIMITED, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    // And the next process, with room again, finds everything in order.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let node = Node::open(dir.path());
        let (entries, _) = node.read_log(0).await;
        assert_eq!(described_urls(&entries), [url(0), url(2), url(4), url(6)]);
        node.close().await;
    });
}

#[tokio::test]
#[ignore = "started by the test above, under a limit"]
async fn under_the_limit() {
    let dir = std::path::PathBuf::from(std::env::var_os(LIMITED).expect("started under a limit"));
    let node = Node::open(&dir);
    node.save(vec![request(0)]).await;

    // The archive overflows.
    let mut large = request(1);
    large.page.as_mut().unwrap().body = noise(100_000).into();
    let refusal = node.try_save(vec![large]).await.remove(0).unwrap_err();
    assert!(refusal.contains("cannot write") && refusal.contains("archive"), "{refusal}");
    node.save(vec![request(2)]).await;

    // The archive takes it, the log overflows.
    let mut long = request(3);
    long.description.as_mut().unwrap().title =
        noise(100_000).into_iter().map(|byte| char::from_u32(0x4e00 + u32::from(byte) * 60).unwrap()).collect();
    let refusal = node.try_save(vec![long]).await.remove(0).unwrap_err();
    assert!(refusal.contains("cannot write") && refusal.contains("log"), "{refusal}");
    node.save(vec![request(4)]).await;

    // Both at once, beside a page that would fit: a batch fails as a whole or not at all.
    let mut large = request(5);
    large.page.as_mut().unwrap().body = noise(200_000).into();
    assert!(node.try_save(vec![large]).await[0].is_err());
    node.save(vec![request(6)]).await;

    let (entries, _) = node.read_log(0).await;
    assert_eq!(described_urls(&entries), [url(0), url(2), url(4), url(6)]);
    for entry in &entries {
        let description = description(entry);
        let record = record_at(&dir, description.archive.as_ref().unwrap());
        assert!(record.contains(&format!("WARC-Target-URI: {}\r\n", description.url)));
    }
    node.close().await;
    let names = archive_files(&dir);
    assert_eq!(names.len(), 1);
    // Nothing of the pages that failed is left.
    assert_eq!(records(&archive_path(&dir, &names[0])).len(), 1 + 2 * entries.len());
}
