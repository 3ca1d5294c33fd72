//! An answer that is no page, as the archive keeps it beside the pages: a redirect, an error, robots.txt.
//!
//! Its body is kept as far as it comes at once and is not long: what such an answer says is in its head.

use bytes::Bytes;
use http::HeaderMap;
use reqwest::Response;
use seine_common::url::CanonicalUrl;

use super::http::OriginClient;
use super::{body, head};

#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub url: CanonicalUrl,
    pub request_head: Bytes,
    pub response_head: Bytes,
    pub status: u16,
    /// As received.
    pub body: Bytes,
    /// Why the body is not whole, as WARC names it; empty where it is.
    pub truncated: &'static str,
    /// Unix milliseconds at the start of the request.
    pub at_ms: i64,
}

impl Answer {
    /// Takes the beginning of the body with it, as much as [`body::drain`] would read of it.
    pub async fn read(
        client: &OriginClient,
        url: &CanonicalUrl,
        sent: &HeaderMap,
        mut response: Response,
        at_ms: i64,
    ) -> Self {
        let (body, truncated) = body::read_what_comes(client.body(&mut response)).await;
        Self::with(url, sent, &response, body, truncated, at_ms)
    }

    /// Of an answer whose body was read before.
    pub fn with(
        url: &CanonicalUrl,
        sent: &HeaderMap,
        response: &Response,
        body: Bytes,
        truncated: &'static str,
        at_ms: i64,
    ) -> Self {
        Self {
            url: url.clone(),
            request_head: head::request(url, sent),
            response_head: head::response(response.status(), response.headers()),
            status: response.status().as_u16(),
            body,
            truncated,
            at_ms,
        }
    }
}
