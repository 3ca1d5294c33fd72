//! Hosts: the key of politeness and leases, and the slot in which hosts are divided among nodes and stores.

use std::fmt;

use ::url::{Position, Url};

/// Slots into which hosts are divided, as in Redis Cluster.
pub const SLOTS: u16 = 16_384;

/// Host name with ports 80 and 443 counted as one and other ports kept: `example.org`, `example.org:8080`, `[::1]:81`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(String);

impl HostKey {
    pub(crate) fn of(url: &Url) -> Self {
        Self(Self::text_of(url).to_owned())
    }

    /// The text of the key as it stands in the URL, for those who only look.
    pub(crate) fn text_of(url: &Url) -> &str {
        match url.port() {
            None | Some(80 | 443) => url.host_str().unwrap_or_default(),
            Some(_) => &url[Position::BeforeHost..Position::AfterPort],
        }
    }

    /// Takes back what [`HostKey::as_str`] gave.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without the port.
    pub fn name(&self) -> &str {
        match self.0.rsplit_once(':') {
            // The colons of an IPv6 address stand within brackets.
            Some((name, port)) if !port.ends_with(']') => name,
            _ => &self.0,
        }
    }

    /// CRC16 (XMODEM) of the key modulo [`SLOTS`].
    pub fn slot(&self) -> u16 {
        slot_of(self.0.as_bytes())
    }
}

/// The slot of any bytes.
pub fn slot_of(bytes: &[u8]) -> u16 {
    const CRC: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_XMODEM);
    CRC.checksum(bytes) % SLOTS
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::url::CanonicalUrl;

    fn host(url: &str) -> String {
        CanonicalUrl::parse(url).unwrap().host().as_str().to_owned()
    }

    #[test]
    fn default_ports_are_one_host_and_others_their_own() {
        assert_eq!(host("http://example.org/"), "example.org");
        assert_eq!(host("https://example.org/"), "example.org");
        assert_eq!(host("https://example.org:80/"), "example.org");
        assert_eq!(host("http://example.org:8080/"), "example.org:8080");
        assert_eq!(host("http://[::1]:81/"), "[::1]:81");
    }

    #[test]
    fn a_name_is_what_stands_before_the_port() {
        for (host, name) in [("a.test", "a.test"), ("a.test:81", "a.test"), ("[::1]", "[::1]"), ("[::1]:81", "[::1]")] {
            assert_eq!(super::HostKey::from_stored(host.into()).name(), name);
        }
    }

    #[test]
    fn slots_are_those_of_redis_cluster() {
        // `CLUSTER KEYSLOT 123456789` answers 12739: CRC16 of that text is 0x31C3.
        assert_eq!(super::HostKey::from_stored("123456789".into()).slot(), 0x31C3);
        assert!(super::HostKey::from_stored("example.org".into()).slot() < super::SLOTS);
    }
}
