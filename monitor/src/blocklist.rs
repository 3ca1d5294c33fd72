//! Hosts that an administrator has blocked: the patterns, and which hosts they match. Pure.
//!
//! Responsible for: reading patterns, writing them one way, and looking hosts up by name and address. Not responsible for
//! what becomes of the hosts (`keeper`), nor for a crawl's own rules (`common::admission`), whose `*.domain` means the same.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use seine_common::address::parse_network;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;

use crate::record::BlockRecord;

/// In the order in which they are found: the most exact first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostPattern {
    /// `example.org:8080`; ports 80 and 443 are one host.
    Host(HostKey),
    /// `example.org`, at every port.
    Name(String),
    /// `*.example.org`: all names below it at every port, without itself.
    Below(String),
    /// `192.0.2.0/24`, or one address: hosts that were found there.
    Network(IpNet),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no hosts; write a host (example.org or example.org:8080), all below a domain (*.example.org), or a \
     network (192.0.2.0/24)"
)]
pub struct NotAHostPattern(String);

impl FromStr for HostPattern {
    type Err = NotAHostPattern;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text.trim()).ok_or_else(|| NotAHostPattern(text.to_owned()))
    }
}

impl HostPattern {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(network) = parse_network(text) {
            return Some(Self::Network(network.trunc()));
        }
        let (is_below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
        if name.is_empty() || name.contains(['/', '\\', '@', '?', '#', '%', '*']) || name.contains(char::is_whitespace)
        {
            return None;
        }
        // Written as hosts are everywhere: lower case, other alphabets in their ASCII form.
        let host = CanonicalUrl::parse(&format!("http://{name}/")).ok()?.host();
        let has_port = HostKey::from_stored(name.to_owned()).name() != name;
        match (is_below, has_port, literal_address(&host)) {
            (true, false, None) => Some(Self::Below(host.as_str().to_owned())),
            (true, ..) => None,
            (false, true, _) => Some(Self::Host(host)),
            (false, false, Some(address)) => Some(Self::Network(address.into())),
            (false, false, None) => Some(Self::Name(host.as_str().to_owned())),
        }
    }

    /// The address is where the host was found, as far as that is known.
    pub fn matches(&self, host: &HostKey, address: Option<IpAddr>) -> bool {
        match self {
            Self::Host(pattern) => pattern == host,
            Self::Name(name) => host.name() == name,
            Self::Below(domain) => parents(host.name()).any(|parent| parent == domain),
            Self::Network(network) => addresses(host, address).any(|address| network.contains(&address)),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Without the port it would be another pattern.
            Self::Host(host) if host.name() == host.as_str() => write!(f, "{host}:80"),
            Self::Host(host) => write!(f, "{host}"),
            Self::Name(name) => f.write_str(name),
            Self::Below(domain) => write!(f, "*.{domain}"),
            Self::Network(network) => write!(f, "{network}"),
        }
    }
}

#[derive(Debug, Default)]
pub struct Blocklist {
    blocks: BTreeMap<HostPattern, BlockRecord>,
}

impl Blocklist {
    pub fn of(records: Vec<BlockRecord>) -> Result<Self, NotAHostPattern> {
        let keyed = records.into_iter().map(|record| Ok((record.pattern.parse()?, record)));
        Ok(Self { blocks: keyed.collect::<Result<_, _>>()? })
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    pub fn get(&self, pattern: &HostPattern) -> Option<&BlockRecord> {
        self.blocks.get(pattern)
    }

    pub fn insert(&mut self, pattern: HostPattern, record: BlockRecord) {
        self.blocks.insert(pattern, record);
    }

    pub fn remove(&mut self, pattern: &HostPattern) -> Option<BlockRecord> {
        self.blocks.remove(pattern)
    }

    pub fn iter(&self) -> impl Iterator<Item = &BlockRecord> {
        self.blocks.values()
    }

    /// All that block the host, the most exact first. Names are looked up, so that a long list costs no more than a short
    /// one; networks are gone through.
    pub fn find<'a>(&'a self, host: &HostKey, address: Option<IpAddr>) -> impl Iterator<Item = &'a BlockRecord> {
        let own = [HostPattern::Host(host.clone()), HostPattern::Name(host.name().to_owned())];
        let below = parents(host.name()).map(|parent| HostPattern::Below(parent.to_owned()));
        let by_name = own.into_iter().chain(below).filter_map(|pattern| self.blocks.get(&pattern));
        let is_network = |pattern: &HostPattern| matches!(pattern, HostPattern::Network(_));
        let networks = self.blocks.iter().rev().take_while(move |(pattern, _)| is_network(pattern));
        let by_address = networks.filter(move |(pattern, _)| pattern.matches(host, address)).map(|(_, record)| record);
        by_name.chain(by_address)
    }
}

