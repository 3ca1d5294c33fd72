//! Several machines that may be the Monitor: its books lie where all of them reach them, the key to them goes to those alone, and
//! everybody finds the one that it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use seine_common::clock::Clock;
use seine_node::identity::{ClusterKey, OwnIdentity, Shelf, TokenTerms};
use seine_node::joining::{self, JoinError};
use seine_node::membership::{Members, MembershipService, NodeTable, VERSION};
use seine_node::registry::Registry;
use seine_node::transport::credentials::Credentials;
use seine_node::transport::cut_off::CutOff;
use seine_node::transport::dial::Dialer;
use seine_node::transport::listen;
use seine_node::transport::monitors::Monitors;
use seine_node::transport::node_port::NodePort;
use seine_proto::monitor::v1::NodeInfo;
use seine_proto::node::v1::RegisterRequest;
use seine_proto::node::v1::membership_client::MembershipClient;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;
use tonic::service::RoutesBuilder;

const DEADLINE: Duration = Duration::from_secs(20);
const NOW: i64 = 1_800_000_000_000;

/// A store that several machines reach.
#[derive(Default)]
struct Store {
    books: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The process that asks does not own the frontier any more.
    is_lost: AtomicBool,
    /// Held while the store does not answer.
    away: Mutex<()>,
}

impl Shelf for Store {
    fn read(&self, book: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.books.lock().unwrap().get(book).cloned())
    }

    fn write(&self, book: &str, content: &[u8]) -> io::Result<()> {
        let _here = self.away.lock().unwrap();
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(io::Error::other("another Monitor has taken over"));
        }
        self.books.lock().unwrap().insert(book.to_owned(), content.to_vec());
        Ok(())
    }
}

fn open(directory: &Path, store: &Arc<Store>) -> Registry {
    Registry::open_shared(directory, store.clone(), Clock::manual(NOW)).unwrap()
}

fn own(registry: &Registry, directory: &Path) -> OwnIdentity {
    let roles = ["monitor".to_owned()].into();
    registry.with(|registrar, now| registrar.own_identity(directory, &roles, now)).unwrap()
}

/// As a machine that has joined for the role does.
fn give_key(from: &Registry, directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    from.cluster_key().unwrap().save(directory).unwrap();
}

