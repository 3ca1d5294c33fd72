//! The one thread that owns the frontier, the leases and the crawls. Others reach it by a [handle](Monitor).
//!
//! Commands come through a bounded channel and are handled one at a time, so no lock is needed and messages of one
//! collector keep their order. What must be durable before it is answered goes to `durable`, whose thread syncs the
//! log once for everything that waits. RocksDB blocks, so this is a thread of its own, not a task.
//!
//! Life cycle: [`Monitor::open`] recovers the leases that collectors may have → commands, grants and expiry until
//! [`Monitor::close`], which says goodbye to collectors and syncs.

mod handle;
mod admin;
mod settings;
mod states;
mod explain;
mod blocking;
mod hosts;
mod leases;
mod waiting;
mod refresh;
mod forget;
mod unforget;
mod planning;
mod upkeep;
mod sampling;
mod draining;
mod loading;
mod last_known;
mod clock;
mod durable;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use futures::executor::block_on;
use seine_common::clock::Clock;
use seine_common::config::Config;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::{
    AddCrawlRequest, AddCrawlResponse, BlockHostsRequest, BlockHostsResponse, CollectorMessage, Crawl, CrawlStatus,
    ExplainResponse, GetHostResponse, Goodbye, Hello, HostBlock, ListHostsRequest, ListHostsResponse, MonitorMessage,
    Outcome, SetCrawlRequest, SetCrawlResponse, SetCrawlStateRequest, UnblockHostsRequest, UnblockHostsResponse,
    UnforgetRequest, UnforgetResponse, collector_message, forget_request, monitor_message,
};
use tokio::sync::{mpsc, oneshot};

use crate::blocklist::Blocklist;
use crate::crawl::{CheckedCrawl, defaults};
use crate::frontier::Frontier;
use crate::lease::table::{Holder, LeaseTable, SessionId};
use crate::record::{CrawlId, CrawlRecord, ForgettingRecord};
use crate::slots::SlotMap;
use crate::store::DEFAULT_MEMORY_BYTES;
use crate::{MonitorError, Result};
use durable::DurableAnswers;
pub(crate) use explain::state_name;
use forget::ForgottenPages;
pub use handle::{Home, Monitor};
use seine_node::membership::{NodeTable, NodeTrouble};

/// Commands waiting for the keeper; a full channel slows the senders down.
pub(crate) const COMMANDS: usize = 1024;
/// Messages waiting for a collector. One that reads so slowly that it fills up is cut off.
pub(crate) const MESSAGES_TO_COLLECTOR: usize = 16 * 1024;
/// Expiry and pressure are looked at this often, grants whenever something changes.
const TICK: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub struct MonitorConfig {
    /// How long a host is left to a collector that does not renew.
    pub lease: Duration,
    /// A lease that settled so many pages is taken back when others wait.
    pub quantum: u64,
    /// How long a robots.txt serves.
    pub robots_fresh: Duration,
    pub durability: Durability,
    /// For what the frontier keeps in memory of its tables.
    pub frontier_memory: usize,
    /// Above these, a collector is short of resources: links of valuable pages are put off.
    pub collector_memory: u64,
    pub collector_load: f32,
    /// What a crawl is where its owner says nothing.
    pub crawl_defaults: Crawl,
    /// The highest epoch in the logs that are known at the start.
    pub epoch_above: u64,
}

/// When an acknowledged write is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Against a power cut: synced in groups before it is acknowledged.
    #[default]
    Sync,
    /// Against a killed process: left to the operating system.
    Os,
}

impl Default for MonitorConfig {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            quantum: 200,
            robots_fresh: Duration::from_secs(24 * 60 * 60),
            durability: Durability::Sync,
            frontier_memory: DEFAULT_MEMORY_BYTES,
            collector_memory: 1 << 30,
            collector_load: 4.0,
            crawl_defaults: built_in_defaults(),
            epoch_above: 0,
        }
    }
}

