//! The machine of the Monitor; or two over a store, of which one leads and the other stands by.
//!
//! Which of the two leads is what one that runs says: nobody here decides it. Commands are given on a machine whose process
//! runs, whether that leads or not.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::cluster::log;
use crate::eventually;
use crate::sandbox::{Running, Seine};

/// Much later than it must, so that a verdict tells how late it was.
const LEADS_WITHIN: Duration = Duration::from_secs(60);
const STANDS_BY_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Apart from those of other machines.
const OF_SECOND: &str = "127.0.1.1:0";
const ANY: &str = "127.0.0.1:0";

pub struct Monitors {
    machines: Vec<Monitor>,
}

struct Monitor {
    seine: Seine,
    words: Vec<String>,
    settings: Vec<(&'static str, String)>,
    log: String,
    /// For people and for nodes; it has them again after a restart.
    grpc: String,
    listen: String,
    running: Option<Running>,
    /// Its name in the cluster; unknown of one that stands alone.
    node: String,
    stands_still: bool,
}

impl Monitors {
    pub fn one(program: &Path, below: &Path) -> Self {
        Self { machines: vec![Monitor::new(program, below, 1, &["serve", "--roles", "monitor"], ANY).started(None)] }
    }

    /// The second has joined the first.
    pub fn two(program: &Path, below: &Path, settings: &[(&'static str, String)]) -> Self {
        let mut first = Monitor::new(program, below, 1, &["serve", "--roles", "monitor"], ANY);
        first.settings = settings.to_vec();
        let mut first = first.started(None);
        first.node = first.leader().expect("the first leads from its start");
        let words = ["node", "--roles", "monitor", "--join", &first.listen];
        let mut second = Monitor::new(program, below, 2, &words, OF_SECOND);
        second.settings = settings.to_vec();
        let mut second = second.started(Some(first.seine.token(&["--roles", "monitor"])));
        second.node = second.running().node();
        Self { machines: vec![first, second] }
    }

    /// The one that led first.
    pub fn first(&self) -> &Seine {
        &self.machines[0].seine
    }

    /// Of the one that led first, for nodes.
    pub fn listen(&self) -> String {
        self.machines[0].listen.clone()
    }

    /// The same for people.
    pub fn grpc(&self) -> &str {
        &self.machines[0].grpc
    }

    /// One that answers commands, if any runs.
    pub fn asked(&self) -> &Seine {
        let answers = self.machines.iter().find(|machine| machine.running.is_some() && !machine.stands_still);
        &answers.unwrap_or(&self.machines[0]).seine
    }

    /// As `kill -9` does.
    pub fn kill(&mut self, number: usize) {
        self.machines[number].running = None;
    }

    /// In its directory and at its addresses.
    pub fn start_again(&mut self, number: usize) {
        self.machines[number].start(None);
    }

    pub fn stop(&mut self, number: usize) {
        self.machines[number].running().signal("STOP");
        self.machines[number].stands_still = true;
    }

    /// The one that was stopped.
    pub fn go_on(&mut self) {
        for machine in self.machines.iter_mut().filter(|machine| machine.stands_still) {
            machine.running().signal("CONT");
            machine.stands_still = false;
        }
    }

    pub async fn leading(&self) -> usize {
        self.leading_but(None).await
    }

    /// Another than the one that led.
    pub async fn another_leads(&self, led: usize) {
        self.leading_but(Some(led)).await;
    }

    async fn leading_but(&self, led: Option<usize>) -> usize {
        eventually(LEADS_WITHIN, "a Monitor leads", async || {
            let nodes = self.nodes();
            let leads = self.having("monitor", &nodes).filter(|number| led != Some(*number));
            sleep(LOOK_EVERY).await;
            leads.ok_or(nodes)
        })
        .await
    }

    /// What is not so that one leads and the other stands by, when that does not change any more.
    pub async fn misplaced(&self) -> Option<String> {
        if self.machines.len() == 1 {
            return None;
        }
        let deadline = Instant::now() + STANDS_BY_WITHIN;
        loop {
            let nodes = self.nodes();
            match (self.having("monitor", &nodes), self.having("monitor_standby", &nodes)) {
                (Some(leads), Some(stands_by)) if leads != stands_by => return None,
                _ if Instant::now() > deadline => {
                    return Some(format!("one Monitor leads and one stands by: {nodes:?}"));
                }
                _ => sleep(LOOK_EVERY).await,
            }
        }
    }

    /// The machine of which the node table says so.
    fn having(&self, mark: &str, nodes: &[Value]) -> Option<usize> {
        let marked = nodes.iter().find(|node| node[mark] == true)?;
        self.machines.iter().position(|machine| marked["id"] == machine.node.as_str())
    }

    fn nodes(&self) -> Vec<Value> {
        nodes(self.asked())
    }
}

impl Monitor {
    fn new(program: &Path, below: &Path, number: u8, words: &[&str], listen: &str) -> Self {
        Self {
            seine: Seine::of(program.to_owned(), below),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            settings: Vec::new(),
            log: format!("monitor-{number}"),
            grpc: ANY.to_owned(),
            listen: listen.to_owned(),
            running: None,
            node: String::new(),
            stands_still: false,
        }
    }

    fn started(mut self, token: Option<String>) -> Self {
        self.start(token);
        self
    }

    fn start(&mut self, token: Option<String>) {
        let words = self.words.iter().map(String::as_str);
        let words: Vec<&str> = words.chain(["--grpc", &self.grpc, "--listen", &self.listen]).collect();
        let mut command = self.seine.command(&words);
        command.envs(self.settings.clone()).envs(token.map(|token| ("SEINE_JOIN_TOKEN", token)));
        let running = Running::start(command.stderr(log(&self.log)));
        (self.grpc, self.listen) = (running.grpc(), running.listen());
        self.running = Some(running);
    }

    /// As it says itself.
    fn leader(&self) -> Option<String> {
        let nodes = nodes(&self.seine);
        nodes.iter().find(|node| node["monitor"] == true)?["id"].as_str().map(str::to_owned)
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }
}

/// The node table, as one that runs tells it; empty when it cannot.
fn nodes(through: &Seine) -> Vec<Value> {
    let output = through.run(&["nodes", "list", "--json"]);
    let nodes: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    nodes.as_array().cloned().unwrap_or_default()
}
