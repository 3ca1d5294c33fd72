//! Where an export goes: standard output, whose reader may have seen enough, or a file that appears when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

const BUFFER_BYTES: usize = 256 << 10;

pub enum Sink {
    Stdout(BufWriter<io::Stdout>),
    /// Written beside its final name, so that nobody takes half an export for a whole one.
    File {
        writer: BufWriter<File>,
        partial: PathBuf,
        path: PathBuf,
    },
}

impl Sink {
    /// `None` and `-` stand for standard output.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout())));
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(|error| cannot("write", &partial, &error))?;
        Ok(Self::File { writer: BufWriter::with_capacity(BUFFER_BYTES, file), partial, path: path.to_owned() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.write_all(bytes).or_else(|error| nobody_reads(&error)),
            Self::File { writer, partial, .. } => {
                writer.write_all(bytes).map_err(|error| cannot("write", partial, &error))
            }
        }
    }

    /// One value as a line of JSON.
    pub fn json(&mut self, value: &serde_json::Value) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(Failure::failed)?;
        line.push(b'\n');
        self.write(&line)
    }

    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush().or_else(|error| nobody_reads(&error)),
            Self::File { mut writer, partial, path } => {
                let written = writer.flush().and_then(|()| writer.get_ref().sync_all());
                written.map_err(|error| cannot("write", &partial, &error))?;
                fs::rename(&partial, &path).map_err(|error| cannot("rename", &partial, &error))
            }
        }
    }
}

/// As `seine export urls | head` ends: quietly, and at once.
fn nobody_reads(error: &io::Error) -> Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    Err(Failure::failed(format!("cannot write to standard output: {error}; is the disk full?")))
}

pub fn cannot(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot {action} {}: {error}; check free space and permissions", path.display()))
}
