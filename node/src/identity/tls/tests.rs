//! Real handshakes over an in-memory stream, with what both sides would use.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use rustls::pki_types::{ServerName, UnixTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;
use crate::identity::authority::{LIFE_MS, Subject};
use crate::identity::book::Books;
use crate::identity::certificate::{Peer, peer};
use crate::identity::name::{Name, NodeId};
use crate::identity::own::PendingRequest;
use crate::identity::registrar::{Admitted, Registrar};
use crate::identity::{Authority, TokenTerms};

const NOW: i64 = 1_800_000_000_000;
const HOUR: i64 = 3600 * 1000;
const DEADLINE: Duration = Duration::from_secs(20);

/// A clock that stands still.
#[derive(Debug)]
struct At(i64);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_millis(u64::try_from(self.0).unwrap())))
    }
}

fn at(now_ms: i64) -> Arc<dyn TimeProvider> {
    Arc::new(At(now_ms))
}

struct Cluster {
    _directory: tempfile::TempDir,
    authority: Authority,
}

impl Cluster {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::open_or_create(&Books::open(directory.path()).unwrap(), NOW).unwrap();
        Self { authority, _directory: directory }
    }

    /// What the authority gives whom at a time.
    fn identity(&self, subject: &Subject, now_ms: i64) -> OwnIdentity {
        let home = tempfile::tempdir().unwrap();
        let pending = PendingRequest::open_or_draw(home.path()).unwrap();
        let signed = self.authority.sign(&pending.request_der().unwrap(), subject, now_ms).unwrap();
        let answer = Admitted {
            cluster: self.authority.cluster().clone(),
            node: subject.node.clone(),
            generation: 1,
            chain: signed.chain,
            roots: self.authority.trusted_roots(now_ms),
        };
        pending.complete(answer, "").unwrap()
    }

    fn monitor(&self) -> OwnIdentity {
        self.identity(&Subject::monitor(node("bado-kire")), NOW)
    }

    fn node(&self, name: &str) -> OwnIdentity {
        self.identity(&Subject::node(node(name)), NOW)
    }
}

fn node(name: &str) -> NodeId {
    name.parse().unwrap()
}

fn server(own: &OwnIdentity) -> Arc<ServerConfig> {
    server_config_at(own, &own.roots, at(NOW)).unwrap()
}

fn client(own: &OwnIdentity) -> Arc<ClientConfig> {
    client_config_at(own, &own.roots, at(NOW)).unwrap()
}

/// What each side has after a handshake and an answer: who the other is, or why not, as a person is told.
struct Met {
    /// Whom the server sees; `None` inside is a client without a certificate.
    server: Result<Option<Peer>, String>,
    client: Result<Option<Peer>, String>,
}

async fn meet(server: Arc<ServerConfig>, client: Arc<ClientConfig>, name: &Name) -> Met {
    meet_by_name(server, client, name.server_name()).await
}

