//! What commands ask of all filesavers at once.

use std::collections::BTreeMap;
use std::time::Duration;

use seine_proto::filesaver::v1::LogEndRequest;
use seine_proto::indexer::v1::StatusRequest;

use crate::connect::{FilesaverCalls, Services};
use crate::failure::{Failure, Result};

/// How long a filesaver, or the indexer, may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// One that answers.
#[derive(Clone)]
pub struct Answering {
    pub client: FilesaverCalls,
    pub log_id: String,
    /// Where its log ends.
    pub end_offset: u64,
}

/// All that run. One that should and does not answer is told; an error when none does.
pub async fn answering(filesavers: &BTreeMap<String, FilesaverCalls>) -> Result<Vec<Answering>> {
    let (mut answering, mut failure) = (Vec::new(), None);
    for (log_id, client) in filesavers {
        let (log_id, mut client) = (log_id.clone(), client.clone());
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
        if offset > 0 && !services.filesavers.contains_key(&log_id) {
            eprintln!("the filesaver with log {log_id} does not run: {consequence}");
        }
    }
}
