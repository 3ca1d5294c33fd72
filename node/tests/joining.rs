//! Machines that join a Monitor, over real sockets: who gets in, who does not, and what each of them may do.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use seine_common::clock::Clock;
use seine_node::identity::{JoinToken, OwnIdentity, PendingRequest, TokenTerms};
use seine_node::joining::{JoinError, join};
use seine_node::membership::{Members, MembershipService, NodeTable, VERSION};
use seine_node::registry::Registry;
use seine_node::transport::Channel;
use seine_node::transport::credentials::Credentials;
use seine_node::transport::cut_off::CutOff;
use seine_node::transport::dial::Dialer;
use seine_node::transport::listen;
use seine_node::transport::monitors::Monitors;
use seine_node::transport::node_port::NodePort;
use seine_proto::monitor::v1::NodeInfo;
use seine_proto::node::v1::membership_client::MembershipClient;
use seine_proto::node::v1::{RegisterRequest, RenewRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::service::RoutesBuilder;
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

const DEADLINE: Duration = Duration::from_secs(20);
const DAY_MS: i64 = 24 * 3600 * 1000;

/// The Monitor's side: its books and its node port.
struct Monitor {
    registry: Registry,
    table: NodeTable,
    members: Arc<Members>,
    cut_off: CutOff,
    address: String,
    clock: Clock,
    data: tempfile::TempDir,
    _stop: DropGuard,
}

impl Monitor {
    async fn start() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        Self::start_at(Clock::manual(now)).await
    }

    async fn start_at(clock: Clock) -> Self {
        let data = tempfile::tempdir().unwrap();
        let registry = Registry::open(&data.path().join("authority"), clock.clone()).unwrap();
        let roles = ["monitor".to_owned()].into();
        let own = registry.with(|registrar, now| registrar.own_identity(&data.path().join("identity"), &roles, now));
        let credentials = Credentials::new(&own.unwrap()).unwrap();
        let (table, members, cut_off) = (NodeTable::new(clock.clone()), Arc::<Members>::default(), CutOff::default());
        let mut routes = RoutesBuilder::default();
        let (_, health) = tonic_health::server::health_reporter();
        let saw_epoch = Arc::new(|_| Box::pin(async { Ok(()) }) as _);
        routes.add_service(MembershipService::new(table.clone(), registry.clone(), saw_epoch)).add_service(health);
        let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let port = NodePort { credentials, cut_off: cut_off.clone(), members: Arc::clone(&members) };
        tokio::spawn(port.serve(routes.routes(), listener, stop.clone()));
        Self { registry, table, members, cut_off, address, clock, data, _stop: stop.drop_guard() }
    }

    fn token(&self, terms: &TokenTerms) -> JoinToken {
        self.registry.with(|registrar, now| registrar.create_token(terms, now)).unwrap()
    }

    async fn join(&self, token: &JoinToken, roles: &[&str]) -> Result<Node, JoinError> {
        let data = tempfile::tempdir().unwrap();
        let roles: BTreeSet<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let own =
            timeout(DEADLINE, join(&self.address, token, &roles, data.path())).await.expect("an answer in time")?;
        Ok(Node { own, roles, data })
    }

    async fn node(&self, roles: &[&str]) -> Node {
        self.join(&self.token(&TokenTerms::default()), roles).await.unwrap()
    }

    fn remove(&self, node: &Node) {
        self.registry.with(|registrar, now| registrar.remove(&node.own.node, now)).unwrap();
        self.cut_off.remove(self.registry.removed());
        self.table.remove(node.own.node.as_str());
    }
}

struct Node {
    own: OwnIdentity,
    roles: BTreeSet<String>,
    data: tempfile::TempDir,
}

impl Node {
    fn channel(&self, monitor: &Monitor) -> Channel {
        let dialer = Dialer::new(Credentials::new(&self.own).unwrap(), CutOff::default());
        dialer.channel_to_monitor(&Monitors::at(&monitor.address))
    }

