//! The counters of this crate.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

/// What is described is there from the beginning, with 0.
pub(crate) fn describe_analyser() {
    describe_counter!("seine_analyser_pages_total", "Pages read.");
    describe_counter!("seine_analyser_bytes_total", "Bytes of their bodies, as received.");
    describe_counter!("seine_analyser_failed_total", "Pages that could not be read or saved.");
    describe_counter!("seine_analyser_documents_total", "Documents converted or not, by format.");
    describe_gauge!("seine_analyser_held_bytes", "Memory that pages take.");
    describe_histogram!("seine_analyser_page_seconds", "From the arrival of a page to what it says.");
    for name in ["seine_analyser_pages_total", "seine_analyser_bytes_total", "seine_analyser_failed_total"] {
        counter!(name).increment(0);
    }
    for result in ["converted", "failed"] {
        counter!("seine_analyser_documents_total", "format" => "pdf", "result" => result).increment(0);
    }
    gauge!("seine_analyser_held_bytes").increment(0.0);
    drop(histogram!("seine_analyser_page_seconds"));
}

/// The same for the filesaver.
pub(crate) fn describe_filesaver() {
    describe_counter!("seine_filesaver_commits_total", "Groups of pages made durable together.");
    describe_counter!("seine_filesaver_pages_total", "Pages saved.");
    describe_counter!("seine_filesaver_bytes_total", "Bytes written, to archive and log.");
    describe_counter!("seine_filesaver_failed_total", "Pages that could not be saved.");
    describe_gauge!("seine_filesaver_log_end_bytes", "Where the description log ends.");
    describe_histogram!("seine_filesaver_save_seconds", "From the arrival of a page to its being durable.");
    for name in ["seine_filesaver_commits_total", "seine_filesaver_pages_total", "seine_filesaver_failed_total"] {
        counter!(name).increment(0);
    }
    for store in ["archive", "log"] {
        counter!("seine_filesaver_bytes_total", "store" => store).increment(0);
    }
    drop(histogram!("seine_filesaver_save_seconds"));
}

pub(crate) fn page_read(took: Duration) {
    histogram!("seine_analyser_page_seconds").record(took.as_secs_f64());
}

pub(crate) fn page_saved(took: Duration) {
    histogram!("seine_filesaver_save_seconds").record(took.as_secs_f64());
}

pub(crate) fn log_end(log: &str) -> metrics::Gauge {
    gauge!("seine_filesaver_log_end_bytes", "log" => log.to_owned())
}

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
