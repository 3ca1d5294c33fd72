//! The stream between the Monitor and one collector.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use seine_node::transport::node_port::ConnectInfo;
use seine_proto::monitor::v1::work_server::Work;
use seine_proto::monitor::v1::{CollectorMessage, MonitorMessage, collector_message};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use crate::Monitor;
use crate::keeper::{Command, MESSAGES_TO_COLLECTOR, unwrap};
use crate::lease::table::SessionId;

pub(super) struct WorkService {
    monitor: Monitor,
    sessions: AtomicU64,
}

impl WorkService {
    pub fn new(monitor: Monitor) -> Self {
        Self { monitor, sessions: AtomicU64::new(1) }
    }
}

#[tonic::async_trait]
impl Work for WorkService {
    type AttachStream = Pin<Box<dyn Stream<Item = Result<MonitorMessage, Status>> + Send>>;

    async fn attach(
        &self,
        request: Request<Streaming<CollectorMessage>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        // Who comes by the node port speaks for itself only; without one, it is a collector of this very process.
        let caller = request.extensions().get::<ConnectInfo>().and_then(|info| info.peer.clone());
        let mut incoming = request.into_inner();
        let Some(collector_message::Message::Hello(hello)) = incoming.message().await?.and_then(unwrap) else {
            return Err(Status::invalid_argument("the first message of a collector must be hello"));
        };
        if caller.is_some_and(|peer| hello.embedded || hello.collector_id != peer.node_id.as_str()) {
            return Err(Status::permission_denied("a collector is known by the id of its node's certificate"));
        }
        let session = SessionId(self.sessions.fetch_add(1, Ordering::Relaxed));
        let (messages, outgoing) = mpsc::channel(MESSAGES_TO_COLLECTOR);
        let commands = self.monitor.commands.clone();
        let attach = Command::Attach { session, hello, messages };
        commands.send(attach).await.map_err(|_| Status::unavailable("the monitor is shutting down"))?;
        // Ends with the stream it reads; the keeper learns of that through the last command.
        tokio::spawn(async move {
            metrics::gauge!("seine_monitor_collectors_count").increment(1.0);
            while let Ok(Some(message)) = incoming.message().await {
                let Some(message) = unwrap(message) else { continue };
                if commands.send(Command::Message { session, message }).await.is_err() {
                    break;
                }
            }
            metrics::gauge!("seine_monitor_collectors_count").decrement(1.0);
            let _ = commands.send(Command::Detach { session }).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing).map(Ok))))
    }
}
