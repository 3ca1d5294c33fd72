//! Runs one child process to its end and reads what it cost.
//!
//! The kernel's own figures, from `/proc`: CPU time (user and system, all threads, and its own children) from `stat`, which can still
//! be read when the process has ended and nobody has waited for it, so the last reading is complete; peak memory
//! (`VmHWM`, and the highest `RssAnon` seen) from `status`, last read at most one interval before the end. All readings are
//! kept with their times ([`Sample`]), so that a part of a run can be looked at afterwards. A child never outlives its measurement.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

const READING_INTERVAL: Duration = Duration::from_millis(20);
/// Of the times in `/proc`; the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// How much of what a failed child said is shown.
const SHOWN_CHARS: usize = 2_000;

/// What a process cost from its start to its end.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Cost {
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub peak_rss_mb: f64,
    /// Peak of what no file backs (`RssAnon`): what the process really holds, without pages of its index that the kernel
    /// may drop at any time.
    pub peak_anon_mb: f64,
}

/// What was read of a running process at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Seconds since 1970, as in servers' logs.
    pub at: f64,
    /// Since its start.
    pub cpu_seconds: f64,
    /// That all processes of the machine used since it was switched on.
    pub machine_cpu_seconds: f64,
    pub anon_mb: f64,
}

pub struct Finished {
    pub cost: Cost,
    /// By time; the first is of the start, when nothing had been used.
    pub samples: Vec<Sample>,
    pub stdout: String,
    /// None when the time was up and it was killed.
    pub status: Option<ExitStatus>,
    stderr: String,
    name: String,
}

impl Finished {
    /// An error with what the child said, unless it ended by itself and well.
    pub fn must_succeed(self) -> anyhow::Result<Self> {
        self.must_end_with(&[0])
    }

    /// The same for programs of which other exit codes mean no failure either.
    pub fn must_end_with(self, codes: &[i32]) -> anyhow::Result<Self> {
        let end = match self.status {
            Some(status) if status.code().is_some_and(|code| codes.contains(&code)) => return Ok(self),
            Some(status) => format!("ended with {status}"),
            None => "was stopped because its time was up".to_owned(),
        };
        let from = self.stderr.len().saturating_sub(SHOWN_CHARS);
        let said = self.stderr.get(self.stderr.ceil_char_boundary(from)..).unwrap_or_default();
        bail!("{} {end} after {:.1} s; it said: {}", self.name, self.cost.seconds, said.trim());
    }
}

impl Finished {
    /// Cores that all processes of the machine kept busy meanwhile, this one and the server among them.
    pub fn machine_cores(&self) -> f64 {
        let used = |sample: Option<&Sample>| sample.map_or(0.0, |sample| sample.machine_cpu_seconds);
        (used(self.samples.last()) - used(self.samples.first())) / self.cost.seconds
    }

    /// When it had ended, in seconds since 1970.
    pub fn ended_at(&self) -> f64 {
        self.samples.last().map_or(f64::NAN, |sample| sample.at)
    }
}

/// Its output goes through files in `directory`, so that a talkative child never waits for a reader.
pub async fn run(name: &str, command: &mut Command, directory: &Path, limit: Duration) -> anyhow::Result<Finished> {
    let (out, err) = (directory.join(format!("{name}.stdout")), directory.join(format!("{name}.stderr")));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut child = KilledOnDrop(child);
    let mut cost = Cost::default();
    let mut samples = vec![Sample::now(0.0, 0.0)?];
    let mut ended = false;
    while !ended && started.elapsed() < limit {
        tokio::time::sleep(READING_INTERVAL).await;
        let anon_mb;
        (ended, anon_mb) = read(child.0.id(), &mut cost)?;
        cost.seconds = started.elapsed().as_secs_f64();
        samples.push(Sample::now(cost.cpu_seconds, anon_mb)?);
    }
    let status = if ended { Some(child.0.wait()?) } else { None };
    drop(child);
    let text = |path| Ok::<_, io::Error>(String::from_utf8_lossy(&fs::read(path)?).into_owned());
    Ok(Finished { cost, samples, stdout: text(&out)?, stderr: text(&err)?, status, name: name.to_owned() })
}

impl Sample {
    fn now(cpu_seconds: f64, anon_mb: f64) -> anyhow::Result<Self> {
        Ok(Self { at: unix_seconds(), cpu_seconds, machine_cpu_seconds: machine_cpu_seconds()?, anon_mb })
    }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Cost {
    /// Cores that it kept busy.
    pub fn cores(&self) -> f64 {
        self.cpu_seconds / self.seconds
    }

    /// Adds the cost of another process that ran at the same time.
    pub fn add(&mut self, other: &Self) {
        self.cpu_seconds += other.cpu_seconds;
        self.peak_rss_mb += other.peak_rss_mb;
        self.peak_anon_mb += other.peak_anon_mb;
    }
}

/// Cost of a running process since its start; its anonymous memory is that of now.
pub fn so_far(process: u32) -> anyhow::Result<Cost> {
    let mut cost = Cost::default();
    read(process, &mut cost)?;
    Ok(cost)
}

/// CPU seconds of this process so far.
pub fn own_cpu_seconds() -> anyhow::Result<f64> {
    Ok(Stat::read("self")?.cpu_seconds)
}

/// Memory of this process now, in MB.
pub fn own_rss_mb() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    megabytes(&status, "VmRSS:")?.context("no VmRSS in /proc/self/status")
}