impl MonitorConfig {
    /// What a collector is told of the lease's length. It counts from before the Monitor does, so that the two need not
    /// agree on the time; the tenth is for clocks that run at different speeds, and for the time to close connections.
    pub fn lease_at_collector(&self) -> Duration {
        self.lease - self.lease / 10
    }
}

fn built_in_defaults() -> Crawl {
    let config = Config::from_layers(None, []).expect("the built-in settings are valid");
    defaults::defaults(&config).expect("the built-in filters exist")
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are of the large kind, and a box would be an allocation for each"
)]
pub(crate) enum Command {
    Attach { session: SessionId, hello: Hello, messages: mpsc::Sender<MonitorMessage> },
    Message { session: SessionId, message: collector_message::Message },
    Detach { session: SessionId },
    AddCrawl { request: Box<AddCrawlRequest>, answer: Answer<AddCrawlResponse> },
    SetCrawl { request: Box<SetCrawlRequest>, answer: Answer<SetCrawlResponse> },
    Crawls { answer: Answer<Vec<CrawlStatus>> },
    Crawl { name: String, answer: Answer<CrawlStatus> },
    SetState { request: SetCrawlStateRequest, answer: Answer<CrawlStatus> },
    Explain { url: String, answer: Answer<ExplainResponse> },
    Refresh { name: String, answer: Answer<CrawlStatus> },
    BeginForgetting { what: Option<forget_request::What>, answer: Answer<ForgettingRecord> },
    Forgettings { answer: Answer<Vec<ForgettingRecord>> },
    ForgetSome { id: u64, cursor: Vec<u8>, answer: Answer<Option<ForgottenPages>> },
    ToldLogs { id: u64, logs: Vec<String>, answer: Answer<bool> },
    EndForgetting { id: u64, answer: Answer<bool> },
    Unforget { request: UnforgetRequest, answer: Answer<UnforgetResponse> },
    Block { request: BlockHostsRequest, answer: Answer<BlockHostsResponse> },
    Unblock { request: UnblockHostsRequest, answer: Answer<UnblockHostsResponse> },
    Blocks { answer: Answer<Vec<HostBlock>> },
    Hosts { request: ListHostsRequest, answer: Answer<ListHostsResponse> },
    Host { name: String, answer: Answer<GetHostResponse> },
    SawEpoch { epoch: u64, answer: Answer<()> },
    Drain { node: String, undo: bool, answer: Answer<u32> },
    LeaseCounts { answer: Answer<BTreeMap<String, u32>> },
    Close,
}

pub(crate) type Answer<T> = oneshot::Sender<Result<T>>;

/// The way to a collector.
pub(crate) type MessagesToCollector = mpsc::Sender<MonitorMessage>;

pub(crate) struct Collector {
    pub holder: Holder,
    /// Negative when it has more leases than it can have now.
    pub credit: i64,
    /// Hosts that it can prepare besides.
    pub preparations: u32,
    pub memory_bytes: u64,
    pub load: f32,
    /// When its last message came, on the monotonic clock, and whether that is long ago.
    pub heard_ms: i64,
    pub is_silent: bool,
    messages: MessagesToCollector,
}

impl Collector {
    pub fn new(holder: Holder, messages: MessagesToCollector, heard_ms: i64) -> Self {
        Self { holder, credit: 0, preparations: 0, memory_bytes: 0, load: 0.0, heard_ms, is_silent: false, messages }
    }
}

pub(crate) struct ActiveCrawl {
    pub record: CrawlRecord,
    pub checked: CheckedCrawl,
}

