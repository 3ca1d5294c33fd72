//! How a command fails: one clear sentence for a person, and the exit code for a script.

use std::fmt;

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub enum Failure {
    /// The command was called or configured wrongly.
    Usage(String),
    /// The command could not do what it should.
    Failed(String),
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
            Self::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

/// What a service answered, without gRPC's own words around it.
impl From<tonic::Status> for Failure {
    fn from(status: tonic::Status) -> Self {
        match status.code() {
            tonic::Code::InvalidArgument => Self::usage(status.message()),
            tonic::Code::Unavailable
                if status.message().contains("transport") || status.message().contains("connect") =>
            {
                Self::failed("the server does not answer; is it running, and is the address right?")
            }
            _ => Self::failed(status.message()),
        }
    }
}

impl From<seine_common::data_dir::DataDirError> for Failure {
    fn from(error: seine_common::data_dir::DataDirError) -> Self {
        Self::failed(error)
    }
}

impl From<seine_common::transport::TransportError> for Failure {
    fn from(error: seine_common::transport::TransportError) -> Self {
        use seine_common::transport::TransportError;
        match error {
            TransportError::NotLoopback(_) | TransportError::NotAnAddress(_) => Self::usage(error),
            TransportError::Listen(..) | TransportError::Serve(_) => Self::failed(error),
        }
    }
}
