//! Where an export goes: standard output, whose reader may have seen enough, or a file that appears when it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

const BUFFER_BYTES: usize = 256 << 10;

pub enum Sink {
    Stdout(BufWriter<io::Stdout>),
    File(PartialFile),
}

/// Written beside its final name, so that nobody takes half an export for a whole one. One that is dropped before it is
/// whole, because somebody has interrupted the export or the disk is full, leaves nothing; what a killed process left is
/// written over.
pub struct PartialFile {
    writer: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
    is_whole: bool,
}

impl PartialFile {
    fn create(path: &Path) -> Result<Self> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(|error| cannot("write", &partial, &error))?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { writer, partial, path: path.to_owned(), is_whole: false })
    }

    fn finish(mut self) -> Result<()> {
        let written = self.writer.flush().and_then(|()| self.writer.get_ref().sync_all());
        written.map_err(|error| cannot("write", &self.partial, &error))?;
        // From here on it is worth keeping, also under the wrong name.
        self.is_whole = true;
        fs::rename(&self.partial, &self.path).map_err(|error| cannot("rename", &self.partial, &error))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

impl Sink {
    /// `None` and `-` stand for standard output.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout())));
        };
        PartialFile::create(path).map(Self::File)
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.write_all(bytes).or_else(|error| nobody_reads(&error)),
            Self::File(file) => file.writer.write_all(bytes).map_err(|error| cannot("write", &file.partial, &error)),
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
            Self::File(file) => file.finish(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_given_up_leaves_nothing_and_one_that_was_left_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let (path, partial) = (dir.path().join("a.jsonl"), dir.path().join("a.jsonl.partial"));
        fs::write(&partial, "what a killed process left, longer than what follows").unwrap();
        let mut sink = Sink::open(Some(&path)).unwrap();
        sink.write(b"half").unwrap();
        drop(sink);
        assert!(!path.exists() && !partial.exists());
        fs::write(&partial, "what a killed process left, longer than what follows").unwrap();
        let mut sink = Sink::open(Some(&path)).unwrap();
        sink.write(b"whole").unwrap();
        sink.finish().unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), partial.exists()), ("whole", false));
    }
}
