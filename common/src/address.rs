//! Which network addresses a crawl may contact.
//!
//! Whoever opens a socket asks [`AddressRules::permit`] with the very address it will connect to, after every lookup and
//! for IP literals too; a name that resolves to a private address tomorrow is refused tomorrow. What is public is in
//! [`special`], which ports are asked in [`port`], and which addresses count as one in [`key`].

mod special;
pub mod port;
mod key;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

pub use self::key::AddressKey;
use self::special::is_public;

/// The networks a crawl allows by name, besides the public internet.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    allowed: Vec<IpNet>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Public,
    /// Not public, but in a network that the crawl names.
    ByName,
    Denied,
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a network; write an address with a prefix length, such as 127.0.0.0/8, or one address")]
pub struct NotANetwork(pub String);

impl AddressRules {
    pub fn parse<S: AsRef<str>>(networks: &[S]) -> Result<Self, NotANetwork> {
        let allowed = networks.iter().map(|text| parse_network(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { allowed })
    }

    pub fn permit(&self, address: IpAddr) -> Permit {
        // ::ffff:127.0.0.1 is 127.0.0.1 to the kernel, so it is to us.
        let address = address.to_canonical();
        if self.allowed.iter().any(|network| network.contains(&address)) {
            return Permit::ByName;
        }
        if is_public(address) { Permit::Public } else { Permit::Denied }
    }
}

pub fn parse_network(text: &str) -> Result<IpNet, NotANetwork> {
    text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(|_| NotANetwork(text.to_owned()))
}

/// `HOST:PORT:ADDR`, as curl's `--resolve` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedAddress {
    pub name: String,
    pub port: u16,
    pub address: IpAddr,
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not of the form HOST:PORT:ADDR, such as example.org:443:192.0.2.7")]
pub struct NotAFixedAddress(String);

impl FromStr for FixedAddress {
    type Err = NotAFixedAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (name, rest) = text.split_once(':')?;
            let (port, address) = rest.split_once(':')?;
            let address = address.strip_prefix('[').and_then(|a| a.strip_suffix(']')).unwrap_or(address);
            let fixed =
                Self { name: name.to_ascii_lowercase(), port: port.parse().ok()?, address: address.parse().ok()? };
            (!fixed.name.is_empty()).then_some(fixed)
        };
        parse().ok_or_else(|| NotAFixedAddress(text.to_owned()))
    }
}

impl FixedAddress {
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn permit(allowed: &[&str], address: &str) -> Permit {
        AddressRules::parse(allowed).unwrap().permit(address.parse().unwrap())
    }

    #[test]
    fn naming_one_network_opens_only_that_one() {
        assert_eq!(permit(&["127.0.0.0/8"], "127.1.2.3"), Permit::ByName);
        assert_eq!(permit(&["127.0.0.0/8"], "::ffff:127.1.2.3"), Permit::ByName);
        assert_eq!(permit(&["127.0.0.0/8"], "10.0.0.1"), Permit::Denied);
        assert_eq!(permit(&["10.0.0.1"], "10.0.0.1"), Permit::ByName);
        assert_eq!(permit(&["10.0.0.1"], "10.0.0.2"), Permit::Denied);
    }

    #[test]
    fn fixed_addresses_are_read_as_curl_writes_them() {
        let fixed: FixedAddress = "Example.org:8080:127.0.0.1".parse().unwrap();
        assert_eq!((fixed.name.as_str(), fixed.socket()), ("example.org", "127.0.0.1:8080".parse().unwrap()));
        assert!("example.org:80:[::1]".parse::<FixedAddress>().is_ok());
        assert!("example.org:80".parse::<FixedAddress>().is_err());
        assert!(":80:127.0.0.1".parse::<FixedAddress>().is_err());
    }

    proptest! {
        #[test]
        fn an_address_mapped_into_v6_is_judged_like_itself(bits: u32) {
            let v4 = Ipv4Addr::from(bits);
            let rules = AddressRules::default();
            prop_assert_eq!(rules.permit(v4.into()), rules.permit(v4.to_ipv6_mapped().into()));
        }
    }
}
