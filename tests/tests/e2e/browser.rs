//! Runs the checks of `tests/browser/` in a real Chromium. Their screenshots are kept in `output/screenshots/`, to be looked
//! at.

use std::path::Path;
use std::process::Command;

pub struct Browser {
    chromium: String,
}

impl Browser {
    /// `None`, with the reason printed, where there is none.
    pub fn find() -> Option<Self> {
        let Ok(chromium) = std::env::var("SEINE_CHROMIUM") else {
            println!("skipped: SEINE_CHROMIUM does not name a browser; `make test` installs one");
            return None;
        };
        assert!(checks().join("node_modules").exists(), "Playwright is missing; run `make deps-test`");
        Some(Self { chromium })
    }

    /// Blocks until the checks are done, which are told these settings; panics with their report if one fails.
    pub fn check(&self, checks_file: &str, settings: &[(&str, String)]) {
        let output = Command::new("node")
            .args(["--test-reporter=spec", checks_file])
            .current_dir(checks())
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .env("SEINE_CHROMIUM", &self.chromium)
            .env("SEINE_SCREENSHOTS", checks().join("../../output/screenshots"))
            .output()
            .expect("node can be started");
        let report = String::from_utf8_lossy(&output.stdout);
        println!("{report}");
        assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn checks() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/browser"))
}
