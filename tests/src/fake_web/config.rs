//! What a test web shall look like.
//!
//! The configuration alone decides every byte of every page: two webs with equal configurations serve equal pages, on
//! whatever ports they run (links are written with the host name that the client used).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{bail, ensure};

use super::text::Lang;

/// All settings of a [`FakeWeb`](super::FakeWeb). The default is one host with 100 pages and no faults.
#[derive(Debug, Clone)]
pub struct FakeWebConfig {
    /// Where the first host listens; 0 takes any free port. Further hosts with a listener of their own take the
    /// following ports, or any free ones.
    pub port: u16,
    /// Threads that serve; one costs least.
    pub threads: usize,
    pub seed: u64,
    /// At least one. The first answers every request whose `Host` names none of the others.
    pub hosts: Vec<HostConfig>,
    /// Pages of each host, at `/p/0.html` and so on; `/` comes on top.
    pub pages: u32,
    /// `<a href>` elements on each page.
    pub links: u32,
    /// How many of a page's links lead to another host of this web.
    pub cross_host_links: u32,
    /// Whether pages link to `/private/…`, which robots.txt disallows.
    pub private_links: bool,
    /// Body size of a page. A page is never cut below what its links and text need.
    pub page_bytes: RangeInclusive<usize>,
    /// Which share of a page's bytes is visible text, between 0 and 0.9.
    pub text_share: f64,
    /// Languages of the pages with their weights.
    pub langs: Vec<(Lang, u32)>,
    /// Waited before each answer.
    pub latency: Duration,
    /// Fault paths linked on `/`; see [`fault::all_paths`](super::fault::all_paths).
    pub fault_links: Vec<String>,
    /// What 503 and 429 say in `Retry-After`, in seconds.
    pub retry_after: u64,
    /// Size of the huge bodies, declared or not.
    pub huge_bytes: u64,
    /// Whether requests are recorded; a load test that needs no log saves the memory.
    pub record: bool,
}

/// One host of the web.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// With a name the host shares the first listener and is told apart by the `Host` header; without one it gets a
    /// listener of its own.
    pub name: Option<String>,
    /// Address of its own listener; any of 127.0.0.0/8.
    pub ip: Ipv4Addr,
    pub robots: RobotsMode,
    /// `Crawl-delay` in robots.txt, in seconds, written as given.
    pub crawl_delay: Option<f64>,
}

/// How a host answers for `/robots.txt`.
#[derive(Debug, Clone, PartialEq)]
pub enum RobotsMode {
    /// `Disallow: /private/` for everyone, with the host's crawl delay.
    Rules,
    /// Exactly this text.
    Text(String),
    /// This status, with a body that is no robots.txt.
    Status(u16),
    /// The rules, after this long.
    Slow(Duration),
    /// 301 to a file that holds the rules.
    Redirect,
    /// The rules, then over a megabyte of other rules.
    Huge,
    /// Bytes that are no text.
    Garbage,
    /// The connection is reset.
    Reset,
}

impl Default for FakeWebConfig {
    fn default() -> Self {
        Self {
            port: 0,
            threads: 1,
            seed: 1,
            hosts: vec![HostConfig::default()],
            pages: 100,
            links: 30,
            cross_host_links: 0,
            private_links: true,
            page_bytes: 10_000..=30_000,
            text_share: 0.3,
            langs: vec![(Lang::English, 1)],
            latency: Duration::ZERO,
            fault_links: Vec::new(),
            retry_after: 1,
            huge_bytes: 256 << 20,
            record: true,
        }
    }
}

impl Default for HostConfig {
    fn default() -> Self {
        Self { name: None, ip: Ipv4Addr::LOCALHOST, robots: RobotsMode::Rules, crawl_delay: None }
    }
}

impl HostConfig {
    pub fn named(name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::default() }
    }
}

impl FakeWebConfig {
    /// A web of small pages (2 to 4 kB), for tests in which their number matters and their size does not.
    pub fn small(pages: u32) -> Self {
        Self { pages, links: 10, page_bytes: 2_000..=4_000, ..Self::default() }
    }

    /// Hosts `host0.test`, `host1.test`, … behind one port, told apart by the `Host` header.
    pub fn with_named_hosts(mut self, hosts: usize) -> Self {
        self.hosts = (0..hosts).map(|number| HostConfig::named(&format!("host{number}.test"))).collect();
        self
    }

    /// Hosts that differ by their port only.
    pub fn with_port_hosts(mut self, hosts: usize) -> Self {
        self.hosts = vec![HostConfig::default(); hosts];
        self
    }

    pub fn with_robots(mut self, robots: &RobotsMode) -> Self {
        for host in &mut self.hosts {
            host.robots = robots.clone();
        }
        self
    }

    /// The paths that a crawl of one host from `/` must fetch, each exactly once: fault paths, `/robots.txt` and what
    /// it disallows are not among them.
    pub fn reachable(&self) -> BTreeSet<String> {
        (0..self.pages).map(page_path).chain(["/".to_owned()]).collect()
    }

    /// The word that only this page has.
    pub fn unique_word(host: usize, page: u32) -> String {
        format!("uniq{page}x{host}")
    }

    pub fn validate(&self) -> anyhow::Result<()> {
        ensure!(!self.hosts.is_empty(), "a test web needs at least one host");
        ensure!(self.threads > 0, "a test web needs at least one thread");
        ensure!(self.pages > 0 && self.links > 0, "pages and links must be at least 1");
        ensure!(!self.page_bytes.is_empty(), "the page size range {:?} is empty", self.page_bytes);
        ensure!(
            (0.0..=0.9).contains(&self.text_share),
            "the text share is {}, give one from 0 to 0.9",
            self.text_share
        );
        ensure!(self.langs.iter().any(|(_, weight)| *weight > 0), "no language has a weight above 0");
        for host in &self.hosts {
            ensure!(host.ip.is_loopback(), "{} is no loopback address: the test web stays on this machine", host.ip);
        }
        Ok(())
    }
}

pub fn page_path(page: u32) -> String {
    format!("/p/{page}.html")
}

impl FromStr for RobotsMode {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        Ok(match text {
            "rules" => Self::Rules,
            "redirect" => Self::Redirect,
            "huge" => Self::Huge,
            "garbage" => Self::Garbage,
            "reset" => Self::Reset,
            other => {
                if let Some(seconds) = other.strip_prefix("slow:").and_then(|seconds| seconds.parse().ok()) {
                    Self::Slow(Duration::try_from_secs_f64(seconds)?)
                } else if let Some(status) = other.parse().ok().filter(|status| (200..600).contains(status)) {
                    Self::Status(status)
                } else {
                    bail!(
                        "{other:?} is no robots mode: give rules, redirect, huge, garbage, reset, slow:SECONDS or a status such as 404"
                    )
                }
            }
        })
    }
}
