//! One connection to one node: commands are sent in pipelines, and their replies are read in order, by a deadline.

use std::time::{Duration, Instant};

use redis::{
    Client, Connection, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisConnectionInfo, RedisError,
    TlsCertificates, Value,
};
use seine_common::config::RedisSettings;

use super::failure::Failure;

const CONNECTING_TAKES: Duration = Duration::from_secs(2);

/// Opens connections to the nodes of one cluster.
#[derive(Clone)]
pub struct Opener {
    login: RedisConnectionInfo,
    certificates: Option<TlsCertificates>,
}

impl Opener {
    pub fn new(settings: &RedisSettings) -> Result<Self, String> {
        let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
        if let Some(user) = &settings.user {
            login = login.set_username(user);
        }
        if let Some(password) = &settings.password {
            login = login.set_password(password.reveal());
        }
        let certificates = match &settings.tls {
            None => None,
            Some(tls) => {
                // The client asks for the process's own choice of cryptography, and others here may not have made it.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let read = |path: &std::path::PathBuf| {
                    std::fs::read(path)
                        .map_err(|error| format!("cannot read frontier.tls_ca {}: {error}", path.display()))
                };
                Some(TlsCertificates { client_tls: None, root_cert: tls.authority.as_ref().map(read).transpose()? })
            }
        };
        Ok(Self { login, certificates })
    }

    pub fn open(&self, address: &str) -> Result<Link, Failure> {
        let (host, port) = address.rsplit_once(':').ok_or_else(|| Failure::away(address, "it has no port"))?;
        let port = port.parse::<u16>().map_err(|error| Failure::away(address, error))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let at = match &self.certificates {
            None => ConnectionAddr::Tcp(host, port),
            Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        };
        let open = || {
            let info: ConnectionInfo = at.into_connection_info()?;
            let settings = info.tcp_settings().clone().set_nodelay(true);
            let info = info.set_tcp_settings(settings).set_redis_settings(self.login.clone());
            let client = match &self.certificates {
                None => Client::open(info)?,
                Some(certificates) => Client::build_with_tls(info, certificates.clone())?,
            };
            client.get_connection_with_timeout(CONNECTING_TAKES)
        };
        let connection = open().map_err(|error| self.unopened(address, &error))?;
        Ok(Link { address: address.to_owned(), connection })
    }
}

impl Opener {
    /// What is wrong with the settings does not pass by itself.
    fn unopened(&self, address: &str, error: &RedisError) -> Failure {
        let text = error.to_string();
        let reason = if error.kind() == ErrorKind::AuthenticationFailed {
            "it refuses user or password; set frontier.user and frontier.password_file, or SEINE_FRONTIER_PASSWORD"
                .to_owned()
        } else if text.contains("certificate") {
            format!("{text}; name the authority that signed its certificate in frontier.tls_ca")
        } else if self.certificates.is_none() && error.is_connection_dropped() && !error.is_connection_refusal() {
            format!("{text}; it may want TLS, which frontier.tls = true turns on")
        } else {
            return Failure::away(address, text);
        };
        Failure::Unwelcome { address: address.to_owned(), reason }
    }
}

pub struct Link {
    pub address: String,
    connection: Connection,
}

impl Link {
    pub fn send(&mut self, commands: &[u8], deadline: Instant) -> Result<(), Failure> {
        let left = left(deadline);
        let sent =
            self.connection.set_write_timeout(Some(left)).and_then(|()| self.connection.send_packed_command(commands));
        sent.map_err(|error| Failure::away(&self.address, error))
    }

    pub fn receive(&mut self, deadline: Instant) -> Result<Value, Failure> {
        let received =
            self.connection.set_read_timeout(Some(left(deadline))).and_then(|()| self.connection.recv_response());
        received.map_err(|error| match error.is_timeout() {
            true => Failure::away(&self.address, "it does not answer"),
            false => Failure::away(&self.address, error),
        })
    }

    pub fn ask(&mut self, command: &[u8], deadline: Instant) -> Result<Value, Failure> {
        self.send(command, deadline)?;
        self.receive(deadline)
    }
}

/// A socket takes no time-out of zero.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}
