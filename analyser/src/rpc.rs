//! The gRPC face of the analyser, and the one place where errors become statuses.

use std::sync::Arc;

use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::membership::Filesavers;
use seine_proto::analyser::v1::analyser_server::{Analyser, AnalyserServer};
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse};
use tokio::sync::mpsc;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::analyse::AnalyserConfig;
use crate::convert::Converter;
use crate::cpu_pool::CpuPool;
use crate::error::Error;
use crate::intake::{ANSWERS_PER_STREAM, HeldBytes, Intake, Tools};
use crate::owned_stream::OwnedStream;

/// Takes pages from collectors and hands them on to the filesavers.
pub struct AnalyserService {
    filesavers: Filesavers,
    tools: Tools,
    held: Arc<HeldBytes>,
}

impl AnalyserService {
    pub fn new(filesavers: Filesavers, config: AnalyserConfig) -> Self {
        crate::metrics::describe_analyser();
        config.threads.set_used();
        let converter = config.converter.clone().map(|config| Arc::new(Converter::new(config)));
        let (config, filters, cpu) = (Arc::new(config), Arc::default(), CpuPool::new("analyser-cpu"));
        let cpu = cpu.limited(Arc::clone(&config.threads));
        Self { filesavers, tools: Tools { config, cpu, converter, filters }, held: Arc::default() }
    }

    /// How much memory pages take, now and from now on.
    pub fn held_bytes(&self) -> Arc<HeldBytes> {
        Arc::clone(&self.held)
    }

    /// The gRPC service, with its message limits set.
    pub fn into_server(self) -> AnalyserServer<Self> {
        AnalyserServer::new(self)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }
}

#[tonic::async_trait]
impl Analyser for AnalyserService {
    type AnalyseStream = OwnedStream<Result<AnalyseResponse, Status>>;

    async fn analyse(
        &self,
        request: Request<Streaming<AnalyseRequest>>,
    ) -> Result<Response<Self::AnalyseStream>, Status> {
        let (answers, to_send) = mpsc::channel(ANSWERS_PER_STREAM);
        let intake = Intake::new(&self.filesavers, self.tools.clone(), &self.held, answers);
        Ok(Response::new(OwnedStream::spawn(to_send, intake.run(request.into_inner()))))
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Missing(_) | Error::PageUrl(_) | Error::UnsafeUrl(_) | Error::NotAnEntry { .. } => {
                Code::InvalidArgument
            }
            Error::TooLarge(_) | Error::BeyondEnd { .. } => Code::OutOfRange,
            Error::OtherEntry { .. } | Error::OtherFilesaver { .. } => Code::FailedPrecondition,
            Error::UnreadableRecord(..) => Code::DataLoss,
            Error::NotArchived(_) => Code::NotFound,
            Error::Closed => Code::Unavailable,
            Error::Cancelled(_) => Code::Cancelled,
            Error::Panicked(_) | Error::Io { .. } | Error::NotSaved(_) => Code::Internal,
        };
        Self::new(code, error.to_string())
    }
}