/// Where a host is: at the address that was found, and where its name says when that is an address.
fn addresses(host: &HostKey, found: Option<IpAddr>) -> impl Iterator<Item = IpAddr> {
    found.map(|address| address.to_canonical()).into_iter().chain(literal_address(host))
}

fn literal_address(host: &HostKey) -> Option<IpAddr> {
    let name = host.name();
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// The domains above a name, the nearest first.
fn parents(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('.').filter(|(at, _)| *at > 0).map(|(at, _)| &name[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, host: &str, address: &str) -> bool {
        let host = CanonicalUrl::parse(&format!("http://{host}/")).unwrap().host();
        let pattern: HostPattern = pattern.parse().unwrap();
        let mut list = Blocklist::default();
        list.insert(pattern.clone(), BlockRecord::default());
        let found = list.find(&host, address.parse().ok()).next().is_some();
        assert_eq!(found, pattern.matches(&host, address.parse().ok()), "{pattern} {host}");
        found
    }

    #[test]
    fn a_name_is_blocked_at_every_port_and_a_host_with_a_port_at_that_one() {
        assert!(matches("Example.ORG", "example.org", "") && matches("example.org", "example.org:8080", ""));
        assert!(!matches("example.org", "www.example.org", "") && !matches("example.org", "notexample.org", ""));
        assert!(matches("example.org:8080", "example.org:8080", "") && !matches("example.org:8080", "example.org", ""));
        assert!(matches("example.org:443", "example.org", "") && !matches("example.org:80", "example.org:8080", ""));
        assert!(matches("příklad.cz", "xn--pklad-zsa96e.cz", ""));
    }

    #[test]
    fn a_star_blocks_all_below_a_domain_without_itself() {
        assert!(matches("*.example.org", "www.example.org", "") && matches("*.example.org", "a.b.example.org:81", ""));
        assert!(!matches("*.example.org", "example.org", "") && !matches("*.example.org", "www.anexample.org", ""));
    }

    #[test]
    fn a_network_blocks_hosts_by_the_address_found_and_hosts_named_by_one() {
        assert!(
            matches("192.0.2.0/24", "example.org", "192.0.2.7") && matches("192.0.2.7", "example.org", "192.0.2.7")
        );
        assert!(!matches("192.0.2.0/24", "example.org", "192.0.3.7") && !matches("192.0.2.0/24", "example.org", ""));
        assert!(matches("192.0.2.9/24", "192.0.2.7:8080", "") && matches("127.0.0.1", "127.0.0.1:8000", ""));
        assert!(matches("2001:db8::/32", "example.org", "2001:db8::7") && matches("[::1]", "[::1]:81", ""));
        assert!(matches("192.0.2.0/24", "example.org", "::ffff:192.0.2.7"));
    }

    #[test]
    fn a_pattern_is_written_one_way_and_read_back() {
        for (text, written) in [
            (" Example.org ", "example.org"),
            ("example.org:80", "example.org:80"),
            ("example.org:443", "example.org:80"),
            ("example.org:8080", "example.org:8080"),
            ("*.Example.org", "*.example.org"),
            ("192.0.2.9/24", "192.0.2.0/24"),
            ("192.0.2.9", "192.0.2.9/32"),
            ("[::1]:81", "[::1]:81"),
        ] {
            let pattern: HostPattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), written);
            assert_eq!(written.parse(), Ok(pattern));
        }
        for wrong in
            ["", "*", "*.", "http://a.test/", "a b", "a.test/x", "*.a.test:80", "*.192.0.2.1", "a*b.test", "x@y"]
        {
            let refusal = wrong.parse::<HostPattern>().unwrap_err().to_string();
            assert!(refusal.contains(wrong), "{refusal}");
        }
    }

    #[test]
    fn of_several_the_most_exact_is_told_first() {
        let mut list = Blocklist::default();
        for pattern in ["192.0.2.0/24", "*.example.org", "www.example.org", "www.example.org:8080", "other.test"] {
            list.insert(pattern.parse().unwrap(), BlockRecord { pattern: pattern.into(), ..BlockRecord::default() });
        }
        let host = HostKey::from_stored("www.example.org:8080".into());
        let found: Vec<_> = list.find(&host, "192.0.2.1".parse().ok()).map(|block| block.pattern.as_str()).collect();
        assert_eq!(found, ["www.example.org:8080", "www.example.org", "*.example.org", "192.0.2.0/24"]);
    }
}
