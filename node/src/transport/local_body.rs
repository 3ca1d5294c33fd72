//! The body of a call within this process, whose messages move from one end to the other ([`in_process`]).
//!
//! The messages of a request are always read by a service of this process. Those of an answer are read by whoever asked, and
//! that may be another process, for which a call was passed on: so they move only where one of the request has, which none does
//! that came encoded.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use hyper::body::{Frame, SizeHint};
use seine_proto::in_process;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::Status;
use tonic::body::Body;

pub struct LocalBody {
    body: Body,
    direction: Direction,
    /// A message of the request has moved.
    asker_moves: Arc<AtomicBool>,
}

enum Direction {
    Request,
    Response { _under_way: TaskTrackerToken },
}

impl LocalBody {
    /// And what tells later whether whoever asks takes messages as they are.
    pub fn of_request(request: Request<Body>) -> (Request<Body>, Arc<AtomicBool>) {
        let asker_moves = Arc::default();
        let known = Arc::clone(&asker_moves);
        let request = request.map(|body| Body::new(Self { body, direction: Direction::Request, asker_moves: known }));
        (request, asker_moves)
    }

    pub fn of_response(body: Body, asker_moves: Arc<AtomicBool>, under_way: TaskTrackerToken) -> Self {
        Self { body, direction: Direction::Response { _under_way: under_way }, asker_moves }
    }
}

impl hyper::body::Body for LocalBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let body = Pin::new(&mut this.body);
        let is_request = matches!(this.direction, Direction::Request);
        if !is_request && !this.asker_moves.load(Ordering::Relaxed) {
            return body.poll_frame(context);
        }
        let (frame, parcel) = in_process::collect(|| body.poll_frame(context));
        if let Some(parcel) = parcel {
            if is_request {
                this.asker_moves.store(true, Ordering::Relaxed);
            }
            in_process::deliver(parcel);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
