//! The programs `fake-web` and `demo-web`, started as a script would start them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use seine_tests::eventually;
use seine_tests::fake_web::LogLine;

/// A started program that is killed when a test fails before it ends by itself.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Starts a program and gives the URLs of its `ready` line.
    fn start(path: &str, args: &[&str]) -> (Self, Vec<String>) {
        let child = Command::new(path).args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut program = Self(child);
        let mut line = String::new();
        BufReader::new(program.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let urls = line.trim_end().strip_prefix("ready ").expect("it says that it is ready");
        (program, urls.split(' ').map(str::to_owned).collect())
    }

    async fn end_with(&mut self, signal: &str) -> ExitStatus {
        let sent = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
        eventually(Duration::from_secs(10), "the program ends", async || self.0.try_wait().unwrap()).await
    }
}

fn get(url: &str, path: &str) -> String {
    let authority = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: probe\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn fake_web_logs_every_request_and_ends_cleanly() {
    for signal in ["-INT", "-TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("requests.jsonl");
        let (mut program, urls) =
            Program::start(env!("CARGO_BIN_EXE_fake-web"), &["--pages", "20", "--log", log.to_str().unwrap()]);
        assert_eq!(urls.len(), 1);
        for page in 0..20 {
            assert!(get(&urls[0], &format!("/p/{page}.html")).starts_with("HTTP/1.1 200 "));
        }
        // Read while it runs: the log is flushed all the time, not only at the end.
        eventually(Duration::from_secs(5), "twenty lines", async || {
            std::fs::read_to_string(&log).unwrap().lines().count() == 20
        })
        .await;
        get(&urls[0], "/p/20.html");
        assert!(program.end_with(signal).await.success());
        let text = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<LogLine<'_>> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let seen: Vec<(String, u16)> = lines.iter().map(|line| (line.path.to_string(), line.status)).collect();
        let sent: Vec<(String, u16)> =
            (0..=20).map(|page| (format!("/p/{page}.html"), if page < 20 { 200 } else { 404 })).collect();
        assert_eq!(seen, sent);
        assert!(lines.iter().all(|line| line.user_agent == "probe"));
    }
}

#[tokio::test]
async fn demo_web_serves_three_hosts_and_ends_cleanly() {
    let (mut program, urls) = Program::start(env!("CARGO_BIN_EXE_demo-web"), &["--ports", "0,0,0"]);
    assert_eq!(urls.len(), 3);
    for (url, words) in urls.iter().zip(["River Guide", "城市图书馆", "Zahrádkář"]) {
        let page = get(url, "/");
        assert!(page.starts_with("HTTP/1.1 200 ") && page.contains(words));
        assert_eq!(urls.iter().filter(|other| page.contains(&format!("href=\"{other}"))).count(), 2);
    }
    assert!(program.end_with("-INT").await.success());
}

#[test]
fn a_wrong_setting_is_refused_in_one_line() {
    for (program, args) in [
        (env!("CARGO_BIN_EXE_demo-web"), vec!["--ports", "0,0"]),
        (env!("CARGO_BIN_EXE_fake-web"), vec!["--text-share", "2"]),
        (env!("CARGO_BIN_EXE_fake-web"), vec!["--hosts", "0"]),
    ] {
        let output = Command::new(program).args(&args).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
