//! What the server saw: every request, in the order in which request heads were complete.
//!
//! Time and place in the log are taken under one lock, so the log is ordered by time, and a client that has its answer
//! finds its request in it. Times are wall-clock microseconds that never step back: the clock is read once, at start,
//! and carried on by the monotonic clock.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// When its head had been read.
    pub at: Instant,
    /// The same moment in microseconds since 1970.
    pub unix_micros: u64,
    /// Which connection it came on, counted from 0.
    pub connection: u64,
    pub method: Cow<'static, str>,
    /// The `Host` field, in lower case.
    pub host: Arc<str>,
    /// With the query.
    pub path: Box<str>,
    /// All fields, names in lower case.
    pub headers: Arc<[(String, String)]>,
    /// The status of the answer; 0 where the answer is none.
    pub status: u16,
}

impl RecordedRequest {
    /// A field by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn user_agent(&self) -> &str {
        self.header("user-agent").unwrap_or_default()
    }

    pub fn log_line(&self) -> LogLine<'_> {
        LogLine {
            unix_micros: self.unix_micros,
            connection: self.connection,
            method: Cow::Borrowed(&self.method),
            host: Cow::Borrowed(&self.host),
            path: Cow::Borrowed(&self.path),
            user_agent: Cow::Borrowed(self.user_agent()),
            status: self.status,
        }
    }
}

/// One line of the log file of the `fake-web` binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine<'a> {
    pub unix_micros: u64,
    pub connection: u64,
    pub method: Cow<'a, str>,
    pub host: Cow<'a, str>,
    pub path: Cow<'a, str>,
    pub user_agent: Cow<'a, str>,
    pub status: u16,
}

#[derive(Debug)]
pub struct RequestLog {
    started: Instant,
    started_unix_micros: u64,
    requests: Mutex<Vec<RecordedRequest>>,
}

impl RequestLog {
    pub fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            started: Instant::now(),
            started_unix_micros: since_1970.as_micros() as u64,
            requests: Mutex::new(Vec::new()),
        }
    }

    pub fn record(
        &self,
        connection: u64,
        method: &str,
        path: &str,
        host: &Arc<str>,
        headers: &Arc<[(String, String)]>,
        status: u16,
    ) {
        let method = match method {
            "GET" => Cow::Borrowed("GET"),
            "HEAD" => Cow::Borrowed("HEAD"),
            other => Cow::Owned(other.to_owned()),
        };
        let (path, host, headers) = (path.into(), host.clone(), headers.clone());
        let mut requests = self.lock();
        let at = Instant::now();
        let unix_micros = self.started_unix_micros + at.duration_since(self.started).as_micros() as u64;
        requests.push(RecordedRequest { at, unix_micros, connection, method, host, path, headers, status });
    }

    pub fn all(&self) -> Vec<RecordedRequest> {
        self.lock().clone()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }

    pub fn take(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RecordedRequest>> {
        self.requests.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Writes requests as JSON, one per line.
pub fn write_lines(requests: &[RecordedRequest], mut out: impl Write) -> anyhow::Result<()> {
    for request in requests {
        serde_json::to_writer(&mut out, &request.log_line())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
