//! Real Seines for tests: the built binary on data directories that vanish with the test.
//!
//! Nothing of Seine is imitated here. A test starts processes, asks them from the outside as a person or a script would,
//! and looks at what the test web saw and what is on disk. Every process is killed when its handle is dropped.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use seine_test_stores::{Setup, StoreCluster};
use serde_json::Value;
use tempfile::TempDir;

/// How long a process may take to say that it is ready.
const READY_DEADLINE: Duration = Duration::from_secs(60);

/// Opens the test web's network to a crawl.
pub const ALLOW_LOOPBACK: [&str; 2] = ["--allow-net", "127.0.0.0/8"];

/// A binary of this workspace, beside the one that runs the test.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let directory = test.parent().and_then(Path::parent).expect("tests stand in deps/ below the binaries");
    let path = directory.join(name);
    assert!(path.exists(), "{} is not built; run the tests with `make test`", path.display());
    path
}

/// With `valkey` in it, frontiers of tests that run on any store lie in a cluster.
const FRONTIER_VARIABLE: &str = "SEINE_TEST_FRONTIER";

/// A data directory, and the commands that work on it.
pub struct Seine {
    program: PathBuf,
    data: TempDir,
    store: Option<StoreCluster>,
}

/// How one `seine crawl --json` ended.
#[derive(Debug)]
pub struct CrawlRun {
    pub code: i32,
    pub json: Value,
    pub stderr: String,
}

impl CrawlRun {
    pub fn count(&self, key: &str) -> u64 {
        self.json[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {self:?}"))
    }
}

/// A hit as far as tests compare it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Document {
    pub url: String,
    pub title: String,
}

impl Default for Seine {
    fn default() -> Self {
        Self::of(binary("seine"), &std::env::temp_dir())
    }
}

impl Seine {
    pub fn new() -> Self {
        Self::default()
    }

    /// Of this program, with its data somewhere below that directory.
    pub fn of(program: PathBuf, below: &Path) -> Self {
        // As Seine itself makes one: others may not look into it.
        let private = std::fs::Permissions::from_mode(0o700);
        let data = tempfile::Builder::new().permissions(private).tempdir_in(below);
        let in_cluster = std::env::var(FRONTIER_VARIABLE).is_ok_and(|store| store == "valkey");
        let store = if in_cluster { StoreCluster::start(Setup::default()) } else { None };
        Self { program, data: data.expect("a temporary directory can be made"), store }
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// The cluster that has the frontier, where it is not in the data directory.
    pub fn store(&self) -> Option<&StoreCluster> {
        self.store.as_ref()
    }

    /// The frontier is gone, as after the loss of its disk. Nobody may have it open.
    pub fn lose_frontier(&self) {
        match &self.store {
            Some(store) => store.flush_all(),
            None => std::fs::remove_dir_all(self.data().join("monitor")).expect("the directory can be removed"),
        }
    }

    /// A command on this data directory, with its output caught.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // Settings and files around the test must not reach into it.
        command.current_dir(self.data()).args(words).arg("--data").arg(self.data());
        if words.first() == Some(&"serve") && !words.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        if let Some(store) = &self.store {
            command.envs(frontier_in(store));
        }
        command.env_remove("SEINE_LOG").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("seine can be started")
    }

    pub fn crawl_command(&self, url: &str, flags: &[&str]) -> Command {
        self.command(&[&["crawl", url, "--json"], ALLOW_LOOPBACK.as_slice(), flags].concat())
    }

    pub fn crawl(&self, url: &str, flags: &[&str]) -> CrawlRun {
        let output = self.crawl_command(url, flags).output().expect("seine can be started");
        crawl_run(&output)
    }

    /// Answer of `seine search --json`.
    pub fn search(&self, words: &str, flags: &[&str]) -> Value {
        let output = self.run(&[&["search", "--json", words], flags].concat());
        assert!(output.status.success(), "search failed: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("search prints JSON")
    }

    /// Every document that a word finds, sorted; the same document twice stands in it twice.
    pub fn documents(&self, word: &str) -> Vec<Document> {
        let mut documents = Vec::new();
        loop {
            let offset = documents.len().to_string();
            let answer = self.search(word, &["--limit", "100", "--offset", &offset]);
            let hits = answer["hits"].as_array().expect("hits are a list");
            documents.extend(hits.iter().map(|hit| Document {
                url: hit["url"].as_str().unwrap_or_default().to_owned(),
                title: hit["title"].as_str().unwrap_or_default().to_owned(),
            }));
            if hits.is_empty() || documents.len() as u64 >= answer["total"].as_u64().unwrap_or(0) {
                documents.sort();
                return documents;
            }
        }
    }

    /// Sealed archive files.
    pub fn archives(&self) -> Vec<PathBuf> {
        let directory = self.data().join("filesaver/archive");
        let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let paths = entries.map(|entry| entry.expect("entries are readable").path());
        let mut archives: Vec<_> = paths.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).collect();
        archives.sort();
        archives
    }

