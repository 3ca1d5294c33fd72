//! Connections to other nodes, over mutual TLS.
//!
//! A channel goes to *one of* some nodes: all that hold a role, or one alone. Which ones these are may change at any time; it
//! is looked up whenever a connection is opened, so a channel whose node is gone goes on with another. Until there is one,
//! calls wait.
//!
//! The Monitor is [one of several](Monitors) that may be it. Everybody waits for it, so a silent one is given up sooner.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::Endpoint;

use super::credentials::Credentials;
use super::cut_off::CutOff;
use super::monitors::Monitors;
use super::severable::Severable;
use super::{Channel, tuned};

/// For the connection and the handshake, of one node.
const CONNECTING_TAKES: Duration = Duration::from_secs(5);
/// A node that does not answer for this long is gone, whatever its connection says.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TAKES: Duration = Duration::from_secs(10);

/// The same of the Monitor: another one takes over a few seconds after it is gone.
const MONITOR_CONNECTING_TAKES: Duration = Duration::from_secs(2);
const MONITOR_PING_INTERVAL: Duration = Duration::from_millis(1500);
const MONITOR_PING_TAKES: Duration = Duration::from_secs(3);
/// Beside one that has not answered for so long, the next is tried.
const MONITOR_HESITATES: Duration = Duration::from_millis(250);

/// Stands for the Monitor where its id is not known.
const MONITOR: &str = "monitor";

/// Where a node listens, and who must answer there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub node_id: String,
    /// HOST:PORT.
    pub address: String,
    /// In the certificate.
    pub name: String,
}

impl Target {
    /// A node that is known by its id.
    pub fn node(node_id: &str, address: &str) -> Self {
        let name = format!("{node_id}.node.seine");
        Self { node_id: node_id.to_owned(), address: address.to_owned(), name }
    }

    /// The Monitor, of which only the address is known.
    fn monitor(address: &str) -> Self {
        Self { node_id: MONITOR.to_owned(), address: address.to_owned(), name: "monitor.seine".to_owned() }
    }
}

/// Why a connection to the Monitor was not opened.
enum Failed {
    /// Another node answers there.
    StandsBy(io::Error),
    Away(io::Error),
}

/// Opens connections in the name of this process. Clones are the same.
#[derive(Clone)]
pub struct Dialer {
    credentials: Credentials,
    cut_off: CutOff,
}

impl Dialer {
    pub fn new(credentials: Credentials, cut_off: CutOff) -> Self {
        Self { credentials, cut_off }
    }

