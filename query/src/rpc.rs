//! The query tier's side of the contract. Generated types stop here, and errors become gRPC statuses here.

use seine_proto::query::v1::query_server::Query;
use seine_proto::query::v1::{Hit as ProtoHit, SearchRequest as ProtoRequest, SearchResponse as ProtoResponse};
use tonic::{Request, Response, Status};

use crate::error::QueryError;
use crate::request::{DEFAULT_LIMIT, SearchRequest};
use crate::response::{Hit, SearchResponse};
use crate::search::QueryService;

pub struct QueryRpc {
    service: QueryService,
}

impl QueryRpc {
    pub(crate) fn new(service: QueryService) -> Self {
        Self { service }
    }
}

impl From<QueryError> for Status {
    fn from(error: QueryError) -> Self {
        let message = error.to_string();
        match error {
            QueryError::Invalid { .. } => Self::invalid_argument(message),
            QueryError::NotReady(_) => Self::unavailable(message),
            QueryError::Busy => Self::resource_exhausted(message),
        }
    }
}

impl From<ProtoRequest> for SearchRequest {
    fn from(request: ProtoRequest) -> Self {
        let ProtoRequest { query, limit, offset, site, lang, per_host } = request;
        Self {
            query,
            limit: if limit == 0 { DEFAULT_LIMIT } else { limit as usize },
            offset: offset as usize,
            site: Some(site),
            lang: Some(lang),
            per_host: per_host as usize,
        }
    }
}

impl From<SearchResponse> for ProtoResponse {
    fn from(response: SearchResponse) -> Self {
        let SearchResponse { total, took_ms, hits } = response;
        Self { total, took_ms, hits: hits.into_iter().map(ProtoHit::from).collect() }
    }
}

impl From<Hit> for ProtoHit {
    fn from(hit: Hit) -> Self {
        let Hit { url, title, snippet, score, lang, fetched_at } = hit;
        Self { url, title, snippet, score, lang: lang.unwrap_or_default(), fetched_at }
    }
}

#[tonic::async_trait]
impl Query for QueryRpc {
    async fn search(&self, request: Request<ProtoRequest>) -> Result<Response<ProtoResponse>, Status> {
        let request = SearchRequest::from(request.into_inner());
        let response = self.service.elsewhere(move |service| service.search(&request)).await?;
        Ok(Response::new(response.into()))
    }
}
