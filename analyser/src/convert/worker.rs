//! What a worker process does: reads documents from its standard input, writes what they say to its standard output.
//!
//! It ends when its input ends, or when a document makes it: a panic, a lack of memory and a lack of time all end the
//! process, and whoever started it knows which document it was.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use prost::Message;
use seine_common::limits::MAX_MESSAGE_BYTES;
use seine_proto::analyser::v1::{ConvertRequest, ConvertResponse, ConvertedDocument, convert_response};

use super::convert_here;
use super::sandbox::{self, limits};
use crate::decode::decode;
use crate::unconverted::UNKNOWN_ENCODING;

/// The name of the command that starts a worker.
pub const COMMAND: &str = "convert-worker";

/// What one worker may use.
#[derive(Clone, Copy, Debug)]
pub struct WorkerLimits {
    pub memory_bytes: u64,
    /// Processor time for one document.
    pub cpu_seconds: u64,
}

/// Until the input ends.
pub fn run(limits: WorkerLimits) -> ExitCode {
    match serve(limits, io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(limits: WorkerLimits, mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let missing_walls = sandbox::enter(limits.memory_bytes)?;
    while let Some(request) = read_request(&mut input)? {
        limits::allow_cpu_seconds(limits.cpu_seconds)?;
        let result = match convert(&request) {
            Ok(document) => convert_response::Result::Document(document),
            Err(reason) => convert_response::Result::Failed(reason),
        };
        let response = ConvertResponse { result: Some(result), missing_walls: missing_walls.clone() }.encode_to_vec();
        let length = u32::try_from(response.len()).map_err(io::Error::other)?;
        output.write_all(&length.to_le_bytes())?;
        output.write_all(&response)?;
        output.flush()?;
    }
    Ok(())
}

fn convert(request: &ConvertRequest) -> Result<ConvertedDocument, String> {
    let encodings: Vec<&str> = request.content_encodings.iter().map(String::as_str).collect();
    match decode(&encodings, &request.document).as_deref() {
        Some([]) => Err("it is empty".to_owned()),
        Some(document) => convert_here(&request.format, document),
        None => Err(UNKNOWN_ENCODING.to_owned()),
    }
}

/// `None` at the end of the input.
fn read_request(input: &mut impl Read) -> io::Result<Option<ConvertRequest>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE_BYTES {
        return Err(io::Error::other("a document is longer than any that is fetched"));
    }
    let mut request = vec![0; length];
    input.read_exact(&mut request)?;
    ConvertRequest::decode(bytes::Bytes::from(request)).map(Some).map_err(io::Error::other)
}
