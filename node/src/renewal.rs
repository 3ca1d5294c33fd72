//! Keeps the certificate of this process from ending: a node asks the Monitor for the next one, the Monitor signs its own.
//!
//! A node renews at a random moment of the second half of the certificate's life, and at once when another root signs. What it
//! trusts is told with every answer of the Monitor and counts from the next connection on.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use crate::transport::Channel;
use rustls::pki_types::CertificateDer;
use seine_common::clock::Clock;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::identity::OwnIdentity;
use crate::joining;
use crate::registry::Registry;
use crate::transport::credentials::Credentials;

/// How often it is looked whether it is time: clocks may be set, and machines sleep.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Nodes that learn of a new root all at once do not all ask at once.
const SPREAD: Duration = Duration::from_secs(3);

/// The identity of this process, where it is kept and where it is used.
pub struct Renewal {
    pub own: OwnIdentity,
    pub directory: PathBuf,
    pub credentials: Credentials,
}

impl Renewal {
    /// For a node: asks the Monitor.
    pub async fn of_node(
        mut self,
        monitor: Channel,
        mut roots: watch::Receiver<Vec<CertificateDer<'static>>>,
        stopped: CancellationToken,
    ) -> Result<(), Infallible> {
        // Drawn once for each certificate.
        let mut dice = rand::random::<f64>();
        let mut has_failed = false;
        loop {
            let told = roots.borrow_and_update().clone();
            if !told.is_empty() && told != self.own.roots {
                self.trust(told).await;
                sleep(SPREAD.mul_f64(rand::random())).await;
            }
            if Clock::System.now_ms() >= self.own.renew_at_ms(dice) {
                match self.renew(&monitor).await {
                    Ok(()) => {
                        (dice, has_failed) = (rand::random(), false);
                        tracing::info!(generation = self.own.generation, "renewed this node's certificate");
                    }
                    // Told once; the Monitor says why in its own log each time.
                    Err(reason) if !has_failed => {
                        has_failed = true;
                        tracing::warn!(reason, "this node's certificate could not be renewed; trying again");
                    }
                    Err(_) => {}
                }
            }
            tokio::select! {
                () = stopped.cancelled() => return Ok(()),
                _ = roots.changed() => {}
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn trust(&mut self, roots: Vec<CertificateDer<'static>>) {
        self.own.roots = roots;
        let kept = joining::keep(&self.own, &self.directory).await;
        if let Err(reason) = kept.and_then(|()| self.show()) {
            tracing::warn!(reason, "what the Monitor says is to be trusted could not be kept");
        }
    }

    async fn renew(&mut self, monitor: &Channel) -> Result<(), String> {
        self.own = joining::renew(monitor.clone(), &self.own, &self.directory).await?;
        self.show()
    }

    fn show(&self) -> Result<(), String> {
        self.credentials.replace(&self.own).map_err(|error| error.to_string())
    }

    /// For the Monitor: signs its own, and tells when there are other roots.
    pub async fn of_monitor(
        mut self,
        registry: Registry,
        mut changes: watch::Receiver<u64>,
        on_roots: impl Fn(&Registry) + Send,
        stopped: CancellationToken,
    ) -> Result<(), Infallible> {
        loop {
            let directory = self.directory.clone();
            let now = registry.change(move |registrar, now| registrar.own_identity(&directory, &[].into(), now)).await;
            match now {
                Ok(own) if own.generation != self.own.generation || own.roots != self.own.roots => {
                    self.own = own;
                    on_roots(&registry);
                    if let Err(error) = self.credentials.replace(&self.own) {
                        tracing::error!(%error, "the Monitor's new certificate cannot be used");
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "the Monitor's certificate could not be renewed"),
            }
            // At once when the root has changed: nodes that have not heard of the new one find it signed by the one before.
            tokio::select! {
                () = stopped.cancelled() => return Ok(()),
                _ = changes.changed() => {}
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }
}
