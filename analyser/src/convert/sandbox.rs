//! The walls around a worker process, which it sets up itself before it reads anything from outside.
//!
//! A document may turn a broken parser against its owner. What it can do then ends at three walls, each of which holds
//! without the others: [`limits`] on memory, time and descriptors; Landlock rules that give access to no file, no port and
//! no other process ([`access`]); and a filter that ends the process at any system call that reading a document does not
//! need ([`system_calls`]). Kernels may lack the last two. The worker goes on without them and names them to its parent.

pub mod access;
pub mod limits;
pub mod system_calls;

use std::io;

/// For the rest of the life of the process, which must have one thread. Gives the walls that the kernel does not have.
pub fn enter(memory_bytes: u64) -> io::Result<Vec<String>> {
    // Landlock is set up through a descriptor, for which the limits leave no number.
    let access = access::deny().map_err(|reason| format!("Landlock: {reason}"));
    limits::confine(memory_bytes)?;
    // The first look at the clock asks the kernel where it is, by a call that nothing else needs.
    limits::used_cpu_seconds();
    let system_calls = system_calls::filter().map_err(|reason| format!("seccomp: {reason}"));
    Ok([access, system_calls].into_iter().filter_map(Result::err).collect())
}
