//! The processes: a Monitor, or two over a store, three collectors, two analysers, two filesavers, an indexer and one that stands
//! by, and a query on the directory of the latter. Each has a data directory and an address of its own, as machines have.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::form::Form;
use super::monitors::Monitors;
use super::plan::Fault;
use super::severable::Severable;
use super::shared_store::SharedStore;
use crate::sandbox::{ALLOW_LOOPBACK, Running, Seine};
use crate::{FakeWeb, eventually};

/// Before one is added.
pub const COLLECTORS: usize = 3;
const CRAWL: &str = "chaos";

/// A process, and the directory in which it can be started again.
pub struct Machine {
    seine: Seine,
    running: Option<Running>,
    /// Its name in the cluster.
    pub name: String,
}

pub struct Cluster {
    program: PathBuf,
    below: PathBuf,
    pub monitors: Monitors,
    /// Of the frontier, where it lies in one.
    pub store: Option<SharedStore>,
    /// Between the Monitor and the first collector.
    pub wire: Severable,
    pub collectors: Vec<Machine>,
    pub analysers: Vec<Machine>,
    pub filesavers: Vec<Machine>,
    pub indexers: Vec<Machine>,
    query: Running,
    machines: u8,
}

impl Cluster {
    /// With one Monitor; over a store with two.
    pub fn start(program: PathBuf, below: &Path, store: Option<SharedStore>) -> Self {
        let monitors = match &store {
            None => Monitors::one(&program, below),
            Some(store) => Monitors::two(&program, below, &store.settings()),
        };
        let (monitor, listen) = (monitors.first(), monitors.listen());
        let wire = Severable::to(&listen);
        let mut machines = 1;
        let mut start = |role: &str, join: &str| {
            machines += 1;
            Machine::start(Seine::of(program.clone(), below), monitor, role, join, machines)
        };
        let filesavers = vec![start("filesaver", &listen), start("filesaver", &listen)];
        let analysers = vec![start("analyser", &listen), start("analyser", &listen)];
        let indexers = vec![start("indexer", &listen), start("indexer", &listen)];
        let collectors: [String; COLLECTORS] = [wire.address(), listen.clone(), listen.clone()];
        let collectors = collectors.iter().map(|join| start("collector", join)).collect();
        let mut command = indexers[1].seine.node_command(monitor, &listen, "query", &["--http", "127.0.0.1:0"]);
        let query = Running::start(command.stderr(log("query")));
        Self {
            program,
            below: below.to_owned(),
            monitors,
            store,
            wire,
            collectors,
            analysers,
            filesavers,
            indexers,
            query,
            machines,
        }
    }

    pub fn query_address(&self) -> String {
        self.query.http()
    }

    /// Where the Monitor is asked, and with what token.
    pub fn admin(&self) -> (String, String) {
        let token = self.monitors.first().data().join("admin-token");
        let token = std::fs::read_to_string(token).expect("the Monitor has a token");
        (format!("http://{}", self.monitors.grpc()), token.trim().to_owned())
    }

    pub fn add_collector(&mut self) {
        self.machines += 1;
        let seine = Seine::of(self.program.clone(), &self.below);
        let (monitor, listen) = (self.monitors.first(), self.monitors.listen());
        self.collectors.push(Machine::start(seine, monitor, "collector", &listen, self.machines));
    }

    pub fn start_filesaver(&mut self, number: usize) {
        let machine = &mut self.filesavers[number];
        let mut command = machine.seine.node_command(self.monitors.first(), &self.monitors.listen(), "filesaver", &[]);
        machine.running = Some(Running::start(command.stderr(log("filesaver-again"))));
    }

    pub fn add_crawl(&self, form: &Form, web: &FakeWeb) {
        let delay = form.delay.as_secs_f64().to_string();
        let seeds: Vec<String> = (0..form.hosts).map(|host| web.host_url(host, "/")).collect();
        let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let flags = ["--name", CRAWL, "--scope", "any", "--delay", &delay, "--json"];
        let output = self.monitors.asked().run(&[&["crawls", "add"], &seeds[..], &flags, &ALLOW_LOOPBACK].concat());
        assert!(output.status.success(), "no crawl: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// What the Monitor says of the crawl, or why it says nothing.
    pub fn shown(&self) -> Value {
        let output = self.monitors.asked().run(&["crawls", "show", CRAWL, "--json"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or(Value::String(said))
    }

    pub async fn finished(&self, deadline: Duration) -> Value {
        eventually(deadline, "the crawl is finished", async || {
            let shown = self.shown();
            // Each look is a process.
            tokio::time::sleep(Duration::from_millis(400)).await;
            if shown["state"] == "finished" { Ok(shown) } else { Err(shown) }
        })
        .await
    }

    /// Who is not the one that he should be after all faults.
    pub async fn misplaced(&self, form: &Form) -> Vec<String> {
        let indexer = form.faults.contains(&Fault::KillIndexer) && !self.standby_has_taken_over();
        let indexer = indexer.then(|| "the second indexer still stands by".to_owned());
        indexer.into_iter().chain(self.monitors.misplaced().await).collect()
    }

    /// Whether the second indexer is the one that is asked now.
    fn standby_has_taken_over(&self) -> bool {
        let output = self.monitors.asked().run(&["nodes", "show", &self.indexers[1].name, "--json"]);
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        shown["standby"] == false
    }
}

impl Machine {
    fn start(seine: Seine, monitor: &Seine, role: &str, join: &str, number: u8) -> Self {
        let listen = format!("127.0.{number}.1:0");
        let mut command = seine.node_command(monitor, join, role, &["--listen", &listen]);
        let running = Running::start(command.stderr(log(&format!("{number}-{role}"))));
        Self { name: running.node(), seine, running: Some(running) }
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) {
        self.running = None;
    }

    pub fn signal(&self, name: &str) {
        self.running.as_ref().expect("it runs").signal(name);
    }
}

/// Where a process writes what it logs: nowhere, unless somebody asked for it.
pub fn log(name: &str) -> File {
    let path = match std::env::var_os(super::LOGS) {
        Some(directory) => PathBuf::from(directory).join(format!("{name}.log")),
        None => PathBuf::from("/dev/null"),
    };
    File::options().create(true).append(true).open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
