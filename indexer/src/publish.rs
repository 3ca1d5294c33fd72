//! Which index is the one to search: a directory of generations and a file that names the current one.
//!
//! `CURRENT` holds the name of a subdirectory `generation-N`, each a whole tantivy index. A rebuild fills the next one
//! and then renames a new `CURRENT` into place, so readers see the old index or the new one, never half of one. What a
//! killed rebuild left behind is removed by the next indexer; readers never remove anything.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use seine_common::data_dir::{sync_directory, write_atomically};
use tantivy::Index;

use crate::damage::is_damage;
use crate::error::IndexerError;
use crate::schema;

const CURRENT: &str = "CURRENT";
const GENERATION: &str = "generation-";

/// The directory of the index to search, or `None` when nothing was ever indexed.
pub fn current(root: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read(root.join(CURRENT)) {
        // One that is damaged names nothing.
        Ok(name) => Ok(std::str::from_utf8(&name)
            .ok()
            .filter(|name| number_of(name.trim()).is_some())
            .map(|name| root.join(name.trim()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The file that changes when another generation becomes current.
pub fn current_file(root: &Path) -> PathBuf {
    root.join(CURRENT)
}

/// Makes an empty index in the next generation, without making it current.
pub(crate) fn create_generation(root: &Path) -> Result<PathBuf, IndexerError> {
    let last = generations(root).map_err(IndexerError::io(root))?.into_iter().map(|(number, _)| number).max();
    let path = root.join(format!("{GENERATION}{}", last.unwrap_or(0) + 1));
    fs::create_dir(&path).map_err(IndexerError::io(&path))?;
    let (schema, _) = schema::schema();
    let created = Index::builder().schema(schema).settings(schema::settings()).create_in_dir(&path);
    created.map_err(IndexerError::index(&path))?;
    sync_directory(root).map_err(IndexerError::io(root))?;
    Ok(path)
}

/// From now on readers use this generation.
pub(crate) fn make_current(root: &Path, generation: &Path) -> Result<(), IndexerError> {
    let name = generation.file_name().unwrap_or_default().to_string_lossy();
    let file = current_file(root);
    write_atomically(&file, format!("{name}\n").as_bytes(), 0o644).map_err(IndexerError::io(&file))
}

/// Removes every generation but this one. Who still reads a removed one keeps its files until done.
pub(crate) fn remove_others(root: &Path, kept: &Path) -> Result<(), IndexerError> {
    for (_, path) in generations(root).map_err(IndexerError::io(root))? {
        if path != kept {
            fs::remove_dir_all(&path).map_err(IndexerError::io(&path))?;
        }
    }
    Ok(())
}

/// Opens a generation, whoever made it.
pub fn open(path: &Path) -> tantivy::Result<Index> {
    let index = Index::open_in_dir(path)?;
    schema::register_tokenizer(&index);
    Ok(index)
}

/// The current generation of this version's schema. One that was made by other rules or cannot be understood is not
/// touched but replaced by an empty one, which following the log from its beginning fills.
pub(crate) fn open_or_create(root: &Path) -> Result<(PathBuf, Index), IndexerError> {
    fs::create_dir_all(root).map_err(IndexerError::io(root))?;
    let current = current(root).map_err(IndexerError::io(root))?.filter(|path| path.is_dir());
    if current.is_none() && current_file(root).exists() {
        tracing::error!(index = %root.display(), "CURRENT does not name an index any more, building one anew from the log");
    }
    if let Some(path) = current {
        match open(&path) {
            Ok(index) if index.schema() == schema::schema().0 => {
                remove_others(root, &path)?;
                return Ok((path, index));
            }
            Ok(_) => {
                tracing::info!(index = %path.display(), "index was made by another version, building it anew from the log");
            }
            Err(error) if is_damage(&error) => {
                tracing::error!(index = %path.display(), %error, "index is damaged as a whole, building it anew from the log");
            }
            Err(error) => return Err(IndexerError::index(&path)(error)),
        }
    }
    let path = create_generation(root)?;
    make_current(root, &path)?;
    remove_others(root, &path)?;
    let index = open(&path).map_err(IndexerError::index(&path))?;
    Ok((path, index))
}

fn generations(root: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(number_of) {
            found.push((number, entry.path()));
        }
    }
    Ok(found)
}

/// Also keeps whatever a damaged `CURRENT` says from leading out of the directory.
fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(GENERATION)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_rebuild_left_behind_is_removed_and_the_current_index_kept() {
        let root = tempfile::tempdir().unwrap();
        let (first, _) = open_or_create(root.path()).unwrap();
        let abandoned = create_generation(root.path()).unwrap();
        assert_ne!(first, abandoned);
        let (again, _) = open_or_create(root.path()).unwrap();
        assert_eq!(again, first);
        assert!(!abandoned.exists());
    }

    #[test]
    fn a_generation_killed_before_it_became_current_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let half_made = root.path().join("generation-1");
        fs::create_dir(&half_made).unwrap();
        assert_eq!(current(root.path()).unwrap(), None);
        let (path, _) = open_or_create(root.path()).unwrap();
        assert_eq!(path, root.path().join("generation-2"));
        assert!(!half_made.exists());
    }

    #[test]
    fn a_damaged_pointer_does_not_lead_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        fs::write(current_file(root.path()), "../../etc\n").unwrap();
        assert_eq!(current(root.path()).unwrap(), None);
    }

    #[test]
    fn an_index_made_by_other_rules_is_replaced_by_an_empty_one() {
        let root = tempfile::tempdir().unwrap();
        let old = root.path().join("generation-7");
        fs::create_dir(&old).unwrap();
        Index::create_in_dir(&old, tantivy::schema::Schema::builder().build()).unwrap();
        make_current(root.path(), &old).unwrap();
        let (path, index) = open_or_create(root.path()).unwrap();
        assert_eq!(path, root.path().join("generation-8"));
        assert_eq!(index.schema(), schema::schema().0);
        assert!(!old.exists());
    }
}
