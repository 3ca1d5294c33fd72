//! How a command fails: one clear sentence for a person, and the exit code for a script.

use std::error::Error;
use std::fmt;

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub enum Failure {
    /// The command was called or configured wrongly.
    Usage(String),
    /// The command could not do what it should.
    Failed(String),
    /// The process that was asked is not there, or about to end.
    Unreachable(String),
}

impl Failure {
    pub fn usage(text: impl fmt::Display) -> Self {
        Self::Usage(text.to_string())
    }

    pub fn failed(text: impl fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }

    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) | Self::Unreachable(_) => 1,
        }
    }

    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(text) | Self::Failed(text) | Self::Unreachable(text)) = self;
        // Some errors of others have no words of their own.
        match text.trim() {
            "" => f.write_str("something failed without saying why; SEINE_LOG=debug may tell more"),
            text => f.write_str(text),
        }
    }
}

/// What a service answered, without gRPC's own words around it.
impl From<tonic::Status> for Failure {
    fn from(status: tonic::Status) -> Self {
        // What a server sends has no cause. With one it was made here, because the connection failed.
        if let Some(mut cause) = status.source() {
            while let Some(earlier) = cause.source() {
                cause = earlier;
            }
            return Self::Unreachable(format!(
                "the server does not answer ({cause}); is it running, and is the address that of its gRPC port?"
            ));
        }
        let message = status.message().trim();
        match status.code() {
            code if message.is_empty() => {
                let meaning = code.description();
                Self::failed(format!("the server gave no reason, only {code:?} ({meaning}); look at its log"))
            }
            tonic::Code::InvalidArgument => Self::usage(message),
            tonic::Code::Unavailable => Self::Unreachable(message.to_owned()),
            _ => Self::failed(message),
        }
    }
}

impl From<seine_common::data_dir::DataDirError> for Failure {
    fn from(error: seine_common::data_dir::DataDirError) -> Self {
        Self::failed(error)
    }
}

impl From<seine_node::transport::TransportError> for Failure {
    fn from(error: seine_node::transport::TransportError) -> Self {
        use seine_node::transport::TransportError;
        match error {
            TransportError::NotAnAddress(_) | TransportError::InClear(_) | TransportError::Authorities(..) => {
                Self::usage(error)
            }
            TransportError::Listen(..) | TransportError::Roots(_) | TransportError::Serve(_) => Self::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use tonic::{Code, Status};

    use super::*;

    #[test]
    fn no_failure_is_told_by_an_empty_line() {
        for number in 0..=16 {
            let failure = Failure::from(Status::new(Code::from(number), " "));
            let text = failure.to_string();
            assert!(text.contains(&format!("{:?}", Code::from(number))) && text.contains("log"), "{number}: {text}");
        }
        for failure in [Failure::usage(""), Failure::failed("\n"), Failure::failed(std::io::Error::other(""))] {
            assert!(failure.to_string().len() > 20, "{failure}");
        }
        assert_eq!(Failure::from(Status::invalid_argument("limit is 0")).exit_code(), 2);
    }
}
