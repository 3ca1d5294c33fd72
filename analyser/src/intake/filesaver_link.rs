//! The stream to the filesaver that goes with one stream of pages: opened by the first page, and again by the first
//! page after it broke.
//!
//! Not responsible for which pages are under way; its owner counts them and keeps their number bounded.

use std::time::Duration;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{SaveRequest, SaveResponse};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Channel;

use super::SAVING_PER_STREAM;

/// How long the filesaver may take to accept a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct FilesaverLink {
    client: FilesaverClient<Channel>,
    open: Option<OpenStream>,
}

struct OpenStream {
    requests: mpsc::Sender<SaveRequest>,
    responses: Streaming<SaveResponse>,
}

impl FilesaverLink {
    pub fn new(filesaver: Channel) -> Self {
        let client = FilesaverClient::new(filesaver)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Self { client, open: None }
    }

    /// Hands a page over. The second value is set when the stream that was open turned out to be broken: the pages sent
    /// before are lost with it.
    pub async fn send(&mut self, request: SaveRequest) -> (Result<(), String>, Option<String>) {
        let mut request = request;
        let mut lost = None;
        if let Some(open) = &self.open {
            match open.requests.try_send(request) {
                Ok(()) => return (Ok(()), None),
                Err(error) => {
                    self.open = None;
                    lost = Some("the stream to the filesaver ended".to_owned());
                    request = error.into_inner();
                }
            }
        }
        (self.open_with(request).await, lost)
    }

    async fn open_with(&mut self, request: SaveRequest) -> Result<(), String> {
        // As many as can be under way, so that handing one over never waits.
        let (requests, to_send) = mpsc::channel(SAVING_PER_STREAM);
        requests.try_send(request).expect("a new channel has room");
        let opening = timeout(OPEN_TIMEOUT, self.client.save(ReceiverStream::new(to_send))).await;
        let opened = opening.map_err(|_| "the filesaver did not answer in time".to_owned())?;
        let opened = opened.map_err(|status| format!("cannot reach the filesaver: {}", status.message()))?;
        self.open = Some(OpenStream { requests, responses: opened.into_inner() });
        Ok(())
    }

    /// The next answer, or why there will be none. Waits for ever when no stream is open.
    pub async fn next(&mut self) -> Result<SaveResponse, String> {
        let Some(open) = &mut self.open else { return std::future::pending().await };
        let reason = match open.responses.message().await {
            Ok(Some(response)) => return Ok(response),
            Ok(None) => "the filesaver ended the stream".to_owned(),
            Err(status) => format!("the filesaver failed: {}", status.message()),
        };
        self.open = None;
        Err(reason)
    }
}
