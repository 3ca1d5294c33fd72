//! A connection that ends when the node on its other side is removed, in the middle of whatever it carries.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::cut_off::Admitted;

pub struct Severable<S> {
    stream: S,
    /// `None` where there is no node on the other side. What is admitted stays so for as long as the connection.
    node: Option<(Admitted, Pin<Box<WaitForCancellationFutureOwned>>)>,
}

impl<S> Severable<S> {
    pub fn new(stream: S, node: Admitted) -> Self {
        let ended = Box::pin(node.ended().clone().cancelled_owned());
        Self { stream, node: Some((node, ended)) }
    }

    pub fn never(stream: S) -> Self {
        Self { stream, node: None }
    }

    pub fn is_severable(&self) -> bool {
        self.node.is_some()
    }

    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Wakes the task when the end comes.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some((_, ended)) = &mut self.node else { return Ok(()) };
        match ended.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the node was removed")),
            Poll::Pending => Ok(()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Severable<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Severable<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
