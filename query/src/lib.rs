//! Answers searches over the index that the indexer builds; never writes to it.
//!
//! A [`SearchRequest`] comes by [`http`] or [`rpc`] or from the command line; [`parse`] turns what was typed into what is
//! asked for, [`plan`] into terms of the index that [`follow`] keeps fresh ([`views`] keep it still for who turns pages by a
//! [`cursor`]), by its [`vocabulary`]; [`score`] finds and scores documents, [`rank`] orders them by [`weights`] with the
//! help of [`proximity`] and [`freshness`], [`facet`] counts them by kind, [`snippet`] shows why each page was found,
//! [`details`] what else the search page says of it; [`search`] does these steps in order and gives a
//! [`SearchResponse`], unless the [`asker`] goes away. [`document`] gives one document by its id, [`suggest`] completes what is being typed.

mod request;
mod parse;
mod follow;
mod views;
mod vocabulary;
mod plan;
mod weights;
mod score;
mod proximity;
mod facet;
mod freshness;
mod copies;
mod rank;
mod cursor;
mod snippet;
mod response;
mod details;
mod asker;
mod search;
mod document;
mod suggest;
mod http;
mod rpc;
mod metrics;
mod error;
#[cfg(test)]
mod testing;

use seine_common::config::WebConfig;
use seine_node::http::server;
use seine_node::telemetry::Metrics;
use seine_proto::query::v1::query_server::QueryServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use document::{ArchivedAt, Document};
pub use error::QueryError;
pub use facet::{FacetCount, FacetCounts};
pub use request::{
    DEFAULT_LIMIT, MAX_FRESHNESS_DAYS, MAX_LIMIT, MAX_OFFSET, MAX_QUERY_CHARACTERS, SearchRequest, Sort,
};
pub use response::{Hit, SearchResponse};
pub use rpc::QueryRpc;
pub use search::{QueryConfig, QueryService};
pub use suggest::{DEFAULT_SUGGESTIONS, MAX_SUGGESTIONS};
pub use weights::RankingWeights;

impl QueryService {
    pub fn grpc(&self) -> QueryServer<QueryRpc> {
        QueryServer::new(QueryRpc::new(self.clone()))
    }

    /// Serves the search page, JSON and what watches over the process, until shutdown. `metrics` renders `/metrics`, which
    /// is empty without.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        metrics: Option<Metrics>,
        config: &WebConfig,
        shutdown: CancellationToken,
    ) {
        let router = http::router(self.clone(), metrics, config);
        server::serve(router, listener, config, shutdown).await;
    }
}
