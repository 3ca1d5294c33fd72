//! `/openapi.json` is true: Schemathesis reads it, asks a real server whatever it allows and forbids, and compares.
//!
//! Bounded by examples and with a fixed seed, so that a failure can be had again.

use std::process::Command;

use seine_tests::sandbox::Seine;
use seine_tests::{FakeWeb, FakeWebConfig};

/// What makes an answer wrong: a failure of the server, or anything that the description does not say.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,missing_required_header";
/// For each operation and kind of input; about ten seconds in all.
const EXAMPLES: &str = "12";
/// For one answer.
const SECONDS: &str = "30";

#[test]
fn no_answer_is_outside_the_description() {
    let Ok(program) = std::env::var("SEINE_SCHEMATHESIS") else {
        println!("skipped: SEINE_SCHEMATHESIS does not name the program; `make test` installs it");
        return;
    };
    let web = FakeWeb::start(FakeWebConfig::small(20));
    let seine = Seine::new();
    assert_eq!(seine.crawl(&web.url("/"), &["--delay", "0"]).code, 0);
    let server = seine.start(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    let description = format!("http://{}/openapi.json", server.http());
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(program)
        .current_dir(directory.path())
        .args(["run", &description, "--checks", CHECKS, "--max-examples", EXAMPLES, "--request-timeout", SECONDS])
        .args(["--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color", "--warnings", "off"])
        .output()
        .expect("schemathesis can be started");
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{report}");
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    assert!(report.contains("Operations:"), "it has tested something: {report}");
}
