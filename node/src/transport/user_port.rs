//! The door for people and programs: searches for everybody who may connect, everything else with the admin token.
//!
//! In clear on loopback only; elsewhere over TLS, with a certificate of the owner's or with the cluster's.

mod own_certificate;

use std::io;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rustls::ServerConfig;
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::service::Routes;

use super::credentials::Credentials;
use super::forward::{Forwarding, forward};
use super::handshakes::Refused;
use super::severable::Severable;
use super::{TransportError, connections, count_as_working, handshakes, tcp_server};

pub use own_certificate::{CertificateError, OwnCertificate};

/// For everybody who can connect.
const OPEN: &[&str] = &["/grpc.health.v1.Health/", "/grpc.reflection."];
/// For everybody, or with the token, as it is set.
const SEARCH: &str = "/seine.query.v1.Query/";
/// With the token.
const WITH_TOKEN: &[&str] =
    &["/seine.monitor.v1.Admin/", "/seine.filesaver.v1.Filesaver/", "/seine.indexer.v1.Indexer/"];

/// How what is said at the port is kept from others.
#[derive(Clone)]
pub enum Privacy {
    /// Nobody else hears it: the address is on loopback.
    Loopback,
    Cluster(Credentials),
    Own(Arc<OwnCertificate>),
}

#[derive(Clone)]
pub struct UserPort {
    pub admin_token: String,
    pub search_needs_token: bool,
    pub privacy: Privacy,
    /// What belongs to tiers of other processes.
    pub forwarding: Forwarding,
}

#[derive(Clone)]
struct Access {
    token: Arc<str>,
    search_needs_token: bool,
}

impl UserPort {
    /// Serves the services to those who may call them, until shutdown.
    pub async fn serve(
        self,
        routes: Routes,
        listener: TcpListener,
        shutdown: CancellationToken,
    ) -> Result<(), TransportError> {
        let Self { admin_token, search_needs_token, privacy, forwarding } = self;
        let access = Access { token: admin_token.into(), search_needs_token };
        let router = routes.prepare().into_axum_router();
        let router = router.layer(from_fn_with_state(forwarding, forward)).layer(from_fn_with_state(access, check));
        let routes = Routes::from(router.layer(from_fn(count_as_working)));
        let (connections, stopped) = (connections(&shutdown), shutdown.cancelled_owned());
        if matches!(privacy, Privacy::Loopback) {
            let incoming = futures::stream::unfold((listener, connections), |(listener, connections)| async move {
                let stream = connections.accept(&listener).await;
                Some((Ok::<_, io::Error>(stream), (listener, connections)))
            });
            return Ok(tcp_server().add_routes(routes).serve_with_incoming_shutdown(incoming, stopped).await?);
        }
        let incoming = handshakes::incoming("user port", listener, connections, move |stream| {
            let privacy = privacy.clone();
            async move {
                let acceptor = TlsAcceptor::from(privacy.config().ok_or("it is in clear")?);
                let stream = acceptor.accept(stream).await.map_err(|error| error.to_string())?;
                Ok::<_, Refused>(Severable::never(stream))
            }
        });
        Ok(tcp_server().add_routes(routes).serve_with_incoming_shutdown(incoming, stopped).await?)
    }
}

impl Privacy {
    /// Looked at for each connection, so that a renewed certificate counts from the next one on.
    fn config(&self) -> Option<Arc<ServerConfig>> {
        match self {
            Self::Loopback => None,
            Self::Cluster(credentials) => Some(credentials.server()),
            Self::Own(own) => Some(own.config()),
        }
    }
}

/// Refuses whatever is not for people, and whoever has no token for what is not for everybody.
async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| path.starts_with(beginning));
    let is_open = begins(OPEN) || (path.starts_with(SEARCH) && !access.search_needs_token);
    let needs_token = begins(WITH_TOKEN) || path.starts_with(SEARCH);
    let refused = match (is_open, needs_token) {
        (true, _) => None,
        (_, true) if presents(&request, &access.token) => None,
        (_, true) => Some(Status::unauthenticated(
            "this call needs the admin token; give it with --token or SEINE_TOKEN, or run with --data",
        )),
        _ => Some(Status::unimplemented(format!("{path} is not served here; nodes use the node port"))),
    };
    match refused {
        None => next.run(request).await,
        Some(status) => status.into_http::<axum::body::Body>().into_response(),
    }
}

fn presents(request: &Request, token: &str) -> bool {
    let presented = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let presented = presented.and_then(|value| value.strip_prefix("Bearer "));
    !token.is_empty() && presented.is_some_and(|presented| presented.as_bytes().ct_eq(token.as_bytes()).into())
}
