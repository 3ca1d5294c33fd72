//! The web that everything is measured on, and what it saw of a crawler.
//!
//! One host, as the page count says; 10 to 30 kB a page, 30 links each. One web serves the whole run, so all crawlers get
//! the same bytes; its log is emptied before each.

use std::collections::{BTreeSet, HashMap};

use seine_tests::{FakeWeb, FakeWebConfig, RecordedRequest};
use serde::Serialize;

pub struct TestWeb {
    web: FakeWeb,
    /// What a crawler may ask for.
    expected: BTreeSet<String>,
}

/// What the server saw of one crawler.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Sighting {
    /// Distinct pages asked for, robots.txt not counted.
    pub pages: u64,
    /// Requests for something that had been asked for before.
    pub repeated: u64,
    /// Requests for what is no page of the web: disallowed by robots.txt, or made up.
    pub unexpected: u64,
    /// Pages of the web that were never asked for.
    pub missed: u64,
}

impl TestWeb {
    pub fn start(pages: u32) -> anyhow::Result<Self> {
        let config = FakeWebConfig { pages, ..FakeWebConfig::default() };
        let expected = config.reachable();
        Ok(Self { web: FakeWeb::try_start(config)?, expected })
    }

    pub fn home(&self) -> String {
        self.web.url("/")
    }

    pub fn pages(&self) -> u32 {
        self.web.config().pages
    }

    pub fn forget_requests(&self) {
        self.web.clear();
    }

    /// What was asked since [`TestWeb::forget_requests`].
    pub fn sighting(&self) -> Sighting {
        sighting(&self.expected, &self.web.take_requests())
    }
}

fn sighting(expected: &BTreeSet<String>, requests: &[RecordedRequest]) -> Sighting {
    let mut times: HashMap<&str, u64> = HashMap::new();
    for request in requests {
        *times.entry(&request.path).or_default() += 1;
    }
    let pages = times.keys().filter(|path| expected.contains(**path)).count() as u64;
    Sighting {
        pages,
        repeated: times.values().map(|times| times - 1).sum(),
        unexpected: times.iter().filter(|(path, _)| !known(expected, path)).map(|(_, times)| times).sum(),
        missed: expected.len() as u64 - pages,
    }
}

fn known(expected: &BTreeSet<String>, path: &str) -> bool {
    path == "/robots.txt" || expected.contains(path)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn ask(web: &TestWeb, path: &str) {
        let mut stream = TcpStream::connect(web.web.addr()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", web.web.addr()).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }

    #[test]
    fn a_sighting_counts_repeats_strays_and_gaps() {
        let web = TestWeb::start(3).unwrap();
        ask(&web, "/");
        web.forget_requests();
        for path in ["/robots.txt", "/", "/p/0.html", "/p/0.html", "/private/1.html", "/favicon.ico"] {
            ask(&web, path);
        }
        assert_eq!(web.sighting(), Sighting { pages: 2, repeated: 1, unexpected: 2, missed: 2 });
    }
}
