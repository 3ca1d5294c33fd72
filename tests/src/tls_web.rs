//! A few pages over HTTPS, HTTP/1.1 and HTTP/2, with certificates made for the test by `openssl`.
//!
//! The certificate is for the name `tls.test`, which no resolver knows: a crawl is told the address.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, Version, header};
use axum::response::{IntoResponse, Response};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

pub const NAME: &str = "tls.test";

/// Which protocols the server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    Http1,
    Http2,
}

type Requests = Arc<Mutex<Vec<(String, Version)>>>;

pub struct TlsWeb {
    address: SocketAddr,
    certificates: TempDir,
    requests: Requests,
    shutdown: CancellationToken,
}

impl TlsWeb {
    /// Serves these pages (path and HTML).
    pub fn start(pages: &[(&str, &str)], speaks: Speaks) -> Self {
        let certificates = tempfile::tempdir().expect("a temporary directory can be made");
        make_certificates(certificates.path());
        let acceptor = acceptor(certificates.path(), speaks);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (requests, shutdown) = (Requests::default(), CancellationToken::new());
        let pages: BTreeMap<String, String> =
            pages.iter().map(|(path, html)| ((*path).to_owned(), (*html).to_owned())).collect();
        let router = Router::new().fallback(answer).with_state((Arc::new(pages), Arc::clone(&requests)));
        let stop = shutdown.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async {
                let tcp = TcpListener::from_std(listener).expect("the listener is non-blocking");
                let serving = axum::serve(TlsListener { tcp, acceptor }, router);
                serving.with_graceful_shutdown(stop.cancelled_owned()).await.expect("it runs until it is told to stop");
            });
        });
        Self { address, certificates, requests, shutdown }
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{NAME}:{}{path}", self.address.port())
    }

    /// For `--resolve`.
    pub fn fixed_address(&self) -> String {
        format!("{NAME}:{}:127.0.0.1", self.address.port())
    }

    /// Who trusts this certificate trusts the web; for `SSL_CERT_FILE`.
    pub fn root_certificate(&self) -> PathBuf {
        self.certificates.path().join("root.pem")
    }

    pub fn requests(&self) -> Vec<(String, Version)> {
        self.requests.lock().expect("no handler panics").clone()
    }
}

impl Drop for TlsWeb {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    /// Clients that turn away at the handshake are nobody's fault.
    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = axum::serve::Listener::accept(&mut self.tcp).await;
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

type Shared = (Arc<BTreeMap<String, String>>, Requests);

async fn answer(State((pages, requests)): State<Shared>, version: Version, uri: Uri) -> Response {
    requests.lock().expect("no handler panics").push((uri.path().to_owned(), version));
    match pages.get(uri.path()) {
        Some(html) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn acceptor(certificates: &Path, speaks: Speaks) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(certificates.join("server.pem")).expect("the certificate was made");
    let chain = chain.map(|one| one.expect("openssl writes PEM")).collect();
    let key = PrivateKeyDer::from_pem_file(certificates.join("server.key")).expect("the key was made");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows the protocols")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("certificate and key belong together");
    config.alpn_protocols = match speaks {
        Speaks::Http1 => vec![b"http/1.1".to_vec()],
        Speaks::Http2 => vec![b"h2".to_vec()],
    };
    TlsAcceptor::from(Arc::new(config))
}

/// A root, and a server's certificate that it signs.
fn make_certificates(directory: &Path) {
    let names = format!("subjectAltName=DNS:{NAME}");
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    let root = ["req", "-x509", "-subj", "/CN=root of a test", "-keyout", "root.key", "-out", "root.pem"];
    openssl(directory, &[&root[..], &key].concat());
    let signed = ["-CA", "root.pem", "-CAkey", "root.key", "-addext", "basicConstraints=CA:FALSE", "-addext", &names];
    let server = ["req", "-x509", "-subj", "/CN=a server", "-keyout", "server.key", "-out", "server.pem"];
    openssl(directory, &[&server[..], &key, &signed].concat());
}

fn openssl(directory: &Path, words: &[&str]) {
    let output = Command::new("openssl").args(words).current_dir(directory).output().expect("openssl is installed");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