    fn registration(&self) -> RegisterRequest {
        let node = NodeInfo {
            id: self.own.node.to_string(),
            roles: self.roles.iter().cloned().collect(),
            address: "127.0.0.1:1".to_owned(),
            ..NodeInfo::default()
        };
        RegisterRequest { node: Some(node), version: VERSION.to_owned(), ..RegisterRequest::default() }
    }

    async fn register(&self, monitor: &Monitor) -> Result<Vec<String>, Status> {
        let mut client = MembershipClient::new(self.channel(monitor));
        let answer = timeout(DEADLINE, client.register(self.registration())).await.expect("an answer in time")?;
        Ok(answer.into_inner().nodes.into_iter().map(|node| node.id).collect())
    }
}

/// A call to whatever method, without a message.
async fn call(channel: Channel, path: &'static str) -> Status {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.expect("the connection opens");
    let codec = tonic_prost::ProstCodec::<HealthCheckRequest, HealthCheckRequest>::default();
    let path = tonic::codegen::http::uri::PathAndQuery::from_static(path);
    let answer = client.unary(Request::new(HealthCheckRequest::default()), path, codec).await;
    answer.err().unwrap_or_else(|| Status::ok("answered"))
}

fn refusal(joined: Result<Node, JoinError>) -> String {
    match joined.err().expect("not joined") {
        JoinError::Refused(reason) => reason,
        error => panic!("not refused, but: {error}"),
    }
}

#[tokio::test]
async fn a_machine_with_a_token_joins_and_learns_of_the_others() {
    let monitor = Monitor::start().await;
    let (one, two) = (monitor.node(&["collector"]).await, monitor.node(&["analyser", "filesaver"]).await);
    assert_ne!(one.own.node, two.own.node);
    one.register(&monitor).await.unwrap();
    let mut known = two.register(&monitor).await.unwrap();
    known.sort();
    let mut expected = [one.own.node.to_string(), two.own.node.to_string()];
    expected.sort();
    assert_eq!(known, expected);
    let kept = OwnIdentity::load(one.data.path()).unwrap().unwrap();
    assert_eq!((kept.node, kept.chain), (one.own.node, one.own.chain));
}

#[tokio::test]
async fn whoever_knows_the_nodes_is_answered_as_soon_as_they_change() {
    let monitor = Monitor::start().await;
    let (one, two) = (monitor.node(&["collector"]).await, monitor.node(&["collector"]).await);
    let mut client = MembershipClient::new(one.channel(&monitor));
    let first = client.register(one.registration()).await.unwrap().into_inner();
    let again = RegisterRequest { known: first.known, ..one.registration() };
    let (second, _) = tokio::join!(client.register(again), two.register(&monitor));
    assert_eq!((first.nodes.len(), second.unwrap().into_inner().nodes.len()), (1, 2));
}

#[tokio::test]
async fn a_token_of_another_monitor_is_noticed_before_its_secret_is_sent() {
    let (monitor, other) = (Monitor::start().await, Monitor::start().await);
    let token = other.token(&TokenTerms::default());
    let reason = refusal(monitor.join(&token, &["collector"]).await);
    assert!(reason.contains("token"), "{reason}");
    assert_eq!(other.registry.with(|registrar, _| registrar.tokens()[0].uses_left), 1);
}

