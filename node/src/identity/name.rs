//! Names of clusters, nodes and certificates. All of them may come from the network, so all of them are checked: what
//! has one of these types can stand in a DNS name, a file name or a log line.

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};

/// Below which every node has its name. Such names are in certificates only; no DNS server knows them.
const NODES: &str = "node.seine";
/// What the Monitor's certificate says besides its node's name.
const MONITOR: &str = "monitor.seine";
/// As DNS allows for one label.
const MAX_NAME: usize = 63;
/// As RFC 5280 allows.
const MAX_SERIAL_BYTES: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name: it has 1 to 63 lower-case letters, digits and hyphens, none of them at an end")]
pub struct WrongName(String);

macro_rules! checked_name {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = WrongName;

            fn from_str(text: &str) -> Result<Self, WrongName> {
                check(text).map(|()| Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = WrongName;

            fn try_from(text: String) -> Result<Self, WrongName> {
                check(&text).map(|()| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

/// The lasting name of a node, given by the Monitor when it joins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(String);

/// The name of a cluster, drawn with its first root certificate and kept when the root is replaced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(String);

/// The number of a certificate, in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Serial(String);

checked_name!(NodeId);
checked_name!(ClusterId);
checked_name!(Serial);

impl NodeId {
    /// Four syllables, to be read out and typed: `bado-kire`. One in 41 million; whoever keeps names draws again when
    /// one is taken.
    pub fn draw() -> Self {
        const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
        const VOWELS: &[u8; 5] = b"aeiou";
        let mut name = String::with_capacity(9);
        for syllable in 0..4 {
            if syllable == 2 {
                name.push('-');
            }
            name.push(char::from(CONSONANTS[rand::random_range(0..CONSONANTS.len())]));
            name.push(char::from(VOWELS[rand::random_range(0..VOWELS.len())]));
        }
        Self(name)
    }

    /// What the node's certificate is for.
    pub fn dns_name(&self) -> String {
        format!("{}.{NODES}", self.0)
    }
}

impl ClusterId {
    pub(crate) fn draw() -> Self {
        Self(base32(&rand::random::<[u8; 8]>()))
    }
}

impl Serial {
    /// 16 bytes, the first of which keeps the number positive and its encoding of one length.
    pub(crate) fn draw() -> (Self, [u8; 16]) {
        let mut bytes = rand::random::<[u8; 16]>();
        bytes[0] = bytes[0] & 0x3f | 0x40;
        (Self::from_bytes(&bytes).expect("16 bytes are few enough"), bytes)
    }

    /// `None` for what no certificate may have.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let fits = (1..=MAX_SERIAL_BYTES).contains(&bytes.len());
        fits.then(|| Self(data_encoding::HEXLOWER.encode(bytes)))
    }
}

/// Whom a connection is opened to. The name is checked against the server's certificate; its address is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    Monitor,
    Node(NodeId),
}

impl Name {
    pub fn dns_name(&self) -> String {
        match self {
            Self::Monitor => MONITOR.to_owned(),
            Self::Node(id) => id.dns_name(),
        }
    }

    /// As rustls wants it at each connect.
    pub fn server_name(&self) -> ServerName<'static> {
        ServerName::try_from(self.dns_name()).expect("labels of checked names are DNS names")
    }
}

/// The URI in a node's certificate, which says its cluster too.
pub(crate) fn node_uri(cluster: &ClusterId, node: &NodeId) -> String {
    format!("seine://{cluster}/node/{node}")
}

/// Reads what [`node_uri`] writes.
pub(crate) fn parse_node_uri(uri: &str) -> Option<(ClusterId, NodeId)> {
    let (cluster, node) = uri.strip_prefix("seine://")?.split_once("/node/")?;
    Some((cluster.parse().ok()?, node.parse().ok()?))
}

/// Lower-case letters and digits that are not mistaken for each other, without padding.
pub(crate) fn base32(bytes: &[u8]) -> String {
    data_encoding::BASE32_NOPAD.encode(bytes).to_ascii_lowercase()
}

fn check(text: &str) -> Result<(), WrongName> {
    let characters = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let ends = !text.starts_with('-') && !text.ends_with('-');
    if characters && ends && (1..=MAX_NAME).contains(&text.len()) {
        return Ok(());
    }
    Err(WrongName(text.chars().take(MAX_NAME).collect()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn drawn_names_are_names() {
        for _ in 0..1_000 {
            let id = NodeId::draw();
            assert_eq!(id.as_str().parse(), Ok(id.clone()));
            assert_eq!(Name::Node(id.clone()).server_name().to_str(), format!("{id}.node.seine"));
            let cluster = ClusterId::draw();
            assert_eq!(parse_node_uri(&node_uri(&cluster, &id)), Some((cluster, id)));
            let (serial, bytes) = Serial::draw();
            assert_eq!((serial.as_str().len(), Serial::from_bytes(&bytes)), (32, Some(serial)));
        }
    }

    #[test]
    fn what_could_not_stand_in_a_file_name_or_a_dns_name_is_no_name() {
        let long = "a".repeat(64);
        for wrong in ["", "-a", "a-", "A", "a.b", "a/b", "../a", "a b", "ä", "a\n", long.as_str()] {
            assert!(wrong.parse::<NodeId>().is_err(), "{wrong:?}");
            assert!(serde_json::from_value::<NodeId>(wrong.into()).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = parse_node_uri(&text);
            let _ = parse_node_uri(&format!("seine://{text}"));
            if let Ok(id) = text.parse::<NodeId>() {
                Name::Node(id).server_name();
            }
        }
    }
}
