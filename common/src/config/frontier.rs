//! Settings of the store that keeps the frontier.
//!
//! Where the nodes of a cluster are is read and checked whenever they are named, also while the frontier is kept elsewhere:
//! `seine frontier copy --to redis` begins there. The password comes from a file of its own or from the environment, so that the
//! settings can be shown to anybody.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{ConfigError, value, within};
use crate::secret::Secret;

/// The environment variable with the password. It is taken as it is, not read as TOML.
pub const PASSWORD_VARIABLE: &str = "SEINE_FRONTIER_PASSWORD";
/// More copies than that cost a group of changes more than they save.
const MOST_CONFIRMATIONS: u32 = 5;

#[derive(Clone, Debug)]
pub struct FrontierConfig {
    pub store: FrontierStore,
    /// The cluster that is named, whether the frontier is kept there or not.
    pub redis: Option<RedisSettings>,
}

#[derive(Clone, Debug)]
pub enum FrontierStore {
    RocksDb,
    Redis(RedisSettings),
}

/// A cluster of stores that speak the Redis protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSettings {
    /// HOST:PORT of at least one node; it tells of the others.
    pub nodes: Vec<String>,
    /// `None` for the store's default user.
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// `None` for connections in clear.
    pub tls: Option<RedisTls>,
    /// How many replicas must have a group of changes before it is acknowledged.
    pub confirmed_by: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisTls {
    /// A PEM file; `None` for what the machine trusts.
    pub authority: Option<PathBuf>,
}

#[derive(Deserialize)]
pub struct RawFrontier {
    store: String,
    nodes: Vec<String>,
    user: String,
    password_file: String,
    tls: bool,
    tls_ca: String,
    confirmed_by: u32,
}

impl RawFrontier {
    pub fn validate(self, password: Option<Secret>) -> Result<FrontierConfig, ConfigError> {
        let on_redis = match self.store.as_str() {
            "rocksdb" => false,
            "redis" => true,
            other => {
                let problem = format!(
                    "{other:?} is no store; write \"rocksdb\" for the data directory, or \"redis\" for a cluster of Redis, Valkey or \
                     Kvrocks"
                );
                return Err(value("frontier.store", problem));
            }
        };
        let redis = self.redis(password)?;
        let store = match (on_redis, &redis) {
            (false, _) => FrontierStore::RocksDb,
            (true, Some(settings)) => FrontierStore::Redis(settings.clone()),
            (true, None) => {
                return Err(value(
                    "frontier.nodes",
                    "it is empty; with store = \"redis\" name at least one node of the cluster, such as [\"10.0.0.5:6379\"]",
                ));
            }
        };
        Ok(FrontierConfig { store, redis })
    }

    fn redis(self, password: Option<Secret>) -> Result<Option<RedisSettings>, ConfigError> {
        if let Some(wrong) = self.nodes.iter().find(|node| !is_host_and_port(node)) {
            return Err(value("frontier.nodes", format!("{wrong:?} is not HOST:PORT, such as \"10.0.0.5:6379\"")));
        }
        within("frontier.confirmed_by", u64::from(self.confirmed_by), 0, u64::from(MOST_CONFIRMATIONS))?;
        if !self.tls && !self.tls_ca.is_empty() {
            return Err(value(
                "frontier.tls_ca",
                format!("{:?} is used only over TLS; set tls = true too", self.tls_ca),
            ));
        }
        if self.nodes.is_empty() {
            return Ok(None);
        }
        let password = match password {
            Some(password) => Some(password),
            None => not_empty(self.password_file).map(|file| read_password(Path::new(&file))).transpose()?,
        };
        let user = not_empty(self.user);
        if let Some(user) = &user
            && password.is_none()
        {
            let problem =
                format!("{user:?} has no password; name a file with it in password_file, or set {PASSWORD_VARIABLE}");
            return Err(value("frontier.user", problem));
        }
        Ok(Some(RedisSettings {
            nodes: self.nodes,
            user,
            password,
            tls: self.tls.then(|| RedisTls { authority: not_empty(self.tls_ca).map(PathBuf::from) }),
            confirmed_by: self.confirmed_by,
        }))
    }
}

