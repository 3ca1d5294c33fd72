//! A file that only grows, and after a failed write is cut back to where it ended before.
//!
//! Invariant: the file holds exactly `end` bytes, or `torn` is set and the next append cuts it to them first.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::Durability;
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct AppendFile {
    file: File,
    path: PathBuf,
    end: u64,
    /// Something stands behind `end`.
    torn: bool,
}

impl AppendFile {
    /// A new file; an existing one of that name is an error.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(|error| Error::io("create", path, error))?;
        Ok(Self { file, path: path.to_owned(), end: 0, torn: false })
    }

    /// An existing file, to be cut to `end`.
    pub fn open(path: &Path, end: u64) -> Result<Self, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|error| Error::io("open", path, error))?;
        let length = file.metadata().map_err(|error| Error::io("measure", path, error))?.len();
        let mut this = Self { file, path: path.to_owned(), end, torn: false };
        if length != end {
            this.cut_back(end)?;
            this.sync(Durability::Sync)?;
        }
        Ok(this)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.torn {
            self.cut_back(self.end)?;
        }
        self.torn = true;
        self.file.write_all_at(bytes, self.end).map_err(|error| Error::io("write", &self.path, error))?;
        self.torn = false;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Forgets what stands behind `end`. Where even that fails, the next append tries again.
    pub fn cut_back(&mut self, end: u64) -> Result<(), Error> {
        self.end = end;
        self.torn = true;
        self.file.set_len(end).map_err(|error| Error::io("shorten", &self.path, error))?;
        self.torn = false;
        Ok(())
    }

    pub fn sync(&self, durability: Durability) -> Result<(), Error> {
        match durability {
            Durability::Sync => self.file.sync_data().map_err(|error| Error::io("sync", &self.path, error)),
            Durability::Os => Ok(()),
        }
    }
}
