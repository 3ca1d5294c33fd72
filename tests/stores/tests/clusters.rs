//! What others may rely on: clusters form, lose masters, move slots, and speak TLS.
//!
//! Each test takes a few seconds, most of which servers wait: a new master does for two before it answers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use seine_test_stores::{Program, Reply, Setup, StoreCluster};

const DEADLINE: Duration = Duration::from_secs(30);
/// The slot of `{a}…`.
const SLOT_OF_A: u16 = 15_495;
const KEYS: u64 = 250;

#[test]
fn a_cluster_of_three_masters_and_three_replicas_forms_and_answers() {
    let Some(cluster) = StoreCluster::start(Setup::default()) else { return };
    assert_eq!(cluster.nodes().len(), 6);
    assert_eq!(cluster.masters(), [0, 1, 2]);
    for (index, address) in cluster.nodes().iter().enumerate() {
        assert!(cluster.is_running(index));
        assert_eq!(cluster.command(index, &["PING"]), Reply::Simple("PONG".into()));
        TcpStream::connect(address).expect("a node listens where the cluster says");
    }
    write_keys(&cluster);
    assert_eq!(cluster.keys(), KEYS);
    assert!(cluster.memory_bytes() > KEYS && cluster.cpu_seconds() > 0.0);
    cluster.flush_all();
    assert_eq!(cluster.keys(), 0);
}

#[test]
fn a_killed_master_is_replaced_and_comes_back_with_its_data_as_a_replica() {
    let setup = Setup { node_timeout: Duration::from_secs(1), ..Setup::default() };
    let Some(cluster) = StoreCluster::start(setup) else { return };
    let owner = cluster.owner(SLOT_OF_A).unwrap();
    write_keys(&cluster);
    assert_eq!(cluster.command(owner, &["WAIT", "1", "10000"]).integer(), 1);
    cluster.kill(owner);
    assert!(!cluster.is_running(owner) && TcpStream::connect(&cluster.nodes()[owner]).is_err());
    cluster.wait_for_failover(owner, DEADLINE);
    let successor = cluster.owner(SLOT_OF_A).unwrap();
    assert_eq!((cluster.keys(), successor), (KEYS, owner + 3));
    cluster.restart(owner);
    cluster.wait_until_ok(DEADLINE);
    assert_eq!(cluster.command(owner, &["ROLE"]).array()[0].text(), "slave");
    assert_eq!(cluster.command(owner, &["DBSIZE"]).integer().unsigned_abs(), KEYS);
}

#[test]
fn a_paused_master_is_replaced_and_agrees_when_it_goes_on() {
    let setup = Setup { node_timeout: Duration::from_millis(500), ..Setup::default() };
    let Some(cluster) = StoreCluster::start(setup) else { return };
    cluster.pause(1);
    assert!(!cluster.is_running(1));
    cluster.wait_for_failover(1, DEADLINE);
    cluster.resume(1);
    cluster.wait_until_ok(DEADLINE);
    assert_eq!(cluster.masters(), [0, 2, 4]);
}

#[test]
fn slots_move_with_their_keys() {
    let Some(cluster) = StoreCluster::start(Setup { replicas_per_master: 0, ..Setup::default() }) else { return };
    write_keys(&cluster);
    cluster.move_slots(2, 0, SLOT_OF_A - 5..=SLOT_OF_A + 5, DEADLINE);
    assert_eq!(cluster.owner(SLOT_OF_A), Some(0));
    assert_eq!(cluster.command_on_slot(SLOT_OF_A, &["GET", "{a}7"]).text(), "7");
    let old = cluster.command(2, &["GET", "{a}7"]);
    assert_eq!(old, Reply::Error(format!("MOVED {SLOT_OF_A} {}", cluster.nodes()[0])));
    assert_eq!(cluster.keys(), KEYS);
    cluster.wait_until_ok(DEADLINE);
}

#[test]
fn ports_with_tls_and_a_password_answer_none_who_lack_them() {
    let password = Some("open sesame".to_owned());
    let setup = Setup { program: Program::Redis, tls: true, password, ..Setup::default() };
    let Some(cluster) = StoreCluster::start(setup) else { return };
    assert_eq!(cluster.command(0, &["PING"]), Reply::Simple("PONG".into()));
    let authority = cluster.certificate_authority().unwrap();
    let ping = |text: &str| openssl_client(&cluster.nodes()[0], &authority, text);
    assert!(ping("PING\r\n").contains("NOAUTH"));
    assert!(ping("AUTH \"open sesame\"\r\nPING\r\n").contains("+PONG"));
    // Nodes themselves know both, and Redis moves keys its own way.
    write_keys(&cluster);
    cluster.move_slots(2, 1, SLOT_OF_A..=SLOT_OF_A, DEADLINE);
    cluster.wait_until_ok(DEADLINE);
    assert_eq!(cluster.command(1, &["WAIT", "1", "10000"]).integer(), 1);
    assert_eq!(cluster.command(4, &["DBSIZE"]).integer().unsigned_abs(), KEYS);
}

#[test]
fn servers_end_with_a_test_program_that_is_killed() {
    let name = "servers_end_with_a_test_program_that_is_killed";
    let role = "SEINE_TEST_STORES_TO_BE_KILLED";
    if std::env::var_os(role).is_some() {
        let setup = Setup { masters: 1, replicas_per_master: 0, ..Setup::default() };
        let cluster = StoreCluster::start(setup).expect("the other one looked whether there is a server");
        eprintln!("{}", cluster.nodes()[0]);
        loop {
            std::thread::park();
        }
    }
    if Program::Valkey.path().is_none() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().expect("this program is a file"));
    // Its cluster's directory stays.
    let remains = tempfile::tempdir().expect("a directory can be made");
    command.args(["--exact", name, "--nocapture"]).env(role, "").env("TMPDIR", remains.path());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("this program starts");
    let mut address = String::new();
    BufReader::new(child.stderr.take().expect("it is piped")).read_line(&mut address).expect("it tells an address");
    let connect = || TcpStream::connect(address.trim());
    connect().expect("the server of the other program listens");
    child.kill().expect("it runs");
    child.wait().expect("it is a child");
    let end = Instant::now() + DEADLINE;
    while connect().is_ok() {
        assert!(Instant::now() < end, "{} still listens", address.trim());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn openssl_client(address: &str, authority: &Path, text: &str) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-quiet", "-verify_return_error", "-connect", address, "-CAfile"]).arg(authority);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = command.spawn().expect("openssl is installed");
    let input = client.stdin.as_mut().expect("it is piped");
    write!(input, "{text}QUIT\r\n").expect("openssl takes what is sent");
    let output = client.wait_with_output().expect("a server ends the connection after QUIT");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write_keys(cluster: &StoreCluster) {
    let owner = cluster.owner(SLOT_OF_A).unwrap();
    for number in 0..KEYS {
        let reply = cluster.command(owner, &["SET", &format!("{{a}}{number}"), &number.to_string()]);
        assert_eq!(reply, Reply::Simple("OK".into()));
    }
}
