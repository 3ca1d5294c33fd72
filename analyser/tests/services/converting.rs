//! Documents through worker processes: real ones, and programs that behave as badly as a worker can.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use seine_analyser::AnalyserConfig;
use seine_analyser::convert::ConverterConfig;
use seine_analyser::rpc::AnalyserService;
use seine_node::limits::Limits;
use seine_node::membership::Filesavers;
use seine_node::transport::Channel;
use seine_node::transport::{self, MemoryDialer};
use seine_proto::analyser::v1::analyser_client::AnalyserClient;
use seine_proto::analyser::v1::{AnalyseRequest, analyse_response::Event};
use seine_proto::common::v1::{Description, Header};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

use crate::analysing::{next, open};
use crate::support::*;

const PDF: &[u8] = include_bytes!("../data/drawn.pdf");

/// A worker as `seine` runs it; cargo builds it with the tests.
fn worker() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/convert_worker");
    assert!(program.exists(), "{} is built with the tests", program.display());
    program
}

/// A program that notes its process and then does something else.
fn script(dir: &Path, then: &str) -> PathBuf {
    let path = dir.join("program");
    let text = format!("#!/bin/sh\necho $$ >> {}\n{then}\n", dir.join("started").display());
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The processes that a script was.
fn started(dir: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(dir.join("started")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn config(program: PathBuf, timeout_seconds: u64) -> ConverterConfig {
    ConverterConfig {
        program,
        workers: Limits::new(1).converters,
        timeout: Duration::from_secs(timeout_seconds),
        memory_bytes: 256 << 20,
    }
}

fn analyser(filesaver: Channel, converter: ConverterConfig) -> AnalyserClient<Channel> {
    let config = AnalyserConfig { converter: Some(converter), ..AnalyserConfig::default() };
    let (dialer, listener): (MemoryDialer, _) = transport::in_memory();
    let routes =
        Routes::new(AnalyserService::new(Filesavers::of([("log".to_owned(), filesaver)]), config).into_server());
    tokio::spawn(transport::serve(routes, listener, CancellationToken::new()));
    AnalyserClient::new(dialer.channel())
}

fn document(number: u64, body: &[u8]) -> AnalyseRequest {
    let mut page = page(number);
    page.url = format!("http://example.org/{number}.pdf");
    page.headers = vec![Header { name: "content-type".into(), value: "application/pdf".into() }];
    page.body = body.to_vec().into();
    AnalyseRequest { page_id: number, page: Some(page), withdrawn: None }
}

/// Sends documents one by one and gives what is saved of each.
async fn described(node: &Node, converter: ConverterConfig, bodies: &[&[u8]]) -> Vec<Description> {
    let (sender, mut stream) = open(analyser(node.channel(), converter)).await;
    for (number, body) in bodies.iter().enumerate() {
        sender.send(document(number as u64, body)).await.unwrap();
        assert!(matches!(next(&mut stream).await, (_, Event::Parsed(_))));
        assert!(matches!(next(&mut stream).await, (_, Event::Saved(_))));
    }
    let (entries, _) = node.read_log(0).await;
    entries.iter().map(|entry| description(entry).clone()).collect()
}

/// A page whose content unpacks to half a gigabyte.
fn bomb() -> Vec<u8> {
    let pack = |content: &[u8], times: usize| {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        (0..times).for_each(|_| packed.write_all(content).unwrap());
        packed.finish().unwrap()
    };
    let packed = pack(&pack(&vec![b' '; 1 << 20], 512), 1);
    let head = "%PDF-1.7\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n\
        3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R>> endobj\n";
    let stream = format!("4 0 obj <</Filter[/FlateDecode/FlateDecode]/Length {}>> stream\n", packed.len());
    [head.as_bytes(), stream.as_bytes(), &packed, b"\nendstream endobj\ntrailer <</Root 1 0 R>>\n"].concat()
}

#[tokio::test]
async fn one_worker_converts_many_documents_and_is_gone_with_its_analyser() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let program = script(dir.path(), &format!("exec {} \"$@\"", worker().display()));
    let descriptions = described(&node, config(program, 60), &[PDF, PDF, b"%PDF-1.4 broken", PDF]).await;
    assert_eq!(started(dir.path()).len(), 1, "a document that is broken does not cost a worker");
    for description in [&descriptions[0], &descriptions[1], &descriptions[3]] {
        assert!(description.text.contains("žluťoučký") && description.not_converted.is_empty());
        assert_eq!((description.title.as_str(), description.generate), ("Drawn report: řeka 河", true));
        assert_eq!(description.links[0].url, "http://example.org/linked?from=reportlab");
    }
    let broken = &descriptions[2];
    assert_eq!((broken.title.as_str(), broken.generate, broken.text.as_str()), ("2.pdf", true, ""));
    assert!(broken.not_converted.contains("broken"), "{}", broken.not_converted);
    node.close().await;
}

#[tokio::test]
async fn a_worker_holds_itself_to_its_limits() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let program = script(dir.path(), &format!("exec {} \"$@\"", worker().display()));
    let (sender, mut stream) = open(analyser(node.channel(), config(program, 60))).await;
    sender.send(document(1, PDF)).await.unwrap();
    assert!(matches!(next(&mut stream).await, (1, Event::Parsed(_))));
    // It waits for the next document.
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", started(dir.path())[0])).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(limit("Max address space"), (256u64 << 20).to_string());
    assert_eq!(
        (limit("Max open files"), limit("Max core file size"), limit("Max file size")),
        ("3".into(), "0".into(), "0".into())
    );
    let cpu: u64 = limit("Max cpu time").parse().unwrap();
    assert!((61..120).contains(&cpu), "{cpu}");
    node.close().await;
}

#[tokio::test]
async fn a_document_that_needs_too_much_memory_costs_its_worker_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let program = script(dir.path(), &format!("exec {} \"$@\"", worker().display()));
    let descriptions = described(&node, config(program, 60), &[PDF, &bomb(), PDF]).await;
    assert!(descriptions[1].not_converted.contains("bytes of memory"), "{}", descriptions[1].not_converted);
    assert!(descriptions[0].text.contains("žluťoučký") && descriptions[2].text.contains("žluťoučký"));
    assert_eq!(started(dir.path()).len(), 2);
    node.close().await;
}

