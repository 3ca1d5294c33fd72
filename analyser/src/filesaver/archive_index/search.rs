//! Finds the copies of a URL: by binary search in each sorted index, and by reading through that of the open file. Redirects
//! and errors are no copies.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{SPOOL_SUFFIX, index_path, sealed_files};
use crate::error::Error;
use crate::filesaver::archive::file_names;
use crate::filesaver::cdxj::{Capture, key, timestamp};

/// Longer lines are not ours: a URL has at most 4 KiB.
const MAX_LINE_BYTES: usize = 32 << 10;

/// The newest copy taken at that time or before, or else the first one. `at_ms` 0 asks for the newest of all; `with_body`
/// for records that hold a body themselves.
pub(crate) fn find(dir: &Path, url: &str, at_ms: i64, with_body: bool) -> Result<Option<Capture>, Error> {
    let prefix = format!("{} ", key(url));
    let wanted = if at_ms > 0 { timestamp(at_ms) } else { "99991231235959".to_owned() };
    let mut best: Option<(String, Capture)> = None;
    let mut consider = |line: &str| {
        let is_wanted =
            |capture: &Capture| capture.url == url && capture.is_success() && !(with_body && capture.is_revisit());
        let Some((time, capture)) = Capture::parse(line).filter(|(_, capture)| is_wanted(capture)) else { return };
        let is_better = match &best {
            None => true,
            Some((best, _)) if best.as_str() <= wanted.as_str() => time >= best.as_str() && time <= wanted.as_str(),
            Some((best, _)) => time < best.as_str(),
        };
        if is_better {
            best = Some((time.to_owned(), capture));
        }
    };
    for name in sealed_files(dir)? {
        let path = index_path(dir, &name);
        // Without an index until `rebuild` has made one.
        let Ok(file) = File::open(&path) else { continue };
        lines_with(&file, prefix.as_bytes(), &mut consider).map_err(|error| Error::io("read", &path, error))?;
    }
    for name in file_names(dir)?.iter().filter(|name| name.ends_with(SPOOL_SUFFIX)) {
        let path = dir.join(name);
        let Ok(file) = fs::File::open(&path) else { continue };
        for line in BufReader::new(file).lines().map_while(Result::ok).filter(|line| line.starts_with(&prefix)) {
            consider(&line);
        }
    }
    Ok(best.map(|(_, capture)| capture))
}

/// Calls `each` with the lines of a sorted file that begin with the prefix.
fn lines_with(file: &File, prefix: &[u8], each: &mut impl FnMut(&str)) -> io::Result<()> {
    // Every line that begins before `low` is smaller than the prefix; no line that begins at `high` or behind is.
    let (mut low, mut high) = (0, file.metadata()?.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let Some((start, line)) = line_behind(file, middle, low)? else {
            high = middle;
            continue;
        };
        if start >= high || line.as_slice() >= prefix {
            high = middle;
        } else {
            low = start + line.len() as u64 + 1;
        }
    }
    let mut at = low;
    while let Some((start, line)) = line_behind(file, at, at)? {
        if !line.starts_with(prefix) {
            break;
        }
        if let Ok(line) = std::str::from_utf8(&line) {
            each(line);
        }
        at = start + line.len() as u64 + 1;
    }
    Ok(())
}

/// The first line that begins at `at` or behind it; `begin` is known to be where a line begins.
fn line_behind(file: &File, at: u64, begin: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
    let mut bytes = vec![0; 2 * MAX_LINE_BYTES];
    // The byte before tells whether a line begins here.
    let from = if at == begin { at } else { at - 1 };
    let length = read_up_to(file, &mut bytes, from)?;
    let bytes = &bytes[..length];
    let skipped = match at == begin {
        true => 0,
        false => match bytes.iter().position(|&byte| byte == b'\n') {
            Some(end) => end + 1,
            None => return Ok(None),
        },
    };
    let line = bytes[skipped..].split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok((!line.is_empty()).then(|| (from + skipped as u64, line.to_vec())))
}

fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], at + length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn halving_finds_what_reading_through_finds(
            lines in proptest::collection::vec("[abc]{1,4} [0-9]{0,30}", 0..40),
            wanted in "[abc]{1,4}",
        ) {
            let mut lines = lines;
            lines.sort_unstable();
            let mut file = tempfile::tempfile().unwrap();
            for line in &lines {
                writeln!(file, "{line}").unwrap();
            }
            let prefix = format!("{wanted} ");
            let mut found = Vec::new();
            lines_with(&file, prefix.as_bytes(), &mut |line| found.push(line.to_owned())).unwrap();
            let expected: Vec<_> = lines.into_iter().filter(|line| line.starts_with(&prefix)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
