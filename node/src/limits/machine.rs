//! Free cores and memory of the machine, or of the part of it that this process may use. Where the system does not tell, nothing is short.

use std::fs::read_to_string;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::governor::Load;

/// Of all cores.
const BUSY: f64 = 0.95;
/// With so much of the cores' time it is this process that keeps them busy.
const OURS: f64 = 0.5;
/// Of the memory; more must be free again before it is not short any more.
const SHORT: f64 = 0.05;
const ENOUGH: f64 = 0.10;

#[derive(Debug, Default)]
pub(super) struct Machine {
    before: Option<Time>,
    memory_is_short: bool,
}

/// Since the machine or the process started, in seconds of one core.
#[derive(Clone, Copy, Debug)]
struct Time {
    all: f64,
    idle: f64,
    own: f64,
}

impl Machine {
    /// Since the last look.
    pub fn look(&mut self) -> Load {
        let now = time();
        let before = std::mem::replace(&mut self.before, now);
        let cpu_is_short = now.zip(before).is_some_and(|(now, before)| is_short(now, before));
        if let Some(free) = free_memory() {
            self.memory_is_short = free < if self.memory_is_short { ENOUGH } else { SHORT };
        }
        Load { cpu_is_short, memory_is_short: self.memory_is_short, ..Load::default() }
    }
}

fn is_short(now: Time, before: Time) -> bool {
    let all = now.all - before.all;
    let share = |part: f64| if all > 0.0 { part / all } else { 0.0 };
    share(now.idle - before.idle) < 1.0 - BUSY && share(now.own - before.own) > OURS
}

fn time() -> Option<Time> {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let own = Duration::new(u64::try_from(spent.tv_sec).ok()?, u32::try_from(spent.tv_nsec).ok()?).as_secs_f64();
    let (all, idle) = cores(&read_to_string("/proc/stat").ok()?)?;
    Some(Time { all, idle, own })
}

/// Seconds of all cores, and those of them without work; waiting for a disk is none.
fn cores(stat: &str) -> Option<(f64, f64)> {
    // The kernel counts in hundredths, whatever its own clock does.
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let times: Vec<f64> = fields.map_while(|field| field.parse::<f64>().ok()).map(|ticks| ticks / 100.0).collect();
    // The last two, time given to guests, are counted in the first two already.
    let all = times.iter().take(8).sum();
    Some((all, times.get(3)? + times.get(4)?))
}

/// The share that is free: of the machine, or of the group that the process is in, whichever is less.
fn free_memory() -> Option<f64> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|info| of_machine(&info));
    match (machine, of_group()) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

fn of_machine(info: &str) -> Option<f64> {
    let field =
        |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    let (available, total): (f64, f64) = (field("MemAvailable:")?, field("MemTotal:")?);
    Some(available / total)
}

/// Containers and services are given a part of the machine's memory.
fn of_group() -> Option<f64> {
    let group = read_to_string("/proc/self/cgroup").ok()?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::"))?;
    let file = |name: &str| read_to_string(format!("/sys/fs/cgroup{path}/{name}")).ok();
    // "max" where there is no bound.
    let most: f64 = file("memory.max")?.trim().parse().ok()?;
    let used: f64 = file("memory.current")?.trim().parse().ok()?;
    // What was read from files counts as used and goes when it is needed.
    let files =
        file("memory.stat")?.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse::<f64>().ok())?;
    Some(1.0 - (used - files) / most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_work_and_free_memory_are_read_as_linux_writes_them() {
        let (all, idle) = cores("cpu  100 0 50 800 40 0 10 0 7 0\ncpu0 1 2 3\n").unwrap();
        assert!((all - 10.0).abs() < 1e-9 && (idle - 8.4).abs() < 1e-9, "{all} {idle}");
        let info = "MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   250 kB\n";
        assert_eq!(of_machine(info), Some(0.25));
        assert_eq!((cores("odd"), of_machine("")), (None, None));
    }

    #[test]
    fn cores_that_others_keep_busy_are_no_reason_to_do_less() {
        let at = |all, idle, own| Time { all, idle, own };
        assert!(is_short(at(12.0, 0.0, 1.5), at(10.0, 0.0, 0.0)));
        assert!(!is_short(at(12.0, 0.0, 0.5), at(10.0, 0.0, 0.0)), "by others");
        assert!(!is_short(at(12.0, 1.0, 1.0), at(10.0, 0.0, 0.0)), "half are idle");
    }

    #[test]
    fn this_machine_tells() {
        let mut machine = Machine::default();
        machine.look();
        assert!(machine.before.is_some_and(|time| time.all > time.idle));
    }
}
