//! The directory in which a Seine keeps everything: its [format](format) version, who [holds](lock) it, and how to reach
//! the holder.
//!
//! Each tier with state has its own subdirectory and lock, so several processes can share one data directory as long as
//! they run different tiers. Directories are made for their owner alone. Not responsible for what the subdirectories hold.
//!
//! Life cycle: [`DataDir::open`] checks or writes the version → [`DataDir::lock`] per tier → [`DataDir::migrate`] what an
//! older version wrote → [`DataDir::publish`] the endpoint once the server listens → dropping the [`TierLock`]s releases
//! the tiers, also when the process is killed.

mod format;
mod lock;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use format::FORMAT_VERSION;
pub use lock::TierLock;

/// Of directories that are made here: pages, and the secrets in their addresses, are nobody else's business.
const PRIVATE: u32 = 0o700;

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("data directory {} is held by process {holder}; stop it, or choose another directory with --data", .path.display())]
    Held { path: PathBuf, holder: String },
    #[error(
        "data directory {} has format version {found}, and this seine reads versions 1 to {FORMAT_VERSION}; use the seine that wrote it, or another directory with --data",
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

impl DataDir {
    /// Opens the directory, making it when it does not exist. One of an older version is opened as it is.
    pub fn open(root: &Path) -> Result<Self, DataDirError> {
        let this = Self { root: root.to_owned() };
        make_private(root).map_err(|error| this.io_error(root, error))?;
        format::check(&this)?;
        Ok(this)
    }

    /// Opens a directory that must exist already.
    pub fn open_existing(root: &Path) -> Result<Self, DataDirError> {
        if !root.join(format::FILE).exists() {
            return Err(DataDirError::Missing(root.to_owned()));
        }
        Self::open(root)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Brings what an older version wrote up to date. For those who hold the locks of their tiers.
    pub fn migrate(&self) -> Result<(), DataDirError> {
        format::migrate(self)
    }

    /// The subdirectory of one tier, made when missing.
    pub fn tier(&self, tier: &str) -> Result<PathBuf, DataDirError> {
        let path = self.root.join(tier);
        make_private(&path).map_err(|error| self.io_error(&path, error))?;
        Ok(path)
    }

    /// The permissions of the directory, where others than its owner have any. Somebody may have given them on purpose, so
    /// they are left as they are.
    pub fn open_to_others(&self) -> Option<u32> {
        let mode = fs::metadata(&self.root).ok()?.permissions().mode() & 0o777;
        (mode & !PRIVATE != 0).then_some(mode)
    }

    /// Takes the right to write the tier's subdirectory, or names the process that has it.
    pub fn lock(&self, tier: &str) -> Result<TierLock, DataDirError> {
        TierLock::take(self, tier)
    }

    /// How to reach the process that holds the tier, if one does and has said so. A killed process holds nothing, whatever
    /// it left behind.
    pub fn holder(&self, tier: &str) -> Option<Endpoint> {
        lock::is_held(self, tier).then(|| self.endpoint()).flatten()
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

    /// Tells the commands of this user how to reach this process. For the one that holds the Monitor's lock.
    pub fn publish(&self, endpoint: &Endpoint) -> Result<(), DataDirError> {
        let path = self.endpoint_file();
        let text = serde_json::to_vec(endpoint).expect("an endpoint has only text fields");
        write_atomically(&path, &text, 0o600).map_err(|error| self.io_error(&path, error))
    }

    /// Takes the endpoint back, also one that a killed process left. For the one that holds the Monitor's lock.
    pub fn withdraw(&self) {
        let _ = fs::remove_file(self.endpoint_file());
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

/// Makes a directory for its owner alone, and those above it as is usual. One that exists stays as it is.
fn make_private(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    DirBuilder::new().recursive(true).mode(PRIVATE).create(path)
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
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
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
            assert_eq!(mode(&root.path().join(name)), 0o600, "{name}");
        }
        dir.withdraw();
        assert_eq!(dir.endpoint(), None);
    }

    #[test]
    fn directories_are_made_for_their_owner_alone_and_existing_ones_are_left_as_they_are() {
        let root = tempfile::tempdir().unwrap();
        let dir = DataDir::open(&root.path().join("new/data")).unwrap();
        let tier = dir.tier("filesaver").unwrap();
        assert_eq!((mode(dir.root()), mode(&tier), dir.open_to_others()), (0o700, 0o700, None));
        fs::set_permissions(dir.root(), fs::Permissions::from_mode(0o750)).unwrap();
        let again = DataDir::open(dir.root()).unwrap();
        assert_eq!((mode(again.root()), again.open_to_others()), (0o750, Some(0o750)));
    }
}
