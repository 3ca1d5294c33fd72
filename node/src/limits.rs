//! Numbers of things that a process does at once: hosts, analysis threads, converters. Each number follows the load between two
//! bounds, which an administrator can change while the process runs.
//!
//! [`Limit`] is such a number and whoever waits for a place under it; the [`governor`] says how it moves, from what the
//! [`machine`] has left and what the process has taken of its [`memory`], and for hosts from what is left of the [`Bandwidth`].
//! Not responsible for what is done under a limit.

pub mod governor;
mod bandwidth;
mod limit;
mod machine;
mod memory;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use seine_proto::monitor::v1::{Bounds as BoundsMessage, LimitFigures, NodeSettings};
use tokio_util::sync::CancellationToken;

use crate::telemetry::families::set_gauges;
pub use bandwidth::Bandwidth;
pub use governor::Bounds;
use governor::Load;
pub use limit::{Limit, Place};
use machine::Machine;
use memory::OwnMemory;

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The names of the limits, as settings and figures have them, and the most that each can be set to.
pub const HOSTS: (&str, u32) = ("hosts", 10_000);
pub const ANALYSIS: (&str, u32) = ("analysis", 1_024);
pub const CONVERTERS: (&str, u32) = ("converters", 64);

/// Of one process. Clones are the same.
#[derive(Clone, Debug)]
pub struct Limits {
    pub hosts: Arc<Limit>,
    pub analysis: Arc<Limit>,
    pub converters: Arc<Limit>,
    pub bandwidth: Arc<Bandwidth>,
    /// What the process is to get by with.
    memory_bytes: u64,
}

impl Limits {
    /// As the settings of the process have them. More threads than cores would only get in each other's way.
    pub fn new(converters: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
        let between = |lowest, highest| Bounds { lowest, highest };
        Self {
            hosts: Arc::new(Limit::new(between(16, 1_024), 256, HOSTS.1)),
            analysis: Arc::new(Limit::new(between(1, cores), cores, cores)),
            converters: Arc::new(Limit::new(between(1, converters.max(1)), converters, CONVERTERS.1)),
            bandwidth: Arc::default(),
            memory_bytes: u64::MAX,
        }
    }

    /// They fall while the process takes more memory than that.
    pub fn within(self, memory_bytes: u64) -> Self {
        Self { memory_bytes, ..self }
    }

    fn all(&self) -> [(&'static str, &Limit); 3] {
        [(HOSTS.0, &self.hosts), (ANALYSIS.0, &self.analysis), (CONVERTERS.0, &self.converters)]
    }

    /// What an administrator has set counts; where nothing is set, what the process started with.
    pub fn apply(&self, settings: &NodeSettings) {
        let set = [&settings.hosts, &settings.analysis, &settings.converters];
        for ((_, limit), bounds) in self.all().into_iter().zip(set) {
            limit.set_bounds(bounds.as_ref().map(|&BoundsMessage { lowest, highest }| Bounds { lowest, highest }));
        }
        self.bandwidth.set(settings.bandwidth);
    }

    /// Those of the tiers that run here, as somebody has used them.
    pub fn figures(&self) -> Vec<LimitFigures> {
        let used = self.all().into_iter().filter(|(_, limit)| limit.is_used());
        let figures = used.map(|(name, limit)| {
            let (Bounds { lowest, highest }, at) = (limit.bounds(), limit.at());
            let (value, in_use) = (limit.value(), limit.in_use());
            LimitFigures { name: name.to_owned(), value, in_use, lowest, highest, at: at.name().to_owned() }
        });
        figures.collect()
    }

    /// Lets them follow the load until told to stop.
    pub async fn follow(self, stop: CancellationToken) -> Result<(), Infallible> {
        let mut machine = Machine::default();
        let mut memory = OwnMemory::new(self.memory_bytes);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let load = machine.look();
            let load = Load { memory_is_short: memory.look() || load.memory_is_short, ..load };
            self.hosts.follow(Load { bandwidth_is_short: self.bandwidth.take_short(), ..load });
            [&self.analysis, &self.converters].into_iter().for_each(|limit| limit.follow(load));
            let values = self.figures().into_iter().map(|limit| (limit.name, limit.value.into()));
            set_gauges("seine_node_limit", "What may be done at once now.", "limit", values.collect());
        }
    }
}
