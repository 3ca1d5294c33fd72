//! Calls at the door for people that belong to a tier of another process: passed on as they are, answers as they come.
//!
//! So every command works through one address, whichever processes there are. A call to one filesaver among several names it
//! in its metadata ([`LOG`]).

use std::sync::Arc;

use crate::transport::Channel;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tonic::Status;
use tower::ServiceExt;

/// Metadata: the log of the filesaver that is meant.
pub const LOG: &str = "seine-log";

/// Where a call goes.
pub enum Way {
    /// This process answers it.
    Here,
    To(Channel),
    /// Nobody can answer it now.
    Nowhere(Status),
}

/// Path of the call and the log that it names, to the way.
type Route = dyn Fn(&str, Option<&str>) -> Way + Send + Sync;

#[derive(Clone)]
pub struct Forwarding(Arc<Route>);

impl Default for Forwarding {
    /// Nothing is passed on.
    fn default() -> Self {
        Self::new(|_, _| Way::Here)
    }
}

impl Forwarding {
    pub fn new(route: impl Fn(&str, Option<&str>) -> Way + Send + Sync + 'static) -> Self {
        Self(Arc::new(route))
    }

    fn way(&self, request: &Request) -> Way {
        let log = request.headers().get(LOG).and_then(|value| value.to_str().ok());
        (self.0)(request.uri().path(), log)
    }
}

/// Passes a call on, or lets this process answer it.
pub(super) async fn forward(State(forwarding): State<Forwarding>, mut request: Request, next: Next) -> Response {
    let channel = match forwarding.way(&request) {
        Way::Here => return next.run(request).await,
        Way::To(channel) => channel,
        Way::Nowhere(status) => return status.into_http::<axum::body::Body>().into_response(),
    };
    // Between nodes certificates count; the token is this process's own.
    request.headers_mut().remove(AUTHORIZATION);
    match channel.oneshot(request.map(tonic::body::Body::new)).await {
        Ok(response) => response.map(axum::body::Body::new),
        Err(error) => {
            let reason = format!("the tier that this belongs to does not answer: {}", super::cause(&error));
            Status::unavailable(reason).into_http::<axum::body::Body>().into_response()
        }
    }
}
