//! Documents of every format, converted in this process. The first byte chooses the format; the highest one makes a deep
//! document of the kind and size that the next two say.
#![no_main]

use fuzz_targets::deep::DEEP;
use fuzz_targets::deep_documents::DOCUMENTS;
use libfuzzer_sys::fuzz_target;
use seine_analyser::convert::convert_here;
use seine_common::limits::MAX_TEXT_BYTES;

const FORMATS: [&str; 4] = ["pdf", "docx", "xlsx", "odt"];

fuzz_target!(|input: &[u8]| {
    match input {
        [DEEP, kind, size, ..] => {
            let kind = &DOCUMENTS[usize::from(*kind) % DOCUMENTS.len()];
            check(kind.format, &(kind.body)(1 << (size % 19)));
        }
        [choice, document @ ..] => check(FORMATS[usize::from(*choice) % FORMATS.len()], document),
        [] => {}
    }
});

fn check(format: &str, document: &[u8]) {
    if let Ok(converted) = convert_here(format, document) {
        assert!(converted.text.len() <= MAX_TEXT_BYTES);
    }
}
