//! What is refused before or instead of a handler, as JSON for programs and as a page for people.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::ui::Ui;
use super::{api, pages};

/// As much of a request as its refusal needs.
pub struct Asked {
    path: String,
    ui: Ui,
}

impl Asked {
    pub fn of(request: &Request) -> Self {
        Self { path: request.uri().path().to_owned(), ui: Ui::of(request.uri().query(), request.headers()) }
    }

    /// Programs get JSON wherever they do not ask for a page.
    fn is_by_a_program(&self) -> bool {
        let for_programs = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/opensearch.xml"];
        self.path.starts_with("/api/") || for_programs.contains(&self.path.as_str())
    }
}

pub enum Refusal {
    NotFound,
    MethodNotAllowed,
    TooManyRequests { wait: Duration },
    DeadlineExceeded { deadline: Duration },
}

impl Refusal {
    pub fn answer(self, asked: &Asked) -> Response {
        let (status, code) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::TooManyRequests { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_requests"),
            Self::DeadlineExceeded { .. } => (StatusCode::SERVICE_UNAVAILABLE, "deadline_exceeded"),
        };
        let response = match asked.is_by_a_program() {
            true => api::error(status, code, &self.message(&asked.path)),
            false => self.page(status, asked.ui),
        };
        match self.retry_after() {
            Some(seconds) => ([(header::RETRY_AFTER, seconds.to_string())], response).into_response(),
            None => response,
        }
    }

    fn message(&self, path: &str) -> String {
        match self {
            Self::NotFound => format!("there is nothing at {path}; see /openapi.json"),
            Self::MethodNotAllowed => format!("{path} can only be read; use GET"),
            Self::TooManyRequests { .. } => {
                let seconds = self.retry_after().unwrap_or(1);
                format!("too many requests from this address; wait {seconds} s before the next one")
            }
            Self::DeadlineExceeded { deadline } => {
                let deadline = deadline.as_millis();
                format!("there was no answer within {deadline} ms; try again, or ask with fewer or more exact words")
            }
        }
    }

    fn page(&self, status: StatusCode, ui: Ui) -> Response {
        let texts = ui.texts;
        let (headline, advice) = match self {
            Self::NotFound | Self::MethodNotAllowed => (texts.no_such_page, texts.address_may_be_mistyped),
            Self::TooManyRequests { .. } => (texts.too_many_searches, texts.try_again_in_a_moment),
            Self::DeadlineExceeded { .. } => (texts.took_too_long, texts.ask_more_precisely),
        };
        pages::error(status, ui, "", headline, advice)
    }

    /// Whole seconds, as the header has them.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooManyRequests { wait } => Some(wait.as_secs_f64().ceil().max(1.0) as u64),
            Self::DeadlineExceeded { .. } => Some(1),
            _ => None,
        }
    }
}