pub(crate) struct Keeper {
    pub frontier: Frontier,
    pub config: MonitorConfig,
    pub clock: Clock,
    pub crawls: BTreeMap<CrawlId, ActiveCrawl>,
    pub leases: LeaseTable,
    pub collectors: HashMap<SessionId, Collector>,
    /// The crawl that was served last: the next one goes first.
    pub served_last: CrawlId,
    /// Wall-clock time at which a host may become ready; nothing can be granted before.
    pub grant_at_ms: i64,
    pub slots: SlotMap,
    pub blocklist: Blocklist,
    /// On the monotonic clock: when it was last noted that leases are granted and renewed.
    pub at_work_ms: Option<i64>,
    /// With the token, orders what is found under leases granted from now on.
    pub epoch: u64,
    /// Crawls of public sites that were told to name a contact.
    pub asked_for_contact: HashSet<CrawlId>,
    /// Hosts whose waiting URLs are being settled, with the outcome that all of them get.
    pub emptying: Vec<(CrawlId, HostKey, Outcome)>,
    /// Crawls whose rules have changed, with the last host that was looked at since.
    sweeps: BTreeMap<CrawlId, Option<(i64, HostKey)>>,
    /// Why fetching rests, when what is fetched could not be kept.
    pub pause: Option<String>,
    /// What is wrong with tiers anywhere, as it was looked at last.
    pub troubles: Vec<NodeTrouble>,
    nodes: NodeTable,
    upkeep: upkeep::Clocks,
    planning: planning::Planning,
    answers: DurableAnswers,
}

impl Keeper {
    pub fn new(frontier: Frontier, config: MonitorConfig, clock: Clock, nodes: NodeTable) -> Result<Self> {
        let answers = DurableAnswers::start(frontier.syncer(), config.durability);
        let mut crawls = BTreeMap::new();
        for mut record in frontier.crawls()? {
            defaults::as_stored_earlier(&mut record.settings);
            let checked = CheckedCrawl::of_record(&record)?;
            crawls.insert(CrawlId(record.id), ActiveCrawl { record, checked });
        }
        let blocklist = Blocklist::of(frontier.blocks()?).map_err(|_| MonitorError::Corrupt("block"))?;
        let mut keeper = Self {
            blocklist,
            frontier,
            config,
            clock,
            crawls,
            leases: LeaseTable::default(),
            collectors: HashMap::new(),
            served_last: CrawlId(0),
            grant_at_ms: 0,
            slots: SlotMap::default(),
            at_work_ms: None,
            epoch: 0,
            asked_for_contact: HashSet::new(),
            emptying: Vec::new(),
            sweeps: BTreeMap::new(),
            pause: None,
            troubles: Vec::new(),
            nodes,
            upkeep: upkeep::Clocks::default(),
            planning: planning::Planning::default(),
            answers,
        };
        keeper.slots = keeper.frontier.slots()?.map(|bytes| SlotMap::decode(&bytes)).unwrap_or_default();
        keeper.nodes.set_draining(keeper.slots.draining().clone());
        // A sweep that the last process did not finish begins again.
        let changed = keeper.crawls.iter().filter(|(_, crawl)| crawl.record.rules_generation > 0);
        keeper.sweeps = changed.map(|(id, _)| (*id, None)).collect();
        keeper.epoch = keeper.frontier.begin_epoch(keeper.config.epoch_above)?;
        keeper.recover_leases_after_restart()?;
        // A crash may have come between the end of a block and this.
        let ids: Vec<CrawlId> = keeper.crawls.keys().copied().collect();
        for id in ids {
            keeper.put_back_unblocked(id)?;
        }
        Ok(keeper)
    }

