//! Reads a body, within its limit and within the memory of all bodies, and tells the bandwidth of every piece.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::Response;
use seine_node::limits::Bandwidth;

use crate::gate::BodyPermit;

/// What is set aside at once on the word of a Content-Length; the rest grows with what really comes.
const TRUSTED_LENGTH: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    Broken(#[from] reqwest::Error),
}

/// The body of an answer, piece by piece.
pub struct Body<'a> {
    pub response: &'a mut Response,
    pub bandwidth: &'a Bandwidth,
}

impl Body<'_> {
    async fn piece(&mut self) -> Result<Option<Bytes>, reqwest::Error> {
        let piece = self.response.chunk().await?;
        self.bandwidth.received(piece.as_ref().map_or(0, Bytes::len));
        Ok(piece)
    }
}

/// The whole body as received. A body that ends before its declared length is broken.
pub async fn read(mut body: Body<'_>, limit: u64, permit: &mut BodyPermit) -> Result<Bytes, BodyError> {
    let declared = body.response.content_length().unwrap_or(0);
    if declared > limit {
        return Err(BodyError::TooLarge(limit));
    }
    let Some(first) = next(&mut body, 0, limit, permit).await? else {
        permit.shrink_to(0);
        return Ok(Bytes::new());
    };
    let Some(second) = next(&mut body, first.len(), limit, permit).await? else {
        // One piece: nothing to copy.
        permit.shrink_to(first.len());
        return Ok(first);
    };
    let expected = usize::try_from(declared).unwrap_or(usize::MAX).min(TRUSTED_LENGTH);
    let mut whole = BytesMut::with_capacity(expected.max(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while let Some(piece) = next(&mut body, whole.len(), limit, permit).await? {
        whole.extend_from_slice(&piece);
    }
    permit.shrink_to(whole.len());
    Ok(whole.freeze())
}

async fn next(
    body: &mut Body<'_>,
    had: usize,
    limit: u64,
    permit: &mut BodyPermit,
) -> Result<Option<Bytes>, BodyError> {
    let Some(piece) = body.piece().await? else {
        return Ok(None);
    };
    let length = had + piece.len();
    if length as u64 > limit {
        return Err(BodyError::TooLarge(limit));
    }
    permit.grow_to(length).await;
    Ok(Some(piece))
}

/// The beginning of a body, for files of which only that counts.
pub async fn read_beginning(mut body: Body<'_>, length: usize) -> Result<Bytes, reqwest::Error> {
    let mut beginning = BytesMut::new();
    while let Some(piece) = body.piece().await? {
        beginning.extend_from_slice(&piece[..piece.len().min(length - beginning.len())]);
        if beginning.len() == length {
            break;
        }
    }
    Ok(beginning.freeze())
}

/// A body that nobody waits for is read so far, so that its connection can be used again; longer and slower ones are not
/// worth it.
const WORTH_BYTES: usize = 64 << 10;
const WORTH_WAITING: Duration = Duration::from_millis(500);

/// Reads a body that nobody wants. Gives up, and with it the connection, when that is not worth it.
pub async fn drain(mut body: Body<'_>) {
    if body.response.content_length().is_some_and(|length| length > WORTH_BYTES as u64) {
        return;
    }
    let reading = async {
        let mut left = WORTH_BYTES;
        while let Ok(Some(piece)) = body.piece().await {
            match left.checked_sub(piece.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Late is as good as too large.
    let _ = tokio::time::timeout(WORTH_WAITING, reading).await;
}

/// As much of a body as is worth reading, and why there is not more, as WARC names it.
pub async fn read_what_comes(mut body: Body<'_>) -> (Bytes, &'static str) {
    let end = tokio::time::Instant::now() + WORTH_WAITING;
    let mut came = BytesMut::new();
    let truncated = loop {
        match tokio::time::timeout_at(end, body.piece()).await {
            Ok(Ok(Some(piece))) if came.len() + piece.len() <= WORTH_BYTES => came.extend_from_slice(&piece),
            Ok(Ok(Some(piece))) => {
                came.extend_from_slice(&piece[..WORTH_BYTES - came.len()]);
                break "length";
            }
            Ok(Ok(None)) => break "",
            Ok(Err(_)) => break "disconnect",
            Err(_) => break "time",
        }
    };
    (came.freeze(), truncated)
}