async fn meet_by_name(server: Arc<ServerConfig>, client: Arc<ClientConfig>, name: ServerName<'static>) -> Met {
    let (near, far) = duplex(64 << 10);
    let accept = async {
        let mut stream = TlsAcceptor::from(server).accept(far).await?;
        stream.write_all(b"!").await?;
        stream.shutdown().await?;
        let connection = stream.get_ref().1;
        assert_eq!(connection.alpn_protocol(), Some(HTTP2));
        assert_eq!(connection.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        Ok(connection.peer_certificates().map(|chain| peer(&chain[0]).expect("a verified peer is a node")))
    };
    let connect = async {
        let mut stream = TlsConnector::from(client).connect(name, near).await?;
        // A client hears only with the first answer that its certificate was refused.
        stream.read_exact(&mut [0]).await?;
        let connection = stream.get_ref().1;
        Ok(connection.peer_certificates().map(|chain| peer(&chain[0]).expect("a verified peer is a node")))
    };
    let explained = |result: io::Result<Option<Peer>>| result.map_err(|error| explain_io(&error));
    let both = async { tokio::join!(accept, connect) };
    let (server, client) = tokio::time::timeout(DEADLINE, both).await.expect("a handshake ends");
    Met { server: explained(server), client: explained(client) }
}

#[track_caller]
fn assert_refused(side: &Result<Option<Peer>, String>, sentence: &str) {
    let refusal = side.as_ref().expect_err("refused");
    assert!(refusal.contains(sentence), "{refusal:?} does not say {sentence:?}");
}

#[tokio::test]
async fn nodes_of_one_cluster_know_each_other() {
    let cluster = Cluster::new();
    let (monitor, other) = (cluster.monitor(), cluster.node("tamu-rosi"));
    for name in [Name::Monitor, Name::Node(monitor.node.clone())] {
        let met = meet(server(&monitor), client(&other), &name).await;
        assert_eq!(met.server.unwrap(), peer(&other.chain[0]));
        assert_eq!(met.client.unwrap(), peer(&monitor.chain[0]));
    }
}

#[tokio::test]
async fn the_right_pin_meets_the_monitor_without_a_certificate() {
    let cluster = Cluster::new();
    let monitor = cluster.monitor();
    let pinned = pinned_client_config_at(cluster.authority.pin(), at(NOW));
    let met = meet(server(&monitor), pinned, &Name::Monitor).await;
    assert_eq!((met.server.unwrap(), met.client.unwrap()), (None, peer(&monitor.chain[0])));
}

#[tokio::test]
async fn a_wrong_pin_is_refused_before_anything_is_sent() {
    let (cluster, other) = (Cluster::new(), Cluster::new());
    let pinned = pinned_client_config_at(other.authority.pin(), at(NOW));
    let met = meet(server(&cluster.monitor()), pinned, &Name::Monitor).await;
    assert_refused(&met.client, "the server's authority is not the one that the token names");
    assert_refused(&met.server, "refused this node's certificate");
}

#[tokio::test]
async fn a_pinned_root_that_did_not_sign_the_server_is_not_enough() {
    let (cluster, other) = (Cluster::new(), Cluster::new());
    let mut liar = other.monitor();
    liar.chain.push(cluster.authority.root_der().clone());
    let pinned = pinned_client_config_at(cluster.authority.pin(), at(NOW));
    let met = meet(server(&liar), pinned, &Name::Monitor).await;
    assert_refused(&met.client, "of another cluster");
}

#[tokio::test]
async fn a_node_that_is_not_the_monitor_gets_no_token_whatever_it_is_called() {
    let cluster = Cluster::new();
    let other = cluster.node("tamu-rosi");
    for name in [Name::Monitor, Name::Node(other.node.clone())] {
        let pinned = pinned_client_config_at(cluster.authority.pin(), at(NOW));
        let met = meet(server(&other), pinned, &name).await;
        assert_refused(&met.client, "another node than the one that was meant");
    }
}

#[tokio::test]
async fn a_foreign_cluster_is_refused_on_both_sides() {
    let (cluster, foreign) = (Cluster::new(), Cluster::new());
    let (monitor, stranger) = (cluster.monitor(), foreign.node("tamu-rosi"));
    let met = meet(server(&monitor), client(&stranger), &Name::Monitor).await;
    assert_refused(&met.client, "the other side's certificate is of another cluster");
    // One that trusts the server still has a certificate that the server does not trust.
    let knowing = client_config_at(&stranger, &monitor.roots, at(NOW)).unwrap();
    let met = meet(server(&monitor), knowing, &Name::Monitor).await;
    assert_refused(&met.server, "the other side's certificate is of another cluster");
    assert_refused(&met.client, "refused this node's certificate as one of another cluster");
}

#[tokio::test]
async fn an_expired_certificate_is_refused_on_both_sides() {
    let cluster = Cluster::new();
    let (monitor, fresh) = (cluster.monitor(), cluster.node("tamu-rosi"));
    let expired = cluster.identity(&Subject::monitor(node("zoki-dami")), NOW - LIFE_MS - HOUR);
    let met = meet(server(&monitor), client(&expired), &Name::Monitor).await;
    assert_refused(&met.server, "certificate has expired");
    assert_refused(&met.client, "as expired or not valid yet");
    let met = meet(server(&expired), client(&fresh), &Name::Monitor).await;
    assert_refused(&met.client, "certificate has expired");
    let met = meet(server(&expired), pinned_client_config_at(cluster.authority.pin(), at(NOW)), &Name::Monitor).await;
    assert_refused(&met.client, "certificate has expired");
}

#[tokio::test]
async fn a_clock_fifty_minutes_behind_works_and_one_two_hours_behind_is_named() {
    let cluster = Cluster::new();
    let (monitor, other) = (cluster.monitor(), cluster.node("tamu-rosi"));
    let behind = NOW - 50 * 60 * 1000;
    let met =
        meet(server(&monitor), pinned_client_config_at(cluster.authority.pin(), at(behind)), &Name::Monitor).await;
    assert!(met.client.is_ok() && met.server.is_ok());
    let late = client_config_at(&other, &other.roots, at(behind)).unwrap();
    let met = meet(server(&monitor), late, &Name::Monitor).await;
    assert!(met.client.is_ok() && met.server.is_ok());
    let late_server = server_config_at(&monitor, &monitor.roots, at(behind)).unwrap();
    let met = meet(late_server, client(&other), &Name::Monitor).await;
    assert!(met.client.is_ok() && met.server.is_ok());

    let too_late = client_config_at(&other, &other.roots, at(NOW - 2 * HOUR)).unwrap();
    let met = meet(server(&monitor), too_late, &Name::Monitor).await;
    assert_refused(&met.client, "not valid yet; check the clocks");
}

#[tokio::test]
async fn names_are_checked_and_addresses_are_not_names() {
    let cluster = Cluster::new();
    let (monitor, other) = (cluster.monitor(), cluster.node("tamu-rosi"));
    for name in [Name::Monitor, Name::Node(node("zoki-dami"))] {
        let met = meet(server(&other), client(&monitor), &name).await;
        assert_refused(&met.client, "another node than the one that was meant");
    }
    let address = ServerName::try_from("127.0.0.1").unwrap();
    let met = meet_by_name(server(&other), client(&monitor), address).await;
    assert_refused(&met.client, "another node than the one that was meant");
}

/// Somebody who copies a certificate from the wire has no key for it.
#[tokio::test]
async fn a_certificate_without_its_key_is_worth_nothing() {
    let cluster = Cluster::new();
    let (monitor, mut stolen) = (cluster.monitor(), cluster.node("tamu-rosi"));
    stolen.chain.clone_from(&monitor.chain);
    assert!(server_config_at(&stolen, &monitor.roots, at(NOW)).is_err());
    assert!(client_config_at(&stolen, &monitor.roots, at(NOW)).is_err());
}

#[tokio::test]
async fn a_node_cannot_sign_for_others() {
    let cluster = Cluster::new();
    let (monitor, signer) = (cluster.monitor(), cluster.node("tamu-rosi"));
    // A chain that leads over an ordinary node's certificate, made with that node's own key.
    let issuer_key =
        rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&signer.private_key(), &rcgen::PKCS_ECDSA_P256_SHA256);
    let issuer = rcgen::Issuer::from_ca_cert_der(&signer.chain[0], issuer_key.unwrap()).unwrap();
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let forged =
        rcgen::CertificateParams::new(vec![Name::Monitor.dns_name()]).unwrap().signed_by(&key, &issuer).unwrap();
    let mut chain = vec![forged.der().clone()];
    chain.extend(signer.chain.iter().cloned());
    let mut config = ServerConfig::builder_with_details(provider(), at(NOW))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    config.alpn_protocols = vec![HTTP2.to_vec()];
    let config = Arc::new(config);
    for client in [client(&monitor), pinned_client_config_at(cluster.authority.pin(), at(NOW))] {
        let met = meet(config.clone(), client, &Name::Monitor).await;
        assert_refused(&met.client, "the other side's certificate");
    }
}

