//! What stands before every handler: the limit per client and the deadline.
//!
//! What watches over the process, and style and script of the pages, are never refused.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use ipnet::IpNet;
use seine_common::config::WebConfig;

use super::clients::{ClientLimiter, client, is_forwarded};
use super::refusal::{Asked, Refusal};
use crate::metrics;

pub struct Guard {
    limiter: Option<ClientLimiter>,
    trusted_proxies: Vec<IpNet>,
    deadline: Duration,
    /// Tells once how to tell clients of a proxy apart.
    unknown_proxy: Once,
}

impl Guard {
    pub fn new(config: &WebConfig) -> Self {
        Self {
            limiter: config.client_limit.map(ClientLimiter::new),
            trusted_proxies: config.trusted_proxies.clone(),
            deadline: config.deadline,
            unknown_proxy: Once::new(),
        }
    }

    fn admit(&self, request: &Request) -> Result<(), Duration> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if is_free(request.uri().path()) {
            return Ok(());
        }
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        // Without an address the router was not served over a network.
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(peer)| peer.ip());
        let client = client(peer, request.headers(), &self.trusted_proxies);
        if client.is_loopback() && limiter.spares_loopback() {
            // A proxy on this machine speaks for everybody: its requests are not those of somebody who sits here.
            if !is_forwarded(request.headers()) {
                return Ok(());
            }
            self.unknown_proxy.call_once(|| {
                tracing::warn!(
                    proxy = %peer,
                    "all clients of a proxy share one limit, because it does not say who they are or is not believed; \
                     name it in trusted_proxies in [server], and let it send X-Forwarded-For"
                );
            });
        }
        limiter.admit(client, Instant::now())
    }
}

fn is_free(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics" | "/favicon.svg" | "/favicon.ico")
        || path.starts_with("/assets/")
}

pub async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    if let Err(wait) = guard.admit(&request) {
        metrics::failed("too_many_requests");
        return Refusal::TooManyRequests { wait }.answer(&asked);
    }
    match tokio::time::timeout(guard.deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            metrics::failed("deadline_exceeded");
            Refusal::DeadlineExceeded { deadline: guard.deadline }.answer(&asked)
        }
    }
}
