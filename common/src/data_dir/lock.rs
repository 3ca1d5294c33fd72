//! Who may write a tier's subdirectory: whoever holds the lock on its file, which the system releases when a process ends.
//!
//! The lock alone says whether somebody lives. The file's text is for people: numbers of processes are used again, and
//! mean nothing in another container.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{DataDir, DataDirError};

/// Those who only look whether a lock is held have it for a moment themselves.
const LOOKED_AT_FOR: Duration = Duration::from_millis(200);
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Held as long as it lives.
#[derive(Debug)]
pub struct TierLock {
    _file: File,
}

impl TierLock {
    pub(super) fn take(dir: &DataDir, tier: &str) -> Result<Self, DataDirError> {
        let path = path(dir, tier);
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(|error| dir.io_error(&path, error))?;
        let until = Instant::now() + LOOKED_AT_FOR;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(TRY_AGAIN),
                Err(TryLockError::WouldBlock) => {
                    return Err(DataDirError::Held { path: dir.root.clone(), holder: holder(&mut file) });
                }
                Err(TryLockError::Error(error)) => return Err(dir.io_error(&path, error)),
            }
        }
        sign(&mut file).map_err(|error| dir.io_error(&path, error))?;
        Ok(Self { _file: file })
    }
}

/// Whether a living process holds the tier.
pub(super) fn is_held(dir: &DataDir, tier: &str) -> bool {
    let Ok(file) = File::open(path(dir, tier)) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn path(dir: &DataDir, tier: &str) -> PathBuf {
    dir.root.join(format!("{tier}.lock"))
}

fn holder(file: &mut File) -> String {
    let mut holder = String::new();
    let _ = file.read_to_string(&mut holder);
    if holder.trim().is_empty() { "unknown".to_owned() } else { holder.trim().to_owned() }
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{} ({})", std::process::id(), command_name())
}

fn command_name() -> String {
    // Only the first words: later arguments may hold what others need not see.
    let words = std::env::args_os().take(2).map(|word| word.to_string_lossy().into_owned());
    let names = words.map(|word| word.rsplit('/').next().unwrap_or_default().to_owned());
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::Endpoint;
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
    fn a_holder_is_one_that_has_the_lock_whatever_process_has_its_number() {
        let root = tempfile::tempdir().unwrap();
        let dir = DataDir::open(root.path()).unwrap();
        // This process lives, and has published, and holds nothing.
        let endpoint =
            Endpoint { pid: std::process::id(), grpc: "127.0.0.1:1".into(), token: String::new(), serves: true };
        dir.publish(&endpoint).unwrap();
        assert_eq!(dir.holder("monitor"), None, "there is no lock at all");
        let lock = dir.lock("monitor").unwrap();
        // A number that no process has, as from another container.
        let elsewhere = Endpoint { pid: u32::MAX, ..endpoint };
        dir.publish(&elsewhere).unwrap();
        assert_eq!(dir.holder("monitor"), Some(elsewhere));
        drop(lock);
        assert_eq!(dir.holder("monitor"), None, "it was given back");
    }

    #[test]
    fn looking_at_a_lock_does_not_keep_anybody_from_taking_it() {
        let root = tempfile::tempdir().unwrap();
        let dir = DataDir::open(root.path()).unwrap();
        drop(dir.lock("monitor").unwrap());
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| (0..2_000).filter(|_| is_held(&dir, "monitor")).count());
            for _ in 0..200 {
                drop(dir.lock("monitor").expect("nobody holds it"));
            }
            looking.join().unwrap();
        });
    }
}