    /// A connection to one of the targets, opened at first use and reopened when it breaks.
    pub fn channel(&self, targets: watch::Receiver<Vec<Target>>) -> Channel {
        let (dialer, turn) = (self.clone(), Arc::new(AtomicUsize::new(rand::random::<u16>().into())));
        let connect = tower::service_fn(move |_| {
            let (dialer, targets, turn) = (dialer.clone(), targets.clone(), Arc::clone(&turn));
            async move { dialer.connect_to_one(targets, &turn).await.map(TokioIo::new) }
        });
        tuned(Endpoint::from_static("http://node.seine.invalid"))
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TAKES)
            .keep_alive_while_idle(true)
            .connect_with_connector_lazy(connect)
            .into()
    }

    /// A connection to this one.
    pub fn channel_to(&self, target: Target) -> Channel {
        self.channel(watch::channel(vec![target]).1)
    }

    /// A connection to the Monitor, wherever that is then.
    pub fn channel_to_monitor(&self, monitors: &Monitors) -> Channel {
        let (dialer, monitors) = (self.clone(), monitors.clone());
        let connect = tower::service_fn(move |_| {
            let (dialer, monitors) = (dialer.clone(), monitors.clone());
            async move { dialer.connect_to_monitor(&monitors).await.map(TokioIo::new) }
        });
        tuned(Endpoint::from_static("http://monitor.seine.invalid"))
            .http2_keep_alive_interval(MONITOR_PING_INTERVAL)
            .keep_alive_timeout(MONITOR_PING_TAKES)
            .keep_alive_while_idle(true)
            .connect_with_connector_lazy(connect)
            .into()
    }

    async fn connect_to_monitor(&self, monitors: &Monitors) -> io::Result<Severable<TlsStream<TcpStream>>> {
        let mut untried = monitors.addresses().into_iter();
        let (mut trying, mut failed) = (FuturesUnordered::new(), None);
        loop {
            match untried.next() {
                Some(address) => trying.push(self.try_monitor(address, monitors)),
                None if trying.is_empty() => break,
                None => {}
            }
            let has_more = untried.len() > 0;
            let tried = tokio::select! {
                tried = trying.next() => tried,
                () = tokio::time::sleep(MONITOR_HESITATES), if has_more => None,
            };
            match tried {
                Some(Ok(stream)) => return Ok(stream),
                // That a standby is none says less than why the Monitor does not answer.
                Some(Err(Failed::StandsBy(error))) => failed = failed.or(Some(error)),
                Some(Err(Failed::Away(error))) => failed = Some(error),
                None => {}
            }
        }
        Err(failed.unwrap_or_else(|| io::Error::other("it is not known where the Monitor is")))
    }

    async fn try_monitor(
        &self,
        address: String,
        monitors: &Monitors,
    ) -> Result<Severable<TlsStream<TcpStream>>, Failed> {
        let error = match timeout(MONITOR_CONNECTING_TAKES, self.connect(&Target::monitor(&address))).await {
            Ok(Ok(stream)) => {
                monitors.answered(&address);
                return Ok(stream);
            }
            Ok(Err(error)) if names_another(&error) => {
                let told = format!("the node at {address} is not the Monitor now");
                return Err(Failed::StandsBy(io::Error::other(told)));
            }
            Ok(Err(error)) => error,
            Err(_) => io::Error::new(io::ErrorKind::TimedOut, "it does not answer"),
        };
        tracing::debug!(address, %error, "cannot connect to the Monitor");
        monitors.was_silent(&address);
        Err(Failed::Away(error))
    }

    async fn connect_to_one(
        &self,
        mut targets: watch::Receiver<Vec<Target>>,
        turn: &AtomicUsize,
    ) -> io::Result<Severable<TlsStream<TcpStream>>> {
        let known = targets.wait_for(|targets| !targets.is_empty()).await;
        let known = known.map_err(|_| io::Error::other("this process is ending"))?.clone();
        let first = turn.fetch_add(1, Ordering::Relaxed);
        let mut last = io::Error::other("there is no such node");
        for number in 0..known.len() {
            let target = &known[first.wrapping_add(number) % known.len()];
            match timeout(CONNECTING_TAKES, self.connect(target)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "it does not answer"),
            }
            tracing::debug!(node = target.node_id, address = target.address, error = %last, "cannot connect to a node");
        }
        Err(last)
    }

    async fn connect(&self, target: &Target) -> io::Result<Severable<TlsStream<TcpStream>>> {
        let admitted = self.cut_off.admit(&target.node_id);
        let admitted = admitted.ok_or_else(|| io::Error::other(format!("node {} was removed", target.node_id)))?;
        let name = ServerName::try_from(target.name.clone()).map_err(io::Error::other)?;
        let stream = TcpStream::connect(&target.address).await?;
        stream.set_nodelay(true)?;
        let stream = TlsConnector::from(self.credentials.client()).connect(name, stream).await?;
        Ok(Severable::new(stream, admitted))
    }
}

/// Whether whoever answered is of the cluster, and not the one that was meant.
fn names_another(error: &io::Error) -> bool {
    use rustls::{CertificateError as C, Error as E};
    let error = error.get_ref().and_then(|inner| inner.downcast_ref::<E>());
    matches!(error, Some(E::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. })))
}
