//! The webs that are crawled, one per row.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use seine_tests::fake_web::HostConfig;
use seine_tests::{FakeWeb, FakeWebConfig};
use serde::Serialize;

use super::nginx::{Nginx, PACKAGES_VARIABLE};
use super::seen::{Answered, Seen};

/// What Seine takes by itself for a host without a delay.
const CONNECTIONS: u32 = 8;
const PAGES_PER_HOST: u32 = 100;
const LATENCY: Duration = Duration::from_millis(100);
const LONG_HOSTS: u16 = 500;
const LONG_PAGES: u32 = 200_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowName {
    /// Python's documentation: one host, real pages
    Python,
    /// All documentation: four hosts, real pages
    Docs,
    /// As many made pages as `--pages` says, on one host
    Made,
    /// Many hosts that answer late, one connection each
    Hosts,
    /// 200,000 made pages of 500 hosts, to see whether rate and memory stay; only when it is named
    Long,
}

/// A web that is being served, and how it is crawled.
pub struct Row {
    pub title: String,
    pub homes: Vec<String>,
    /// To each host at the same time.
    pub connections: u32,
    server: Server,
}

enum Server {
    Nginx(Nginx),
    Made(FakeWeb),
}

impl RowName {
    /// As the command line has it.
    pub fn text(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    pub const ALL: [Self; 5] = [Self::Python, Self::Docs, Self::Made, Self::Hosts, Self::Long];
}

impl Row {
    /// None when it is of real pages and there are none here.
    pub async fn start(name: RowName, pages: u32, hosts: u8, work: &Path) -> anyhow::Result<Option<Self>> {
        Ok(match name {
            RowName::Python => Self::real("Python's documentation, one host, nginx", 1, work).await?,
            RowName::Docs => Self::real("four sites of documentation, nginx", usize::MAX, work).await?,
            RowName::Made => Some(Self::one_host(pages)?),
            RowName::Hosts => Some(Self::many_hosts(hosts.into(), PAGES_PER_HOST, LATENCY, 1)?),
            RowName::Long => {
                Some(Self::many_hosts(LONG_HOSTS, LONG_PAGES / u32::from(LONG_HOSTS), Duration::ZERO, CONNECTIONS)?)
            }
        })
    }

    async fn real(title: &str, sites: usize, work: &Path) -> anyhow::Result<Option<Self>> {
        let Some(packages) = std::env::var_os(PACKAGES_VARIABLE) else { return Ok(None) };
        let nginx = Nginx::start(Path::new(&packages), work).await?;
        let homes = nginx.homes.iter().take(sites).cloned().collect();
        Ok(Some(Self { title: title.to_owned(), homes, connections: CONNECTIONS, server: Server::Nginx(nginx) }))
    }

    fn one_host(pages: u32) -> anyhow::Result<Self> {
        let web = FakeWeb::try_start(FakeWebConfig { pages, ..FakeWebConfig::default() })?;
        Ok(Self {
            title: format!("{pages} made pages of 10 to 30 kB, one host"),
            homes: vec![web.url("/")],
            connections: CONNECTIONS,
            server: Server::Made(web),
        })
    }

    /// Hosts are told apart by their addresses, which every crawler reaches without a resolver.
    fn many_hosts(hosts: u16, pages: u32, latency: Duration, connections: u32) -> anyhow::Result<Self> {
        let host = |number: u16| {
            let [high, low] = number.to_be_bytes();
            HostConfig { ip: Ipv4Addr::new(127, 0, high + 1, low), ..HostConfig::default() }
        };
        let web = FakeWeb::try_start(FakeWebConfig {
            hosts: (1..=hosts).map(host).collect(),
            // The first page comes on top.
            pages: pages - 1,
            latency,
            ..FakeWebConfig::default()
        })?;
        Ok(Self {
            title: format!(
                "{hosts} hosts of {pages} made pages, {} ms each, {connections} connections to a host",
                latency.as_millis()
            ),
            homes: (0..usize::from(hosts)).map(|host| web.host_url(host, "/")).collect(),
            connections,
            server: Server::Made(web),
        })
    }

    /// Flags for Seine besides the URLs.
    pub fn seine_flags(&self) -> Vec<String> {
        match self.connections {
            CONNECTIONS => Vec::new(),
            connections => vec![format!("--connections-per-host={connections}")],
        }
    }

    pub fn forget(&self) -> anyhow::Result<()> {
        match &self.server {
            Server::Nginx(nginx) => nginx.forget(),
            Server::Made(web) => {
                web.clear();
                Ok(())
            }
        }
    }

    /// What was answered since [`Row::forget`].
    pub fn seen(&self) -> anyhow::Result<Seen> {
        let answered = match &self.server {
            Server::Nginx(nginx) => nginx.answered()?,
            Server::Made(web) => web.take_requests().iter().map(Answered::from_made_web).collect(),
        };
        Ok(Seen::of(&answered))
    }
}
