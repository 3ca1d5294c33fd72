//! Whether an index is what was written: by its checksum, or for one of an earlier version, which has none, by its lines.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use seine_common::data_dir::write_atomically;

use super::index_path;
use crate::error::Error;
use crate::filesaver::cdxj::{Capture, key};

/// Result of checking an index.
pub(crate) enum Checked {
    /// Its lines.
    Whole(String),
    Missing,
    Damaged,
}

fn sum_path(index: &Path) -> PathBuf {
    let mut path = index.as_os_str().to_owned();
    path.push(".sum");
    path.into()
}

fn sum(lines: &[u8]) -> String {
    format!("{:08x}\n", crc32fast::hash(lines))
}

pub(crate) fn write_sum(index: &Path, lines: &[u8]) -> Result<(), Error> {
    let path = sum_path(index);
    write_atomically(&path, sum(lines).as_bytes(), 0o644).map_err(|error| Error::io("write", &path, error))
}

/// Reads the whole index: about a fiftieth of its archive file.
pub(crate) fn check(dir: &Path, archive_name: &str) -> Result<Checked, Error> {
    let path = index_path(dir, archive_name);
    let read = |path: &Path| match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    };
    let Some(bytes) = read(&path)? else { return Ok(Checked::Missing) };
    let Ok(lines) = String::from_utf8(bytes) else { return Ok(Checked::Damaged) };
    let is_whole = match read(&sum_path(&path))? {
        Some(expected) => expected == sum(lines.as_bytes()).as_bytes(),
        None => {
            let length = fs::metadata(dir.join(archive_name)).map_or(0, |file| file.len());
            let makes_sense = makes_sense(&lines, archive_name, length);
            if makes_sense {
                write_sum(&path, lines.as_bytes())?;
            }
            makes_sense
        }
    };
    Ok(if is_whole { Checked::Whole(lines) } else { Checked::Damaged })
}

fn makes_sense(lines: &str, archive_name: &str, length: u64) -> bool {
    let is_capture = |line: &str| {
        let Some((_, capture)) = Capture::parse(line) else { return false };
        let within = |position: seine_proto::common::v1::ArchivePosition| {
            position.offset.checked_add(position.length).is_some_and(|end| end <= length)
        };
        line.split(' ').next() == Some(key(&capture.url).as_str())
            && capture.filename == archive_name
            && capture.position().is_some_and(within)
    };
    (lines.is_empty() || lines.ends_with('\n')) && lines.lines().is_sorted() && lines.lines().all(is_capture)
}

#[cfg(test)]
mod tests {
    use seine_proto::common::v1::ArchivePosition;

    use super::*;
    use crate::filesaver::archive_index::write_sorted;

    const NAME: &str = "seine-x.warc.gz";

    fn is_whole(dir: &Path) -> bool {
        matches!(check(dir, NAME).unwrap(), Checked::Whole(_))
    }

    #[test]
    fn a_flipped_bit_or_a_cut_anywhere_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(NAME), [0; 1000]).unwrap();
        let line = |number: u64| {
            let position =
                ArchivePosition { file: NAME.into(), offset: number * 10, length: 9, ..ArchivePosition::default() };
            Capture::of(&format!("http://example.org/{number}"), "text/html", 200, &[7; 20])
                .line("20231114221320", &position)
        };
        let lines = (0..4).map(line).collect::<String>();
        assert!(matches!(check(dir.path(), NAME).unwrap(), Checked::Missing));
        write_sorted(dir.path(), NAME, lines.as_bytes()).unwrap();
        assert!(is_whole(dir.path()));
        let path = index_path(dir.path(), NAME);
        for at in 0..lines.len() {
            let mut bytes = lines.clone().into_bytes();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(!is_whole(dir.path()), "flipped at {at}");
            fs::write(&path, &lines[..at]).unwrap();
            assert!(!is_whole(dir.path()), "cut at {at}");
        }
        // As an earlier version left it.
        fs::write(&path, &lines).unwrap();
        fs::remove_file(sum_path(&path)).unwrap();
        assert!(is_whole(dir.path()) && sum_path(&path).exists());
    }
}