#[tokio::test]
async fn wrong_expired_used_up_and_revoked_tokens_are_refused_with_a_sentence() {
    let monitor = Monitor::start().await;
    let (first, second) = (monitor.token(&TokenTerms::default()), monitor.token(&TokenTerms::default()));
    let mixed = JoinToken { secret: second.secret.clone(), ..first.clone() };
    refusal(monitor.join(&mixed, &["collector"]).await);
    let unknown = JoinToken { id: "aaaaaaaa".parse().unwrap(), ..first.clone() };
    assert!(refusal(monitor.join(&unknown, &["collector"]).await).contains("does not know"));
    assert_eq!(monitor.registry.with(|registrar, _| registrar.members().list().count()), 1, "the Monitor itself");

    monitor.join(&first, &["collector"]).await.unwrap();
    assert!(refusal(monitor.join(&first, &["collector"]).await).contains(first.id.as_str()));
    monitor.registry.with(|registrar, _| registrar.revoke_token(&second.id)).unwrap();
    assert!(refusal(monitor.join(&second, &["collector"]).await).contains("revoked"));
    let brief = monitor.token(&TokenTerms { ttl: Duration::from_secs(60), ..TokenTerms::default() });
    monitor.clock.advance(61_000);
    assert!(refusal(monitor.join(&brief, &["collector"]).await).contains("expired"));
    let narrow = monitor.token(&TokenTerms { roles: ["analyser".to_owned()].into(), ..TokenTerms::default() });
    assert!(refusal(monitor.join(&narrow, &["collector"]).await).contains("collector"));
    let nonsense = monitor.token(&TokenTerms::default());
    assert!(refusal(monitor.join(&nonsense, &["nonsense"]).await).contains("no role"));
    assert!(
        refusal(monitor.join(&nonsense, &["monitor"]).await).contains("frontier.store"),
        "its books are on its disk"
    );
    for secret in [first.secret.reveal(), second.secret.reveal()] {
        let books = std::fs::read_dir(monitor.data.path().join("authority")).unwrap();
        let kept = books.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap_or_default());
        assert!(!kept.collect::<String>().contains(&secret));
    }
}

#[tokio::test]
async fn without_a_certificate_nothing_can_be_called_but_joining() {
    let monitor = Monitor::start().await;
    let token = monitor.token(&TokenTerms::default());
    let stream = TcpStream::connect(&monitor.address).await.unwrap();
    let config = seine_node::identity::tls::pinned_client_config(token.pin);
    let name = seine_node::identity::Name::Monitor.server_name();
    let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await.unwrap();
    let mut stream = Some(hyper_util::rt::TokioIo::new(stream));
    let connect = tower::service_fn(move |_| std::future::ready(stream.take().ok_or_else(|| io::Error::other("once"))));
    let endpoint = tonic::transport::Endpoint::from_static("http://monitor.seine.invalid");
    let channel = endpoint.connect_with_connector(connect).await.unwrap();
    for path in [
        "/seine.node.v1.Membership/Register",
        "/seine.node.v1.Membership/Renew",
        "/grpc.health.v1.Health/Check",
        "/seine.monitor.v1.Work/Attach",
        "/seine.monitor.v1.Admin/ListCrawls",
    ] {
        assert_eq!(call(channel.clone().into(), path).await.code(), Code::Unauthenticated, "{path}");
    }
}

#[tokio::test]
async fn a_node_may_call_what_its_role_needs_and_speaks_only_for_itself() {
    let monitor = Monitor::start().await;
    let (collector, other) = (monitor.node(&["collector"]).await, monitor.node(&["analyser"]).await);
    let channel = collector.channel(&monitor);
    let withdraw = "/seine.filesaver.v1.Filesaver/Withdraw";
    assert_eq!(call(channel.clone(), withdraw).await.code(), Code::Unavailable, "not known yet");
    monitor.members.update(vec![collector.registration().node.unwrap()]);
    let refused = call(channel.clone(), withdraw).await;
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert!(refused.message().contains("collector") && refused.message().contains(withdraw), "{refused:?}");
    assert_eq!(call(channel.clone(), "/seine.monitor.v1.Work/Attach").await.code(), Code::Unimplemented, "let through");

    let mut client = MembershipClient::new(channel);
    assert_eq!(client.register(other.registration()).await.unwrap_err().code(), Code::InvalidArgument);
    let mut more = collector.registration();
    more.node.as_mut().unwrap().roles.push("filesaver".to_owned());
    let refused = client.register(more).await.unwrap_err();
    assert!(refused.message().contains("not for filesaver"), "{refused:?}");
    let old = RegisterRequest { version: "9.0.0".to_owned(), ..collector.registration() };
    assert!(client.register(old).await.unwrap_err().message().contains("upgrade the Monitor"));
}

