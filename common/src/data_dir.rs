//! The directory in which a Seine keeps everything: its format version, who holds it, and how to reach the holder.
//!
//! Each tier with state has its own subdirectory and lock, so several processes can share one data directory as long as
//! they run different tiers. Not responsible for what the subdirectories hold.
//!
//! Life cycle: [`DataDir::open`] checks or writes the version → [`DataDir::lock`] per tier → [`DataDir::publish`] the
//! endpoint once the server listens → dropping the [`TierLock`]s releases the tiers, also when the process is killed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Grows with every change of what is on disk that older versions cannot read.
pub const FORMAT_VERSION: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("data directory {} is held by process {holder}; stop it, or choose another directory with --data", .path.display())]
    Held { path: PathBuf, holder: String },
    #[error(
        "data directory {} has format version {found}, this seine reads {FORMAT_VERSION}; use the seine that wrote it, or another directory with --data",
        .path.display()
    )]
    Version { path: PathBuf, found: String },
    #[error("there is no data directory at {}; crawl something first, or name it with --data", .0.display())]
    Missing(PathBuf),
    #[error("cannot use {}: {error}; check the path and its permissions", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

#[derive(Clone, Debug)]
pub struct DataDir {
    root: PathBuf,
}

/// How the commands of the same user reach the process that holds the directory.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Endpoint {
    pub pid: u32,
    /// host:port of the gRPC server.
    pub grpc: String,
    /// What admin calls must present.
    pub token: String,
    /// It runs until it is stopped, so that crawls can be handed to it. False where a command holds the directory for
    /// its own work.
    #[serde(default)]
    pub serves: bool,
}

/// Held as long as it lives.
#[derive(Debug)]
pub struct TierLock {
    _file: File,
}

impl DataDir {
    /// Opens the directory, making it when it does not exist.
    pub fn open(root: &Path) -> Result<Self, DataDirError> {
        let this = Self { root: root.to_owned() };
        fs::create_dir_all(root).map_err(|error| this.io_error(root, error))?;
        let version_file = root.join("VERSION");
        match fs::read_to_string(&version_file) {
            Ok(found) if found.trim() == FORMAT_VERSION.to_string() => Ok(this),
            Ok(found) => Err(DataDirError::Version { path: root.to_owned(), found: found.trim().to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_atomically(&version_file, format!("{FORMAT_VERSION}\n").as_bytes(), 0o644)
                    .map_err(|error| this.io_error(&version_file, error))?;
                Ok(this)
            }
            Err(error) => Err(this.io_error(&version_file, error)),
        }
    }

    /// Opens a directory that must exist already.
    pub fn open_existing(root: &Path) -> Result<Self, DataDirError> {
        if !root.join("VERSION").exists() {
            return Err(DataDirError::Missing(root.to_owned()));
        }
        Self::open(root)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The subdirectory of one tier, made when missing.
    pub fn tier(&self, tier: &str) -> Result<PathBuf, DataDirError> {
        let path = self.root.join(tier);
        fs::create_dir_all(&path).map_err(|error| self.io_error(&path, error))?;
        Ok(path)
    }

    /// Takes the right to write the tier's subdirectory, or names the process that has it.
    pub fn lock(&self, tier: &str) -> Result<TierLock, DataDirError> {
        let path = self.root.join(format!("{tier}.lock"));
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(|error| self.io_error(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = if holder.trim().is_empty() { "unknown".to_owned() } else { holder.trim().to_owned() };
                return Err(DataDirError::Held { path: self.root.clone(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(self.io_error(&path, error)),
        }
        let write_holder = || -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{} ({})", std::process::id(), command_name())
        };
        let mut write_holder = write_holder;
        write_holder().map_err(|error| self.io_error(&path, error))?;
        Ok(TierLock { _file: file })
    }

    /// The secret that admin calls must present; drawn at first use, readable by the owner only.
    pub fn admin_token(&self) -> Result<String, DataDirError> {
        let path = self.root.join("admin-token");
        match fs::read_to_string(&path) {
            Ok(token) => Ok(token.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = format!("{:032x}", rand::random::<u128>());
                write_atomically(&path, token.as_bytes(), 0o600).map_err(|error| self.io_error(&path, error))?;
                Ok(token)
            }
            Err(error) => Err(self.io_error(&path, error)),
        }
    }

    /// Tells the commands of this user how to reach this process.
    pub fn publish(&self, endpoint: &Endpoint) -> Result<(), DataDirError> {
        let path = self.endpoint_file();
        let text = serde_json::to_vec(endpoint).expect("an endpoint has only text fields");
        write_atomically(&path, &text, 0o600).map_err(|error| self.io_error(&path, error))
    }

    /// Takes the endpoint back, unless another process has published its own since.
    pub fn withdraw(&self) {
        if self.endpoint().is_some_and(|endpoint| endpoint.pid == std::process::id()) {
            let _ = fs::remove_file(self.endpoint_file());
        }
    }

    /// What was published last; its process may be gone.
    pub fn endpoint(&self) -> Option<Endpoint> {
        serde_json::from_slice(&fs::read(self.endpoint_file()).ok()?).ok()
    }

    fn endpoint_file(&self) -> PathBuf {
        self.root.join("endpoint.json")
    }

    fn io_error(&self, path: &Path, error: io::Error) -> DataDirError {
        DataDirError::Io { path: path.to_owned(), error }
    }
}

fn command_name() -> String {
    // Only the first words: later arguments may hold what others need not see.
    std::env::args()
        .take(2)
        .map(|word| word.rsplit('/').next().unwrap_or_default().to_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes a file so that after a crash either the old or the new content is there.
pub fn write_atomically(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_directory(path.parent().unwrap_or(Path::new(".")))
}

/// Makes a rename or a new file in the directory survive a power cut.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_second_holder_of_a_tier_is_told_who_the_first_is() {
        let root = tempfile::tempdir().unwrap();
        let dir = DataDir::open(root.path()).unwrap();
        let first = dir.lock("frontier").unwrap();
        let refusal = dir.lock("frontier").unwrap_err().to_string();
        assert!(refusal.contains(&std::process::id().to_string()), "{refusal}");
        assert!(dir.lock("index").is_ok());
        drop(first);
        assert!(dir.lock("frontier").is_ok());
    }

    #[test]
    fn a_directory_of_another_version_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("VERSION"), "99\n").unwrap();
        assert!(matches!(DataDir::open(root.path()), Err(DataDirError::Version { .. })));
    }

    #[test]
    fn secrets_are_readable_by_the_owner_only() {
        let root = tempfile::tempdir().unwrap();
        let dir = DataDir::open(root.path()).unwrap();
        let token = dir.admin_token().unwrap();
        assert_eq!(dir.admin_token().unwrap(), token);
        let endpoint = Endpoint { pid: std::process::id(), grpc: "127.0.0.1:1".into(), token, serves: true };
        dir.publish(&endpoint).unwrap();
        assert_eq!(dir.endpoint(), Some(endpoint));
        for name in ["admin-token", "endpoint.json"] {
            let mode = fs::metadata(root.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        dir.withdraw();
        assert_eq!(dir.endpoint(), None);
    }
}
