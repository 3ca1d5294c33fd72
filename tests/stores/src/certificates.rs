//! An authority for one test and the certificate that all nodes of a cluster show, made by `openssl`.

use std::path::Path;
use std::process::Command;

use crate::setup::{AUTHORITY, CERTIFICATE, KEY};

pub fn make(directory: &Path) {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    let root = ["req", "-x509", "-subj", "/CN=root of a test", "-keyout", "root.key", "-out", AUTHORITY];
    openssl(directory, &[&root[..], &key].concat());
    let names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
    let signed = ["-CA", AUTHORITY, "-CAkey", "root.key", "-addext", "basicConstraints=CA:FALSE", "-addext", names];
    let server = ["req", "-x509", "-subj", "/CN=a store", "-keyout", KEY, "-out", CERTIFICATE];
    openssl(directory, &[&server[..], &key, &signed].concat());
}

fn openssl(directory: &Path, words: &[&str]) {
    let output = Command::new("openssl").args(words).current_dir(directory).output().expect("openssl is installed");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
