//! HTTP clients that can reach one address only.
//!
//! A client serves one origin under one lease. Its name lookup gives the checked address whatever it is asked, so the
//! socket cannot go elsewhere; an origin that is an IP literal is looked up by nobody and was checked as it is.
//! Nothing is followed, remembered, decoded or proxied: one request, one answer, as received.
//!
//! Clients are cheap: they share one TLS configuration, and with it the sessions that can be resumed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};
use http::{HeaderMap, HeaderValue};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::{ClientConfig, RootCertStore};
use seine_node::limits::Bandwidth;

use super::wire::{WatchConnections, Wire};
use crate::CollectorError;

const ACCEPTED_TYPES: HeaderValue =
    HeaderValue::from_static("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5");
const ACCEPTED_ENCODINGS: HeaderValue = HeaderValue::from_static("gzip, br");
/// Idle connections are kept for about as long as servers keep them.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes clients.
#[derive(Clone, Debug)]
pub struct Http {
    tls: ClientConfig,
    connect_timeout: Duration,
    bandwidth: Arc<Bandwidth>,
}

/// A client for one origin, bound to one address.
#[derive(Clone, Debug)]
pub struct OriginClient {
    pub(super) client: reqwest::Client,
    pub(super) address: IpAddr,
    /// What every request sends, in this order.
    pub(super) headers: HeaderMap,
    pub(super) wire: Arc<Wire>,
    /// Told of all that comes.
    pub(super) bandwidth: Arc<Bandwidth>,
}

impl Http {
    pub fn new(connect_timeout: Duration) -> Result<Self, CollectorError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| CollectorError::Tls(error.to_string()))?
            .with_root_certificates(trusted_roots())
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { tls, connect_timeout, bandwidth: Arc::default() })
    }

    /// Its clients tell how much they receive.
    pub fn counting(self, bandwidth: Arc<Bandwidth>) -> Self {
        Self { bandwidth, ..self }
    }

    pub fn client(
        &self,
        address: IpAddr,
        user_agent: &str,
        connections: usize,
        wire: Arc<Wire>,
    ) -> Result<OriginClient, CollectorError> {
        let headers = request_headers(user_agent);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(Pinned(address))
            .connector_layer(WatchConnections(wire.clone()))
            .connect_timeout(self.connect_timeout)
            .default_headers(headers.clone())
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .tcp_nodelay(true)
            // As lenient as browsers with header lines that are not quite right.
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .pool_max_idle_per_host(connections)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build()
            .map_err(|error| CollectorError::Tls(error.to_string()))?;
        Ok(OriginClient { client, address, headers, wire, bandwidth: self.bandwidth.clone() })
    }
}

/// The certificates that the system trusts. Without any, only plain HTTP can be crawled.
fn trusted_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::warn!(errors = ?found.errors, "no trusted certificates found; https pages will fail");
    }
    roots
}

fn request_headers(user_agent: &str) -> HeaderMap {
    // A header is visible ASCII; what is not, is left out rather than the whole name.
    let visible: String = user_agent.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
    let user_agent = HeaderValue::from_str(visible.trim()).unwrap_or(HeaderValue::from_static("Seine"));
    [(ACCEPT, ACCEPTED_TYPES), (USER_AGENT, user_agent), (ACCEPT_ENCODING, ACCEPTED_ENCODINGS)].into_iter().collect()
}

/// Gives one address for every name.
struct Pinned(IpAddr);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        // Port 0 stands for the port of the URL.
        let addresses: Addrs = Box::new(std::iter::once(SocketAddr::new(self.0, 0)));
        Box::pin(std::future::ready(Ok(addresses)))
    }
}
