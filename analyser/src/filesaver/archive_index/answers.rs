//! Lists the answers in the archive that are no pages, from its indexes: redirects, errors, robots.txt.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use seine_proto::filesaver::v1::ArchivedAnswer;

use super::{SPOOL_SUFFIX, index_path, sealed_files};
use crate::error::Error;
use crate::filesaver::archive::file_names;
use crate::filesaver::cdxj::{Capture, timestamp_ms};

/// Answers that are handed out together.
const BATCH: usize = 1000;

/// Gives batches to `take` until there is none left, or until it says that it takes no more. Files are sealed meanwhile, so
/// an answer may come twice.
pub(crate) fn list(dir: &Path, mut take: impl FnMut(Vec<ArchivedAnswer>) -> bool) -> Result<(), Error> {
    // What is sealed between these two lines is in both lists.
    let open = file_names(dir)?.into_iter().filter(|name| name.ends_with(SPOOL_SUFFIX)).map(|name| dir.join(name));
    let sealed = sealed_files(dir)?.into_iter().map(|name| index_path(dir, &name));
    let mut batch = Vec::new();
    for path in open.chain(sealed) {
        // Without an index until `rebuild` has made one.
        let Ok(file) = File::open(path) else { continue };
        for line in BufReader::new(file).lines().map_while(Result::ok) {
            batch.extend(answer(&line));
            if batch.len() == BATCH && !take(std::mem::take(&mut batch)) {
                return Ok(());
            }
        }
    }
    take(batch);
    Ok(())
}

fn answer(line: &str) -> Option<ArchivedAnswer> {
    let (timestamp, capture) = Capture::parse(line).filter(|(_, capture)| capture.is_answer())?;
    Some(ArchivedAnswer {
        at_ms: timestamp_ms(timestamp)?,
        status: capture.status.parse().ok()?,
        position: Some(capture.position()?),
        url: capture.url,
    })
}
