//! Answers searches over the index that the indexer builds; never writes to it.
//!
//! A [`SearchRequest`] comes by [`http`] or [`rpc`] or from the command line; [`parse`] turns what was typed into words,
//! [`plan`] into queries, [`rank`] orders what they find in the index that [`follow`] keeps fresh, [`snippet`] shows why
//! each page was found; [`search`] does these steps in order and gives a [`SearchResponse`].

mod request;
mod parse;
mod plan;
mod follow;
mod rank;
mod snippet;
mod response;
mod search;
mod http;
mod rpc;
mod metrics;
mod error;
#[cfg(test)]
mod testing;

use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use seine_proto::query::v1::query_server::QueryServer;

pub use error::QueryError;
pub use request::{DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, MAX_QUERY_CHARACTERS, SearchRequest};
pub use response::{Hit, SearchResponse};
pub use rpc::QueryRpc;
pub use search::{QueryConfig, QueryService};

impl QueryService {
    pub fn grpc(&self) -> QueryServer<QueryRpc> {
        QueryServer::new(QueryRpc::new(self.clone()))
    }

    /// Search page, JSON and what watches over the process. `metrics` renders `/metrics`, which is empty without.
    pub fn http_router(&self, metrics: Option<PrometheusHandle>) -> Router {
        http::router(self.clone(), metrics)
    }
}
