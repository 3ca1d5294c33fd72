//! The query tier's side of the contract. Generated types stop here, and errors become gRPC statuses here.

use seine_common::document_id::{DocumentId, NotADocumentId};
use seine_common::url::CanonicalUrl;
use seine_proto::query::v1::query_server::Query;
use seine_proto::query::v1::{
    ArchivedAt as ProtoArchivedAt, Document as ProtoDocument, FacetCount as ProtoFacetCount, Facets as ProtoFacets,
    GetRequest, GetResponse, Hit as ProtoHit, SearchRequest as ProtoRequest, SearchResponse as ProtoResponse,
    Sort as ProtoSort, SuggestRequest, SuggestResponse,
};
use tonic::{Request, Response, Status};

use crate::document::{ArchivedAt, Document};
use crate::error::QueryError;
use crate::facet::{FacetCount, FacetCounts};
use crate::request::{DEFAULT_LIMIT, SearchRequest, Sort};
use crate::response::{Hit, SearchResponse};
use crate::search::QueryService;
use crate::suggest::DEFAULT_SUGGESTIONS;

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
        let ProtoRequest {
            query, limit, offset, site, lang, per_host, content_type, after, before, sort, facets, ..
        } = request;
        let ProtoRequest { freshness_days, cursor, .. } = request;
        Self {
            query,
            limit: if limit == 0 { DEFAULT_LIMIT } else { limit as usize },
            offset: offset as usize,
            site: Some(site),
            lang: Some(lang),
            per_host: per_host as usize,
            content_type: Some(content_type),
            after: Some(after),
            before: Some(before),
            sort: match ProtoSort::try_from(sort) {
                Ok(ProtoSort::Date) => Sort::Date,
                _ => Sort::Relevance,
            },
            facets,
            freshness: (freshness_days > 0).then_some(freshness_days),
            cursor: Some(cursor),
        }
    }
}

impl From<SearchResponse> for ProtoResponse {
    fn from(response: SearchResponse) -> Self {
        let SearchResponse { total, took_ms, hits, did_you_mean, cursor, facets } = response;
        Self {
            total,
            took_ms,
            hits: hits.into_iter().map(ProtoHit::from).collect(),
            did_you_mean: did_you_mean.unwrap_or_default(),
            facets: facets.map(ProtoFacets::from),
            cursor: cursor.unwrap_or_default(),
        }
    }
}

impl From<FacetCounts> for ProtoFacets {
    fn from(facets: FacetCounts) -> Self {
        let counts = |counts: Vec<FacetCount>| {
            counts.into_iter().map(|FacetCount { value, count }| ProtoFacetCount { value, count }).collect()
        };
        let FacetCounts { site, lang, content_type, year } = facets;
        Self { site: counts(site), lang: counts(lang), content_type: counts(content_type), year: counts(year) }
    }
}

impl From<Document> for ProtoDocument {
    fn from(document: Document) -> Self {
        let Document { id, url, title, description, lang, content_type, date, fetched_at, bytes, archive } = document;
        Self {
            id: id.to_string(),
            url,
            title,
            description,
            lang: lang.unwrap_or_default(),
            content_type: content_type.unwrap_or_default(),
            date,
            fetched_at,
            bytes,
            archive: archive.map(|ArchivedAt { filesaver, file, offset, length }| ProtoArchivedAt {
                file,
                offset,
                length,
                filesaver,
            }),
        }
    }
}

impl From<Hit> for ProtoHit {
    fn from(hit: Hit) -> Self {
        let Hit { id, url, title, snippet, score, lang, fetched_at, has_cached } = hit;
        Self { url, title, snippet, score, lang: lang.unwrap_or_default(), fetched_at, id, has_cached }
    }
}

#[tonic::async_trait]
impl Query for QueryRpc {
    async fn search(&self, request: Request<ProtoRequest>) -> Result<Response<ProtoResponse>, Status> {
        let request = SearchRequest::from(request.into_inner());
        let response = self.service.elsewhere(move |service| service.search(&request)).await?;
        Ok(Response::new(response.into()))
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let GetRequest { id, url } = request.into_inner();
        let id = asked_id(&id, &url)?;
        let found = self.service.elsewhere(move |service| service.get(&id)).await?;
        let document = found.ok_or_else(|| Status::not_found(format!("there is no document {id} in the index")))?;
        Ok(Response::new(GetResponse { document: Some(document.into()) }))
    }

    async fn suggest(&self, request: Request<SuggestRequest>) -> Result<Response<SuggestResponse>, Status> {
        let SuggestRequest { query, limit } = request.into_inner();
        let limit = if limit == 0 { DEFAULT_SUGGESTIONS } else { limit as usize };
        let suggestions = self.service.elsewhere(move |service| service.suggest(&query, limit)).await?;
        Ok(Response::new(SuggestResponse { suggestions }))
    }
}

fn asked_id(id: &str, url: &str) -> Result<DocumentId, Status> {
    match (id, url) {
        ("", "") => Err(Status::invalid_argument("give the id or the url of a document; both are empty")),
        ("", url) => match CanonicalUrl::parse(url) {
            Ok(url) => Ok(DocumentId::of(url.as_str())),
            Err(error) => Err(Status::invalid_argument(error.to_string())),
        },
        (id, "") => id.parse().map_err(|error: NotADocumentId| Status::invalid_argument(error.to_string())),
        _ => Err(Status::invalid_argument("give either the id or the url of a document, not both")),
    }
}
