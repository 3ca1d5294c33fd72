//! What a process shows others and whom it believes, as configurations of TLS.
//!
//! Looked at anew for every connection, so that a renewed certificate or another authority counts from the next one on, without
//! a restart. Clones are the same.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::{ClientConfig, ServerConfig};

use crate::identity::OwnIdentity;
use crate::identity::tls::{self, TlsError};

#[derive(Clone)]
pub struct Credentials {
    current: Arc<ArcSwap<Configurations>>,
}

struct Configurations {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Credentials {
    pub fn new(own: &OwnIdentity) -> Result<Self, TlsError> {
        Ok(Self { current: Arc::new(ArcSwap::from_pointee(Configurations::of(own)?)) })
    }

    /// Connections that are open stay as they are.
    pub fn replace(&self, own: &OwnIdentity) -> Result<(), TlsError> {
        self.current.store(Arc::new(Configurations::of(own)?));
        Ok(())
    }

    pub(super) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.load().server)
    }

    pub(super) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.current.load().client)
    }
}

impl Configurations {
    fn of(own: &OwnIdentity) -> Result<Self, TlsError> {
        Ok(Self { server: tls::server_config(own, &own.roots)?, client: tls::client_config(own, &own.roots)? })
    }
}
