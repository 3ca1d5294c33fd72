//! The version of what is on disk, and bringing older ones up to date.
//!
//! The version rises when stored records change in a way that an older program would misread, or lose when it writes them
//! again. A directory of this version or an older one opens; a newer one is refused. Its number is written behind the last
//! step of a migration, so that an interrupted one is done again from the beginning: each step must bear that.

use std::fs;
use std::io;
use std::path::Path;

use super::{DataDir, DataDirError, write_atomically};

/// What this program writes.
pub const FORMAT_VERSION: u32 = 3;
/// Holds the number.
pub(super) const FILE: &str = "VERSION";

/// Brings the directory from one version to the next, durably.
type Step = fn(&Path) -> io::Result<()>;

/// The step at position 0 leads from version 1 to version 2, and so on.
const STEPS: [Step; FORMAT_VERSION as usize - 1] = [from_1_to_2, from_2_to_3];

/// Records have fields and outcomes that version 1 does not know, and would lose where it writes them again. Where they are
/// missing, their defaults are what version 1 meant, so nothing is to be written.
fn from_1_to_2(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Positions in the archive name their filesaver, in the Monitor's records and in the index. Where the name is missing, any
/// filesaver may be asked, so nothing is to be written.
fn from_2_to_3(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Refuses what cannot be read. A directory without a version is new and gets ours.
pub(super) fn check(dir: &DataDir) -> Result<(), DataDirError> {
    match read(dir)? {
        Some(_) => Ok(()),
        None => write(dir, FORMAT_VERSION),
    }
}

pub(super) fn migrate(dir: &DataDir) -> Result<(), DataDirError> {
    migrate_by(dir, &STEPS)
}

fn migrate_by(dir: &DataDir, steps: &[Step]) -> Result<(), DataDirError> {
    let found = read(dir)?.unwrap_or(FORMAT_VERSION);
    let missing = steps.get(found as usize - 1..).unwrap_or_default();
    for step in missing {
        step(&dir.root).map_err(|error| dir.io_error(&dir.root, error))?;
    }
    if missing.is_empty() { Ok(()) } else { write(dir, found + missing.len() as u32) }
}

fn read(dir: &DataDir) -> Result<Option<u32>, DataDirError> {
    let path = dir.root.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse() {
            Ok(found) if (1..=FORMAT_VERSION).contains(&found) => Ok(Some(found)),
            _ => Err(DataDirError::Version { path: dir.root.clone(), found: text.trim().to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(dir.io_error(&path, error)),
    }
}

fn write(dir: &DataDir, version: u32) -> Result<(), DataDirError> {
    let path = dir.root.join(FILE);
    write_atomically(&path, format!("{version}\n").as_bytes(), 0o644).map_err(|error| dir.io_error(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_version(text: &str) -> (tempfile::TempDir, Result<DataDir, DataDirError>) {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(FILE), text).unwrap();
        let opened = DataDir::open(root.path());
        (root, opened)
    }

    #[test]
    fn a_newer_directory_is_refused_with_both_versions_and_older_ones_open() {
        let newer = (FORMAT_VERSION + 1).to_string();
        let refusal = with_version(&newer).1.unwrap_err().to_string();
        assert!(
            refusal.contains(&format!("version {newer}")) && refusal.contains(&format!("to {FORMAT_VERSION};")),
            "{refusal}"
        );
        for version in 1..=FORMAT_VERSION {
            with_version(&format!("{version}\n")).1.unwrap();
        }
        for wrong in ["0", "", "one", "-1", "99999999999999999999"] {
            assert!(matches!(with_version(wrong).1, Err(DataDirError::Version { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn the_version_rises_after_the_last_step_and_an_interrupted_migration_is_done_again() {
        fn note(root: &Path) -> io::Result<()> {
            let notes = fs::read_to_string(root.join("notes")).unwrap_or_default();
            fs::write(root.join("notes"), notes + "+")
        }
        fn fails(_: &Path) -> io::Result<()> {
            Err(io::Error::other("no room"))
        }
        let (root, opened) = with_version("1");
        let dir = opened.unwrap();
        let version = || fs::read_to_string(root.path().join(FILE)).unwrap();
        assert!(migrate_by(&dir, &[note, fails]).is_err());
        assert_eq!(version().trim(), "1");
        migrate_by(&dir, &[note, note]).unwrap();
        assert_eq!((version().trim(), fs::read_to_string(root.path().join("notes")).unwrap().as_str()), ("3", "+++"));
    }
}