    fn run(mut self, mut commands: mpsc::Receiver<Command>, runtime: &tokio::runtime::Handle) -> Result<()> {
        let mut next_tick = self.clock.monotonic_ms();
        let mut waiting = Vec::new();
        loop {
            let wait = self.until_next_grant();
            // The timer must be made inside the runtime, which this thread is not.
            match runtime.block_on(async { tokio::time::timeout(wait, commands.recv()).await }) {
                Ok(None | Some(Command::Close)) => break,
                Ok(Some(command)) => waiting.push(command),
                Err(_) => {}
            }
            // Whatever else waits is handled before the next look at the clock, and read together before that.
            while waiting.len() < COMMANDS
                && let Ok(command) = commands.try_recv()
            {
                waiting.push(command);
            }
            self.bring_within_reach(&waiting)?;
            for command in waiting.drain(..) {
                if matches!(command, Command::Close) {
                    return self.finish();
                }
                self.handle(command)?;
            }
            if let Some(reason) = self.answers.failure() {
                return Err(MonitorError::Unsynced(reason));
            }
            let now = self.clock.monotonic_ms();
            if now >= next_tick {
                self.forgive_standstill(now - next_tick);
                next_tick = now + TICK.as_millis() as i64;
                self.notice_silent_collectors();
                self.expire_leases()?;
                self.relieve_pressure()?;
                self.look_after_things()?;
            }
            self.empty_some()?;
            self.sweep_hosts()?;
            self.grant_ready()?;
        }
        self.finish()
    }

    fn until_next_grant(&self) -> Duration {
        let sweeps = !self.sweeps.is_empty() && self.emptying.is_empty();
        if sweeps || self.next_to_empty().is_some() {
            return Duration::ZERO;
        }
        let wait = self.grant_at_ms.saturating_sub(self.clock.now_ms()).clamp(1, TICK.as_millis() as i64);
        Duration::from_millis(wait as u64)
    }

    fn finish(mut self) -> Result<()> {
        self.frontier.save_exclusions()?;
        self.planning.save(&mut self.frontier, self.clock.now_ms(), true)?;
        for collector in self.collectors.values() {
            let goodbye = Goodbye { reason: "the monitor is shutting down".to_owned() };
            let _ = collector.messages.try_send(wrap(monitor_message::Message::Goodbye(goodbye)));
        }
        let log = self.frontier.syncer();
        drop(self.answers);
        block_on(log.sync())
    }

