//! What tests use: a cluster, the harm that is done to it and what it looks like afterwards.
//!
//! Nodes are numbered from 0, those that begin as masters first. With less than three masters that own slots nobody votes for
//! a replica: it takes a majority of them.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::agreement::{self, Views};
use crate::certificates;
use crate::form::form;
use crate::moving;
use crate::node::Node;
use crate::program::Program;
use crate::resp::{Connection, Reply};
use crate::setup::{AUTHORITY, Setup};
use crate::view::field;
use crate::wait::wait;

const FORM_DEADLINE: Duration = Duration::from_secs(30);
const ASK_DEADLINE: Duration = Duration::from_secs(10);
/// How often a node is launched until it has ports that nobody else took.
const LAUNCHES: usize = 4;

pub struct StoreCluster {
    // Before the directory, as fields are dropped in order: a server writes until its end.
    nodes: Vec<Node>,
    setup: Setup,
    directory: TempDir,
}

impl StoreCluster {
    /// A cluster in which all is well; `None`, with a printed reason, on a machine that was not set up for it.
    pub fn start(setup: Setup) -> Option<Self> {
        let program = setup.program.path()?;
        assert!(setup.masters > 0, "a cluster has a master");
        let directory = TempDir::with_prefix("seine-stores-").expect("a directory can be made");
        if setup.tls {
            certificates::make(directory.path());
        }
        let count = setup.masters * (1 + setup.replicas_per_master);
        let launch = |index: usize| Node::launch(&program, directory.path().join(index.to_string()), &setup);
        let mut nodes: Vec<_> = (0..count).map(launch).collect();
        for node in &mut nodes {
            wait_for_launched(node, &setup);
        }
        let cluster = Self { nodes, setup, directory };
        cluster.expect("forming a cluster", form(&cluster.nodes, &cluster.setup));
        cluster.wait_until_ok(FORM_DEADLINE);
        Some(cluster)
    }

    /// `127.0.0.1:PORT` of all nodes.
    pub fn nodes(&self) -> Vec<String> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// What signed the nodes' certificate, with TLS.
    pub fn certificate_authority(&self) -> Option<PathBuf> {
        self.setup.tls.then(|| self.directory.path().join(AUTHORITY))
    }

    /// SIGKILL; the process is gone afterwards.
    pub fn kill(&self, node: usize) {
        self.nodes[node].kill();
    }

    /// With its port and its data; it answers afterwards. The others may not have noticed yet.
    pub fn restart(&self, node: usize) {
        self.nodes[node].restart();
    }

    /// SIGSTOP: it accepts connections and says nothing.
    pub fn pause(&self, node: usize) {
        self.nodes[node].pause();
    }

    pub fn resume(&self, node: usize) {
        self.nodes[node].resume();
    }

    /// Neither killed nor paused.
    pub fn is_running(&self, node: usize) -> bool {
        self.nodes[node].is_running()
    }

    /// Running nodes that own slots, by what all running nodes know.
    pub fn masters(&self) -> Vec<usize> {
        self.ask("masters", || self.try_masters())
    }

    fn try_masters(&self) -> Result<Vec<usize>, String> {
        let mut masters: Vec<_> = Views::of(&self.nodes)?.owners().into_iter().flatten().collect();
        masters.sort_unstable();
        masters.dedup();
        masters.retain(|index| self.is_running(*index));
        Ok(masters)
    }