    /// Starts a long-running command and waits for its `ready` line.
    pub fn start(&self, words: &[&str]) -> Running {
        Running::start(self.command(words).stderr(Stdio::inherit()))
    }

    /// Starts a node of the Monitor in another directory, which listens at `join`; with a token of that one at the first time.
    pub fn start_node(&self, monitor: &Seine, join: &str, roles: &str, flags: &[&str]) -> Running {
        Running::start(self.node_command(monitor, join, roles, flags).stderr(Stdio::inherit()))
    }

    pub fn node_command(&self, monitor: &Seine, join: &str, roles: &str, flags: &[&str]) -> Command {
        let mut command = self.command(&[&["node", "--roles", roles, "--join", join], flags].concat());
        if !self.identity(roles).exists() {
            command.env("SEINE_JOIN_TOKEN", monitor.token(&[]));
        }
        command
    }

    /// Where a node with these roles keeps who it is.
    pub fn identity(&self, roles: &str) -> PathBuf {
        let mut roles: Vec<&str> = roles.split(',').collect();
        roles.sort_unstable();
        self.data().join("identity").join(roles.join("+")).join("identity.jsonl")
    }

    /// A new join token of the Monitor here.
    pub fn token(&self, flags: &[&str]) -> String {
        let output = self.run(&[&["nodes", "token", "create", "--json"], flags].concat());
        assert!(output.status.success(), "no token: {}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        answer["token"].as_str().expect("with the token").to_owned()
    }

    /// The same with what it logs in a file.
    pub fn start_logging(&self, words: &[&str], log: &Path) -> Running {
        let log = std::fs::File::create(log).expect("the log can be written");
        Running::start(self.command(words).stderr(log))
    }

    /// The same under a limit of open files, written as for the shell's `ulimit`.
    pub fn start_limited(&self, words: &[&str], limit: &str) -> Running {
        let script = format!("ulimit {limit} && exec \"$@\"");
        let command = self.command(words);
        let mut limited = Command::new("sh");
        limited.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
        Running::start(
            limited.current_dir(self.data()).env_remove("SEINE_LOG").stdin(Stdio::null()).stdout(Stdio::piped()),
        )
    }
}

/// The settings of a frontier that lies in a cluster, for a process's environment.
pub fn frontier_in(store: &StoreCluster) -> [(&'static str, String); 2] {
    let nodes: Vec<String> = store.nodes().iter().map(|node| format!("{node:?}")).collect();
    [("SEINE_FRONTIER_STORE", "redis".to_owned()), ("SEINE_FRONTIER_NODES", format!("[{}]", nodes.join(", ")))]
}

pub fn crawl_run(output: &Output) -> CrawlRun {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines.len() <= 1, "standard output holds more than one line: {stdout}");
    CrawlRun {
        code: output.status.code().unwrap_or(-1),
        json: lines.first().map_or(Value::Null, |line| serde_json::from_str(line).expect("the line is JSON")),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A process that runs until it is dropped.
pub struct Running {
    child: Child,
    /// Words such as `http=ADDR grpc=ADDR` of its ready line.
    ready: String,
}

impl Running {
    /// Starts a command and waits for its `ready` line.
    pub fn start(command: &mut Command) -> Self {
        let child = command.spawn().expect("seine can be started");
        let mut running = Self { child, ready: String::new() };
        let stdout = running.child.stdout.take().expect("standard output is piped");
        let (sender, receiver) = mpsc::channel();
        // Reads on after the first line, so that the process never blocks on a full pipe.
        std::thread::spawn(move || {
            use std::io::BufRead;
            for line in std::io::BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        running.ready = receiver.recv_timeout(READY_DEADLINE).expect("the process says that it is ready");
        assert!(running.ready.starts_with("ready "), "unexpected first line {:?}", running.ready);
        running
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn http(&self) -> String {
        self.address("http")
    }

    pub fn grpc(&self) -> String {
        self.address("grpc")
    }

    /// Of the port for nodes.
    pub fn listen(&self) -> String {
        self.address("listen")
    }

    /// The name of a node that has joined.
    pub fn node(&self) -> String {
        self.address("node")
    }

    fn address(&self, kind: &str) -> String {
        let prefix = format!("{kind}=");
        let word = self.ready.split(' ').find_map(|word| word.strip_prefix(&prefix));
        word.unwrap_or_else(|| panic!("no {kind} address in {:?}", self.ready)).to_owned()
    }

    /// Its number.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by its name without `SIG`.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Ends it as Ctrl-C does and gives its exit code.
    pub fn interrupt(mut self) -> i32 {
        interrupt(&self.child);
        self.child.wait().expect("the process can be awaited").code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a terminal sends at Ctrl-C.
pub fn interrupt(child: &Child) {
    signal(child, "INT");
}

fn signal(child: &Child, name: &str) {
    let process = child.id().to_string();
    let sent = Command::new("kill").args([&format!("-{name}"), &process]).status().expect("kill can be started");
    assert!(sent.success());
}
