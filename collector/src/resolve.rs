//! From a host name to the address that a lease uses.
//!
//! Order: an IP literal is itself; `--resolve` entries of the crawl; names on this machine; DNS. The rules for addresses
//! are applied to the result every time, so a name that points to a private network tomorrow is refused tomorrow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, TokioResolver};
use seine_common::address::{AddressRules, FixedAddress, Permit};

/// Answers kept by the DNS client, for as long as their senders allow.
const CACHED_ANSWERS: u64 = 4_096;

#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("cannot set up DNS: {0}; look at /etc/resolv.conf")]
    Setup(#[source] NetError),
    #[error("the name {0:?} is not known: {1}; check its spelling, or give its address with --resolve")]
    NotFound(String, String),
}

/// Finds addresses. Clones share their DNS cache.
#[derive(Clone)]
pub struct Resolver {
    fixed: Arc<[FixedAddress]>,
    hosts: Arc<Hosts>,
    dns: TokioResolver,
}

/// What the lookup for a lease came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Use {
        address: IpAddr,
        allowed_by_name: bool,
    },
    /// Every address is one that the crawl does not allow; this is the first.
    Denied(IpAddr),
    Unknown(String),
}

impl Resolver {
    pub fn new(fixed: Vec<FixedAddress>) -> Result<Self, ResolveError> {
        let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|error| {
            // As resolv.conf(5) has it: without the file, the name server is on this machine.
            tracing::warn!(%error, "no DNS configuration found; asking the name server on this machine");
            let local = NameServerConfig::udp_and_tcp(Ipv4Addr::LOCALHOST.into());
            let config = ResolverConfig::from_parts(None, Vec::new(), vec![local]);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        });
        let options = builder.options_mut();
        options.ip_strategy = LookupIpStrategy::Ipv4thenIpv6;
        options.cache_size = CACHED_ANSWERS;
        let dns = builder.build().map_err(ResolveError::Setup)?;
        let hosts = Arc::new(Hosts::from_system().unwrap_or_default());
        Ok(Self { fixed: fixed.into(), hosts, dns })
    }

    /// The same resolver with the fixed addresses of another crawl.
    pub fn with_fixed(&self, fixed: Vec<FixedAddress>) -> Self {
        Self { fixed: fixed.into(), ..self.clone() }
    }

    /// All addresses of a name, those for IPv4 first; at least one.
    pub async fn lookup(&self, name: &str, port: u16) -> Result<Vec<IpAddr>, ResolveError> {
        if let Some(address) = literal(name) {
            return Ok(vec![address]);
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        if let Some(fixed) = self.fixed_address(&name, port) {
            return Ok(vec![fixed]);
        }
        let local = self.on_this_machine(&name);
        if !local.is_empty() {
            return Ok(local);
        }
        let not_found = |reason: String| ResolveError::NotFound(name.clone(), reason);
        // With its final dot a name is complete and nothing is appended; names without any dot are local ones.
        let query = if name.contains('.') { format!("{name}.") } else { name.clone() };
        let answer = self.dns.lookup_ip(query.as_str()).await.map_err(|error| not_found(error.to_string()))?;
        let addresses: Vec<IpAddr> = answer.iter().collect();
        if addresses.is_empty() { Err(not_found("it has no address".to_owned())) } else { Ok(addresses) }
    }

    /// The address that `--resolve` gives to a name and port. IP literals have none: a socket goes where they say.
    pub fn fixed_address(&self, name: &str, port: u16) -> Option<IpAddr> {
        let fixed = self.fixed.iter().find(|fixed| fixed.port == port && fixed.name == name)?;
        literal(name).is_none().then_some(fixed.address)
    }

    /// The first address that the rules permit.
    pub async fn find(&self, name: &str, port: u16, rules: &AddressRules) -> Found {
        match self.lookup(name, port).await {
            Ok(addresses) => choose(&addresses, rules),
            Err(error) => Found::Unknown(error.to_string()),
        }
    }

    fn on_this_machine(&self, name: &str) -> Vec<IpAddr> {
        let lookup = |kind| {
            let query = Query::query(Name::from_ascii(name).ok()?, kind);
            let answer = self.hosts.lookup_static_host(&query)?;
            Some(answer.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>())
        };
        let listed: Vec<IpAddr> = [RecordType::A, RecordType::AAAA].into_iter().filter_map(lookup).flatten().collect();
        if listed.is_empty() && (name == "localhost" || name.ends_with(".localhost")) {
            return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        }
        listed
    }
}

fn literal(name: &str) -> Option<IpAddr> {
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).parse().ok()
}

fn choose(addresses: &[IpAddr], rules: &AddressRules) -> Found {
    let permitted = addresses.iter().find_map(|&address| match rules.permit(address) {
        Permit::Public => Some(Found::Use { address, allowed_by_name: false }),
        Permit::ByName => Some(Found::Use { address, allowed_by_name: true }),
        Permit::Denied => None,
    });
    permitted
        .unwrap_or_else(|| addresses.first().map_or(Found::Unknown("it has no address".into()), |&a| Found::Denied(a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(fixed: &[&str]) -> Resolver {
        Resolver::new(fixed.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn literals_are_themselves_whatever_is_fixed() {
        let resolver = resolver(&["127.0.0.1:80:10.0.0.1"]);
        assert_eq!(resolver.lookup("127.0.0.1", 80).await.unwrap(), addresses(&["127.0.0.1"]));
        assert_eq!(resolver.lookup("[::1]", 80).await.unwrap(), addresses(&["::1"]));
        assert_eq!(resolver.fixed_address("127.0.0.1", 80), None);
    }

    #[tokio::test]
    async fn fixed_addresses_hold_for_their_port() {
        let resolver = resolver(&["Example.org:8080:127.0.0.1", "example.org:81:127.0.0.2"]);
        assert_eq!(resolver.lookup("EXAMPLE.org.", 8080).await.unwrap(), addresses(&["127.0.0.1"]));
        assert_eq!(resolver.fixed_address("example.org", 81), Some("127.0.0.2".parse().unwrap()));
        assert_eq!(resolver.fixed_address("example.org", 80), None);
        let other = resolver.with_fixed(Vec::new());
        assert_eq!(other.fixed_address("example.org", 8080), None);
    }

    #[tokio::test]
    async fn localhost_is_this_machine_without_asking_anyone() {
        let found = resolver(&[]).lookup("localhost", 80).await.unwrap();
        assert_eq!(found[0], IpAddr::from(Ipv4Addr::LOCALHOST));
        let found = resolver(&[]).lookup("demo.localhost", 80).await.unwrap();
        assert_eq!(found[0], IpAddr::from(Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn the_first_permitted_address_is_used() {
        let open = AddressRules::default();
        let named = AddressRules::parse(&["127.0.0.0/8"]).unwrap();
        let mixed = addresses(&["127.0.0.1", "93.184.216.34"]);
        let public = Found::Use { address: mixed[1], allowed_by_name: false };
        assert_eq!(choose(&mixed, &open), public);
        assert_eq!(choose(&mixed, &named), Found::Use { address: mixed[0], allowed_by_name: true });
        assert_eq!(choose(&addresses(&["10.0.0.1"]), &open), Found::Denied("10.0.0.1".parse().unwrap()));
    }
}
