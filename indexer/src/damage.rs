//! Finds segments whose files are not what was written, and takes them out of the index until it is rebuilt.
//!
//! tantivy ends every file with a checksum of it but looks at it only when asked. At each start of the indexer, before
//! anything is written, every file of every segment is read once. A damaged segment is *set aside*: `meta.json` no longer
//! names it, so the other segments go on being searched; a note in the index's directory stays until the rebuild has
//! replaced the whole directory. The note is durable before the segment is set aside: a kill in between delays only.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use seine_common::data_dir::write_atomically;
use tantivy::directory::error::OpenReadError;
use tantivy::index::{SegmentComponent, SegmentId};
use tantivy::{Index, Segment, SegmentReader, TantivyError};

use crate::error::IndexerError;
use crate::publish;
use crate::schema::FETCHED_AT;
use crate::writer::read_progress;

const META: &str = "meta.json";
/// Names the segments that were set aside, one a line.
const NOTE: &str = "DAMAGED";
/// What every segment has a file of.
const ALWAYS_WRITTEN: [SegmentComponent; 6] = [
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::FastFields,
    SegmentComponent::FieldNorms,
    SegmentComponent::Terms,
    SegmentComponent::Store,
];

/// Sets damaged segments aside and says so once. Whether the index must be rebuilt, also because of an earlier start.
/// Reads the whole index.
pub fn check(path: &Path) -> Result<bool, IndexerError> {
    let index = publish::open(path).map_err(IndexerError::index(path))?;
    if read_progress(&index, path)?.is_none() {
        tracing::error!(index = %path.display(), "index does not know any more how far it is, building it anew from the log");
        note(path, "")?;
    }
    let unreadable = unreadable_segments(&index, path)?;
    let damaged = damaged_segments(&index, path)?;
    set_aside(path, &unreadable.union(&damaged).copied().collect())?;
    Ok(path.join(NOTE).exists())
}

/// Segments that cannot even be opened. Takes as long as opening the index.
pub fn unreadable_segments(index: &Index, path: &Path) -> Result<BTreeSet<SegmentId>, IndexerError> {
    let mut unreadable = BTreeSet::new();
    for segment in index.searchable_segments().map_err(IndexerError::index(path))? {
        // Whoever wrote the reader did not expect every value that a damaged file may hold.
        let opened = catch_unwind(AssertUnwindSafe(|| is_consistent(&segment, path)));
        match opened {
            Ok(Ok(true)) => {}
            Ok(Err(error)) if !is_damage(&error) => return Err(IndexerError::index(path)(error)),
            Ok(Ok(false) | Err(_)) | Err(_) => {
                unreadable.insert(segment.id());
            }
        }
    }
    Ok(unreadable)
}

/// Whether the segment's files are there and have as many documents, living and deleted, as `meta.json` says, which has no checksum.
fn is_consistent(segment: &Segment, path: &Path) -> tantivy::Result<bool> {
    let meta = segment.meta();
    // The reader takes a missing file of positions for one without any.
    if ALWAYS_WRITTEN.into_iter().any(|component| !path.join(meta.relative_path(component)).exists()) {
        return Ok(false);
    }
    let reader = SegmentReader::open(segment)?;
    let documents = reader.fast_fields().i64(FETCHED_AT)?.num_docs();
    if meta.max_doc() != documents || meta.num_deleted_docs() != documents - reader.num_docs() {
        return Ok(false);
    }
    // Deletions that it says nothing of would let old versions of pages come back.
    let prefix = format!("{}.", segment.id().uuid_string());
    let is_deletions = |name: &str| name.starts_with(&prefix) && name.ends_with(".del");
    let mut names = fs::read_dir(path)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(meta.has_deletes() || !names.any(|name| is_deletions(&name)))
}

