//! `seine serve` as a child process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use crate::measure::KilledOnDrop;

pub struct Server {
    _process: KilledOnDrop,
    /// Where it answers over HTTP.
    pub http: String,
}

impl Server {
    pub fn start(seine: &Path, data: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(seine);
        command.args(["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]).args(flags).arg("--data").arg(data);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = KilledOnDrop(command.spawn().context("cannot start seine serve")?);
        let line = first_line(&mut process.0)?;
        let http = line.split(' ').find_map(|word| word.strip_prefix("http="));
        let http = http.with_context(|| format!("seine serve said {line:?} instead of its address"))?.to_owned();
        Ok(Self { _process: process, http })
    }
}

fn first_line(child: &mut Child) -> anyhow::Result<String> {
    let mut line = String::new();
    let stdout = child.stdout.as_mut().context("its standard output is not piped")?;
    BufReader::new(stdout).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
