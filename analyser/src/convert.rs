//! Converting documents in worker processes of the same binary, which a broken file may take down without harm.
//!
//! A [`Converter`] belongs to the analyser. It starts workers when there is work, gives each one document at a time,
//! keeps those that answered for the next one, and kills those that take too long. Whatever becomes of a worker is a
//! reason in words for its document and nothing to anybody else. What a worker does is in [`worker`], the walls around it
//! in [`sandbox`].
//!
//! Life of a worker: started → document, answer, document, answer … → its input is closed, or it is killed and reaped.
//! One whose parent is gone finds its input closed and ends; so does one that is busy, at the latest when its time is up.

pub mod worker;
pub mod sandbox;
mod process;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::limits::Limit;
use seine_proto::analyser::v1::{ConvertRequest, ConvertedDocument, convert_response};

use crate::document;
use crate::metrics;
use process::WorkerProcess;

/// How documents are converted.
#[derive(Clone, Debug)]
pub struct ConverterConfig {
    /// The program of the workers: this one, where it is `seine`.
    pub program: PathBuf,
    /// Documents that are converted at once.
    pub workers: Arc<Limit>,
    /// For one document, by the clock on the wall.
    pub timeout: Duration,
    /// Address space of one worker.
    pub memory_bytes: u64,
}

/// A worker that has converted so many is replaced: memory that it has in pieces comes back.
const DOCUMENTS_PER_WORKER: u32 = 500;

/// A document with everything around it fits in a message.
const MAX_DOCUMENT_BYTES: usize = MAX_MESSAGE_BYTES - (1 << 10);

/// Why a document was not converted, in words that stand by themselves.
pub(crate) type Reason = String;

#[derive(Debug)]
pub(crate) struct Converter {
    config: ConverterConfig,
    places: Arc<Limit>,
    /// At most one for each place that was free when the last one became idle.
    idle: Mutex<Vec<WorkerProcess>>,
    /// Walls that the kernel lacks are told once, not by every worker.
    told_missing_walls: Once,
}

impl Converter {
    pub fn new(config: ConverterConfig) -> Self {
        let places = Arc::clone(&config.workers);
        places.set_used();
        Self { places, idle: Mutex::default(), told_missing_walls: Once::new(), config }
    }

    /// `document` as received: its content encodings are undone by the worker, within the worker's memory.
    pub async fn convert(
        &self,
        format: &str,
        content_encodings: Vec<String>,
        document: Bytes,
    ) -> Result<ConvertedDocument, Reason> {
        if document.len() > MAX_DOCUMENT_BYTES {
            return Err(format!("it has {} bytes; at most {MAX_DOCUMENT_BYTES} can be converted", document.len()));
        }
        let _place = self.places.acquire().await;
        let result = self.ask_worker(ConvertRequest { format: format.to_owned(), document, content_encodings }).await;
        metrics::document_converted(format, result.is_ok());
        result
    }

    async fn ask_worker(&self, request: ConvertRequest) -> Result<ConvertedDocument, Reason> {
        let mut worker = match self.idle_worker() {
            Some(worker) => worker,
            None => WorkerProcess::start(&self.config).map_err(|error| {
                tracing::warn!(program = %self.config.program.display(), %error, "no converter can be started");
                format!("no converter could be started: {error}")
            })?,
        };
        match tokio::time::timeout(self.config.timeout, worker.ask(request)).await {
            Ok(Ok(response)) => {
                if worker.documents() < DOCUMENTS_PER_WORKER {
                    self.keep(worker);
                }
                self.tell_missing_walls(&response.missing_walls);
                match response.result {
                    Some(convert_response::Result::Document(document)) => Ok(document),
                    Some(convert_response::Result::Failed(reason)) => Err(reason),
                    None => Err("the converter gave no result".to_owned()),
                }
            }
            Ok(Err(error)) => Err(worker.last_words(&error, &self.config).await),
            Err(_) => {
                worker.kill().await;
                Err(format!("converting it took longer than {} seconds", self.config.timeout.as_secs_f64()))
            }
        }
    }

    fn tell_missing_walls(&self, missing: &[String]) {
        if !missing.is_empty() {
            self.told_missing_walls.call_once(|| {
                tracing::warn!(missing = missing.join("; "), "converters run without part of their sandbox");
            });
        }
    }

    /// For the next document. Those beyond what is allowed now end: their memory may be what is short.
    fn keep(&self, worker: WorkerProcess) {
        let others = self.places.in_use().saturating_sub(1);
        let most = self.places.value().saturating_sub(others) as usize;
        let mut idle = self.lock();
        idle.push(worker);
        idle.truncate(most);
    }

    fn idle_worker(&self) -> Option<WorkerProcess> {
        // One that ended while it was idle is no use.
        std::iter::from_fn(|| self.lock().pop()).find_map(|mut worker| worker.is_alive().then_some(worker))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<WorkerProcess>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts in this process, without limits on time and memory: for tests and fuzzing, and for the worker.
pub fn convert_here(format: &str, document: &[u8]) -> Result<ConvertedDocument, String> {
    let Some(format) = document::of_name(format) else {
        return Err(format!("there is no format {format:?}"));
    };
    format.convert(document).map_err(|problem| format!("the {} document {problem}", format.name().to_uppercase()))
}
