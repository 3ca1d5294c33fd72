//! Which addresses count as one for politeness.
//!
//! Whoever has one IPv6 address has the 2^64 of its network too, so those count as one: else a server could have an address
//! for every host, and each would be asked as if it were alone.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::special::translated_v4;

const NETWORK_BITS: u32 = 64;

/// The unit of politeness above the host. Written `192.0.2.7` or `2001:db8:1:2::/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddressKey(IpAddr);

impl AddressKey {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            // All IPv4 addresses behind a translator share a network.
            IpAddr::V6(v6) => translated_v4(v6).map_or_else(
                || Self(Ipv6Addr::from_bits(v6.to_bits() >> NETWORK_BITS << NETWORK_BITS).into()),
                |v4| Self(v4.into()),
            ),
            v4 => Self(v4),
        }
    }

    /// Of an address as it is written; `None` when it is none.
    pub fn parse(address: &str) -> Option<Self> {
        address.parse().ok().map(Self::of)
    }
}

impl fmt::Display for AddressKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) => write!(f, "{v6}/{NETWORK_BITS}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let key = |text: &str| AddressKey::parse(text).unwrap();
        assert_eq!(key("2a00:1:2:3::1"), key("2a00:1:2:3:ffff::9"));
        assert_ne!(key("2a00:1:2:3::1"), key("2a00:1:2:4::1"));
        assert_eq!(key("2a00:1:2:3::1").to_string(), "2a00:1:2:3::/64");
        assert_eq!(key("::ffff:192.0.2.7"), key("192.0.2.7"));
        assert_eq!(key("192.0.2.7").to_string(), "192.0.2.7");
        assert_ne!(key("192.0.2.7"), key("192.0.2.8"));
        assert_ne!(key("64:ff9b::1.1.1.1"), key("64:ff9b::1.1.1.2"), "behind a translator");
        assert!(AddressKey::parse("example.org").is_none());
    }
}
