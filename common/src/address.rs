//! Which network addresses a crawl may contact.
//!
//! Whoever opens a socket asks [`AddressRules::permit`] with the very address it will connect to, after every lookup and
//! for IP literals too; a name that resolves to a private address tomorrow is refused tomorrow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

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

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        // Shared address space (100.64.0.0/10), protocol assignments, benchmarking, reserved.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // 6to4 and NAT64 carry an IPv4 address that decides.
    if segments[0] == 0x2002 {
        return is_public_v4(embedded_v4(segments[1], segments[2]));
    }
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return is_public_v4(embedded_v4(segments[6], segments[7]));
    }
    // Only global unicast (2000::/3), less the documentation prefix, is public.
    segments[0] & 0xe000 == 0x2000 && !(segments[0] == 0x2001 && segments[1] == 0xdb8)
}

fn embedded_v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
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
    use proptest::prelude::*;

    use super::*;

    fn permit(allowed: &[&str], address: &str) -> Permit {
        AddressRules::parse(allowed).unwrap().permit(address.parse().unwrap())
    }

    #[test]
    fn special_addresses_are_denied_unless_named() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "100.64.0.1",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
        ] {
            assert_eq!(permit(&[], address), Permit::Denied, "{address}");
        }
        for address in ["1.1.1.1", "93.184.216.34", "2606:4700::1111"] {
            assert_eq!(permit(&[], address), Permit::Public, "{address}");
        }
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
