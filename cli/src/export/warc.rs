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
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{AnswersRequest, Capture, ReadForm, ReadRequest, ReadResponse, read_request::Record};
use tonic::Code;
use tonic::transport::Channel;

use super::Written;
use super::pages::Pages;
use super::selection::Selection;
use super::sink::Sink;
use crate::failure::Result;

struct Copier {
    filesaver: FilesaverClient<Channel>,
    sink: Sink,
    // Fingerprints of the positions copied so far, under a key of this run.
    key: RandomState,
    copied: HashSet<u64>,
}

pub async fn write(pages: &mut Pages, file: &Path) -> Result<Written> {
    let mut sink = Sink::open(Some(file))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    sink.write(&warcinfo(&name, concat!("seine/", env!("CARGO_PKG_VERSION")), Clock::System.now_ms()))?;
    let mut copier = Copier { filesaver: pages.filesaver(), sink, key: RandomState::new(), copied: HashSet::new() };
    let mut written = Written::default();
    while let Some(batch) = pages.next_batch().await? {
        for page in &batch {
            match copier.copy(page).await? {
                true => written.pages += 1,
                false => written.left_out += 1,
            }
        }
    }
    copier.copy_answers(pages.selection()).await?;
    written.lines = copier.copied.len() as u64;
    copier.sink.finish()?;
    Ok(written)
}

impl Copier {
    /// False when the archive does not have the page.
    async fn copy(&mut self, page: &Description) -> Result<bool> {
        let Some(position) = page.archive.clone() else { return Ok(false) };
        let Some(found) = self.read(Record::Position(position)).await? else { return Ok(false) };
        let is_own = found.url == page.url && found.at_ms == page.fetched_at_ms;
        self.write(&found)?;
        if !is_own {
            let capture = Capture { url: page.url.clone(), at_ms: page.fetched_at_ms };
            if let Some(revisit) = self.read(Record::Capture(capture)).await? {
                self.write(&revisit)?;
            }
        }
        Ok(true)
    }

    async fn copy_answers(&mut self, selection: &Selection) -> Result<()> {
        let mut batches = self.filesaver.answers(AnswersRequest {}).await?.into_inner();
        while let Some(batch) = batches.message().await? {
            for answer in batch.answers.into_iter().filter(|answer| selection.takes_answer(answer)) {
                let Some(found) = self.read(Record::Position(answer.position.unwrap_or_default())).await? else {
                    continue;
                };
                if selection.crawl().is_none_or(|crawl| crawl == found.crawl) {
                    self.write(&found)?;
                }
            }
        }
        Ok(())
    }

    async fn read(&mut self, record: Record) -> Result<Option<ReadResponse>> {
        match self
            .filesaver
            .read(ReadRequest { record: Some(record), form: ReadForm::Records.into(), document: None })
            .await
        {
            Ok(found) => Ok(Some(found.into_inner())),
            Err(status) if matches!(status.code(), Code::NotFound | Code::DataLoss) => Ok(None),
            Err(status) => Err(status.into()),
        }
    }

    /// Each record once.
    fn write(&mut self, found: &ReadResponse) -> Result<()> {
        let ArchivePosition { file, offset, .. } = found.position.clone().unwrap_or_default();
        if self.copied.insert(self.key.hash_one((file, offset))) {
            self.sink.write(&found.body)?;
        }
        Ok(())
    }
}
