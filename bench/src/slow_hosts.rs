//! Whether slow hosts hold the others back: a crawl of many hosts at a delay, once with all of them fast, once with some
//! that take two seconds for every answer.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use seine_tests::{FakeWeb, FakeWebConfig};
use serde::Serialize;

use crate::measure;

const HOSTS: usize = 1_000;
const SLOW: usize = 50;
const LATENCY: Duration = Duration::from_secs(2);
/// With so many hosts at this delay the machine is not the limit.
const DELAY: &str = "4";
const PAGES_PER_HOST: u32 = 4;
const TIME_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Serialize)]
pub struct SlowHosts {
    pub hosts: usize,
    pub slow: usize,
    /// Requests per second that the other hosts saw.
    pub without_slow: f64,
    pub with_slow: f64,
}

impl SlowHosts {
    pub fn ratio(&self) -> f64 {
        self.with_slow / self.without_slow
    }
}

pub async fn run(seine: &Path, work: &Path) -> anyhow::Result<SlowHosts> {
    let without_slow = others_per_second(seine, work, "all-fast", Duration::ZERO).await?;
    let with_slow = others_per_second(seine, work, "some-slow", LATENCY).await?;
    Ok(SlowHosts { hosts: HOSTS, slow: SLOW, without_slow, with_slow })
}

/// Crawls both webs at once; counts what the one whose hosts are always fast saw.
async fn others_per_second(seine: &Path, work: &Path, name: &str, latency: Duration) -> anyhow::Result<f64> {
    eprintln!("{HOSTS} hosts, {SLOW} of which answer after {} s", latency.as_secs());
    let config = |hosts| FakeWebConfig { links: 4, ..FakeWebConfig::small(PAGES_PER_HOST).with_named_hosts(hosts) };
    let others = FakeWeb::try_start(config(HOSTS - SLOW))?;
    let slow = FakeWeb::try_start(FakeWebConfig { latency, ..config(SLOW) })?;
    let mut command = Command::new(seine);
    command.arg("crawl").args(["--delay", DELAY, "--allow-net", "127.0.0.0/8", "--json"]);
    command.arg("--data").arg(work.join(name)).current_dir(work);
    for (web, hosts) in [(&others, HOSTS - SLOW), (&slow, SLOW)] {
        let port = web.addr().port();
        for host in 0..hosts {
            command.arg(web.host_url(host, "/"));
            command.arg("--resolve").arg(format!("host{host}.test:{port}:127.0.0.1"));
        }
    }
    measure::run(name, &mut command, work, TIME_LIMIT).await?.must_succeed()?;
    let requests = others.requests();
    let times = || requests.iter().map(|request| request.at);
    let (Some(first), Some(last)) = (times().min(), times().max()) else { anyhow::bail!("nothing was asked for") };
    Ok(requests.len() as f64 / (last - first).as_secs_f64())
}
