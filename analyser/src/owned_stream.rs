//! A stream of answers together with the task that produces them: when the caller goes away, the task ends too.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use tokio::sync::mpsc::Receiver;
use tokio_util::task::AbortOnDropHandle;

#[derive(Debug)]
pub struct OwnedStream<T> {
    answers: Receiver<T>,
    _task: AbortOnDropHandle<()>,
}

impl<T> OwnedStream<T> {
    /// Starts the task, which sends to the other end of `answers`.
    pub(crate) fn spawn(answers: Receiver<T>, task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { answers, _task: AbortOnDropHandle::new(tokio::spawn(task)) }
    }
}

impl<T> Stream for OwnedStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.answers.poll_recv(context)
    }
}
