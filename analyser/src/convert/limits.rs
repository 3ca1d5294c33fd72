//! What a worker process may use, set by itself before it reads anything from outside.
//!
//! After this it can open neither files nor sockets: its three pipes are all the descriptors it may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Standard input, output and error, which are open already.
const DESCRIPTORS: u64 = 3;

/// For the whole life of the process; can never be raised again.
pub(super) fn confine(memory_bytes: u64) -> std::io::Result<()> {
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
pub(super) fn allow_cpu_seconds(seconds: u64) -> std::io::Result<()> {
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or_default();
    let maximum = getrlimit(Resource::Cpu).maximum;
    // The limit counts whole seconds, and the one that has begun is not over.
    let current = (used + seconds + 1).min(maximum.unwrap_or(u64::MAX));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(current), maximum })?)
}
