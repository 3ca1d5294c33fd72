//! Fetching one URL: a request to a checked address, and its answer within limits.
//!
//! [`http`] makes clients bound to an address, [`head`] and [`body`] take the answer apart, [`redirect`],
//! [`content_type`], [`freshness`] and [`outcome`] say what it means, [`robots`] does the same for robots.txt, [`answer`] is
//! what the archive gets of what is no page, and [`wire`] lets the host's pacing see when requests leave. Everything ends within the request timeout, whatever the server does.
//!
//! Not responsible for: whether and when the URL may be fetched (`host_worker`).

pub mod http;
pub mod wire;
pub mod head;
pub mod body;
pub mod answer;
pub mod content_type;
pub mod redirect;
pub mod retry_after;
pub mod freshness;
pub mod outcome;
pub mod robots;

use std::net::IpAddr;
use std::time::Duration;

use ::http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use reqwest::{Request, Response};
use seine_common::clock::Clock;
use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::{ArchivePosition, Header};
use seine_proto::monitor::v1::OutcomeKind;

use self::answer::Answer;
use self::body::{Body, BodyError};
use self::freshness::Freshness;
use self::http::OriginClient;
use self::outcome::Ending;
use crate::gate::BodyPermit;

/// What a crawl sets for each of its requests.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub max_body_bytes: u64,
    /// Otherwise only types that can be pages.
    pub any_type: bool,
    /// Answers that are no pages are wanted too.
    pub keeps_answers: bool,
    pub timeout: Duration,
}

/// A request that brought no page.
#[derive(Debug, PartialEq, Eq)]
pub struct NoPage {
    pub ending: Ending,
    /// For the archive, where that keeps it.
    pub answer: Option<Answer>,
}

impl From<Ending> for NoPage {
    fn from(ending: Ending) -> Self {
        Self { ending, answer: None }
    }
}

/// A page as it came from the network; with status 304, the visit to one that the archive has.
#[derive(Debug)]
pub struct Page {
    pub request_head: Bytes,
    pub response_head: Bytes,
    pub status: u16,
    pub headers: Vec<Header>,
    pub body: Bytes,
    pub freshness: Freshness,
    /// Unix milliseconds at the start of the request.
    pub fetched_at_ms: i64,
}

/// The marks of the page that is known: one that still has them is not sent again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    pub etag: String,
    pub last_modified: String,
    /// Where the archive has it; `None` for what is not kept there.
    pub archive: Option<ArchivePosition>,
}

impl Known {
    fn add_to(&self, request: &mut Request) {
        for (name, mark) in [(IF_NONE_MATCH, &self.etag), (IF_MODIFIED_SINCE, &self.last_modified)] {
            if let (false, Ok(value)) = (mark.is_empty(), HeaderValue::from_str(mark)) {
                request.headers_mut().insert(name, value);
            }
        }
    }
}

impl OriginClient {
    /// The one address it can reach.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    fn body<'a>(&'a self, response: &'a mut Response) -> Body<'a> {
        Body { response, bandwidth: &self.bandwidth }
    }

    /// All headers of a request.
    fn sent_with(&self, request: &Request) -> HeaderMap {
        let mut sent = self.headers.clone();
        sent.extend(request.headers().clone());
        sent
    }

    /// Makes one request, and makes sure of who answered.
    async fn send(&self, request: Request, number: u64) -> Result<Response, Ending> {
        self.wire.check_lease().map_err(|over| Ending::new(OutcomeKind::ConnectionFailed, over.to_string()))?;
        let response = self.client.execute(request).await.map_err(|error| Ending::of_error(&error))?;
        self.wire.answered(number);
        match response.remote_addr() {
            Some(peer) if peer.ip().to_canonical() == self.address.to_canonical() => Ok(response),
            peer => Err(Ending::new(
                OutcomeKind::AddressNotAllowed,
                format!("answered by {peer:?} instead of {}", self.address),
            )),
        }
    }

    /// Fetches a page. `request` is its number in the host's pacing.
    pub async fn fetch(
        &self,
        url: &CanonicalUrl,
        known: &Known,
        request: u64,
        limits: FetchLimits,
        permit: &mut BodyPermit,
    ) -> Result<Page, NoPage> {
        match tokio::time::timeout(limits.timeout, self.attempt(url, known, request, limits, permit)).await {
            Ok(ended) => ended,
            Err(_) => Err(Ending::timed_out(limits.timeout).into()),
        }
    }

    async fn attempt(
        &self,
        url: &CanonicalUrl,
        known: &Known,
        request: u64,
        limits: FetchLimits,
        permit: &mut BodyPermit,
    ) -> Result<Page, NoPage> {
        let fetched_at_ms = Clock::System.now_ms();
        let mut get = Request::new(Method::GET, url.as_url().clone());
        known.add_to(&mut get);
        let sent = self.sent_with(&get);
        let mut response = self.send(get, request).await?;
        let status = response.status();
        let is_visit = status == StatusCode::NOT_MODIFIED && known.archive.is_some();
        if !status.is_success() && !is_visit {
            let ending = Ending::of_answer(url, status.as_u16(), response.headers(), fetched_at_ms);
            // That a host asks for patience must reach the Monitor before anything is written: killed in between, we would
            // ask again too soon.
            let is_urgent = ending.kind == OutcomeKind::SlowDown;
            if !limits.keeps_answers || status == StatusCode::NOT_MODIFIED || is_urgent {
                body::drain(self.body(&mut response)).await;
                return Err(ending.into());
            }
            let answer = Answer::read(self, url, &sent, response, fetched_at_ms).await;
            return Err(NoPage { ending, answer: Some(answer) });
        }
        if !is_visit && !limits.any_type && !content_type::is_wanted(response.headers()) {
            let kind = response.headers().get(::http::header::CONTENT_TYPE).map(|value| value.as_bytes());
            let detail = String::from_utf8_lossy(kind.unwrap_or_default()).into_owned();
            return Err(Ending::new(OutcomeKind::UnwantedType, detail).with_status(status.as_u16()).into());
        }
        let body = match body::read(self.body(&mut response), limits.max_body_bytes, permit).await {
            Ok(body) => body,
            Err(BodyError::Broken(error)) => return Err(Ending::of_error(&error).with_status(status.as_u16()).into()),
            Err(error @ BodyError::TooLarge(_)) => {
                return Err(Ending::new(OutcomeKind::TooLarge, error.to_string()).with_status(status.as_u16()).into());
            }
        };
        Ok(Page {
            request_head: head::request(url, &sent),
            response_head: head::response(status, response.headers()),
            status: status.as_u16(),
            headers: head::readable(response.headers()),
            freshness: Freshness::of(response.headers(), fetched_at_ms),
            body,
            fetched_at_ms,
        })
    }
}

#[cfg(test)]
mod tests;
