//! One worker process as its parent sees it: started, asked, killed, and asked what it died of.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use prost::Message;
use seine_proto::analyser::v1::{ConvertRequest, ConvertResponse};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::{ConverterConfig, Reason, worker};
use crate::filesaver::MAX_DESCRIPTION_BYTES;

/// How long a process that has closed its output may take to end.
const END_DEADLINE: Duration = Duration::from_secs(5);
/// Longer descriptions are not kept, so longer answers are not read.
const MAX_ANSWER_BYTES: usize = MAX_DESCRIPTION_BYTES;
/// Last words that are read.
const MAX_LAST_WORDS: u64 = 4 << 10;
/// Signal numbers are the same on all Linux systems that Seine runs on.
const SIGXCPU: i32 = 24;
const SIGSYS: i32 = 31;

#[derive(Debug)]
pub(super) struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    errors: ChildStderr,
    documents: u32,
}

impl WorkerProcess {
    pub fn start(config: &ConverterConfig) -> io::Result<Self> {
        let cpu_seconds = config.timeout.as_secs() + 1;
        let mut command = Command::new(&config.program);
        command
            .arg0("seine")
            .arg(worker::COMMAND)
            .args(["--memory-bytes", &config.memory_bytes.to_string()])
            .args(["--cpu-seconds", &cpu_seconds.to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Whoever gives up waiting drops it.
            .kill_on_drop(true);
        // Ctrl-C in a terminal goes to all of its processes; this one ends with its parent.
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        Ok(Self {
            input: child.stdin.take().ok_or_else(missing)?,
            output: child.stdout.take().ok_or_else(missing)?,
            errors: child.stderr.take().ok_or_else(missing)?,
            child,
            documents: 0,
        })
    }

    pub fn documents(&self) -> u32 {
        self.documents
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub async fn ask(&mut self, request: ConvertRequest) -> io::Result<ConvertResponse> {
        self.documents += 1;
        let message = request.encode_to_vec();
        drop(request);
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        self.input.write_all(&length.to_le_bytes()).await?;
        self.input.write_all(&message).await?;
        self.input.flush().await?;
        drop(message);
        let length = self.output.read_u32_le().await? as usize;
        if length > MAX_ANSWER_BYTES {
            return Err(io::Error::other("the answer is too long"));
        }
        let mut response = vec![0; length];
        self.output.read_exact(&mut response).await?;
        ConvertResponse::decode(bytes::Bytes::from(response)).map_err(io::Error::other)
    }

    /// Ends it and waits until nothing of it is left.
    pub async fn kill(mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "a converter cannot be killed");
        }
    }

    /// Why it gave no answer.
    pub async fn last_words(mut self, error: &io::Error, config: &ConverterConfig) -> Reason {
        let Ok(Ok(status)) = tokio::time::timeout(END_DEADLINE, self.child.wait()).await else {
            self.kill().await;
            return format!("the converter gave no valid answer: {error}");
        };
        let mut said = Vec::new();
        let mut errors = self.errors.take(MAX_LAST_WORDS);
        // A grandchild might hold the pipe open; there is none, but nothing waits for that for ever.
        let _ = tokio::time::timeout(END_DEADLINE, errors.read_to_end(&mut said)).await;
        cause(status, &String::from_utf8_lossy(&said), config)
    }
}

fn cause(status: ExitStatus, said: &str, config: &ConverterConfig) -> Reason {
    if status.signal() == Some(SIGXCPU) {
        return format!("converting it took more than {} seconds of processor time", config.timeout.as_secs() + 1);
    }
    if status.signal() == Some(SIGSYS) {
        // No document needs that: a parser is broken, and somebody may be using it.
        tracing::warn!("a document made its converter ask the system for more than its sandbox allows; it was ended");
        return "it made the converter ask the system for more than its sandbox allows".to_owned();
    }
    if said.contains("memory allocation of") || said.contains("capacity overflow") {
        return format!("converting it needs more than {} bytes of memory", config.memory_bytes);
    }
    if said.contains("overflowed its stack") {
        return "it is nested too deeply".to_owned();
    }
    // `thread 'main' panicked at place:` and the message in the next line.
    let message = said.lines().skip_while(|line| !line.contains("panicked at")).nth(1);
    match message {
        Some(message) => format!("the converter failed on it: {message}"),
        None => format!("the converter ended on it ({status})"),
    }
}