#[tokio::test]
async fn while_a_root_is_replaced_everybody_knows_everybody() {
    let mut cluster = Cluster::new();
    let old_pin = cluster.authority.pin();
    let old = [cluster.monitor(), cluster.node("tamu-rosi")];
    let new_pin = cluster.authority.rotate(NOW).unwrap();
    let new = [cluster.monitor(), cluster.node("zoki-dami")];
    // Those of before know the old root alone, those of after know both.
    for (server_own, client_own) in [(&old[0], &new[1]), (&new[0], &old[1]), (&old[0], &old[1]), (&new[0], &new[1])] {
        let met = meet(server(server_own), client(client_own), &Name::Monitor).await;
        assert_eq!(met.server.unwrap(), peer(&client_own.chain[0]));
        assert_eq!(met.client.unwrap(), peer(&server_own.chain[0]));
    }
    for pin in [old_pin, new_pin] {
        let met = meet(server(&new[0]), pinned_client_config_at(pin, at(NOW)), &Name::Monitor).await;
        assert_eq!(met.client.unwrap(), peer(&new[0].chain[0]));
    }
    assert_eq!(new[1].renew_at_ms(0.0), new[1].validity().not_before_ms + (LIFE_MS + HOUR) / 2);
    let mut told = old[1].clone();
    told.roots.clone_from(&new[1].roots);
    assert_eq!(told.renew_at_ms(1.0), told.validity().not_before_ms, "at once, when it hears of the new root");

    cluster.authority.finish_rotation().unwrap();
    let last = cluster.monitor();
    let met = meet(server(&last), client(&old[1]), &Name::Monitor).await;
    assert_refused(&met.client, "of another cluster");
    let met = meet(server(&last), pinned_client_config_at(old_pin, at(NOW)), &Name::Monitor).await;
    assert_refused(&met.client, "the server's authority is not the one that the token names");
}

