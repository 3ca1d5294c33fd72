//! `/cached/{id}`: the copy of a page that the archive holds, as it was when it was fetched.
//!
//! What a page brings along is hostile. The Filesaver takes out what runs, posts or fetches; the policy of the answer
//! forbids it once more, and puts the page into an origin of its own, so that it can touch nothing of ours. A banner says
//! what is shown and where the original is. Pages that ask not to be archived have no position in the index, and no copy.

use std::time::Duration;

use askama::Template;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use seine_common::document_id::DocumentId;
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_node::membership::Filesavers;
use seine_node::transport::Channel;
use seine_proto::common::v1::ArchivePosition;
use seine_proto::filesaver::v1::filesaver_client::FilesaverClient;
use seine_proto::filesaver::v1::{Capture, CopyKind, ReadForm, ReadRequest, ReadResponse, read_request};
use tonic::{Code, Status};

use super::texts::Texts;
use super::ui::Ui;
use super::{HttpState, pages};
use crate::document::{ArchivedAt, Document};

/// No script, no form, no fetching from anywhere: styles and images only where they stand in the page itself.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; \
     base-uri 'none'; frame-ancestors 'none'";
/// How long the archive may take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Template)]
#[template(path = "cached.html")]
struct CachedPage<'a> {
    texts: &'static Texts,
    url: &'a str,
    fetched_at: &'a str,
    fetched_at_text: String,
    /// Made safe by the Filesaver, where the page is HTML.
    html: &'a str,
    /// Shown as it is, where it is not.
    text: &'a str,
}

pub async fn show(State(state): State<HttpState>, ui: Ui, id: Result<Path<String>, PathRejection>) -> Response {
    let id = id.ok().and_then(|Path(id)| id.parse::<DocumentId>().ok());
    let Some(id) = id else { return missing(ui, ui.texts.address_may_be_mistyped) };
    let document = match state.service.elsewhere(move |service| service.get(&id)).await {
        Ok(Some(document)) => document,
        Ok(None) => return missing(ui, ui.texts.copy_not_in_index),
        Err(error) => return pages::refused(ui, "", &error),
    };
    let Some(ArchivedAt { filesaver, file, offset, length }) = document.archive.clone() else {
        return missing(ui, ui.texts.copy_not_kept);
    };
    let position = ArchivePosition { file, offset, length, filesaver };
    match read(&state, ui, position, document.url.clone()).await {
        Ok(copy) => answer(ui, &document, &copy),
        Err(response) => response,
    }
}

/// The record at the position may be that of another page; the copy is that of the document all the same.
async fn read(state: &HttpState, ui: Ui, position: ArchivePosition, url: String) -> Result<ReadResponse, Response> {
    let unavailable = |reason| {
        let page = pages::error(StatusCode::SERVICE_UNAVAILABLE, ui, "", ui.texts.copy_unreadable, reason);
        ([(header::RETRY_AFTER, "1")], page).into_response()
    };
    let filesavers = state.service.archive.as_ref().map(Filesavers::all).unwrap_or_default();
    let has_it = |name: &String| position.filesaver.is_empty() || *name == position.filesaver;
    let asked: Vec<Channel> =
        filesavers.iter().filter(|(name, _)| has_it(name)).map(|(_, route)| route.channel.clone()).collect();
    if asked.is_empty() {
        let is_named = !position.filesaver.is_empty() && state.service.archive.is_some();
        return Err(unavailable(if is_named { ui.texts.filesaver_is_away } else { ui.texts.archive_is_silent }));
    }
    match tokio::time::timeout(READ_TIMEOUT, ask(asked, position, url)).await {
        Ok(Ok(copy)) => Ok(copy),
        Ok(Err(status)) if is_lost(&status) => {
            tracing::warn!(reason = status.message(), "a page of the index is not in the archive");
            Err(missing(ui, ui.texts.copy_lost))
        }
        Ok(Err(_)) | Err(_) => Err(unavailable(ui.texts.archive_is_silent)),
    }
}

