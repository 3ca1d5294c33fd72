//! What commands ask of all filesavers at once.

use std::time::Duration;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::membership::Filesavers;
use seine_proto::filesaver::v1::LogEndRequest;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::indexer::v1::StatusRequest;
use tonic::transport::Channel;

use crate::connect::Services;
use crate::failure::{Failure, Result};

/// How long a filesaver, or the indexer, may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// One that answers.
#[derive(Clone)]
pub struct Answering {
    pub client: FilesaverClient<Channel>,
    pub log_id: String,
    /// Where its log ends.
    pub end_offset: u64,
}

pub fn client(channel: Channel) -> FilesaverClient<Channel> {
    FilesaverClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES)
}

/// All that run. One that should and does not answer is told; an error when none does.
pub async fn answering(filesavers: &Filesavers) -> Result<Vec<Answering>> {
    let (mut answering, mut failure) = (Vec::new(), None);
    for (log_id, route) in filesavers.all() {
        let mut client = client(route.channel);
        let asked = tokio::time::timeout(PATIENCE, client.log_end(LogEndRequest {})).await;
        match asked.unwrap_or_else(|_| Err(tonic::Status::unavailable("it does not answer in time"))) {
            Ok(end) => {
                let end_offset = end.into_inner().end_offset;
                answering.push(Answering { client, log_id, end_offset });
            }
            Err(status) => {
                let reason = Failure::from(status);
                eprintln!("the filesaver with log {log_id} does not answer: {reason}");
                failure = Some(reason);
            }
        }
    }
    match (answering.is_empty(), failure) {
        (false, _) => Ok(answering),
        (true, Some(failure)) => Err(failure),
        (true, None) => Err(none_runs()),
    }
}

pub fn none_runs() -> Failure {
    Failure::failed("no node runs the filesaver; start one with `seine node --roles filesaver --join ADDR`")
}

/// Says which logs the index has pages of whose filesavers do not run. `consequence` says what that means.
pub async fn tell_missing(services: &mut Services, consequence: &str) {
    let asked = tokio::time::timeout(PATIENCE, services.indexer.status(StatusRequest::default())).await;
    let Ok(Ok(status)) = asked else { return };
    for (log_id, offset) in status.into_inner().committed {
        if offset > 0 && services.filesavers.get(&log_id).is_none() {
            eprintln!("the filesaver with log {log_id} does not run: {consequence}");
        }
    }
}
