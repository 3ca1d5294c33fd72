//! Several filesavers, each with a log of its own: one index of all of them.

use super::*;

async fn rebuild(indexer: &RunningIndexer, without_logs: Vec<String>) -> Result<u64, tonic::Status> {
    let request = Request::new(RebuildRequest { without_logs });
    in_time(indexer.indexer.rpc().rebuild(request)).await.map(|rebuilt| rebuilt.into_inner().documents)
}

async fn two(root: &Path) -> [RunningFilesaver; 2] {
    [
        RunningFilesaver::start(&root.join("a"), "127.0.0.1:0").await,
        RunningFilesaver::start(&root.join("b"), "127.0.0.1:0").await,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_log_is_followed_also_one_that_comes_later_and_a_page_of_two_logs_is_there_once() {
    let root = tempfile::tempdir().unwrap();
    let [a, b] = two(root.path()).await;
    let filesavers = Filesavers::of([a.known()]);
    let indexer = RunningIndexer::start_with(&root.path().join("index"), filesavers.clone());
    a.save((0..20).map(|number| (number, 1))).await;
    b.save((10..30).map(|number| (number, 2))).await;
    indexer.flush(a.log_end().await).await;
    assert_eq!(indexer.documents().await, 20);
    let (log_id, channel) = b.known();
    filesavers.insert(log_id, channel);
    indexer.flush(b.log_end().await).await;
    assert_eq!(indexer.documents().await, 30);

    // A withdrawal counts for what another log has, and not for what came later.
    for number in [0, 10] {
        let withdrawn = Withdrawn { url: url(number), at_ms: 3, token: 2, epoch: 1 };
        b.filesaver.withdraw(withdrawn).await.unwrap();
    }
    indexer.flush(b.log_end().await).await;
    assert_eq!(indexer.documents().await, 28);
    assert_eq!(rebuild(&indexer, Vec::new()).await.unwrap(), 28);
    assert_eq!(indexer.status().await.committed.len(), 2);
    indexer.stop().await;
    a.stop().await;
    b.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_with_pages_of_a_filesaver_that_is_away_is_not_replaced_without_them() {
    let root = tempfile::tempdir().unwrap();
    let [a, b] = two(root.path()).await;
    let filesavers = Filesavers::of([a.known(), b.known()]);
    let index = root.path().join("index");
    let indexer = RunningIndexer::start_with(&index, filesavers.clone());
    a.save((0..10).map(|number| (number, 1))).await;
    b.save((10..15).map(|number| (number, 1))).await;
    indexer.flush(a.log_end().await).await;
    indexer.flush(b.log_end().await).await;
    let before = publish::current(&index).unwrap().unwrap();

    let (missing, _) = b.known();
    filesavers.remove(&missing);
    b.stop().await;
    let refused = rebuild(&indexer, Vec::new()).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains(&format!("--without {missing}")), "{refused}");
    assert_eq!((indexer.documents().await, publish::current(&index).unwrap().unwrap()), (15, before));
    let says_so = async {
        while !indexer.status().await.trouble.contains(&missing) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(says_so).await;
    // The others go on.
    a.save([(20, 1)]).await;
    indexer.flush(a.log_end().await).await;
    assert_eq!(indexer.documents().await, 16);

    let b = RunningFilesaver::start(&root.path().join("b"), "127.0.0.1:0").await;
    b.save([(21, 1)]).await;
    let (log_id, channel) = b.known();
    assert_eq!(log_id, missing, "the name stays with the directory");
    filesavers.insert(log_id, channel);
    indexer.flush(b.log_end().await).await;
    assert_eq!(indexer.documents().await, 17);
    assert_eq!(indexer.status().await.trouble, "");
    assert_eq!(rebuild(&indexer, Vec::new()).await.unwrap(), 17);

    filesavers.remove(&missing);
    b.stop().await;
    assert_eq!(rebuild(&indexer, vec![missing]).await.unwrap(), 11, "on purpose");
    indexer.stop().await;
    a.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_index_waits_for_all_its_logs_before_it_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let [a, b] = two(root.path()).await;
    let index = root.path().join("index");
    let indexer = RunningIndexer::start_with(&index, Filesavers::of([a.known(), b.known()]));
    a.save((0..50).map(|number| (number, 1))).await;
    b.save((50..60).map(|number| (number, 1))).await;
    indexer.flush(a.log_end().await).await;
    indexer.flush(b.log_end().await).await;
    indexer.stop().await;
    let damaged = damage(&index);

    let filesavers = Filesavers::of([a.known()]);
    let indexer = RunningIndexer::start_with(&index, filesavers.clone());
    indexer.flush(a.log_end().await).await;
    assert_eq!(publish::current(&index).unwrap().unwrap(), damaged);
    let (log_id, channel) = b.known();
    filesavers.insert(log_id, channel);
    let healed = async {
        while indexer.documents().await != 60 || publish::current(&index).unwrap().unwrap() == damaged {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(healed).await;
    indexer.stop().await;
    a.stop().await;
    b.stop().await;
}
