//! What a cluster is made of, and how its nodes are configured.

use std::time::Duration;

use crate::node::Ports;
use crate::program::Program;

/// The name of a node's Unix socket, in its directory.
pub const SOCKET: &str = "socket";

/// Names of the files that [`crate::certificates`] makes, one directory above those of the nodes.
pub const AUTHORITY: &str = "root.pem";
pub const CERTIFICATE: &str = "server.pem";
pub const KEY: &str = "server.key";

#[derive(Clone, Debug)]
pub struct Setup {
    pub program: Program,
    pub masters: usize,
    pub replicas_per_master: usize,
    /// TLS for clients, replicas and the cluster's bus, and no port without it. Of Redis alone: the Valkey that tests use is
    /// built without.
    pub tls: bool,
    /// What clients and replicas must know.
    pub password: Option<String>,
    /// A master with fewer replicas refuses writes.
    pub min_replicas_to_write: usize,
    /// After how long a silent node is taken for dead.
    pub node_timeout: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            program: Program::Valkey,
            masters: 3,
            replicas_per_master: 1,
            tls: false,
            password: None,
            min_replicas_to_write: 0,
            node_timeout: Duration::from_secs(2),
        }
    }
}

impl Setup {
    /// The text of a node's configuration file. Paths are relative: a node runs in its own directory.
    pub fn configuration(&self, ports: Ports) -> String {
        let Ports { clients, bus } = ports;
        let timeout = self.node_timeout.as_millis();
        let min_replicas = self.min_replicas_to_write;
        let mut text = format!(
            "bind 127.0.0.1\n\
             protected-mode no\n\
             unixsocket {SOCKET}\n\
             cluster-port {bus}\n\
             cluster-announce-ip 127.0.0.1\n\
             daemonize no\n\
             loglevel notice\n\
             save \"\"\n\
             appendonly yes\n\
             appendfsync always\n\
             cluster-enabled yes\n\
             cluster-node-timeout {timeout}\n\
             cluster-allow-replica-migration no\n\
             min-replicas-to-write {min_replicas}\n\
             repl-diskless-sync-delay 0\n\
             repl-ping-replica-period 1\n\
             repl-timeout 10\n"
        );
        // As docs/frontier-store.md advises: short lists are kept without an index each.
        text += "hash-max-listpack-entries 512\nzset-max-listpack-entries 256\nzset-max-listpack-value 512\n";
        // A dead master takes away its own slots alone. With `yes` a second of silence stops the whole cluster, and no test
        // could tell whether what it tests goes on with the rest.
        text += "cluster-require-full-coverage no\n";
        if self.tls {
            text += &format!(
                "port 0\n\
                 tls-port {clients}\n\
                 tls-cluster yes\n\
                 tls-replication yes\n\
                 tls-auth-clients no\n\
                 tls-ca-cert-file ../{AUTHORITY}\n\
                 tls-cert-file ../{CERTIFICATE}\n\
                 tls-key-file ../{KEY}\n"
            );
        } else {
            text += &format!("port {clients}\n");
        }
        if let Some(password) = &self.password {
            assert!(
                !password.contains(['"', '\\', '\n']),
                "a password for tests is written as it is, not {password:?}"
            );
            text += &format!("requirepass \"{password}\"\nmasterauth \"{password}\"\n");
        }
        text
    }
}
