//! The system calls that reading a document needs; at any other the kernel ends the process.
//!
//! Ended, not refused: code that goes on after a refusal could try the next thing, and the parent would not learn of it.
//! What is allowed is what the allocator, a panic, an abort and two pipes need, with glibc and with musl. Where a call could
//! reach further, its arguments are checked: memory never becomes executable, signals and limits are for this process.

use std::collections::BTreeMap;

use libc::c_long;
use rustix::process::getpid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Whatever their arguments are.
const FREE: [c_long; 23] = [
    // The pipes.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_getrandom,
    // Locks, and the number of cores, which an allocator that runs out of memory asks for.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    // Clocks, where they are not read without a call.
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    // Signals of its own: stack overflow, abort.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// From now on, for this thread and for good. Fails where the kernel has no seccomp.
pub fn filter() -> Result<(), String> {
    let program = program().map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&program).map_err(|error| error.to_string())
}

fn program() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = FREE.iter().map(|&call| (call, Vec::new())).collect();
    let not_executable = SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64);
    let own = getpid().as_raw_nonzero().get() as u64;
    for (call, argument, comparison, value) in [
        (libc::SYS_mmap, 2, not_executable.clone(), 0),
        (libc::SYS_mprotect, 2, not_executable, 0),
        // 0 is the process itself.
        (libc::SYS_prlimit64, 0, SeccompCmpOp::Eq, 0),
        (libc::SYS_tgkill, 0, SeccompCmpOp::Eq, own),
        (libc::SYS_tkill, 0, SeccompCmpOp::Eq, own),
    ] {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)?;
        rules.insert(call, vec![SeccompRule::new(vec![condition])?]);
    }
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, architecture)?.try_into()
}
