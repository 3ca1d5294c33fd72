//! A TCP stream that ends when its connection has waited too long or has to make room for another.
//!
//! Looked at whenever the other side has nothing to say or takes nothing, which is the only time at which a connection
//! can wait. Bytes that it takes extend its time: a long answer may be read slowly, only not stop being read.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use super::Connection;

/// After shutdown: long enough to go on taking an answer, short enough to be waited for.
const LAST_PATIENCE: Duration = Duration::from_millis(500);

pub struct BoundedStream {
    stream: TcpStream,
    peer: SocketAddr,
    connection: Arc<Connection>,
    patience: Duration,
    told_to_close: Pin<Box<WaitForCancellationFutureOwned>>,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Fires at the earliest moment at which the time can be up; set again when it was not.
    alarm: Pin<Box<Sleep>>,
    wrote_at: Instant,
}

impl BoundedStream {
    pub(super) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        connection: Arc<Connection>,
        patience: Duration,
        shutdown: &CancellationToken,
    ) -> Self {
        let now = Instant::now();
        Self {
            stream,
            peer,
            patience,
            told_to_close: Box::pin(connection.told_to_close.clone().cancelled_owned()),
            shutdown: Box::pin(shutdown.clone().cancelled_owned()),
            alarm: Box::pin(tokio::time::sleep_until(now + patience)),
            wrote_at: now,
            connection,
        }
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Pending for as long as the connection may stay, which wakes the task when that is over.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.told_to_close.as_mut().poll(cx).is_ready() {
            return Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, "closed to make room for another"));
        }
        if self.patience > LAST_PATIENCE && self.shutdown.as_mut().poll(cx).is_ready() {
            self.patience = LAST_PATIENCE;
            self.alarm.as_mut().reset(Instant::now());
        }
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            let now = Instant::now();
            let end = last_sign(self.connection.waits_since(), self.wrote_at, now) + self.patience;
            if end <= now {
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "no request came in time"));
            }
            self.alarm.as_mut().reset(end);
        }
    }

    fn or_end<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match polled {
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => self.poll_end(cx).map(Err),
        }
    }

    fn wrote(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(polled, Poll::Ready(Ok(1..))) {
            self.wrote_at = Instant::now();
        }
        self.or_end(cx, polled)
    }
}

/// Since when the connection waits: a request that is under way ends at the earliest now, and what was taken counts.
fn last_sign(waits_since: Option<Instant>, wrote_at: Instant, now: Instant) -> Instant {
    waits_since.map_or(now, |since| since.max(wrote_at))
}

impl Drop for BoundedStream {
    fn drop(&mut self) {
        self.connection.close();
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.or_end(cx, polled)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.wrote(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.or_end(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.or_end(cx, polled)
    }
}

/// Every gRPC request carries its connection, so that it counts as working.
impl Connected for BoundedStream {
    type ConnectInfo = Arc<Connection>;

    fn connect_info(&self) -> Self::ConnectInfo {
        Arc::clone(&self.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_counted_from_the_last_request_or_byte_taken_and_never_during_a_request() {
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(last_sign(Some(later(1)), start, later(9)), later(1));
        assert_eq!(last_sign(Some(later(1)), later(5), later(9)), later(5));
        assert_eq!(last_sign(None, later(5), later(9)), later(9));
    }
}