    /// Whose slot it is.
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.ask("the owner of a slot", || Ok(Views::of(&self.nodes)?.owners()[usize::from(slot)]))
    }

    /// Until every slot has a running master, running replicas are up to date and all running nodes agree on it.
    pub fn wait_until_ok(&self, deadline: Duration) {
        self.wait("a cluster that is well", deadline, || agreement::check_all_is_well(&self.nodes));
    }

    /// Until all running nodes see another one at the slots of `of`.
    pub fn wait_for_failover(&self, of: usize, deadline: Duration) {
        self.wait(&format!("a failover of node {of}"), deadline, || agreement::check_failover(&self.nodes, of));
    }

    /// With their keys, from a master to another; all running nodes know it afterwards.
    pub fn move_slots(&self, from: usize, to: usize, slots: RangeInclusive<u16>, deadline: Duration) {
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        let moved = match self.setup.program {
            Program::Valkey => moving::move_as_a_whole(source, target, &slots, deadline),
            Program::Redis => {
                let masters: Vec<_> = self.masters().into_iter().map(|index| &self.nodes[index]).collect();
                moving::move_key_by_key((source, target, &masters), slots.clone(), self.setup.password.as_deref())
            }
        };
        let what = format!("slots {slots:?} of node {from} at node {to}");
        self.expect(&what, moved);
        self.wait(&what, deadline, || agreement::check_move(&self.nodes, to, slots.clone()));
    }

    /// One command, whose errors are replies. Panics when the node does not answer.
    pub fn command<W: AsRef<[u8]>>(&self, node: usize, words: &[W]) -> Reply {
        self.expect("an answer", self.nodes[node].call(words))
    }

    /// To the master that owns the slot.
    pub fn command_on_slot<W: AsRef<[u8]>>(&self, slot: u16, words: &[W]) -> Reply {
        let owner = self.owner(slot).unwrap_or_else(|| panic!("nobody owns slot {slot}"));
        self.command(owner, words)
    }

    /// A connection of one's own, for many commands at once.
    pub fn connect(&self, node: usize) -> Connection {
        self.expect("a connection", self.nodes[node].connect())
    }

    /// Empties all masters, and with them their replicas.
    pub fn flush_all(&self) {
        for master in self.masters() {
            self.expect("emptying a master", self.nodes[master].order(&["FLUSHALL"]));
        }
    }

    /// What the data takes in all masters, without buffers and what an empty server takes.
    pub fn memory_bytes(&self) -> u64 {
        self.sum_over_masters(|master| {
            let text = master.order(&["INFO", "memory"])?.text();
            let bytes = field(&text, "used_memory_dataset").and_then(|bytes| bytes.parse().ok());
            bytes.ok_or_else(|| format!("no used_memory_dataset in {text}"))
        })
    }

    /// Of all processes that the cluster had, so it never sinks.
    pub fn cpu_seconds(&self) -> f64 {
        self.nodes.iter().map(Node::cpu_seconds).sum()
    }

    /// How many keys all masters have.
    pub fn keys(&self) -> u64 {
        self.sum_over_masters(|master| Ok(master.order(&["DBSIZE"])?.integer().unsigned_abs()))
    }

    fn sum_over_masters(&self, number: impl Fn(&Node) -> Result<u64, String>) -> u64 {
        self.ask("numbers of all masters", || {
            self.try_masters()?.into_iter().map(|master| number(&self.nodes[master])).sum()
        })
    }

    /// Again when a node did not answer: another thread may just have killed it.
    fn ask<T>(&self, what: &str, probe: impl FnMut() -> Result<T, String>) -> T {
        self.expect(what, wait(ASK_DEADLINE, probe))
    }

    fn wait(&self, what: &str, deadline: Duration, probe: impl FnMut() -> Result<(), String>) {
        let reached = wait(deadline, probe);
        self.expect(what, reached.map_err(|state| format!("not within {deadline:?}: {state}")));
    }

    fn expect<T>(&self, what: &str, result: Result<T, String>) -> T {
        result.unwrap_or_else(|error| {
            let logs: Vec<_> = self.nodes.iter().map(Node::end_of_log).collect();
            panic!("{what}: {error}\n{}", logs.join("\n"))
        })
    }
}

fn wait_for_launched(node: &mut Node, setup: &Setup) {
    for launch in 1.. {
        match node.wait_until_it_answers() {
            Ok(()) => return,
            Err(state) => assert!(launch < LAUNCHES, "launching a node: {state}"),
        }
        node.launch_elsewhere(setup);
    }
}