#[tokio::test]
async fn a_worker_that_hangs_is_killed_and_pages_go_on_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let program = script(dir.path(), "exec sleep 1000");
    let (sender, mut stream) = open(analyser(node.channel(), config(program, 15))).await;
    sender.send(document(1, PDF)).await.unwrap();
    for number in 2..50 {
        sender.send(AnalyseRequest { page_id: number, page: Some(page(number)), withdrawn: None }).await.unwrap();
    }
    let mut order = Vec::new();
    while order.len() < 49 {
        if let (number, Event::Saved(_)) = next(&mut stream).await {
            order.push(number);
        }
    }
    assert_eq!(order.pop(), Some(1), "no page waits for a document");
    let (entries, _) = node.read_log(0).await;
    let reasons: Vec<&str> = entries.iter().map(|entry| description(entry).not_converted.as_str()).collect();
    assert_eq!(reasons.iter().filter(|reason| reason.contains("longer than 15 seconds")).count(), 1, "{reasons:?}");
    let workers = started(dir.path());
    assert_eq!(workers.len(), 1);
    assert!(!Path::new(&format!("/proc/{}", workers[0])).exists(), "it is killed and reaped");
    node.close().await;
}

#[tokio::test]
async fn programs_that_are_no_workers_leave_documents_unconverted() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let descriptions = described(&node, config(dir.path().join("missing"), 60), &[PDF]).await;
    assert!(descriptions[0].not_converted.contains("could be started"), "{}", descriptions[0].not_converted);
    for (then, word) in
        [("exit 3", "exit status: 3"), ("kill -9 $$", "signal: 9"), ("printf '\\377\\377\\377\\377'", "exit status: 0")]
    {
        let dir = tempfile::tempdir().unwrap();
        let node = Node::open(dir.path());
        let descriptions = described(&node, config(script(dir.path(), then), 60), &[PDF, PDF]).await;
        for description in descriptions {
            assert!(!description.not_converted.is_empty() && description.generate, "{then}");
            assert!(description.not_converted.contains(word), "{then}: {}", description.not_converted);
        }
    }
    node.close().await;
}

