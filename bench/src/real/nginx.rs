//! nginx with Debian's documentation, as `scripts/real-web.sh` starts it, and its access log.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::seen::Answered;
use crate::measure::KilledOnDrop;

/// The Makefile says here where the packages are unpacked.
pub const PACKAGES_VARIABLE: &str = "SEINE_REAL_WEB";
const SCRIPT: &str = include_str!("../../../scripts/real-web.sh");
/// The address of the first site; all use the same port.
const FIRST_ADDRESS: &str = "127.0.0.11";
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Serves until it is dropped.
pub struct Nginx {
    _process: KilledOnDrop,
    /// The first page of each site.
    pub homes: Vec<String>,
    log: PathBuf,
}

impl Nginx {
    pub async fn start(packages: &Path, work: &Path) -> anyhow::Result<Self> {
        let (script, directory) = (work.join("real-web.sh"), work.join("real-web"));
        fs::write(&script, SCRIPT)?;
        let port = TcpListener::bind((FIRST_ADDRESS, 0))?.local_addr()?.port();
        let (out, err) = (work.join("real-web.stdout"), work.join("real-web.stderr"));
        let mut command = Command::new("bash");
        command.arg(&script).arg(packages).arg(&directory).arg(port.to_string());
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut process = KilledOnDrop(command.spawn().context("cannot start real-web.sh")?);
        let started = Instant::now();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if let Some(status) = process.0.try_wait()? {
                bail!("real-web.sh ended with {status}; it said: {}", fs::read_to_string(&err)?.trim());
            }
            // They are printed all at once, before nginx listens.
            let homes: Vec<String> = fs::read_to_string(&out)?.lines().map(str::to_owned).collect();
            if !homes.is_empty() && homes.iter().all(|home| answers(home)) {
                return Ok(Self { _process: process, homes, log: directory.join("access.log") });
            }
            ensure!(started.elapsed() < PATIENCE, "nginx does not answer after {PATIENCE:?}");
        }
    }

    pub fn forget(&self) -> anyhow::Result<()> {
        // nginx appends, so it goes on at the new end.
        File::options().write(true).open(&self.log)?.set_len(0)?;
        Ok(())
    }

    pub fn answered(&self) -> anyhow::Result<Vec<Answered>> {
        let text = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        Ok(text.lines().filter_map(Answered::from_log_line).collect())
    }
}

fn answers(home: &str) -> bool {
    let authority = home.trim_start_matches("http://").trim_end_matches('/');
    TcpStream::connect(authority).is_ok()
}
