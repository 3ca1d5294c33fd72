//! Readers of the description log.

use seine_analyser::filesaver::MAX_DESCRIPTION_BYTES;
use seine_proto::common::v1::Withdrawn;
use seine_proto::filesaver::v1::{DamagedStretch, FollowRequest, FollowResponse, log_entry::Entry};
use tonic::{Code, Streaming};

use crate::support::*;

async fn follow(node: &Node, from_offset: u64) -> Streaming<FollowResponse> {
    node.client().follow(FollowRequest { from_offset, ..FollowRequest::default() }).await.unwrap().into_inner()
}

#[tokio::test]
async fn an_empty_log_is_at_its_end_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let first = soon(follow(&node, 0).await.message()).await.unwrap().unwrap();
    assert_eq!((first.at_end, first.end_offset, first.entries.len()), (true, 0, 0));
    node.close().await;
}

#[tokio::test]
async fn several_followers_see_every_entry_once_while_it_is_written() {
    const PAGES: u64 = 300;
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let followers: Vec<_> = [follow(&node, 0).await, follow(&node, 0).await, follow(&node, 0).await]
        .into_iter()
        .map(|mut stream| {
            tokio::spawn(async move {
                let mut urls = Vec::new();
                while urls.len() < PAGES as usize {
                    urls.extend(described_urls(&stream.message().await.unwrap().unwrap().entries));
                }
                urls
            })
        })
        .collect();
    node.save(requests(0..100)).await;
    node.save(requests(100..PAGES)).await;
    let mut expected: Vec<String> = (0..PAGES).map(url).collect();
    expected.sort();
    for follower in followers {
        let mut seen = soon(follower).await.unwrap();
        seen.sort();
        assert_eq!(seen, expected);
    }
    node.close().await;
}

#[tokio::test]
async fn a_follower_goes_on_where_it_stopped_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    node.save(requests(0..10)).await;
    let (first, offset) = node.read_log(0).await;
    let log_id = node.filesaver.log_id().to_owned();
    node.save(requests(10..20)).await;
    node.close().await;

    let node = Node::open(dir.path());
    assert_eq!(node.filesaver.log_id(), log_id);
    node.save(requests(20..30)).await;
    let (rest, end) = node.read_log(offset).await;
    assert_eq!(end, node.filesaver.log_end());
    let mut seen = [described_urls(&first), described_urls(&rest)].concat();
    seen.sort();
    let mut expected: Vec<String> = (0..30).map(url).collect();
    expected.sort();
    assert_eq!(seen, expected);
    node.close().await;
}

#[tokio::test]
async fn long_logs_come_in_bounded_batches() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut pages = requests(0..40);
    for page in &mut pages {
        page.description.as_mut().unwrap().text = "word ".repeat(100_000);
    }
    node.save(pages).await;
    let mut stream = follow(&node, 0).await;
    let (mut batches, mut entries) = (0, 0);
    loop {
        let batch = soon(stream.message()).await.unwrap().unwrap();
        assert!(prost::Message::encoded_len(&batch) < 5 << 20);
        batches += 1;
        entries += batch.entries.len();
        if batch.at_end {
            break;
        }
    }
    assert_eq!(entries, 40);
    assert!(batches >= 4, "{batches}");
    node.close().await;
}

#[tokio::test]
async fn the_largest_description_reaches_followers_and_a_larger_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut pages = requests(0..3);
    for (page, bytes) in pages.iter_mut().zip([MAX_DESCRIPTION_BYTES - 100, MAX_DESCRIPTION_BYTES, 10]) {
        page.description.as_mut().unwrap().text = "x".repeat(bytes);
    }
    let answers = node.try_save(pages).await;
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(node.read_log(0).await.0.len(), 2);
    node.close().await;
}

#[tokio::test]
async fn a_follower_is_told_of_a_damaged_entry_and_goes_on_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut ends = Vec::new();
    for number in 0..3 {
        ends.push(node.save(requests(number..number + 1)).await[0].log_offset);
    }
    let path = dir.path().join("log").join(format!("{:020}.log", 0));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[ends[1] as usize - 1] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let mut stream = follow(&node, 0).await;
    let first = soon(stream.message()).await.unwrap().unwrap();
    assert_eq!((described_urls(&first.entries), first.at_end), (vec![url(0)], false));
    let lost = soon(stream.message()).await.unwrap().unwrap();
    assert_eq!((lost.entries.len(), lost.end_offset), (0, ends[1]));
    let DamagedStretch { start, end, reason } = &lost.damaged[0];
    assert_eq!((*start, *end, reason.as_str()), (ends[0], ends[1], "its checksum is wrong"));
    let last = soon(stream.message()).await.unwrap().unwrap();
    assert_eq!((described_urls(&last.entries), last.at_end, last.damaged.len()), (vec![url(2)], true, 0));
    node.close().await;
}

#[tokio::test]
async fn an_offset_of_a_log_that_was_cut_and_has_grown_again_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let saved = node.save(requests(0..1)).await;
    node.save(requests(1..2)).await;
    let mut stream = follow(&node, 0).await;
    let known = soon(stream.message()).await.unwrap().unwrap();
    assert_eq!(known.end_offset, node.filesaver.log_end());
    node.close().await;
    let path = dir.path().join("log").join(format!("{:020}.log", 0));
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(saved[0].log_offset).unwrap();

    let node = Node::open(dir.path());
    let request = FollowRequest { from_offset: known.end_offset, mark: known.mark };
    let refusal = node.client().follow(request).await.unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfRange, "{refusal}");
    // As long as the one that was cut off: the offset alone would be taken for one of this log.
    node.save(requests(2..3)).await;
    assert_eq!(node.filesaver.log_end(), known.end_offset);
    let refusal = node.client().follow(request).await.unwrap_err();
    assert_eq!(refusal.code(), Code::FailedPrecondition, "{refusal}");
    node.close().await;
}

#[tokio::test]
async fn an_offset_that_the_log_never_gave_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let saved = node.save(requests(0..2)).await;
    let refusal = |offset| {
        let mut client = node.client();
        async move {
            client.follow(FollowRequest { from_offset: offset, ..FollowRequest::default() }).await.unwrap_err().code()
        }
    };
    let end = node.filesaver.log_end();
    assert_eq!(refusal(end + 1).await, Code::OutOfRange);
    assert_eq!(refusal(u64::MAX).await, Code::OutOfRange);
    for offset in (1..end).filter(|offset| saved.iter().all(|saved| saved.log_offset != *offset)) {
        assert_eq!(refusal(offset).await, Code::InvalidArgument, "{offset}");
    }
    node.close().await;
}

#[tokio::test]
async fn closing_ends_followers() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let mut stream = follow(&node, 0).await;
    assert!(soon(stream.message()).await.unwrap().unwrap().at_end);
    node.close().await;
    assert!(soon(stream.message()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_withdrawal_is_an_entry_like_others() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    node.save(requests(0..1)).await;
    let withdrawn = Withdrawn { url: url(0), at_ms: 5, token: 2, epoch: 1 };
    let end = soon(node.filesaver.withdraw(withdrawn.clone())).await.unwrap();
    let (entries, offset) = node.read_log(0).await;
    assert_eq!((entries.len(), offset), (2, end));
    assert_eq!(entries[1].entry, Some(Entry::Withdrawn(withdrawn)));
    node.close().await;
}