/// How a process ended that tried to break out of these walls.
fn attempt(walls: &str, what: &str) -> std::process::Output {
    Command::new(worker()).args(["attempt", walls, what]).stdin(Stdio::piped()).output().unwrap()
}

const SIGSYS: i32 = 31;

#[test]
fn a_worker_that_has_closed_a_descriptor_is_ended_when_it_opens_connects_or_executes() {
    use std::os::unix::process::ExitStatusExt;
    for what in ["open", "socket", "connect", "connect-tcp", "execute"] {
        let ended = attempt("all", what);
        assert_eq!(ended.status.signal(), Some(SIGSYS), "{what}: {ended:?}");
    }
    // By the filter, not by the limits: with those alone the same attempts succeed.
    for what in ["open", "socket", "connect", "execute"] {
        let ended = attempt("limits", what);
        assert_eq!(ended.status.code(), Some(0), "{what}: {ended:?}");
    }
}

#[test]
fn landlock_alone_denies_files_and_programs_to_a_worker() {
    for what in ["open", "execute"] {
        let ended = attempt("landlock", what);
        assert_eq!(ended.status.code(), Some(1), "{what}: {ended:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("Permission denied"), "{what}: {ended:?}");
    }
}

#[tokio::test]
async fn a_document_that_makes_its_worker_break_out_says_so_and_the_next_one_is_converted() {
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    // The first worker is one that opens a file, the second an ordinary one.
    let worker = worker().display().to_string();
    let then = format!("[ $(wc -l < {}/started) = 1 ] && exec {worker} attempt all open", dir.path().display());
    let program = script(dir.path(), &format!("{then}\nexec {worker} \"$@\""));
    let descriptions = described(&node, config(program, 60), &[PDF, PDF]).await;
    assert!(descriptions[0].not_converted.contains("its sandbox allows"), "{}", descriptions[0].not_converted);
    assert!(descriptions[1].text.contains("žluťoučký"), "{}", descriptions[1].not_converted);
    node.close().await;
}

#[tokio::test]
async fn every_format_is_converted_inside_the_sandbox() {
    const FILES: [(&str, &[u8], &str); 5] = [
        ("drawn.pdf", PDF, "žluťoučký"),
        ("printed.pdf", include_bytes!("../data/printed.pdf"), ""),
        ("letter.docx", include_bytes!("../data/letter.docx"), ""),
        ("table.xlsx", include_bytes!("../data/table.xlsx"), ""),
        ("minutes.odt", include_bytes!("../data/minutes.odt"), ""),
    ];
    let dir = tempfile::tempdir().unwrap();
    let node = Node::open(dir.path());
    let program = script(dir.path(), &format!("exec {} \"$@\"", worker().display()));
    let (sender, mut stream) = open(analyser(node.channel(), config(program, 60))).await;
    for (number, (name, body, words)) in (0u64..).zip(FILES) {
        let mut request = document(number, body);
        let page = request.page.as_mut().unwrap();
        page.url = format!("http://example.org/{name}");
        page.headers[0].value = "application/octet-stream".into();
        sender.send(request).await.unwrap();
        assert!(matches!(next(&mut stream).await, (_, Event::Parsed(_))));
        assert!(matches!(next(&mut stream).await, (_, Event::Saved(_))));
        let (entries, _) = node.read_log(0).await;
        let description = description(entries.last().unwrap());
        assert!(!description.text.is_empty() && description.text.contains(words), "{name}: {description:?}");
    }
    let workers = started(dir.path());
    assert_eq!(workers.len(), 1, "one worker has read them all");
    let status = std::fs::read_to_string(format!("/proc/{}/status", workers[0])).unwrap();
    assert!(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"), "{status}");
    node.close().await;
}

#[test]
fn a_worker_whose_parent_is_gone_ends() {
    let mut command = Command::new(worker());
    command.args(["convert-worker", "--memory-bytes", "268435456", "--cpu-seconds", "60"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
