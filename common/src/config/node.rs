//! Settings of a process among others.

use std::net::SocketAddr;

use serde::Deserialize;

use super::{ConfigError, socket, value};

#[derive(Clone, Debug, Default)]
pub struct NodeConfig {
    /// `None` for what the command has as its default.
    pub listen: Option<SocketAddr>,
    /// HOST or HOST:PORT.
    pub advertise: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct RawNode {
    listen: Option<String>,
    advertise: Option<String>,
}

impl RawNode {
    pub fn validate(self) -> Result<NodeConfig, ConfigError> {
        let advertise = self.advertise.map(|text| match is_host(&text) {
            true => Ok(text),
            false => {
                Err(value("node.advertise", format!("{text:?} is not a name or an address, with or without a port")))
            }
        });
        Ok(NodeConfig {
            listen: self.listen.map(|text| socket("node.listen", &text)).transpose()?,
            advertise: advertise.transpose()?,
        })
    }
}

/// No scheme, no path, nothing that would break a command line.
fn is_host(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']');
    !text.is_empty() && text.bytes().all(fits)
}
