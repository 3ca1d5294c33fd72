//! The way up to the Monitor under one stream.

use seine_proto::monitor::v1::CollectorMessage;
use seine_proto::monitor::v1::collector_message::Message;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Clones send on the same stream.
#[derive(Clone, Debug)]
pub struct Uplink {
    messages: mpsc::Sender<CollectorMessage>,
    closed: CancellationToken,
}

impl Uplink {
    pub fn new(messages: mpsc::Sender<CollectorMessage>) -> Self {
        Self { messages, closed: CancellationToken::new() }
    }

    /// Waits for room, but not beyond the end of the stream: what is sent after that goes nowhere, as does what was sent
    /// shortly before.
    pub async fn send(&self, message: Message) {
        let sent = self.messages.send(CollectorMessage { message: Some(message) });
        let _ = self.closed.run_until_cancelled(sent).await;
    }

    /// A place in the stream, or an error when that is over.
    pub async fn reserve(&self) -> Result<mpsc::Permit<'_, CollectorMessage>, mpsc::error::SendError<()>> {
        self.messages.reserve().await
    }

    /// Gives the message back when there is no room now.
    pub fn try_send(&self, message: Message) -> Option<Message> {
        let wrapped = CollectorMessage { message: Some(message) };
        self.messages.try_send(wrapped).err().and_then(|error| error.into_inner().message)
    }

    /// Nobody waits for room any more.
    pub fn close(&self) {
        self.closed.cancel();
    }
}
