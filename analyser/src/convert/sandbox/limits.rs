//! What a worker process may use of the machine: memory, processor time, and no descriptors beside its three pipes.
//!
//! Limits count and do not look: a worker that closes a pipe may open something else in its place. The other walls are for
//! that.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Standard input, output and error, which are open already.
const DESCRIPTORS: u64 = 3;

/// For the whole life of the process; can never be raised again.
pub fn confine(memory_bytes: u64) -> std::io::Result<()> {
    fix(Resource::As, memory_bytes)?;
    fix(Resource::Core, 0)?;
    fix(Resource::Fsize, 0)?;
    fix(Resource::Nproc, 0)?;
    fix(Resource::Nofile, DESCRIPTORS)
}

fn fix(resource: Resource, limit: u64) -> std::io::Result<()> {
    let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Some(limit.min(allowed));
    Ok(setrlimit(resource, Rlimit { current: limit, maximum: limit })?)
}

/// From now on so many seconds of processor time; then the kernel ends the process.
pub(crate) fn allow_cpu_seconds(seconds: u64) -> std::io::Result<()> {
    let used = used_cpu_seconds();
    let maximum = getrlimit(Resource::Cpu).maximum;
    // The limit counts whole seconds, and the one that has begun is not over.
    let current = (used + seconds + 1).min(maximum.unwrap_or(u64::MAX));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?)
}

pub(crate) fn used_cpu_seconds() -> u64 {
    u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or_default()
}
