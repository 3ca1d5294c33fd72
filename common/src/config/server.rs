//! Settings of `seine serve`: where it listens, and whom its HTTP side answers how often and how long.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;

use super::{Config, ConfigError, seconds, socket, value, within};

/// What clients on other machines may send when nothing is said.
const DEFAULT_PER_SECOND: f64 = 20.0;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub http: SocketAddr,
    pub grpc: SocketAddr,
    /// A certificate of the owner's for the gRPC port, and its key.
    pub grpc_certificate: Option<(PathBuf, PathBuf)>,
    pub grpc_search_needs_token: bool,
    pub web: WebConfig,
}

/// How HTTP requests are answered.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Without a slash at its end; `None` for what the request says.
    pub public_url: Option<String>,
    pub cors: CorsOrigins,
    /// `None` for no limit.
    pub client_limit: Option<ClientLimit>,
    /// Whose word on the client's address is taken.
    pub trusted_proxies: Vec<IpNet>,
    pub deadline: Duration,
    /// `None` for as many as the process has descriptors for.
    pub max_connections: Option<usize>,
    /// How long a connection may be open without a request.
    pub idle_timeout: Duration,
}

/// Pages of which origins may read answers of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsOrigins {
    None,
    Any,
    These(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLimit {
    pub per_second: f64,
    pub burst: u32,
    /// Whether clients on this machine are limited too.
    pub on_loopback: bool,
}

impl Default for WebConfig {
    fn default() -> Self {
        let config = Config::from_layers(None, []).expect("the built-in defaults are valid");
        config.server.web
    }
}

#[derive(Deserialize)]
pub struct RawServer {
    http: String,
    grpc: String,
    grpc_certificate: Option<PathBuf>,
    grpc_key: Option<PathBuf>,
    grpc_search_needs_token: bool,
    public_url: Option<String>,
    cors_origins: Vec<String>,
    requests_per_second: Option<f64>,
    burst: u32,
    trusted_proxies: Vec<String>,
    deadline_ms: u64,
    max_connections: Option<u64>,
    idle_timeout: f64,
}

impl RawServer {
    pub fn validate(self) -> Result<ServerConfig, ConfigError> {
        within("server.burst", u64::from(self.burst), 1, 1_000_000)?;
        within("server.deadline_ms", self.deadline_ms, 10, 600_000)?;
        if let Some(connections) = self.max_connections {
            within("server.max_connections", connections, 1, 1_000_000)?;
        }
        let web = WebConfig {
            public_url: self.public_url.map(|url| origin("server.public_url", &url)).transpose()?,
            cors: cors(&self.cors_origins)?,
            client_limit: client_limit(self.requests_per_second, self.burst)?,
            trusted_proxies: self.trusted_proxies.iter().map(|text| network(text)).collect::<Result<_, _>>()?,
            deadline: Duration::from_millis(self.deadline_ms),
            max_connections: self.max_connections.map(|connections| connections as usize),
            idle_timeout: seconds("server.idle_timeout", self.idle_timeout, 0.1, 3600.0)?,
        };
        let grpc_certificate = match (self.grpc_certificate, self.grpc_key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(value("server.grpc_certificate", "it and server.grpc_key belong together; set both")),
        };
        Ok(ServerConfig {
            http: socket("server.http", &self.http)?,
            grpc: socket("server.grpc", &self.grpc)?,
            grpc_certificate,
            grpc_search_needs_token: self.grpc_search_needs_token,
            web,
        })
    }
}

fn client_limit(per_second: Option<f64>, burst: u32) -> Result<Option<ClientLimit>, ConfigError> {
    match per_second {
        None => Ok(Some(ClientLimit { per_second: DEFAULT_PER_SECOND, burst, on_loopback: false })),
        Some(0.0) => Ok(None),
        Some(per_second) if (0.01..=1_000_000.0).contains(&per_second) => {
            Ok(Some(ClientLimit { per_second, burst, on_loopback: true }))
        }
        Some(other) => {
            Err(value("server.requests_per_second", format!("{other} is neither 0 nor from 0.01 to 1000000")))
        }
    }
}

fn cors(origins: &[String]) -> Result<CorsOrigins, ConfigError> {
    if origins.iter().any(|origin| origin == "*") {
        return Ok(CorsOrigins::Any);
    }
    let origins: Vec<String> =
        origins.iter().map(|text| origin("server.cors_origins", text)).collect::<Result<_, _>>()?;
    Ok(if origins.is_empty() { CorsOrigins::None } else { CorsOrigins::These(origins) })
}

/// Scheme, host and port as browsers write them.
fn origin(key: &'static str, text: &str) -> Result<String, ConfigError> {
    let wrong = || value(key, format!("{text:?} is not an origin; write it as \"https://example.org\""));
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if !matches!(url.scheme(), "http" | "https") || !is_bare {
        return Err(wrong());
    }
    Ok(url.origin().ascii_serialization())
}

/// A network, or one address.
fn network(text: &str) -> Result<IpNet, ConfigError> {
    let network = text.parse().or_else(|_| text.parse().map(|address: std::net::IpAddr| IpNet::from(address)));
    network.map_err(|_| {
        value("server.trusted_proxies", format!("{text:?} is not a network; write it as 10.0.0.0/8 or 127.0.0.1"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(lines: &str) -> Result<WebConfig, String> {
        let text = format!("[server]\n{lines}");
        let config = Config::from_layers(Some(("seine.toml", &text)), []);
        config.map(|config| config.server.web).map_err(|error| error.to_string())
    }

    #[test]
    fn by_default_no_other_site_no_proxy_and_no_flood_is_let_in() {
        let web = WebConfig::default();
        assert_eq!((web.cors, web.trusted_proxies.len(), web.public_url), (CorsOrigins::None, 0, None));
        let limit = web.client_limit.unwrap();
        assert!(limit.per_second > 0.0 && !limit.on_loopback);
    }

    #[test]
    fn origins_are_kept_as_browsers_write_them() {
        let web = server("cors_origins = [\"HTTPS://Example.org:443/\", \"http://localhost:3000\"]").unwrap();
        let origins = ["https://example.org", "http://localhost:3000"].map(str::to_owned).to_vec();
        assert_eq!(web.cors, CorsOrigins::These(origins));
        assert_eq!(server("cors_origins = [\"*\"]").unwrap().cors, CorsOrigins::Any);
        let web = server("public_url = \"https://search.example.org/\"").unwrap();
        assert_eq!(web.public_url.as_deref(), Some("https://search.example.org"));
    }

    #[test]
    fn a_limit_that_is_asked_for_holds_for_everybody() {
        let limit = server("requests_per_second = 2.5\nburst = 5").unwrap().client_limit.unwrap();
        assert_eq!(limit, ClientLimit { per_second: 2.5, burst: 5, on_loopback: true });
        assert_eq!(server("requests_per_second = 0.0").unwrap().client_limit, None);
        assert!(server("requests_per_second = 2").is_ok(), "whole numbers are numbers too");
    }

    #[test]
    fn mistakes_are_told_with_their_value() {
        for (lines, word) in [
            ("cors_origins = [\"example.org\"]", "example.org"),
            ("cors_origins = [\"https://example.org/path\"]", "/path"),
            ("public_url = \"ftp://example.org\"", "ftp://"),
            ("trusted_proxies = [\"localhost\"]", "localhost"),
            ("requests_per_second = -1.0", "-1"),
            ("burst = 0", "burst"),
            ("deadline_ms = 1", "deadline_ms"),
            ("max_connections = 0", "max_connections"),
            ("idle_timeout = 0", "idle_timeout"),
        ] {
            let refusal = server(lines).unwrap_err();
            assert!(refusal.contains(word), "{lines}: {refusal}");
        }
    }
}
