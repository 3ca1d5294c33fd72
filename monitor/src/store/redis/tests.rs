//! What a cluster of stores does that a disk does not: nodes die, stand still, move their slots, and another Monitor takes over.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use seine_common::config::{RedisSettings, RedisTls};
use seine_common::secret::Secret;
use seine_test_stores::{Program, Setup, StoreCluster};

use super::{Ownership, RedisStore, SharedStore};
use crate::MonitorError;
use crate::store::{Batch, COUNTERS, Counted, DEFAULT_MEMORY_BYTES, Slot, Store, Table};

const SOON: Duration = Duration::from_secs(30);
const COUNTER: &[u8] = b"g\0\0\0\x01";

fn settings(cluster: &StoreCluster) -> RedisSettings {
    RedisSettings { nodes: cluster.nodes(), user: None, password: None, tls: None, confirmed_by: 1 }
}

fn open(settings: &RedisSettings) -> (SharedStore, Arc<Ownership>, RedisStore) {
    let shared = SharedStore::connect(settings).unwrap();
    let ownership = Arc::new(shared.try_own("a test", "127.0.0.1:1").unwrap().expect("nobody else wants it"));
    let store = RedisStore::open(&shared, &ownership, DEFAULT_MEMORY_BYTES);
    (shared, ownership, store)
}

/// One entry and one count, in slots that lie far apart.
fn write(store: &mut RedisStore, number: u64) {
    let slot = Slot::of_number(number.wrapping_mul(7_919));
    let mut batch = Batch::at(slot);
    batch.put(Table::Contents, key(number), number.to_be_bytes());
    let mut added = [0; COUNTERS];
    added[0] = 1;
    batch.count(COUNTER, added, Vec::new());
    store.write(batch).unwrap();
}

fn key(number: u64) -> Vec<u8> {
    [&[0, 0, 0, 1][..], &number.to_be_bytes()].concat()
}

/// All entries up to a number are there, and were counted once.
fn assert_written(store: &RedisStore, numbers: u64) {
    for number in 0..numbers {
        let slot = Slot::of_number(number.wrapping_mul(7_919));
        let value = store.get(slot, Table::Contents, &key(number)).unwrap();
        assert_eq!(value, Some(number.to_be_bytes().to_vec()), "number {number} of {numbers}");
    }
    match store.counted(COUNTER).unwrap() {
        Counted::Sum(sum) => assert_eq!(sum[0], numbers as i64),
        Counted::Total(total) => panic!("not a sum: {total:?}"),
    }
}

/// Writes, and waits for each hundred, until the fault is over and some time has passed; gives how many are confirmed.
fn write_through(store: &mut RedisStore, fault: impl FnOnce() + Send + 'static) -> u64 {
    let (done, is_done) = channel();
    let striking = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        fault();
        let _ = done.send(());
    });
    let (mut number, mut is_over, deadline) = (0, None, Instant::now() + 2 * SOON);
    while is_over.is_none_or(|over: Instant| over.elapsed() < Duration::from_millis(500)) {
        assert!(Instant::now() < deadline, "the fault does not end");
        for _ in 0..100 {
            write(store, number);
            number += 1;
        }
        block_on(store.syncer().sync()).unwrap();
        if is_over.is_none() && is_done.try_recv().is_ok() {
            is_over = Some(Instant::now());
        }
    }
    striking.join().unwrap();
    number
}

#[test]
fn nothing_confirmed_is_lost_or_counted_twice_when_masters_are_killed() {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { return };
    let cluster = Arc::new(cluster);
    let settings = settings(&cluster);
    let (_, ownership, mut store) = open(&settings);
    let struck = Arc::clone(&cluster);
    let numbers = write_through(&mut store, move || {
        struck.kill(0);
        struck.wait_for_failover(0, SOON);
        struck.restart(0);
        struck.wait_until_ok(SOON);
        struck.kill(1);
        struck.wait_for_failover(1, SOON);
        // What is written to its successor is confirmed when that has a replica again.
        struck.restart(1);
    });
    assert_written(&store, numbers);
    drop((store, ownership));
    println!("{numbers} changes through two dead masters");
    assert_written(&open(&settings).2, numbers);
}

#[test]
fn nothing_is_lost_or_counted_twice_while_a_third_of_the_slots_moves() {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { return };
    let cluster = Arc::new(cluster);
    let (_, _ownership, mut store) = open(&settings(&cluster));
    let struck = Arc::clone(&cluster);
    let numbers = write_through(&mut store, move || {
        let first = cluster_range(&struck, 0);
        struck.move_slots(0, 1, first.0..=first.1, SOON);
    });
    assert_written(&store, numbers);
    println!("{numbers} changes while slots moved");
}

