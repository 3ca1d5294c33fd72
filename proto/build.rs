//! Compiles the contract with protox, so that no protoc has to be installed.

use std::path::{Path, PathBuf};

use prost::Message;

fn proto_files(dir: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(dir).expect("the proto directory is readable");
    for path in entries.map(|entry| entry.expect("a directory entry is readable").path()) {
        match path.extension() {
            None if path.is_dir() => proto_files(&path, found),
            Some(extension) if extension == "proto" => found.push(path),
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=seine");
    let mut files = Vec::new();
    proto_files(Path::new("seine"), &mut files);
    files.sort();
    let descriptors = protox::compile(&files, ["."])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("seine.descriptor"), descriptors.encode_to_vec())?;
    // `bytes::Bytes` for page bodies: decoding slices the receive buffer instead of copying it.
    tonic_prost_build::configure()
        .bytes(".")
        .codec_path("crate::in_process::Codec")
        .build_client(true)
        .build_server(true)
        .compile_fds(descriptors)?;
    Ok(())
}
