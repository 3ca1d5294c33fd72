//! Why a search was not answered, for a person and for a program; mapped to HTTP and gRPC in one place each.

use tantivy::TantivyError;

#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// What was asked for is not allowed.
    #[error("{message}")]
    Invalid { code: &'static str, message: String },
    #[error("the index cannot be read: {0}; try again, and if this stays, run `seine index rebuild`")]
    NotReady(String),
    #[error("too many searches at once; try again in a moment")]
    Busy,
}

impl QueryError {
    pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { code, message: message.into() }
    }

    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { code, .. } => code,
            Self::NotReady(_) => "not_ready",
            Self::Busy => "busy",
        }
    }
}

impl From<TantivyError> for QueryError {
    fn from(error: TantivyError) -> Self {
        Self::NotReady(error.to_string())
    }
}

impl From<std::io::Error> for QueryError {
    fn from(error: std::io::Error) -> Self {
        Self::NotReady(error.to_string())
    }
}