    fn handle(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Attach { session, hello, messages } => self.attach(session, hello, messages),
            Command::Message { session, message } => self.receive(session, message),
            Command::Detach { session } => {
                self.lose_collector(session);
                Ok(())
            }
            Command::AddCrawl { request, answer } => {
                let result = self.add_crawl(*request);
                self.reply_durably(answer, result)
            }
            Command::SetCrawl { request, answer } => {
                let result = self.set_crawl(*request);
                self.reply_durably(answer, result)
            }
            Command::Crawls { answer } => {
                let result = self.crawls.keys().map(|id| self.status(*id)).collect();
                reply(answer, result)
            }
            Command::Crawl { name, answer } => reply(answer, self.crawl_named(&name).and_then(|id| self.status(id))),
            Command::SetState { request, answer } => {
                let result = self.set_state(&request);
                self.reply_durably(answer, result)
            }
            Command::Explain { url, answer } => reply(answer, self.explain(&url)),
            Command::Refresh { name, answer } => {
                let result = self.refresh_now(&name);
                self.reply_durably(answer, result)
            }
            Command::BeginForgetting { what, answer } => {
                let result = self.begin_forgetting(what);
                self.reply_durably(answer, result)
            }
            Command::Forgettings { answer } => reply(answer, self.frontier.forgettings()),
            Command::ForgetSome { id, cursor, answer } => {
                let result = self.forget_some(id, &cursor);
                self.reply_durably(answer, result)
            }
            Command::ToldLogs { id, logs, answer } => {
                let result = self.told_logs(id, logs);
                self.reply_durably(answer, result)
            }
            Command::EndForgetting { id, answer } => {
                let result = self.end_forgettings(|record| record.id == id).map(|ended| ended > 0);
                self.reply_durably(answer, result)
            }
            Command::Unforget { request, answer } => {
                let result = self.unforget(&request);
                self.reply_durably(answer, result)
            }
            Command::Block { request, answer } => {
                let result = self.block(&request);
                self.reply_durably(answer, result)
            }
            Command::Unblock { request, answer } => {
                let result = self.unblock(&request);
                self.reply_durably(answer, result)
            }
            Command::Blocks { answer } => reply(answer, Ok(self.blocklist.iter().map(blocking::message).collect())),
            Command::Hosts { request, answer } => reply(answer, self.list_hosts(&request)),
            Command::Host { name, answer } => reply(answer, self.show_host(&name)),
            Command::SawEpoch { epoch, answer } => {
                if epoch >= self.epoch {
                    self.epoch = self.frontier.begin_epoch(epoch)?;
                }
                reply(answer, Ok(()))
            }
            Command::Drain { node, undo, answer } => {
                let result = self.drain(&node, undo);
                self.reply_durably(answer, result)
            }
            Command::LeaseCounts { answer } => reply(answer, Ok(self.lease_counts())),
            Command::Close => Ok(()),
        }
    }

    fn receive(&mut self, session: SessionId, message: collector_message::Message) -> Result<()> {
        use collector_message::Message as M;
        if let Some(collector) = self.collectors.get_mut(&session) {
            (collector.heard_ms, collector.is_silent) = (self.clock.monotonic_ms(), false);
        }
        match message {
            M::Hello(_) => Ok(()),
            M::Credit(credit) => {
                if let Some(collector) = self.collectors.get_mut(&session) {
                    collector.credit += i64::from(credit.leases) - i64::from(credit.fewer_leases);
                    collector.preparations = collector.preparations.saturating_add(credit.preparations);
                }
                self.grant_soon();
                Ok(())
            }
            M::Heartbeat(heartbeat) => self.renew(session, &heartbeat),
            M::Pin(pin) => self.pin(session, &pin),
            M::Robots(found) => self.keep_robots(session, found),
            M::Discover(discover) => self.discover(session, &discover),
            M::Settle(settle) => self.settle(session, settle),
            M::WantUrls(want) => self.send_urls(session, &want),
            M::ReturnLease(returned) => self.take_back(session, &returned),
        }
    }

    /// Answers once everything written so far is durable. A store that cannot be written is the end of the keeper, whose
    /// reason the asker is told.
    fn reply_durably<T: Send + 'static>(&mut self, answer: Answer<T>, result: Result<T>) -> Result<()> {
        if let Err(error @ (MonitorError::Store(_) | MonitorError::NotOwner(_))) = result {
            return Err(error);
        }
        self.answers.after_sync(move || drop(answer.send(result)));
        Ok(())
    }

    /// Something changed that may let a host go now.
    pub fn grant_soon(&mut self) {
        self.grant_at_ms = 0;
    }

    /// Sends at once. A collector that does not read is cut off: its leases expire.
    pub fn send(&mut self, session: SessionId, message: monitor_message::Message) {
        let Some(collector) = self.collectors.get(&session) else { return };
        if collector.messages.try_send(wrap(message)).is_err() {
            tracing::warn!(
                collector = collector.holder.collector,
                "collector does not take its messages and is cut off"
            );
            self.collectors.remove(&session);
        }
    }

    /// Sends once everything written so far is durable.
    pub fn send_durably(&mut self, session: SessionId, message: monitor_message::Message) {
        let Some(collector) = self.collectors.get(&session) else { return };
        let messages = collector.messages.clone();
        // A full channel means that the collector is about to be cut off; its leases expire then.
        self.answers.after_sync(move || drop(messages.try_send(wrap(message))));
    }
}

fn wrap(message: monitor_message::Message) -> MonitorMessage {
    MonitorMessage { message: Some(message) }
}

/// The asker may be gone, which is no concern of the keeper's.
fn reply<T>(answer: Answer<T>, result: Result<T>) -> Result<()> {
    let _ = answer.send(result);
    Ok(())
}

/// A collector's message without its wrapping; `None` from a newer collector with a message unknown here.
pub(crate) fn unwrap(message: CollectorMessage) -> Option<collector_message::Message> {
    message.message
}
