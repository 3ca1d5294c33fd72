//! The counters of this crate.

use metrics::{counter, gauge};

pub(crate) fn page_analysed(bytes: u64) {
    counter!("seine_analyser_pages_total").increment(1);
    counter!("seine_analyser_bytes_total").increment(bytes);
}

pub(crate) fn page_failed() {
    counter!("seine_analyser_failed_total").increment(1);
}

/// By all pages that are under way.
pub(crate) fn bytes_held(bytes: usize) {
    gauge!("seine_analyser_held_bytes").set(bytes as f64);
}

pub(crate) fn document_converted(format: &str, is_converted: bool) {
    let result = if is_converted { "converted" } else { "failed" };
    counter!("seine_analyser_documents_total", "format" => format.to_owned(), "result" => result).increment(1);
}

pub(crate) fn batch_committed(pages: u64, archive_bytes: u64, log_bytes: u64) {
    counter!("seine_filesaver_commits_total").increment(1);
    counter!("seine_filesaver_pages_total").increment(pages);
    counter!("seine_filesaver_bytes_total", "store" => "archive").increment(archive_bytes);
    counter!("seine_filesaver_bytes_total", "store" => "log").increment(log_bytes);
}

pub(crate) fn batch_failed(pages: u64) {
    counter!("seine_filesaver_failed_total").increment(pages);
}