#[tokio::test]
async fn a_removed_node_is_cut_off_in_the_middle_of_a_stream_and_does_not_come_back() {
    let monitor = Monitor::start().await;
    let (removed, staying) = (monitor.node(&["collector"]).await, monitor.node(&["collector"]).await);
    let watch = async |node: &Node| {
        let mut client = HealthClient::new(node.channel(&monitor));
        let mut states = client.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
        states.message().await.unwrap().expect("a first state");
        states
    };
    let (mut cut, mut kept) = (watch(&removed).await, watch(&staying).await);
    monitor.remove(&removed);
    let end = timeout(DEADLINE, cut.message()).await.expect("the open stream ends");
    assert!(end.is_err(), "{end:?}");
    assert!(timeout(Duration::from_millis(200), kept.message()).await.is_err(), "the other one goes on");
    assert!(removed.register(&monitor).await.is_err(), "its certificate opens no connection any more");
    assert!(staying.register(&monitor).await.is_ok());
}

#[tokio::test]
async fn certificates_of_another_cluster_and_of_another_time_are_refused() {
    let (monitor, other) = (Monitor::start().await, Monitor::start().await);
    let foreign = other.node(&["collector"]).await;
    assert!(foreign.register(&monitor).await.is_err());
    for (days_ago, is_valid) in [(20, true), (40, false)] {
        let (token, data) = (monitor.token(&TokenTerms::default()), tempfile::tempdir().unwrap());
        let roles = BTreeSet::from(["collector".to_owned()]);
        let pending = PendingRequest::open_or_draw(data.path()).unwrap();
        let request = pending.request_der().unwrap();
        let admitted = monitor.registry.with(|registrar, now| {
            let then = now - days_ago * DAY_MS;
            registrar.admit(token.id.as_str(), &token.secret.reveal(), &roles, &request, then).unwrap()
        });
        let own = pending.complete(admitted, &monitor.address).unwrap();
        let node = Node { own, roles, data };
        assert_eq!(node.register(&monitor).await.is_ok(), is_valid, "of {days_ago} days ago");
    }
}

#[tokio::test]
async fn a_certificate_is_renewed_and_its_copy_locks_the_node() {
    let monitor = Monitor::start().await;
    let node = monitor.node(&["collector"]).await;
    let renew = async |own: &OwnIdentity, directory: &std::path::Path| {
        let dialer = Dialer::new(Credentials::new(own).unwrap(), CutOff::default());
        let channel = dialer.channel_to_monitor(&Monitors::at(&monitor.address));
        let pending = PendingRequest::open_or_draw(directory).unwrap();
        let signing_request = pending.request_der().unwrap().into();
        let request = RenewRequest { signing_request, generation: own.generation };
        let answer = MembershipClient::new(channel).renew(request).await?.into_inner().certificate.unwrap();
        let admitted =
            seine_node::joining::admitted(own.cluster.as_str(), own.node.as_str(), answer).expect("it makes sense");
        Ok::<_, Status>(pending.complete(admitted, &monitor.address).unwrap())
    };
    let renewed = renew(&node.own, node.data.path()).await.unwrap();
    assert_eq!((&renewed.node, renewed.generation), (&node.own.node, node.own.generation + 1));
    assert_ne!(renewed.chain, node.own.chain);
    let thief = tempfile::tempdir().unwrap();
    let refused = renew(&node.own, thief.path()).await.expect_err("an older generation");
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
    assert_eq!(monitor.registry.removed(), [node.own.node.to_string()]);
}

#[tokio::test]
async fn plaintext_gets_no_answer_and_silent_clients_hold_up_nobody() {
    let monitor = Monitor::start().await;
    let address: SocketAddr = monitor.address.parse().unwrap();
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(DEADLINE, plain.read_to_end(&mut answer)).await.expect("the connection ends");
    // At most an alert of TLS, nothing of HTTP.
    assert!(answer.is_empty() || (answer[0] == 21 && answer.len() <= 7), "{answer:?}");
    let node = monitor.node(&["collector"]).await;
    assert!(node.register(&monitor).await.is_ok());
    assert_eq!(silent.len(), 300);
}