/// The first that has it. Positions of earlier versions do not say who does; names of files differ between filesavers.
async fn ask(filesavers: Vec<Channel>, position: ArchivePosition, url: String) -> Result<ReadResponse, Status> {
    let record = Some(read_request::Record::Position(position));
    let request = ReadRequest { record, form: ReadForm::Safe.into(), document: Some(Capture { url, at_ms: 0 }) };
    let mut failed = Status::unavailable("no filesaver was asked");
    for (number, filesaver) in filesavers.into_iter().enumerate() {
        let mut filesaver = FilesaverClient::new(filesaver).max_decoding_message_size(MAX_MESSAGE_BYTES);
        match filesaver.read(request.clone()).await {
            Ok(copy) => return Ok(copy.into_inner()),
            // Whether it is lost is known when all have said so.
            Err(status) if number == 0 || !is_lost(&status) => failed = status,
            Err(_) => {}
        }
    }
    Err(failed)
}

fn is_lost(status: &Status) -> bool {
    matches!(status.code(), Code::NotFound | Code::DataLoss)
}

fn missing(ui: Ui, message: &str) -> Response {
    pages::error(StatusCode::NOT_FOUND, ui, "", ui.texts.no_such_copy, message)
}

fn answer(ui: Ui, document: &Document, copy: &ReadResponse) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-robots-tag"), "noindex"),
        (header::VARY, "accept-language"),
    ];
    let body = String::from_utf8_lossy(&copy.body);
    let (html, text) = match copy.kind() {
        CopyKind::Html => (&*body, ""),
        CopyKind::Text => ("", &*body),
        CopyKind::Other | CopyKind::Unspecified => {
            let name = format!("attachment; filename=\"{}\"", file_name(&document.url));
            let download =
                [(header::CONTENT_TYPE, "application/octet-stream"), (header::CONTENT_DISPOSITION, name.as_str())];
            return (headers, download, copy.body.clone()).into_response();
        }
    };
    // `2026-11-16T13:05:09Z` as people read it.
    let fetched_at_text = document.fetched_at.get(..16).unwrap_or_default().replace('T', " ") + " UTC";
    let page = CachedPage {
        texts: ui.texts,
        url: &document.url,
        fetched_at: &document.fetched_at,
        fetched_at_text,
        html,
        text,
    };
    match page.render() {
        Ok(page) => (headers, Html(page)).into_response(),
        // Writing to a string fails only if the template is wrong, which the tests would show.
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The last part of the path, as far as a header and a file system can take it.
fn file_name(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(100).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "page".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_downloads_are_harmless() {
        assert_eq!(file_name("http://a/b/c.pdf?x=/y"), "c.pdf");
        assert_eq!(file_name("http://a/b/"), "page");
        assert_eq!(file_name("http://a/..%2F\"x"), "2Fx");
    }

    fn shown(kind: CopyKind, body: &str) -> (axum::http::HeaderMap, String) {
        let document = Document {
            id: DocumentId::of("http://a/?x=\"><script>"),
            url: "http://a/?x=\"><script>".to_owned(),
            title: String::new(),
            description: String::new(),
            lang: None,
            content_type: None,
            date: String::new(),
            fetched_at: "2026-11-16T13:05:09Z".to_owned(),
            bytes: 1,
            archive: None,
        };
        let mut copy = ReadResponse { body: body.to_owned().into(), ..ReadResponse::default() };
        copy.set_kind(kind);
        let ui = Ui::of(None, &axum::http::HeaderMap::new());
        let response = answer(ui, &document, &copy);
        let headers = response.headers().clone();
        let body = futures_body(response);
        (headers, body)
    }

    fn futures_body(response: Response) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bytes = runtime.block_on(axum::body::to_bytes(response.into_body(), usize::MAX)).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_copy_is_sandboxed_and_says_what_it_is() {
        let (headers, page) = shown(CopyKind::Html, "<p>the page</p>");
        assert!(headers["content-security-policy"].to_str().unwrap().starts_with("sandbox; default-src 'none'"));
        assert!(page.contains("<p>the page</p>") && page.contains("2026-11-16 13:05 UTC"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }

    #[test]
    fn text_is_escaped_and_everything_else_is_a_download() {
        let (_, page) = shown(CopyKind::Text, "a < b <script>");
        assert!(page.contains("a &#60; b") || page.contains("a &lt; b"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
        let (headers, _) = shown(CopyKind::Other, "bytes");
        assert!(headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
        assert!(headers["content-security-policy"].to_str().unwrap().starts_with("sandbox"));
        assert_eq!(headers["content-type"], "application/octet-stream");
    }
}