#[test]
fn whoever_takes_over_reads_what_the_monitor_before_it_knew() {
    let (store, first, second) = (Arc::<Store>::default(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let before = open(first.path(), &store);
    let token = before.with(|registrar, now| registrar.create_token(&TokenTerms::default(), now)).unwrap();
    let id = own(&before, &first.path().join("identity")).node;
    give_key(&before, second.path());
    let after = open(second.path(), &store);
    assert_eq!(after.roots(), before.roots());
    after.with(|registrar, _| {
        assert_eq!(registrar.tokens()[0].id, token.id);
        assert!(registrar.members().get(&id).is_some());
    });
    let other = own(&after, &second.path().join("identity"));
    assert!(other.names_monitor() && other.node != id);
    // And back again.
    let again = open(first.path(), &store);
    assert!(again.with(|registrar, _| registrar.members().get(&other.node).is_some()));
}

#[test]
fn the_store_never_sees_the_key_of_the_root() {
    let (store, directory) = (Arc::<Store>::default(), tempfile::tempdir().unwrap());
    let registry = open(directory.path(), &store);
    let clear = std::fs::read_to_string(directory.path().join("authority.jsonl")).unwrap();
    let key = clear.split("\"key\":\"").nth(1).expect("the copy has the root's key").split('"').next().unwrap();
    let books = store.books.lock().unwrap();
    assert_eq!(books.len(), 3);
    let secrets = [key.as_bytes(), &key.as_bytes()[20..40], registry.cluster_key().unwrap().reveal().to_owned().leak()];
    for (name, book) in books.iter() {
        for secret in secrets {
            assert!(!book.windows(secret.len()).any(|window| window == secret), "in {name}");
        }
    }
}

#[test]
fn a_store_of_another_cluster_is_refused_and_left_as_it_is() {
    let (store, first, second) = (Arc::<Store>::default(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(first.path(), &store);
    let before = store.books.lock().unwrap().clone();
    let refused = |directory: &Path| {
        let opened = Registry::open_shared(directory, store.clone(), Clock::manual(NOW));
        opened.err().expect("its key is not here").to_string()
    };
    assert!(refused(second.path()).contains("by a token for the role monitor"), "{}", refused(second.path()));
    // One that has a cluster of its own keeps it.
    drop(Registry::open(second.path(), Clock::manual(NOW)).unwrap());
    let own = std::fs::read(second.path().join("authority.jsonl")).unwrap();
    refused(second.path());
    ClusterKey::draw().save(second.path()).unwrap();
    refused(second.path());
    assert_eq!(std::fs::read(second.path().join("authority.jsonl")).unwrap(), own);
    assert_eq!(*store.books.lock().unwrap(), before);
}

#[test]
fn books_move_from_the_disk_to_an_empty_store_and_are_there_when_they_move_back() {
    let (store, directory) = (Arc::<Store>::default(), tempfile::tempdir().unwrap());
    let on_disk = Registry::open(directory.path(), Clock::manual(NOW)).unwrap();
    let token = on_disk.with(|registrar, now| registrar.create_token(&TokenTerms::default(), now)).unwrap();
    let shared = open(directory.path(), &store);
    assert_eq!(shared.roots(), on_disk.roots());
    assert!(shared.with(|registrar, _| registrar.revoke_token(&token.id)).unwrap());
    drop(shared);
    let again = Registry::open(directory.path(), Clock::manual(NOW)).unwrap();
    assert!(again.with(|registrar, _| registrar.tokens()[0].revoked), "the copy is of now");
}

#[test]
fn what_the_store_refuses_has_not_happened() {
    let (store, directory) = (Arc::<Store>::default(), tempfile::tempdir().unwrap());
    let registry = open(directory.path(), &store);
    let token = registry.with(|registrar, now| registrar.create_token(&TokenTerms::default(), now)).unwrap();
    let before = store.books.lock().unwrap().clone();
    store.is_lost.store(true, Ordering::Relaxed);
    registry.with(|registrar, now| {
        let created = registrar.create_token(&TokenTerms::default(), now).map(|_| ());
        assert!(created.unwrap_err().to_string().contains("another Monitor has taken over"));
        assert!(registrar.revoke_token(&token.id).is_err() && registrar.rotate(now).is_err());
        assert_eq!(registrar.tokens().len(), 1);
        assert!(!registrar.tokens()[0].revoked && registrar.trusted_roots(now).len() == 1);
    });
    assert_eq!(*store.books.lock().unwrap(), before);
    let copy = Registry::open(directory.path(), Clock::manual(NOW)).unwrap();
    assert!(!copy.with(|registrar, _| registrar.tokens()[0].revoked), "nor in the copy");
}

#[test]
fn nobody_who_looks_something_up_waits_for_a_store_that_is_away() {
    let (store, directory) = (Arc::<Store>::default(), tempfile::tempdir().unwrap());
    let registry = open(directory.path(), &store);
    let away = store.away.lock().unwrap();
    let (changing, begun) = (registry.clone(), Arc::new(std::sync::Barrier::new(2)));
    let of_thread = Arc::clone(&begun);
    let thread = std::thread::spawn(move || {
        changing.with(|registrar, now| {
            of_thread.wait();
            registrar.create_token(&TokenTerms::default(), now).map(|_| ())
        })
    });
    begun.wait();
    assert_eq!((registry.removed().len(), registry.look(|registrar, _| registrar.tokens().len())), (0, 0));
    drop(away);
    thread.join().unwrap().unwrap();
    assert_eq!(registry.look(|registrar, _| registrar.tokens().len()), 1);
}

#[test]
fn a_machine_that_was_removed_does_not_become_the_monitor() {
    let (store, first, second) = (Arc::<Store>::default(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let registry = open(first.path(), &store);
    let (identity, roles) = (second.path().join("identity"), ["monitor".to_owned()].into());
    let removed = own(&registry, &identity).node;
    registry.with(|registrar, now| registrar.remove(&removed, now)).unwrap();
    give_key(&registry, second.path());
    let leads = open(second.path(), &store).with(|registrar, now| registrar.own_identity(&identity, &roles, now));
    assert!(leads.unwrap_err().to_string().contains("was removed from the cluster"));
}

#[test]
fn the_monitor_has_the_roles_that_it_runs_when_it_stands_by_again() {
    let (store, directory) = (Arc::<Store>::default(), tempfile::tempdir().unwrap());
    let (registry, identity) = (open(directory.path(), &store), directory.path().join("identity"));
    let node = own(&registry, &identity).node;
    let more = ["collector".to_owned(), "monitor".to_owned()].into();
    registry.with(|registrar, now| {
        registrar.own_identity(&identity, &more, now).unwrap();
        assert_eq!(registrar.members().get(&node).unwrap().roles, more);
    });
}

/// A process that answers at a node port: the Monitor, or one that stands by.
struct Answering {
    address: String,
    _stop: DropGuard,
}

impl Answering {
    async fn monitor(registry: &Registry, own: &OwnIdentity) -> Self {
        Self::at(listen("127.0.0.1:0".parse().unwrap()).await.unwrap(), own, Some(registry))
    }

    async fn standby(own: &OwnIdentity) -> Self {
        Self::at(listen("127.0.0.1:0".parse().unwrap()).await.unwrap(), own, None)
    }

    fn at(listener: TcpListener, own: &OwnIdentity, registry: Option<&Registry>) -> Self {
        let mut routes = RoutesBuilder::default();
        let (_, health) = tonic_health::server::health_reporter();
        routes.add_service(health);
        if let Some(registry) = registry {
            let saw_epoch = Arc::new(|_| Box::pin(async { Ok(()) }) as _);
            let table = NodeTable::new(Clock::System);
            routes.add_service(MembershipService::new(table, registry.clone(), saw_epoch));
        }
        let (credentials, members) = (Credentials::new(own).unwrap(), Arc::<Members>::default());
        let port = NodePort { credentials, cut_off: CutOff::default(), members };
        let (address, stop) = (listener.local_addr().unwrap().to_string(), CancellationToken::new());
        tokio::spawn(port.serve(routes.routes(), listener, stop.clone()));
        Self { address, _stop: stop.drop_guard() }
    }
}

/// The Monitor of a store, its own identity, and where machines that join keep theirs.
struct Scene {
    registry: Registry,
    own: OwnIdentity,
    monitor: Answering,
    directory: TempDir,
}

impl Scene {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = directory.path().join("authority");
        let registry = Registry::open_shared(&authority, Arc::<Store>::default(), Clock::System).unwrap();
        let own = own(&registry, &directory.path().join("identity"));
        let monitor = Answering::monitor(&registry, &own).await;
        Self { registry, own, monitor, directory }
    }

    /// A machine that joins by a token for those roles.
    async fn join(&self, granted: &[&str], roles: &[&str]) -> Result<OwnIdentity, JoinError> {
        let names = |roles: &[&str]| roles.iter().map(|role| (*role).to_owned()).collect::<BTreeSet<_>>();
        let terms = TokenTerms { roles: names(granted), ..TokenTerms::default() };
        let token = self.registry.with(|registrar, now| registrar.create_token(&terms, now)).unwrap();
        let directory = self.directory.path().join(token.id.as_str());
        joining::join(&self.monitor.address, &token, &names(roles), &directory).await
    }
}

async fn register(monitors: &Monitors, own: &OwnIdentity) -> Result<(), Status> {
    let dialer = Dialer::new(Credentials::new(own).unwrap(), CutOff::default());
    let mut client = MembershipClient::new(dialer.channel_to_monitor(monitors));
    let node = NodeInfo { id: own.node.to_string(), roles: vec!["collector".to_owned()], ..NodeInfo::default() };
    let request = RegisterRequest { node: Some(node), version: VERSION.to_owned(), ..RegisterRequest::default() };
    tokio::time::timeout(DEADLINE, client.register(request)).await.expect("an answer in time").map(|_| ())
}

/// That know several addresses.
fn monitors(addresses: &[&str]) -> (Monitors, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let addresses = addresses.iter().map(|address| (*address).to_owned());
    (Monitors::open(directory.path(), addresses).unwrap(), directory)
}

#[tokio::test]
async fn the_clusters_key_goes_to_those_that_may_become_the_monitor_and_to_nobody_else() {
    let scene = Scene::start().await;
    let monitors = Monitors::at(&scene.monitor.address);
    let standby = scene.join(&["monitor", "collector"], &["monitor"]).await.unwrap();
    let key = joining::cluster_key(&monitors, &standby).await.unwrap();
    assert_eq!(Some(key), scene.registry.cluster_key());
    assert!(!standby.names_monitor(), "it is not the Monitor before it takes over");
    // A token for every role is not one for this one, whatever the machine runs.
    for (granted, roles) in [(&["collector"][..], &["collector"][..]), (&[], &["collector"]), (&[], &[])] {
        let other = scene.join(granted, roles).await.unwrap();
        let refused = joining::cluster_key(&monitors, &other).await.unwrap_err().to_string();
        assert!(refused.contains("does not get the cluster's key"), "{granted:?} {roles:?}: {refused}");
    }
    for granted in [&["collector"][..], &[]] {
        let refused = scene.join(granted, &["monitor"]).await.unwrap_err().to_string();
        assert!(refused.contains("--roles monitor"), "{granted:?}: {refused}");
    }
}

#[tokio::test]
async fn a_standby_that_lost_its_key_joins_again_by_a_token_for_its_name() {
    let scene = Scene::start().await;
    let roles: BTreeSet<String> = ["monitor".to_owned()].into();
    for (granted, may_lead) in [("monitor", true), ("collector", false)] {
        let earlier = scene.join(&[granted], &[granted]).await.unwrap();
        let terms = TokenTerms { node: Some(earlier.node.clone()), ..TokenTerms::default() };
        let token = scene.registry.with(|registrar, now| registrar.create_token(&terms, now)).unwrap();
        let directory = scene.directory.path().join(token.id.as_str());
        let again = joining::join(&scene.monitor.address, &token, &roles, &directory).await;
        assert_eq!(again.map(|own| own.node == earlier.node).unwrap_or(false), may_lead, "{granted}");
    }
}

#[tokio::test]
async fn a_former_monitor_comes_back_without_a_token_and_under_another_certificate() {
    let scene = Scene::start().await;
    assert!(scene.own.names_monitor());
    let directory = scene.directory.path().join("identity");
    let channel = joining::channel(&Monitors::at(&scene.monitor.address), &scene.own).unwrap();
    let standby = joining::renew(channel, &scene.own, &directory).await.unwrap();
    assert_eq!((&standby.node, standby.names_monitor()), (&scene.own.node, false));
    let again = own(&scene.registry, &directory);
    assert_eq!((&again.node, again.names_monitor()), (&standby.node, true), "it takes over again");
    assert!(again.generation > standby.generation && standby.generation > scene.own.generation);
}

#[tokio::test]
async fn the_monitor_is_found_among_those_that_stand_by_are_silent_or_gone() {
    let scene = Scene::start().await;
    let node = scene.join(&[], &["collector"]).await.unwrap();
    let standby = Answering::standby(&scene.join(&["monitor"], &["monitor"]).await.unwrap()).await;
    // The kernel takes its connections, and nobody answers them: as a process that was stopped.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap().to_string();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (known, _kept) = monitors(&[&gone, &silent_address, &standby.address, &scene.monitor.address]);
    let begun = Instant::now();
    register(&known, &node).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "after {:?}", begun.elapsed());
    assert_eq!(known.likeliest(), scene.monitor.address);
}

#[tokio::test]
async fn a_monitor_that_took_over_is_found_and_one_that_only_stands_by_is_no_reason_to_give_up() {
    let scene = Scene::start().await;
    let own = scene.join(&[], &["collector"]).await.unwrap();
    let Scene { registry, monitor, directory: _kept, .. } = scene;
    let directory = tempfile::tempdir().unwrap();
    let token = registry.with(|registrar, now| {
        let roles = ["monitor".to_owned()].into();
        registrar.create_token(&TokenTerms { roles, ..TokenTerms::default() }, now).unwrap()
    });
    let roles = ["monitor".to_owned()].into();
    let second = joining::join(&monitor.address, &token, &roles, directory.path()).await.unwrap();
    let standby = Answering::standby(&second).await;
    let (known, _list) = monitors(&[&monitor.address, &standby.address]);
    register(&known, &own).await.unwrap();
    drop(monitor);
    let lost = tokio::time::timeout(DEADLINE, async {
        loop {
            match joining::is_welcome(&known, &own).await {
                Err(JoinError::Away { .. }) => break,
                // What it had taken before it ended.
                Ok(()) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(error) => panic!("{error}"),
            }
        }
    });
    lost.await.expect("it is gone");
    let taken_over = registry.with(|registrar, now| registrar.own_identity(directory.path(), &roles, now)).unwrap();
    let address = standby.address.clone();
    drop(standby);
    let listener = tokio::time::timeout(DEADLINE, async {
        loop {
            match listen(address.parse().unwrap()).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    });
    let _monitor = Answering::at(listener.await.expect("the port is free"), &taken_over, Some(&registry));
    register(&known, &own).await.unwrap();
    assert_eq!(known.likeliest(), address);
}
