//! `seine export warc`: the records of the selected pages, as they stand in the archive, in one file.
//!
//! A page whose body the archive holds from an earlier fetch brings that record along, so that the file can be replayed
//! by itself. So do the answers that are no pages: redirects, errors, robots.txt.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use seine_analyser::filesaver::warcinfo;
use seine_common::clock::Clock;
use seine_proto::common::v1::{ArchivePosition, Description};
use seine_proto::filesaver::v1::{AnswersRequest, Capture, ReadForm, ReadRequest, ReadResponse, read_request::Record};
use tonic::Code;

use super::Written;
use super::pages::Pages;
use super::selection::Selection;
use super::sink::Sink;
use crate::connect::FilesaverCalls;
use crate::failure::Result;

type Client = FilesaverCalls;

struct Copier {
    sink: Sink,
    // Fingerprints of the positions copied so far, under a key of this run.
    key: RandomState,
    copied: HashSet<u64>,
}

pub async fn write(pages: &mut Pages, file: &Path) -> Result<Written> {
    let mut sink = Sink::open(Some(file))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    sink.write(&warcinfo(&name, concat!("seine/", env!("CARGO_PKG_VERSION")), Clock::System.now_ms()))?;
    let mut copier = Copier { sink, key: RandomState::new(), copied: HashSet::new() };
    let mut written = Written::default();
    while let Some(batch) = pages.next_batch().await? {
        for page in &batch {
            let Some(position) = page.archive.clone().filter(|position| !position.file.is_empty()) else {
                written.left_out += 1;
                continue;
            };
            let filesaver = pages.filesaver(&position)?;
            match copier.copy(page, position, filesaver).await? {
                true => written.pages += 1,
                false => written.left_out += 1,
            }
        }
    }
    for filesaver in pages.filesavers() {
        copier.copy_answers(pages.selection(), filesaver).await?;
    }
    written.lines = copier.copied.len() as u64;
    copier.sink.finish()?;
    Ok(written)
}

impl Copier {
    /// False when the archive does not have the page.
    async fn copy(&mut self, page: &Description, position: ArchivePosition, mut filesaver: Client) -> Result<bool> {
        let Some(found) = read(&mut filesaver, Record::Position(position)).await? else { return Ok(false) };
        let is_own = found.url == page.url && found.at_ms == page.fetched_at_ms;
        self.write(&found)?;
        if !is_own {
            let capture = Capture { url: page.url.clone(), at_ms: page.fetched_at_ms };
            if let Some(revisit) = read(&mut filesaver, Record::Capture(capture)).await? {
                self.write(&revisit)?;
            }
        }
        Ok(true)
    }

    async fn copy_answers(&mut self, selection: &Selection, mut filesaver: Client) -> Result<()> {
        let mut batches = filesaver.answers(AnswersRequest {}).await?.into_inner();
        while let Some(batch) = batches.message().await? {
            for answer in batch.answers.into_iter().filter(|answer| selection.takes_answer(answer)) {
                let position = Record::Position(answer.position.unwrap_or_default());
                let Some(found) = read(&mut filesaver, position).await? else {
                    continue;
                };
                if selection.crawl().is_none_or(|crawl| crawl == found.crawl) {
                    self.write(&found)?;
                }
            }
        }
        Ok(())
    }

    /// Each record once.
    fn write(&mut self, found: &ReadResponse) -> Result<()> {
        let ArchivePosition { filesaver, file, offset, .. } = found.position.clone().unwrap_or_default();
        if self.copied.insert(self.key.hash_one((filesaver, file, offset))) {
            self.sink.write(&found.body)?;
        }
        Ok(())
    }
}

/// `None` where the archive does not have it, or not whole.
async fn read(filesaver: &mut Client, record: Record) -> Result<Option<ReadResponse>> {
    match filesaver.read(ReadRequest { record: Some(record), form: ReadForm::Records.into(), document: None }).await {
        Ok(found) => Ok(Some(found.into_inner())),
        Err(status) if matches!(status.code(), Code::NotFound | Code::DataLoss) => Ok(None),
        Err(status) => Err(status.into()),
    }
}