/// The slots of a master.
fn cluster_range(cluster: &StoreCluster, node: usize) -> (u16, u16) {
    let has = |slot: &u16| cluster.owner(*slot) == Some(node);
    let first = (0..Slot::COUNT).step_by(64).find(has).expect("it has slots");
    let last = (0..Slot::COUNT).step_by(64).rfind(has).expect("it has slots");
    (first, last)
}

#[test]
fn a_former_owner_changes_nothing() {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { return };
    let settings = settings(&cluster);
    let (_, former, mut late) = open(&settings);
    write(&mut late, 0);
    block_on(late.syncer().sync()).unwrap();
    // As if the former one had been stopped meanwhile: its name is the same, so nobody waits for its silence.
    let (_, now, store) = open(&settings);
    assert!(now.epoch() > former.epoch());
    write(&mut late, 1);
    let refused = block_on(late.syncer().sync()).unwrap_err();
    assert!(matches!(refused, MonitorError::NotOwner(_)), "{refused}");
    assert!(!block_on(former.lost()).is_empty());
    assert!(former.shelf().write("members", b"of the former").is_err());
    now.shelf().write("members", b"of the owner").unwrap();
    assert_eq!(now.shelf().read("members").unwrap().as_deref(), Some(&b"of the owner"[..]));
    assert_written(&store, 1);
}

#[test]
fn another_becomes_the_owner_after_some_silence_and_at_once_when_the_first_has_left() {
    let Some(cluster) = StoreCluster::start(Setup { replicas_per_master: 0, ..Setup::default() }) else { return };
    let settings = RedisSettings { confirmed_by: 0, ..settings(&cluster) };
    let (first, second) = (SharedStore::connect(&settings).unwrap(), SharedStore::connect(&settings).unwrap());
    let ownership = first.try_own("first", "10.0.0.1:7071").unwrap().unwrap();
    let since = Instant::now();
    while since.elapsed() < super::owner::SILENCE + Duration::from_secs(2) {
        assert!(second.try_own("second", "10.0.0.2:7071").unwrap().is_none(), "the owner lives");
        thread::sleep(Duration::from_millis(200));
    }
    let owner = second.owner().unwrap().unwrap();
    assert_eq!((owner.node.as_str(), owner.address.as_str()), ("first", "10.0.0.1:7071"));
    ownership.release();
    assert_eq!(second.owner().unwrap(), None);
    assert!(second.try_own("second", "10.0.0.2:7071").unwrap().is_some());
}

#[test]
fn a_store_that_stands_still_is_waited_for_with_a_reason() {
    let Some(cluster) = StoreCluster::start(Setup { node_timeout: SOON, ..Setup::default() }) else { return };
    let (_, _ownership, mut store) = open(&settings(&cluster));
    (0..6).for_each(|node| cluster.pause(node));
    (0..10).for_each(|number| write(&mut store, number));
    let health = store.health();
    let deadline = Instant::now() + SOON;
    while health.trouble().is_none() {
        assert!(Instant::now() < deadline, "nobody says why nothing moves");
        thread::sleep(Duration::from_millis(50));
    }
    println!("{}", health.trouble().unwrap());
    (0..6).for_each(|node| cluster.resume(node));
    block_on(store.syncer().sync()).unwrap();
    assert_eq!(health.trouble(), None);
    assert_written(&store, 10);
}

#[test]
fn over_tls_with_a_password_it_is_the_same_and_without_either_it_is_refused() {
    let password = "a password for tests";
    let setup = Setup { program: Program::Redis, tls: true, password: Some(password.to_owned()), ..Setup::default() };
    let Some(cluster) = StoreCluster::start(setup) else { return };
    let tls = Some(RedisTls { authority: cluster.certificate_authority() });
    let right = RedisSettings { password: Some(Secret::new(password)), tls, ..settings(&cluster) };
    let (shared, ownership, mut store) = open(&right);
    (0..50).for_each(|number| write(&mut store, number));
    block_on(store.syncer().sync()).unwrap();
    drop((store, ownership, shared));
    assert_written(&open(&right).2, 50);
    for wrong in [
        RedisSettings { password: Some(Secret::new("another")), ..right.clone() },
        RedisSettings { tls: None, ..right.clone() },
        RedisSettings { tls: Some(RedisTls { authority: None }), ..right },
    ] {
        let error = SharedStore::connect(&wrong).err().expect("it is refused").to_string();
        assert!(!error.contains(password) && !error.contains("tried again"), "{error}");
        println!("{error}");
    }
}