fn not_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Without what an editor puts behind the last line.
fn read_password(file: &Path) -> Result<Secret, ConfigError> {
    let wrong = |problem: String| value("frontier.password_file", format!("{}: {problem}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(format!("{error}; write the password into it")))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(wrong("the file is empty; write the password into it".to_owned()));
    }
    Ok(Secret::new(password))
}

fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)),
    };
    is_host && port.parse::<u16>().is_ok_and(|port| port > 0) && !port.starts_with('+')
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn frontier(lines: &str, environment: &[(&str, &str)]) -> Result<FrontierConfig, String> {
        let text = format!("[frontier]\n{lines}");
        let environment = environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let config = Config::from_layers(Some(("seine.toml", &text)), environment);
        config.map(|config| config.frontier).map_err(|error| error.to_string())
    }

    fn redis(lines: &str, environment: &[(&str, &str)]) -> RedisSettings {
        let lines = format!("store = \"redis\"\nnodes = [\"a.test:6379\", \"[::1]:7000\"]\n{lines}");
        match frontier(&lines, environment).unwrap().store {
            FrontierStore::Redis(settings) => settings,
            FrontierStore::RocksDb => panic!("it is kept in the data directory"),
        }
    }

    #[test]
    fn the_frontier_is_in_the_data_directory_unless_a_cluster_is_asked_for() {
        let config = frontier("", &[]).unwrap();
        assert!(matches!(config.store, FrontierStore::RocksDb) && config.redis.is_none());
        let settings = redis("", &[]);
        assert_eq!(settings.nodes, ["a.test:6379", "[::1]:7000"]);
        assert_eq!((settings.user, settings.password, settings.tls, settings.confirmed_by), (None, None, None, 1));
    }

    #[test]
    fn a_cluster_can_be_named_before_it_is_used() {
        let config = frontier("nodes = [\"a.test:6379\"]", &[]).unwrap();
        assert!(matches!(config.store, FrontierStore::RocksDb));
        assert_eq!(config.redis.unwrap().nodes, ["a.test:6379"]);
    }

    #[test]
    fn the_password_is_read_from_its_file_without_the_line_end_or_taken_from_the_environment() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        std::fs::write(&file, " open sesame \r\n").unwrap();
        let lines = format!("user = \"seine\"\npassword_file = {file:?}");
        let settings = redis(&lines, &[]);
        assert_eq!(settings.password.unwrap().reveal(), " open sesame ");
        assert_eq!(settings.user.unwrap(), "seine");
        // The environment goes before the file, and what looks like a number is a password all the same.
        let settings = redis(&lines, &[(PASSWORD_VARIABLE, "0123")]);
        assert_eq!(settings.password.unwrap().reveal(), "0123");
        assert!(redis("", &[(PASSWORD_VARIABLE, "")]).password.is_none());
    }

    #[test]
    fn a_password_in_the_settings_is_refused_without_being_repeated() {
        let refusal = frontier("password = \"opensesame\"", &[]).unwrap_err();
        assert!(refusal.contains("password_file") && refusal.contains(PASSWORD_VARIABLE), "{refusal}");
        assert!(!refusal.contains("opensesame"), "{refusal}");
    }

    #[test]
    fn no_password_is_shown_with_the_settings() {
        let settings = redis("", &[(PASSWORD_VARIABLE, "opensesame")]);
        assert!(!format!("{settings:?}").contains("opensesame"));
    }

    #[test]
    fn tls_trusts_the_machine_or_an_authority_that_is_named() {
        assert_eq!(redis("tls = true", &[]).tls, Some(RedisTls { authority: None }));
        let settings = redis("tls = true\ntls_ca = \"/etc/seine/store.pem\"", &[]);
        assert_eq!(settings.tls, Some(RedisTls { authority: Some("/etc/seine/store.pem".into()) }));
    }

    #[test]
    fn the_environment_names_nodes_too() {
        let environment = [("SEINE_FRONTIER_STORE", "redis"), ("SEINE_FRONTIER_NODES", "[\"b.test:1\"]")];
        let config = frontier("", &environment).unwrap();
        assert!(matches!(config.store, FrontierStore::Redis(settings) if settings.nodes == ["b.test:1"]));
    }

    #[test]
    fn mistakes_are_told_with_their_value() {
        let some = "nodes = [\"a.test:6379\"]\n";
        for (lines, words) in [
            ("store = \"sqlite\"".to_owned(), &["sqlite", "\"rocksdb\"", "\"redis\""][..]),
            ("store = \"redis\"".to_owned(), &["frontier.nodes", "empty"]),
            ("nodes = [\"a.test\"]".to_owned(), &["\"a.test\"", "HOST:PORT"]),
            ("nodes = [\"a.test:6379\", \"redis://b.test:6379\"]".to_owned(), &["redis://b.test:6379", "HOST:PORT"]),
            ("nodes = [\"a.test:0\"]".to_owned(), &["a.test:0"]),
            ("nodes = [\"a.test:70000\"]".to_owned(), &["70000"]),
            ("nodes = [\":6379\"]".to_owned(), &["\":6379\""]),
            ("nodes = [\"::1:6379\"]".to_owned(), &["::1:6379"]),
            (format!("{some}confirmed_by = 6"), &["frontier.confirmed_by", "6 is not between 0 and 5"]),
            (format!("{some}confirmed_by = -1"), &["frontier.confirmed_by"]),
            (format!("{some}user = \"seine\""), &["\"seine\"", "password_file", PASSWORD_VARIABLE]),
            (format!("{some}password_file = \"/no/such/file\""), &["frontier.password_file", "/no/such/file"]),
            (format!("{some}tls_ca = \"/etc/ca.pem\""), &["frontier.tls_ca", "tls = true"]),
            (format!("{some}node = \"a.test:1\""), &["frontier.nodes"]),
        ] {
            let refusal = frontier(&lines, &[]).unwrap_err();
            assert!(words.iter().all(|word| refusal.contains(word)), "{lines}: {refusal}");
        }
    }
}
