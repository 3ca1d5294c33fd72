//! Documents of every format, converted in this process.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seine_analyser::convert::convert_here;
use seine_common::limits::MAX_TEXT_BYTES;

const FORMATS: [&str; 4] = ["pdf", "docx", "xlsx", "odt"];

fuzz_target!(|input: &[u8]| {
    let [choice, document @ ..] = input else { return };
    if let Ok(converted) = convert_here(FORMATS[usize::from(*choice) % FORMATS.len()], document) {
        assert!(converted.text.len() <= MAX_TEXT_BYTES);
    }
});
