//! One server: its directory, its process and a connection to it.
//!
//! A node begins when it is launched, is killed and started again in the same directory and on the same ports as often as a
//! test likes, and ends with its owner. It is *running* while its process is there and not paused: only then it is asked.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::ports;
use crate::process::Process;
use crate::resp::{Connection, Reply};
use crate::setup::{SOCKET, Setup};
use crate::wait::wait;

const CONFIGURATION: &str = "node.conf";
const LOG: &str = "log";
/// Until a started server answers: it reads back what it wrote before.
const START_DEADLINE: Duration = Duration::from_secs(30);
const LINES_OF_LOG: usize = 15;

#[derive(Clone, Copy, Debug)]
pub struct Ports {
    pub clients: u16,
    pub bus: u16,
}

pub struct Node {
    program: PathBuf,
    directory: PathBuf,
    ports: Ports,
    password: Option<String>,
    id: OnceLock<String>,
    life: Mutex<Life>,
    connection: Mutex<Option<Connection>>,
}

#[derive(Default)]
struct Life {
    process: Option<Process>,
    paused: bool,
    /// CPU time of the processes before this one.
    spent: f64,
}

impl Node {
    /// Starts a server that knows of no other, and does not wait for it.
    pub fn launch(program: &Path, directory: PathBuf, setup: &Setup) -> Self {
        fs::create_dir(&directory).expect("a directory for a node can be made");
        let node = Self {
            program: program.to_owned(),
            directory,
            ports: free_ports(),
            password: setup.password.clone(),
            id: OnceLock::new(),
            life: Mutex::default(),
            connection: Mutex::default(),
        };
        node.configure(setup);
        node.spawn(&mut node.life());
        node
    }

    /// Launches it again with other ports: somebody else was faster to bind those that were free.
    pub fn launch_elsewhere(&mut self, setup: &Setup) {
        self.kill();
        self.ports = free_ports();
        self.configure(setup);
        self.spawn(&mut self.life());
    }

    fn configure(&self, setup: &Setup) {
        fs::write(self.directory.join(CONFIGURATION), setup.configuration(self.ports))
            .expect("a configuration is written");
    }

    fn spawn(&self, life: &mut Life) {
        let log = File::options().create(true).append(true).open(self.directory.join(LOG)).expect("a log is opened");
        let errors = log.try_clone().expect("a log has two writers");
        life.paused = false;
        life.process = Some(Process::start(&self.program, |command| {
            command.arg(CONFIGURATION).current_dir(&self.directory).stdin(Stdio::null()).stdout(log).stderr(errors);
        }));
    }

    /// An error, with the end of its log, when it ended instead or took too long.
    pub fn wait_until_it_answers(&self) -> Result<(), String> {
        // The outer error ends the waiting at once, the inner one is probed again.
        let answer = wait(START_DEADLINE, || match self.call(&["PING"]) {
            Ok(Reply::Simple(_)) => Ok(Ok(())),
            _ if self.has_ended() => Ok(Err("it ended".to_owned())),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error),
        });
        answer.and_then(|ended| ended).map_err(|state| format!("{state}\n{}", self.end_of_log()))
    }

    pub fn kill(&self) {
        let mut life = self.life();
        if let Some(mut process) = life.process.take() {
            life.spent += cpu_seconds_of(&mut process);
            process.kill();
        }
        drop(life);
        self.forget_connection();
    }

    /// With the ports and the directory that it had; a node that runs is killed before.
    pub fn restart(&self) {
        self.kill();
        self.spawn(&mut self.life());
        self.wait_until_it_answers().unwrap_or_else(|state| panic!("restarting {}: {state}", self.address()));
    }

    pub fn pause(&self) {
        let mut life = self.life();
        life.process.as_ref().expect("a node that is paused was started").pause();
        life.paused = true;
    }

    pub fn resume(&self) {
        let mut life = self.life();
        life.process.as_ref().expect("a node that is resumed was started").resume();
        life.paused = false;
    }

    pub fn is_running(&self) -> bool {
        !self.life().paused && !self.has_ended()
    }

    fn has_ended(&self) -> bool {
        self.life().process.as_mut().is_none_or(Process::has_ended)
    }

    /// Of all processes that it had.
    pub fn cpu_seconds(&self) -> f64 {
        let mut life = self.life();
        life.spent + life.process.as_mut().map_or(0.0, cpu_seconds_of)
    }

    pub fn connect(&self) -> Result<Connection, String> {
        let connection = Connection::open(&self.directory.join(SOCKET), self.password.as_deref());
        connection.map_err(|error| format!("connecting to {}: {error}", self.address()))
    }

    /// Over a connection that is kept for the next command.
    pub fn call<W: AsRef<[u8]>>(&self, words: &[W]) -> Result<Reply, String> {
        let mut kept = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let reply = connection.call(words).map_err(|error| format!("asking {}: {error}", self.address()))?;
        *kept = Some(connection);
        Ok(reply)
    }

    /// A command that must succeed.
    pub fn order(&self, words: &[&str]) -> Result<Reply, String> {
        match self.call(words)? {
            Reply::Error(error) => Err(format!("{}: {}: {error}", self.address(), words.join(" "))),
            reply => Ok(reply),
        }
    }

    fn forget_connection(&self) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How nodes call it among each other, in all its lives.
    pub fn id(&self) -> &str {
        self.id.get_or_init(|| self.order(&["CLUSTER", "MYID"]).expect("a new node tells its name").text())
    }

    pub fn ports(&self) -> Ports {
        self.ports
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports.clients)
    }

    pub fn end_of_log(&self) -> String {
        let text = fs::read(self.directory.join(LOG)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        let end = &lines[lines.len().saturating_sub(LINES_OF_LOG)..];
        format!("--- log of {}:\n{}", self.address(), end.join("\n"))
    }

    /// Also behind a test that panicked while it held the lock: its cluster is dropped then.
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// None of one that ended by itself: asking whether it did forgets it.
fn cpu_seconds_of(process: &mut Process) -> f64 {
    if process.has_ended() { 0.0 } else { process.cpu_seconds() }
}

fn free_ports() -> Ports {
    let (clients, bus) = ports::free_pair();
    Ports { clients, bus }
}
