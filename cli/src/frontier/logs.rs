//! The description logs beside a resting frontier: that of the filesaver in the same data directory.
//!
//! Logs of filesavers on other machines cannot be read while their server rests; pages that are in them are counted and left alone.

use std::collections::HashSet;

use seine_common::config::Config;
use seine_common::data_dir::DataDir;
use seine_proto::filesaver::v1::{FollowRequest, LogEntry};
use tokio::runtime::Handle;

use crate::args::Role;
use crate::failure::{Failure, Result};
use crate::filesavers::{self, Answering};
use crate::output::damage_text;
use crate::process::{FILESAVER_DIR, Plan, Process};

pub struct Logs {
    process: Option<Process>,
    filesavers: Vec<Answering>,
    damaged: HashSet<(String, u64)>,
}

impl Logs {
    pub async fn open(data: &DataDir, config: &Config) -> Result<Self> {
        let mut this = Self { process: None, filesavers: Vec::new(), damaged: HashSet::new() };
        // None is made where there is none.
        if data.root().join(FILESAVER_DIR).exists() {
            let process = Process::start(Plan::alone(&[Role::Filesaver], data.clone(), config.clone())).await?;
            this.filesavers = filesavers::answering(&process.services().filesavers).await?;
            this.process = Some(process);
        }
        Ok(this)
    }

    /// The names of those that are read.
    pub fn names(&self) -> HashSet<String> {
        self.filesavers.iter().map(|filesaver| filesaver.log_id.clone()).collect()
    }

    /// Hands out all entries, each batch with the number of its first.
    pub fn read(&mut self, handle: &Handle, mut take: impl FnMut(u64, &[LogEntry]) -> Result<()>) -> Result<()> {
        let mut number = 0;
        for filesaver in &mut self.filesavers {
            let followed = handle.block_on(filesaver.client.follow(FollowRequest::default()))?;
            let (mut batches, mut offset) = (followed.into_inner(), 0);
            while offset < filesaver.end_offset {
                let batch = handle.block_on(batches.message())?;
                let batch = batch.ok_or_else(|| Failure::failed("the description log ended too early; try again"))?;
                for stretch in &batch.damaged {
                    if self.damaged.insert((filesaver.log_id.clone(), stretch.start)) {
                        eprintln!("{}; pages there count as not logged", damage_text(stretch));
                    }
                }
                take(number, &batch.entries)?;
                number += batch.entries.len() as u64;
                offset = batch.end_offset;
            }
        }
        Ok(())
    }

    pub async fn close(self) {
        if let Some(process) = self.process
            && let Err(failure) = process.close().await
        {
            tracing::error!(%failure, "the data directory was not closed in order");
        }
    }
}
