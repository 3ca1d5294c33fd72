//! Handshakes of TLS, each in a task of its own and within a time, so that a client that stays silent holds up nobody. How many
//! may be open is bounded below, by [`Connections`].

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::Stream;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;

use crate::connections::{BoundedStream, Connections};

const HANDSHAKE_TAKES: Duration = Duration::from_secs(10);
/// Connections with a finished handshake that wait to be served.
const BACKLOG: usize = 16;

/// Everybody who has shaken hands. `port` is for the log.
pub(super) fn incoming<S, F, R>(
    port: &'static str,
    listener: TcpListener,
    connections: Connections,
    shake_hands: F,
) -> impl Stream<Item = io::Result<S>> + Send
where
    S: Send + 'static,
    F: Fn(BoundedStream) -> R + Clone + Send + 'static,
    R: Future<Output = Result<S, Refused>> + Send,
{
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let accepting = async move {
        loop {
            let stream = connections.accept(&listener).await;
            let (shake_hands, sender) = (shake_hands.clone(), sender.clone());
            tokio::spawn(async move {
                let from = stream.peer();
                match timeout(HANDSHAKE_TAKES, shake_hands(stream)).await {
                    Ok(Ok(stream)) => drop(sender.send(Ok(stream)).await),
                    Ok(Err(refused)) => tell(port, from, &refused),
                    Err(_) => tell(port, from, &"the handshake took too long".into()),
                }
            });
        }
    };
    // Accepts for as long as somebody takes what was accepted.
    let accepting = AbortOnDrop(tokio::spawn(accepting));
    tokio_stream::StreamExt::map(ReceiverStream::new(receiver), move |stream| {
        let _accepting = &accepting;
        stream
    })
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why there is no connection.
pub(super) struct Refused {
    pub reason: String,
    /// The other side looked for another node than this one, as those do who look for the Monitor among several.
    pub looked_for_another: bool,
}

impl<T: Into<String>> From<T> for Refused {
    fn from(reason: T) -> Self {
        Self { reason: reason.into(), looked_for_another: false }
    }
}

fn tell(port: &str, from: SocketAddr, refused: &Refused) {
    let reason = &refused.reason;
    match refused.looked_for_another {
        true => tracing::debug!(%from, reason, "whoever connected to the {port} looked for another node"),
        false => tracing::warn!(%from, reason, "refused a connection to the {port}"),
    }
}