/// Bytes of all files of a directory.
pub fn bytes_below(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// CPU seconds of all processes, whatever is not idle or waiting for a disk.
fn machine_cpu_seconds() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
    let busy = |kind: usize| ticks.get(kind).copied().unwrap_or(0);
    // user, nice, system; then idle and iowait; irq, softirq. The rest are other machines' or counted in user.
    Ok([0, 1, 2, 5, 6].map(busy).iter().sum::<u64>() as f64 / TICKS_PER_SECOND)
}

/// Brings the cost up to date; true when the process has ended, and its anonymous memory of now in MB.
fn read(pid: u32, cost: &mut Cost) -> anyhow::Result<(bool, f64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let stat = Stat::read(&pid.to_string())?;
    cost.cpu_seconds = stat.cpu_seconds;
    // Absent once the process has ended.
    let rss = megabytes(&status, "VmHWM:")?.unwrap_or(0.0);
    let anon = megabytes(&status, "RssAnon:")?.unwrap_or(0.0);
    cost.peak_rss_mb = cost.peak_rss_mb.max(rss);
    cost.peak_anon_mb = cost.peak_anon_mb.max(anon);
    Ok((stat.ended, anon))
}

/// A line of `/proc/PID/status`, such as `VmRSS:     1024 kB`, in MB.
fn megabytes(status: &str, name: &str) -> anyhow::Result<Option<f64>> {
    let Some(value) = status.lines().find_map(|line| line.strip_prefix(name)) else { return Ok(None) };
    let kilobytes: f64 = value.trim().trim_end_matches(" kB").parse()?;
    Ok(Some(kilobytes * 1024.0 / 1e6))
}

struct Stat {
    ended: bool,
    cpu_seconds: f64,
}

impl Stat {
    fn read(pid: &str) -> anyhow::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Self::parse(&text).with_context(|| format!("cannot understand /proc/{pid}/stat: {text:?}"))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name of the program, in parentheses, may itself hold spaces and parentheses.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // utime, stime, cutime, cstime.
        let ticks: u64 = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
        Some(Self { ended: matches!(*fields.first()?, "Z" | "X"), cpu_seconds: ticks as f64 / TICKS_PER_SECOND })
    }
}

/// A child that does not outlive its measurement.
pub struct KilledOnDrop(pub Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // Both fail only when it has ended, which is what they are for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, limit: Duration) -> Finished {
        let directory = tempfile::tempdir().unwrap();
        run("sh", Command::new("sh").args(["-c", script]), directory.path(), limit).await.unwrap()
    }

    #[tokio::test]
    async fn cpu_time_of_a_child_and_of_its_own_children_is_counted() {
        let spin = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
        let limit = Duration::from_secs(60);
        let alone = shell(spin, limit).await.must_succeed().unwrap().cost;
        // All the work is its child's.
        let by_child = shell(&format!("sh -c '{spin}'; true"), limit).await.must_succeed().unwrap().cost;
        assert!(alone.cpu_seconds > 0.05 && by_child.cpu_seconds > 0.05, "{alone:?}, {by_child:?}");
        assert!(alone.peak_rss_mb > 0.1 && alone.peak_rss_mb < 100.0, "{alone:?}");
        assert!(alone.peak_anon_mb > 0.0 && alone.peak_anon_mb <= alone.peak_rss_mb, "{alone:?}");
    }

    #[tokio::test]
    async fn a_child_that_takes_too_long_is_stopped() {
        let finished = shell("echo begun; exec sleep 600", Duration::from_millis(300)).await;
        assert!(finished.status.is_none() && finished.cost.seconds < 60.0);
        assert_eq!(finished.stdout, "begun\n");
        let Err(error) = finished.must_succeed() else { panic!("a stopped child did not succeed") };
        assert!(error.to_string().contains("time was up"), "{error}");
    }

    #[tokio::test]
    async fn a_failed_child_is_reported_with_its_last_words() {
        let finished = shell("echo the disk is full >&2; exit 3", Duration::from_secs(60)).await;
        let Err(error) = finished.must_succeed() else { panic!("exit code 3 is no success") };
        assert!(error.to_string().contains("the disk is full"), "{error}");
    }

    #[test]
    fn a_program_name_with_spaces_and_parentheses_is_no_trouble() {
        let line = "42 (a ) b) Z 1 42 42 0 -1 4228100 1 0 0 0 150 50 7 3 20 0 1 0 100 0 0";
        let stat = Stat::parse(line).unwrap();
        assert!(stat.ended);
        assert!((stat.cpu_seconds - 2.1).abs() < 1e-9);
    }
}