/// Segments with a file that does not have the checksum it was written with.
fn damaged_segments(index: &Index, path: &Path) -> Result<BTreeSet<SegmentId>, IndexerError> {
    let segments = index.searchable_segment_ids().map_err(IndexerError::index(path))?;
    let mut damaged = BTreeSet::new();
    for entry in fs::read_dir(path).map_err(IndexerError::io(path))? {
        let name = entry.map_err(IndexerError::io(path))?.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.split('.').next()) else { continue };
        let Some(segment) = segments.iter().find(|segment| segment.uuid_string() == stem) else { continue };
        // A file that was cut short is more than its reader expects.
        match catch_unwind(AssertUnwindSafe(|| index.directory().validate_checksum(Path::new(&name)))) {
            Ok(Ok(true)) => {}
            Ok(Err(error)) if !is_damage_of_file(&error) => return Err(IndexerError::index(path)(error.into())),
            Ok(Ok(false) | Err(_)) | Err(_) => {
                damaged.insert(*segment);
            }
        }
    }
    Ok(damaged)
}

/// From now on the index does without these segments, and is known to need a rebuild. Nobody may be writing to it.
pub fn set_aside(path: &Path, segments: &BTreeSet<SegmentId>) -> Result<(), IndexerError> {
    if segments.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = segments.iter().map(SegmentId::uuid_string).collect();
    tracing::error!(
        index = %path.display(),
        segments = names.join(" "),
        "index has damaged files, answering without them and building it anew from the log"
    );
    note(path, &names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    let file = path.join(META);
    let text = fs::read(&file).map_err(IndexerError::io(&file))?;
    let unreadable = |error: serde_json::Error| IndexerError::io(&file)(error.into());
    let mut meta: serde_json::Value = serde_json::from_slice(&text).map_err(unreadable)?;
    if let Some(listed) = meta["segments"].as_array_mut() {
        // Written with dashes there.
        listed.retain(|segment| {
            let name = segment["segment_id"].as_str().unwrap_or_default().replace('-', "");
            !names.contains(&name)
        });
    }
    let text = serde_json::to_vec_pretty(&meta).map_err(unreadable)?;
    write_atomically(&file, &text, 0o644).map_err(IndexerError::io(&file))
}

/// From now on the index is known to need a rebuild.
fn note(path: &Path, lines: &str) -> Result<(), IndexerError> {
    let note = path.join(NOTE);
    let mut noted = match fs::read(&note) {
        Ok(noted) => noted,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(IndexerError::io(&note)(error)),
    };
    noted.extend_from_slice(lines.as_bytes());
    write_atomically(&note, &noted, 0o644).map_err(IndexerError::io(&note))
}

/// Whether the data are to blame; not a lack of rights or of file handles, which passes.
pub fn is_damage(error: &TantivyError) -> bool {
    match error {
        TantivyError::DataCorruption(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::SchemaError(_)
        | TantivyError::DeserializeError(_)
        | TantivyError::InternalError(_)
        | TantivyError::FieldNotFound(_)
        | TantivyError::InvalidArgument(_) => true,
        TantivyError::OpenReadError(error) => is_damage_of_file(error),
        TantivyError::IoError(error) => is_damage_by_kind(error.kind()),
        _ => false,
    }
}

fn is_damage_of_file(error: &OpenReadError) -> bool {
    match error {
        OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_) => true,
        OpenReadError::IoError { io_error, .. } => is_damage_by_kind(io_error.kind()),
    }
}

fn is_damage_by_kind(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::entry::{Entry, Page};
    use crate::writer::DocumentWriter;
    use crate::{IndexerConfig, count};

    /// An index of two segments, of three pages and one.
    fn index(root: &Path) -> PathBuf {
        let (path, _) = publish::open_or_create(root).unwrap();
        let config = IndexerConfig { memory_bytes: 15 << 20, ..IndexerConfig::default() };
        let mut writer = DocumentWriter::open(&path, &config).unwrap();
        for (number, commits) in [(0, false), (1, false), (2, true), (3, true)] {
            let url = format!("http://example.org/{number}");
            let page = Page { url, text: "some words".to_owned(), title: "T".to_owned(), ..Page::default() };
            writer.apply(Entry::Page(Box::new(page))).unwrap();
            if commits {
                writer.commit().unwrap();
            }
        }
        path
    }

    fn documents(path: &Path) -> u64 {
        count::documents(&publish::open(path).unwrap().reader().unwrap().searcher()).unwrap()
    }

    /// The files of the segments, those of the larger first.
    fn files(path: &Path) -> Vec<PathBuf> {
        let mut metas = publish::open(path).unwrap().searchable_segment_metas().unwrap();
        metas.sort_by_key(|meta| std::cmp::Reverse(meta.max_doc()));
        let all: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        let of = |id: String| all.iter().filter(move |file| file.display().to_string().contains(&id)).cloned();
        let mut files: Vec<PathBuf> = of(metas[0].id().uuid_string()).collect();
        files.sort();
        files
    }

    #[test]
    fn a_flipped_byte_in_any_file_sets_its_segment_aside_and_leaves_the_others() {
        let root = tempfile::tempdir().unwrap();
        let count = files(&index(root.path())).len();
        assert!(count >= 6, "{count} files");
        for number in 0..count {
            let root = tempfile::tempdir().unwrap();
            let path = index(root.path());
            assert!(!check(&path).unwrap(), "nothing is damaged yet");
            let file = &files(&path)[number];
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 3;
            bytes[middle] ^= 0x10;
            fs::write(file, bytes).unwrap();
            assert!(check(&path).unwrap(), "{} was taken for whole", file.display());
            assert_eq!(documents(&path), 1, "{}", file.display());
            assert!(check(&path).unwrap(), "still to be rebuilt after another start");
        }
    }

    #[test]
    fn a_file_that_was_cut_short_or_is_missing_is_damage_too() {
        let root = tempfile::tempdir().unwrap();
        let count = files(&index(root.path())).len();
        for (number, cut) in (0..count).flat_map(|number| [(number, true), (number, false)]) {
            let root = tempfile::tempdir().unwrap();
            let path = index(root.path());
            let file = &files(&path)[number];
            match cut {
                true => fs::File::options().write(true).open(file).unwrap().set_len(5).unwrap(),
                false => fs::remove_file(file).unwrap(),
            }
            assert!(check(&path).unwrap(), "{} was taken for whole", file.display());
            assert_eq!(documents(&path), 1, "{}", file.display());
        }
    }

    #[test]
    fn a_wrong_number_in_the_description_is_damage() {
        let root = tempfile::tempdir().unwrap();
        let path = index(root.path());
        let whole = fs::read_to_string(path.join(META)).unwrap();
        let meta: serde_json::Value = serde_json::from_str(&whole).unwrap();
        let payload = meta["payload"].as_str().unwrap();
        let wrong_payload = payload.replacen('{', "[", 1);
        for (right, wrong) in [
            ("\"max_doc\": 3".to_owned(), "\"max_doc\": 7"),
            ("\"max_doc\": 1".to_owned(), "\"max_doc\": 0"),
            (payload.replace('"', "\\\""), wrong_payload.replace('"', "\\\"").as_str()),
            ("\"payload\"".to_owned(), "\"qayload\""),
        ] {
            assert!(whole.contains(&right), "{right} in {whole}");
            fs::write(path.join(META), whole.replace(&right, wrong)).unwrap();
            assert!(check(&path).unwrap(), "{wrong} was taken for right");
            fs::remove_file(path.join(NOTE)).unwrap();
        }
    }

    #[test]
    fn an_index_whose_description_is_damaged_is_replaced_by_an_empty_one() {
        let root = tempfile::tempdir().unwrap();
        let path = index(root.path());
        fs::write(path.join(META), "{ nothing").unwrap();
        let (new, _) = publish::open_or_create(root.path()).unwrap();
        assert_ne!(new, path);
        assert_eq!(documents(&new), 0);
    }
}
