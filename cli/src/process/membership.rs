//! What keeps a process one of its cluster while it runs: registering, renewing its certificate, and keeping to what an
//! administrator has set for it.

use std::convert::Infallible;

use seine_node::limits::Limits;
use seine_node::membership::{Directory, NodeTable};
use seine_node::registry::Registry;
use seine_node::telemetry::{LogLevels, log_levels};
use seine_proto::monitor::v1::NodeSettings;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::cluster::{Cluster, write_roots};
use super::supervise::{Supervised, Supervisor};

/// What keeps this process one of its cluster.
pub fn start(
    supervisor: &Supervisor,
    directory: Directory,
    cluster: Cluster,
    nodes: NodeTable,
    limits: &Limits,
) -> Vec<Supervised> {
    let (stop_directory, stop_renewal) = (CancellationToken::new(), CancellationToken::new());
    let told = directory.told();
    let stop = CancellationToken::new();
    let applying = apply(told.settings.clone(), limits.clone(), stop.clone());
    let mut tasks = vec![supervisor.watch("settings of the node", stop, applying)];
    let stop = CancellationToken::new();
    tasks.push(supervisor.watch("limits", stop.clone(), limits.clone().follow(stop)));
    match (cluster.monitor, cluster.registry) {
        (Some((monitors, channel)), _) => {
            let (stop, monitor) = (stop_directory.clone(), channel.clone());
            let registering = async move { directory.register(monitor, monitors, stop).await };
            tasks.push(supervisor.watch("membership", stop_directory, registering));
            if let Some(renewal) = cluster.renewal {
                let renewing = renewal.of_node(channel, told.roots, stop_renewal.clone());
                tasks.push(supervisor.watch("renewal", stop_renewal, renewing));
            }
        }
        (None, Some(registry)) => {
            let changes = nodes.changes();
            let following = directory.follow(nodes, registry.clone(), stop_directory.clone());
            tasks.push(supervisor.watch("membership", stop_directory, following));
            if let Some(renewal) = cluster.renewal {
                let roots_file = cluster.roots_file;
                let on_roots = move |registry: &Registry| {
                    if let Err(failure) = write_roots(registry, &roots_file) {
                        tracing::warn!(%failure, "programs on other machines cannot be told of the new root");
                    }
                };
                let renewing = renewal.of_monitor(registry, changes, on_roots, stop_renewal.clone());
                tasks.push(supervisor.watch("renewal", stop_renewal, renewing));
            }
        }
        // It is alone, and nobody has to know it.
        (None, None) => {}
    }
    tasks
}

/// What is set holds until it is set otherwise; then what the process started with holds again.
async fn apply(
    mut settings: watch::Receiver<NodeSettings>,
    limits: Limits,
    stop: CancellationToken,
) -> Result<(), Infallible> {
    let mut logging = Logging::default();
    loop {
        let told = settings.borrow_and_update().clone();
        limits.apply(&told);
        logging.apply(told.log.as_ref());
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            changed = settings.changed() => if changed.is_err() { return wait(stop).await },
        }
    }
}

/// What is logged, where that can be changed.
struct Logging {
    levels: Option<LogLevels>,
    /// As the process started.
    own: String,
    is_set: bool,
}

impl Default for Logging {
    fn default() -> Self {
        let levels = log_levels();
        let own = levels.as_ref().map(LogLevels::current).unwrap_or_default();
        Self { levels, own, is_set: false }
    }
}

impl Logging {
    fn apply(&mut self, told: Option<&String>) {
        let Some(levels) = &self.levels else { return };
        let wanted = match told {
            Some(level) => Some(level),
            None if self.is_set => Some(&self.own),
            None => None,
        };
        if let Some(level) = wanted.filter(|level| **level != levels.current())
            && let Err(problem) = levels.set(level)
        {
            tracing::warn!(level, problem, "what is set for this node cannot be used");
        }
        self.is_set = told.is_some();
    }
}

async fn wait(stop: CancellationToken) -> Result<(), Infallible> {
    stop.cancelled().await;
    Ok(())
}
