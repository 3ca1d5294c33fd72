//! The indexer's side of the contract. Generated types stop here, and errors become gRPC statuses here.

use std::sync::Arc;

use seine_proto::filesaver::v1::DamagedStretch;
use seine_proto::indexer::v1::indexer_server::Indexer as IndexerService;
use seine_proto::indexer::v1::{
    FlushRequest, FlushResponse, RebuildRequest, RebuildResponse, StatusRequest, StatusResponse,
};
use tonic::{Request, Response, Status};

use crate::checkpoint::Stretch;
use crate::count;
use crate::error::IndexerError;
use crate::indexer::Shared;
use crate::pipeline::blocking;

pub struct IndexerRpc {
    shared: Arc<Shared>,
}

impl IndexerRpc {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl From<IndexerError> for Status {
    fn from(error: IndexerError) -> Self {
        let message = error.to_string();
        match error {
            IndexerError::Stopped => Self::unavailable(message),
            IndexerError::RebuildRunning | IndexerError::LogAway(_) => Self::failed_precondition(message),
            IndexerError::Stalled { .. } => Self::resource_exhausted(message),
            IndexerError::NotFollowing(_) => Self::data_loss(message),
            IndexerError::Io { .. } | IndexerError::Index { .. } => Self::internal(message),
        }
    }
}

#[tonic::async_trait]
impl IndexerService for IndexerRpc {
    async fn flush(&self, request: Request<FlushRequest>) -> Result<Response<FlushResponse>, Status> {
        let FlushRequest { log_id, until_offset } = request.into_inner();
        let damaged = self.shared.flush(&log_id, until_offset).await?.into_iter();
        let damaged = damaged.map(|Stretch { start, end, reason }| DamagedStretch { start, end, reason });
        Ok(Response::new(FlushResponse { damaged: damaged.collect() }))
    }

    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let crawl = request.into_inner().crawl;
        let committed = self.shared.committed().into_iter().map(|(log, progress)| (log, progress.offset)).collect();
        let trouble = self.shared.trouble().unwrap_or_default();
        let searcher = self.shared.reader().searcher();
        let counted = blocking(move || {
            let documents = count::documents(&searcher)?;
            let of_crawl = if crawl.is_empty() { 0 } else { count::documents_of_crawl(&searcher, &crawl)? };
            Ok::<_, tantivy::TantivyError>((documents, of_crawl))
        });
        let (documents, crawl_documents) =
            counted.await.map_err(|error| Status::internal(format!("cannot count documents: {error}")))?;
        Ok(Response::new(StatusResponse { documents, crawl_documents, committed, trouble }))
    }

    async fn rebuild(&self, request: Request<RebuildRequest>) -> Result<Response<RebuildResponse>, Status> {
        let without_logs = request.into_inner().without_logs.into_iter().collect();
        let documents = self.shared.rebuild(without_logs).await?;
        Ok(Response::new(RebuildResponse { documents }))
    }
}
