//! An archive file of any bytes, as a dying disk or a killed process may leave it: opening the directory ends, with a
//! clear error or with what is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seine_analyser::filesaver::{Durability, Filesaver, FilesaverConfig};

fuzz_target!(|input: &[u8]| {
    let [choice, bytes @ ..] = input else { return };
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (part, name) = match choice % 3 {
        0 => ("archive", "seine-20240101000000-0001.warc.gz.open"),
        1 => ("archive", "seine-20240101000000-0001.warc.gz"),
        _ => ("log", "00000000000000000000.log"),
    };
    std::fs::create_dir_all(directory.path().join(part)).expect("a directory can be made");
    std::fs::write(directory.path().join(part).join(name), bytes).expect("a file can be written");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let config = FilesaverConfig { durability: Durability::Os, ..FilesaverConfig::default() };
        if let Ok(filesaver) = Filesaver::open(directory.path(), config) {
            let _ = filesaver.close().await;
        }
    });
});
