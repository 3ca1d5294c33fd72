//! Which addresses are on the public internet: all but those that IANA's registries of special-purpose addresses (IPv4 and
//! IPv6, with RFC 6890 and its updates) do not call globally reachable, and multicast.
//!
//! Two kinds of block are refused although parts of them are reachable: 192.0.0.0/24 and 2001::/23, of which those parts
//! are anycast services that serve no pages. An IPv6 address that carries an IPv4 address is judged by that one, because
//! that is where a translator or a tunnel leads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Network and prefix length.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 15] = [
    // "This network"; 0.0.0.0 is this machine to many systems.
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private use.
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Shared address space of providers.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local, where clouds keep their metadata.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Protocol assignments.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // 6to4 relays, given up; 6a44 within.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Benchmarking.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, with limited broadcast.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The only IPv6 addresses that are given out for use between networks.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Of those, the ones that are not public. Loopback, IPv4-compatible, local translation (64:ff9b:1::/48), discard-only
/// (100::/64), segment routing (5f00::/16), unique local, link-local and multicast lie outside them.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 3] = [
    // Protocol assignments: Teredo, benchmarking, ORCHID and others.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
const SIX_TO_FOUR: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16);

/// The address is in canonical form: one that is mapped into IPv6 is given as IPv4.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => is_public_v4(v4),
            None => {
                contains_v6(GLOBAL_UNICAST, v6) && !NOT_PUBLIC_V6.into_iter().any(|network| contains_v6(network, v6))
            }
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.into_iter().any(|(network, prefix)| (address.to_bits() ^ network.to_bits()) >> (32 - prefix) == 0)
}

fn contains_v6((network, prefix): (Ipv6Addr, u32), address: Ipv6Addr) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - prefix) == 0
}

/// The IPv4 address to which a translator (NAT64) or a tunnel (6to4) leads.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    translated_v4(address)
        .or_else(|| contains_v6(SIX_TO_FOUR, address).then(|| Ipv4Addr::from_bits((bits >> 80) as u32)))
}

/// The IPv4 address that a translator stands before.
pub(super) fn translated_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    contains_v6(TRANSLATED, address).then(|| Ipv4Addr::from_bits(address.to_bits() as u32))
}

#[cfg(test)]
mod tests {
    use crate::address::{AddressRules, Permit};

    fn permit(address: &str) -> Permit {
        AddressRules::default().permit(address.parse().unwrap())
    }

    /// First and last address of every block of the two registries that is not globally reachable.
    #[test]
    fn special_addresses_are_denied_from_the_first_to_the_last() {
        let blocks = [
            "0.0.0.0 0.255.255.255",
            "10.0.0.0 10.255.255.255",
            "100.64.0.0 100.127.255.255",
            "127.0.0.0 127.255.255.255",
            "169.254.0.0 169.254.255.255",
            "172.16.0.0 172.31.255.255",
            "192.0.0.0 192.0.0.255",
            "192.0.2.0 192.0.2.255",
            "192.88.99.0 192.88.99.255",
            "192.168.0.0 192.168.255.255",
            "198.18.0.0 198.19.255.255",
            "198.51.100.0 198.51.100.255",
            "203.0.113.0 203.0.113.255",
            "224.0.0.0 239.255.255.255",
            "240.0.0.0 255.255.255.255",
            ":: ::1",
            "::127.0.0.1 ::255.255.255.255",
            "::ffff:0.0.0.0 ::ffff:0.255.255.255",
            "::ffff:192.168.0.0 ::ffff:192.168.255.255",
            "::ffff:192.88.99.0 ::ffff:192.88.99.255",
            "64:ff9b::127.0.0.1 64:ff9b::10.255.255.255",
            "64:ff9b::192.88.99.0 64:ff9b::192.88.99.255",
            "64:ff9b:1:: 64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            "100:: 100::ffff:ffff:ffff:ffff",
            "100:0:0:1:: 100:0:0:1:ffff:ffff:ffff:ffff",
            "2001:: 2001:0:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff",
            "2001:10:: 2001:1f:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:20:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "2002:7f00:1:: 2002:7f00:1:ffff:ffff:ffff:ffff:ffff",
            "2002:c0a8:: 2002:c0a8:ffff:ffff:ffff:ffff:ffff:ffff",
            "3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            "4000:: 5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "5f00:: 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "fe80:: febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "fec0:: feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "ff00:: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ];
        for address in blocks.iter().flat_map(|block| block.split(' ')) {
            assert_eq!(permit(address), Permit::Denied, "{address}");
        }
    }

    #[test]
    fn their_neighbours_are_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.31.196.1",
            "192.175.48.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2001:200::",
            "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
            "2001:db9::",
            "2002:101:101::1",
            "2606:4700::1111",
            "2620:4f:8000::1",
            "3ffe:ffff::",
            "3fff:1000::",
        ] {
            assert_eq!(permit(address), Permit::Public, "{address}");
        }
    }
}
