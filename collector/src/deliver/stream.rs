//! The stream to one analyser: opened, read to its end, and opened again after a pause, for as long as its task runs.
//!
//! What happens goes to the courier in the order in which it happened. Between two openings there is a break, and all answers of
//! the first came before that.

use std::time::Duration;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::transport::Channel;
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::analyser::PAGES_PER_STREAM;
use super::dispatch::AnalyserId;
use crate::backoff::Backoff;

/// How long an analyser may take to accept a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two attempts: one that has restarted is to be used soon.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What happened on a stream.
#[derive(Debug)]
pub(super) enum Event {
    /// Pages can be written to it. There is room for all that may be under way.
    Opened(mpsc::Sender<AnalyseRequest>),
    Answered(AnalyseResponse),
    Broke(Status),
    /// It could not be opened.
    Unreachable(Status),
}

pub(super) type Events = mpsc::Sender<(AnalyserId, Event)>;

/// Until nobody takes the events any more, or the task is aborted.
pub(super) async fn run(id: AnalyserId, analyser: Channel, events: Events) {
    let client = AnalyserClient::new(analyser)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let mut backoff = Backoff::between(SHORTEST_PAUSE, LONGEST_PAUSE);
    loop {
        let end = match open(client.clone()).await {
            Ok((requests, answers)) => {
                if events.send((id, Event::Opened(requests.clone()))).await.is_err() {
                    return;
                }
                Event::Broke(read(id, &requests, answers, &events, &mut backoff).await)
            }
            Err(status) => Event::Unreachable(status),
        };
        if events.send((id, end)).await.is_err() {
            return;
        }
        sleep(backoff.pause()).await;
    }
}

async fn open(
    mut client: AnalyserClient<Channel>,
) -> Result<(mpsc::Sender<AnalyseRequest>, Streaming<AnalyseResponse>), Status> {
    let (requests, to_send) = mpsc::channel(PAGES_PER_STREAM);
    let opening = timeout(OPEN_TIMEOUT, client.analyse(ReceiverStream::new(to_send))).await;
    let response = opening.unwrap_or_else(|_| Err(Status::unavailable("it does not answer")))?;
    Ok((requests, response.into_inner()))
}

/// Passes answers on, and says how the stream ended.
async fn read(
    id: AnalyserId,
    requests: &mpsc::Sender<AnalyseRequest>,
    mut answers: Streaming<AnalyseResponse>,
    events: &Events,
    backoff: &mut Backoff,
) -> Status {
    loop {
        let answer = tokio::select! {
            // What was answered before the end counts.
            biased;
            answer = answers.message() => answer,
            () = requests.closed() => return Status::unavailable("the analyser takes no more pages"),
        };
        match answer {
            Ok(Some(answer)) => {
                backoff.succeeded();
                if events.send((id, Event::Answered(answer))).await.is_err() {
                    return Status::cancelled("this collector is ending");
                }
            }
            Ok(None) => return Status::unavailable("the analyser ended the stream"),
            Err(status) => return status,
        }
    }
}
