//! Saving: WARC records and description log, compressed, written and synced, and the archive file sealed at the end.
//!
//! The filesaver is reached as everyone reaches it, over an in-memory gRPC channel; so this stage includes that one hop.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use seine_analyser::filesaver::{Filesaver, FilesaverConfig};
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::transport;
use seine_proto::common::v1::{Description, FetchedPage};
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{SaveRequest, save_response};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

/// Made before the stage begins; descriptions are needed again after it.
pub fn requests(pages: Vec<FetchedPage>, descriptions: &[Description]) -> Vec<SaveRequest> {
    let both = pages.into_iter().zip(descriptions.iter().cloned()).zip(0..);
    both.map(|((page, description), page_id)| SaveRequest {
        page_id,
        page: Some(page),
        description: Some(description),
        ..SaveRequest::default()
    })
    .collect()
}

pub fn run(runtime: &Runtime, requests: Vec<SaveRequest>, directory: &Path) -> anyhow::Result<()> {
    runtime.block_on(async {
        let filesaver = Filesaver::open(directory, FilesaverConfig::default())?;
        let (dialer, listener) = transport::in_memory();
        let stop = CancellationToken::new();
        let server = tokio::spawn(transport::serve(Routes::new(filesaver.service()), listener, stop.clone()));

        let expected = requests.len();
        let mut client = FilesaverClient::new(dialer.channel()).max_encoding_message_size(MAX_MESSAGE_BYTES);
        let mut answers = client.save(tokio_stream::iter(requests)).await?.into_inner();
        let mut saved = 0;
        while let Some(answer) = answers.message().await? {
            match answer.result.context("an answer without a result")? {
                save_response::Result::Saved(_) => saved += 1,
                save_response::Result::Failed(reason) | save_response::Result::Unavailable(reason) => {
                    bail!("a page was not saved: {reason}")
                }
            }
        }
        ensure!(saved == expected, "{saved} of {expected} pages were saved");
        filesaver.close().await?;
        stop.cancel();
        Ok(server.await?)
    })
}