#[tokio::test]
async fn plaintext_and_strangers_are_told_apart() {
    let cluster = Cluster::new();
    let accept = async |bytes: &[u8]| {
        let (mut near, far): (DuplexStream, DuplexStream) = duplex(64 << 10);
        near.write_all(bytes).await.unwrap();
        near.shutdown().await.unwrap();
        let accepting = TlsAcceptor::from(server(&cluster.monitor())).accept(far);
        let error = tokio::time::timeout(DEADLINE, accepting).await.expect("it ends").expect_err("refused");
        explain_io(&error)
    };
    let sentence = accept(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(sentence.contains("does not speak TLS"), "{sentence}");
    let sentence = accept(b"").await;
    assert!(sentence.contains("closed the connection"), "{sentence}");
}

#[tokio::test]
async fn nothing_is_resumed_after_a_configuration_changed() {
    let cluster = Cluster::new();
    let (monitor, other) = (cluster.monitor(), cluster.node("tamu-rosi"));
    let (server, client) = (server(&monitor), client(&other));
    assert_eq!(server.send_tls13_tickets, 0);
    for _ in 0..3 {
        let (near, far) = duplex(64 << 10);
        let accept = async {
            let mut stream = TlsAcceptor::from(server.clone()).accept(far).await.unwrap();
            stream.write_all(b"!").await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let connect = async {
            let connector = TlsConnector::from(client.clone());
            let mut stream = connector.connect(Name::Monitor.server_name(), near).await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(rustls::HandshakeKind::Full));
        };
        tokio::time::timeout(DEADLINE, async { tokio::join!(accept, connect) }).await.expect("a handshake ends");
    }
}

/// From an empty directory to a conversation, as a machine does it.
#[tokio::test]
async fn a_machine_joins_and_is_known_by_its_name() {
    let books = tempfile::tempdir().unwrap();
    let mut registrar = Registrar::open_or_create(books.path(), NOW).unwrap();
    let monitor_home = tempfile::tempdir().unwrap();
    let roles = BTreeSet::from(["monitor".to_owned()]);
    let monitor = registrar.own_identity(monitor_home.path(), &roles, NOW).unwrap();
    let line = registrar.create_token(&TokenTerms::default(), NOW).unwrap().reveal();

    let token: crate::identity::JoinToken = line.parse().unwrap();
    let met = meet(server(&monitor), pinned_client_config_at(token.pin, at(NOW)), &Name::Monitor).await;
    assert_eq!(met.server.unwrap(), None);
    let home = tempfile::tempdir().unwrap();
    let pending = PendingRequest::open_or_draw(home.path()).unwrap();
    let request = pending.request_der().unwrap();
    let collector = BTreeSet::from(["collector".to_owned()]);
    let answer = registrar.admit(token.id.as_str(), &token.secret.reveal(), &collector, &request, NOW).unwrap();
    pending.complete(answer, "10.0.0.1:7071").unwrap().save(home.path()).unwrap();

    let own = OwnIdentity::load(home.path()).unwrap().unwrap();
    let met = meet(server(&monitor), client(&own), &Name::Monitor).await;
    let who = met.server.unwrap().unwrap();
    assert_eq!(registrar.members().check(&who).unwrap().roles, collector);
    let met = meet(server(&own), client(&monitor), &Name::Node(own.node.clone())).await;
    assert_eq!(met.client.unwrap().unwrap().node_id, own.node);
}

#[test]
fn no_roots_is_an_error_with_a_sentence() {
    let own = Cluster::new().monitor();
    assert!(matches!(server_config(&own, &[]), Err(TlsError::NoRoots)));
    assert!(matches!(client_config(&own, &[]), Err(TlsError::NoRoots)));
    assert!(client_config(&own, &own.roots).is_ok() && server_config(&own, &own.roots).is_ok());
}
