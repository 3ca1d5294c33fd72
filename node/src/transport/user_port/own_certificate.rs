//! A certificate and its key in files of the owner's, read again when they change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const HTTP2: &[u8] = b"h2";

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("cannot read {path}: {reason}; it must hold PEM")]
    Read { path: PathBuf, reason: String },
    #[error("the certificate {path} and its key cannot be used: {error}")]
    Use { path: PathBuf, error: rustls::Error },
}

pub struct OwnCertificate {
    certificate: PathBuf,
    key: PathBuf,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    /// Of both files.
    changed_at: (SystemTime, SystemTime),
    config: Arc<ServerConfig>,
}

impl OwnCertificate {
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let loaded = Loaded::read(certificate, key)?;
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), loaded: Mutex::new(loaded) })
    }

    /// As the files are now. Where they have changed and cannot be used, what they held before goes on.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let now = changed_at(&self.certificate, &self.key).unwrap_or(loaded.changed_at);
        if now != loaded.changed_at {
            match Loaded::read(&self.certificate, &self.key) {
                Ok(new) => {
                    *loaded = new;
                    tracing::info!(path = %self.certificate.display(), "took over a new certificate");
                }
                Err(error) => {
                    // Told once for each change.
                    loaded.changed_at = now;
                    tracing::warn!(%error, "the certificate before stays in use");
                }
            }
        }
        Arc::clone(&loaded.config)
    }
}

impl Loaded {
    fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let unreadable = |path: &Path, reason: String| CertificateError::Read { path: path.to_owned(), reason };
        let changed_at = changed_at(certificate, key).map_err(|error| unreadable(certificate, error.to_string()))?;
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| unreadable(certificate, error.to_string()))?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error.to_string()))?;
        let unusable = |error| CertificateError::Use { path: certificate.to_owned(), error };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(unusable)?;
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Ok(Self { changed_at, config: Arc::new(config) })
    }
}

fn changed_at(certificate: &Path, key: &Path) -> io::Result<(SystemTime, SystemTime)> {
    Ok((std::fs::metadata(certificate)?.modified()?, std::fs::metadata(key)?.modified()?))
}
