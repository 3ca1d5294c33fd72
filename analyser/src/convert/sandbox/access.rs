//! No access to files, ports and other processes, by Landlock.
//!
//! Newer kernels know more kinds of access; each denies what it knows. The system call filter denies all of it too, but by
//! the number of the call: this one looks at what is accessed.

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope};

/// The newest that is asked for. Later ones add nothing that a process with one thread could lose.
const KNOWN: ABI = ABI::V6;

/// From now on, for this thread. Fails where the kernel has no Landlock.
pub fn deny() -> Result<(), String> {
    match restrict() {
        Ok(RulesetStatus::NotEnforced) => Err("this kernel does not have it, or it is switched off".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Rules that handle all kinds of access, and allow none.
fn restrict() -> Result<RulesetStatus, RulesetError> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    Ok(rules.restrict_self()?.ruleset)
}
