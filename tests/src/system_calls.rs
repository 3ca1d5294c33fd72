//! Runs programs for which some system calls are refused, as a service manager does it, or as an older kernel would.
//!
//! A filter holds for the thread that sets it and for every process that this thread starts. So a test starts its programs
//! from a thread of their own, and the rest of the test goes on as it was.

use std::collections::BTreeSet;
use std::process::Command;

use seccompiler::{BpfProgram, TargetArch, compile_from_json};
use serde_json::json;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// Names of system calls.
pub type Calls = BTreeSet<String>;

/// What the `SystemCallFilter` lines of a unit allow, with its groups taken apart as systemd does it; `None` without
/// `systemd-analyze`.
pub fn allowed_by_unit(unit: &str) -> Option<Calls> {
    let mut allowed = Calls::new();
    for line in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (is_denied, names) = match line.strip_prefix('~') {
            Some(names) => (true, names),
            None => (false, line),
        };
        for name in names.split_whitespace() {
            let calls = members(name)?;
            match is_denied {
                true => allowed.retain(|call| !calls.contains(call)),
                false => allowed.extend(calls),
            }
        }
    }
    Some(allowed)
}

/// The calls of a group, or the call itself.
fn members(name: &str) -> Option<Calls> {
    if !name.starts_with('@') {
        return Some(Calls::from([name.to_owned()]));
    }
    let output = Command::new("systemd-analyze").args(["--no-pager", "syscall-filter", name]).output().ok()?;
    assert!(output.status.success(), "systemd does not know {name}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The name of the group, a remark, and a line for each member.
    let lines = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let members = lines.map(members).collect::<Option<Vec<_>>>()?;
    Some(members.into_iter().flatten().collect())
}

/// Runs `work` on a thread whose programs may make these calls alone; all others are answered with EPERM.
pub fn with_only<T: Send>(allowed: &Calls, work: impl FnOnce() -> T + Send) -> T {
    let action = json!({ "errno": EPERM });
    on_filtered_thread(&program(allowed, &action, &json!("allow")), work)
}

/// Runs `work` on a thread for whose programs these calls do not exist.
pub fn without<T: Send>(missing: &[&str], work: impl FnOnce() -> T + Send) -> T {
    let missing = missing.iter().map(|name| (*name).to_owned()).collect();
    on_filtered_thread(&program(&missing, &json!("allow"), &json!({ "errno": ENOSYS })), work)
}

fn on_filtered_thread<T: Send>(program: &BpfProgram, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            seccompiler::apply_filter(program).expect("this kernel has seccomp");
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Calls that this architecture does not have are left out.
fn program(calls: &Calls, otherwise: &serde_json::Value, matching: &serde_json::Value) -> BpfProgram {
    let architecture: TargetArch = std::env::consts::ARCH.try_into().expect("seccompiler knows the architecture");
    let compile = |calls: &[&String]| {
        let filter: Vec<_> = calls.iter().map(|call| json!({ "syscall": call })).collect();
        let text = json!({ "all": { "mismatch_action": otherwise, "match_action": matching, "filter": filter } });
        compile_from_json(text.to_string().as_bytes(), architecture)
    };
    let known: Vec<&String> = calls.iter().filter(|call| compile(&[call]).is_ok()).collect();
    let mut programs = compile(&known).expect("every call was known by itself");
    programs.remove("all").expect("it was the name of the filter")
}
