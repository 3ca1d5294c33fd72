//! Connections to the user port of a server: in clear on loopback, over TLS elsewhere.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::transport::Channel;
use hyper_util::rt::TokioIo;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::Endpoint;

use super::{TransportError, tuned};
use crate::identity::Name;

const HTTP2: &[u8] = b"h2";
const HTTPS_PORT: &str = "443";

/// A connection to `HOST:PORT` or `http://HOST:PORT` on this machine, or to `https://HOST:PORT`, opened at first use and
/// reopened when it breaks. `authorities` is a file with the roots to believe, such as the `ca.pem` of a cluster; without one,
/// those of this machine are.
pub fn user_channel(address: &str, authorities: Option<&Path>) -> Result<Channel, TransportError> {
    let address = address.trim_end_matches('/');
    if let Some(address) = address.strip_prefix("https://") {
        return over_tls(address, authorities);
    }
    let address = address.trim_start_matches("http://");
    if !is_on_this_machine(host(address)) {
        return Err(TransportError::InClear(address.to_owned()));
    }
    let endpoint = Endpoint::from_shared(format!("http://{address}"))
        .map_err(|_| TransportError::NotAnAddress(address.to_owned()))?;
    Ok(tuned(endpoint).tcp_nodelay(true).connect_lazy().into())
}

fn over_tls(address: &str, authorities: Option<&Path>) -> Result<Channel, TransportError> {
    let wrong = || TransportError::NotAnAddress(address.to_owned());
    let name = ServerName::try_from(host(address).to_owned()).map_err(|_| wrong())?;
    let address = match address.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => address.to_owned(),
        _ => format!("{address}:{HTTPS_PORT}"),
    };
    let connector = TlsConnector::from(Arc::new(client_config(authorities)?));
    let connect = tower::service_fn(move |_| {
        let (connector, name, address) = (connector.clone(), name.clone(), address.clone());
        async move {
            let stream = TcpStream::connect(&address).await?;
            stream.set_nodelay(true)?;
            Ok::<_, io::Error>(TokioIo::new(connector.connect(name, stream).await?))
        }
    });
    Ok(tuned(Endpoint::from_static("http://server.seine.invalid")).connect_with_connector_lazy(connect).into())
}

fn client_config(authorities: Option<&Path>) -> Result<ClientConfig, TransportError> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let wrong = |reason: String| TransportError::Authorities(path.to_owned(), reason);
            let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            for root in read.map_err(|error| wrong(error.to_string()))? {
                roots.add(root).map_err(|error| wrong(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(wrong("it holds no certificate".to_owned()));
            }
        }
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let provider = Arc::new(ring::default_provider());
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let inner = inner.map_err(|error| TransportError::Roots(error.to_string()))?;
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| TransportError::Roots(error.to_string()))?;
    let mut config = match authorities {
        Some(_) => {
            config.dangerous().with_custom_certificate_verifier(Arc::new(HostOrMonitor { inner })).with_no_client_auth()
        }
        None => config.with_webpki_verifier(inner).with_no_client_auth(),
    };
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(config)
}

/// Believes a server of the address's name, or the Monitor of the cluster whose root was named: its certificate does not know
/// under which addresses it is reached.
#[derive(Debug)]
struct HostOrMonitor {
    inner: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for HostOrMonitor {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.inner.verify_server_cert(leaf, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => self.inner.verify_server_cert(leaf, others, &Name::Monitor.server_name(), ocsp, now),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Without the port, and without the brackets of an IPv6 address.
fn host(address: &str) -> &str {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => host,
        _ => address,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

fn is_on_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_travel_in_clear_on_this_machine_only() {
        for near in ["127.0.0.1:7070", "http://127.0.3.4:7070/", "localhost:7070", "[::1]:7070"] {
            assert!(user_channel(near, None).is_ok(), "{near}");
        }
        for far in ["10.0.0.1:7070", "http://example.org:7070", "[2001:db8::1]:7070", "localhost.example.org:7070"] {
            let error = user_channel(far, None).unwrap_err();
            assert!(error.to_string().contains("https://"), "{error}");
        }
        assert!(user_channel("https://example.org:7070", None).is_ok());
    }
}
