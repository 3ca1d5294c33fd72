//! Indexing: descriptions into documents, committed as often as Seine does, and once at the end.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use seine_indexer::checkpoint::LogProgress;
use seine_indexer::entry::Entry;
use seine_indexer::writer::DocumentWriter;
use seine_indexer::{Indexer, IndexerConfig, publish};
use seine_proto::common::v1::Description;
use seine_proto::filesaver::v1::{LogEntry, log_entry};

pub fn run(descriptions: Vec<Description>, directory: &Path) -> anyhow::Result<()> {
    let config = IndexerConfig::default();
    // Makes an empty index.
    drop(Indexer::open(directory, config.clone())?);
    let path = publish::current(directory)?.context("there is an index")?;
    let mut writer = DocumentWriter::open(&path, &config)?;
    let expected = descriptions.len() as u64;
    let mut committed = Instant::now();
    for (description, end_offset) in descriptions.into_iter().zip(1..) {
        let logged = LogEntry { entry: Some(log_entry::Entry::Description(description)) };
        writer.apply(Entry::from_log(logged).context("a description is an entry")?)?;
        writer.advance("bench", LogProgress::at(end_offset));
        if committed.elapsed() >= config.commit_interval {
            writer.commit()?;
            committed = Instant::now();
        }
    }
    writer.commit()?;
    let documents = writer.reader().searcher().num_docs();
    ensure!(documents == expected, "{documents} documents are in the index instead of {expected}");
    Ok(())
}
