//! Which server a cluster is made of, and where its program is.

use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    #[default]
    Valkey,
    Redis,
}

impl Program {
    /// Where it is; `None`, with a printed reason, on a machine that was not set up for it.
    pub fn path(self) -> Option<PathBuf> {
        let (variable, name) = match self {
            Self::Valkey => ("SEINE_VALKEY", "valkey-server"),
            Self::Redis => ("SEINE_REDIS", "redis-server"),
        };
        let Some(path) = std::env::var_os(variable).map(PathBuf::from) else {
            println!("skipped: {variable} does not name {name}; `make test` installs it");
            return None;
        };
        assert!(
            path.exists(),
            "{variable} names {}, which does not exist; `make deps-test` installs it",
            path.display()
        );
        Some(path)
    }
}
