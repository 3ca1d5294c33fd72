//! A crawl without what comes after it: Monitor and Collector as they are, with an analyser that answers with a page's links and
//! keeps nothing. So it shows what fetching alone allows, beside crawlers that do no more.
//!
//! [`command`] starts this program again, so that its cost is measured as that of other crawlers; [`run_here`] is what it does then.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt};
use seine_analyser::{AnalyserConfig, analyse};
use seine_collector::{Collector, CollectorConfig};
use seine_common::clock::Clock;
use seine_common::limits::{MAX_BODY_BYTES, MAX_MESSAGE_BYTES};
use seine_monitor::forgetting::Forgetting;
use seine_monitor::rpc::Access;
use seine_monitor::{Home, Monitor, MonitorConfig};
use seine_node::limits::Limits;
use seine_node::membership::{Analysers, Filesavers, NodeTable};
use seine_node::registry::Registry;
use seine_node::transport;
use seine_proto::analyser::v1::analyse_response::Event;
use seine_proto::analyser::v1::analyser_server::{Analyser, AnalyserServer};
use seine_proto::analyser::v1::{AnalyseRequest, AnalyseResponse, ParsedPage, SavedPage};
use seine_proto::monitor::v1::admin_client::AdminClient;
use seine_proto::monitor::v1::{AddCrawlRequest, Crawl, CrawlState, GetCrawlRequest, Scope};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;
use tonic::{Request, Response, Status, Streaming};

use super::row::Row;

const NAME: &str = "bench";
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Requests at the same time, as Seine has it by itself.
const IN_FLIGHT: usize = 256;

/// Pages of one stream that are read or wait for that.
const PAGES_AT_WORK: usize = 32;

pub fn command(row: &Row, work: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--fetch-from", &row.homes.join(","), "--connections", &row.connections.to_string()]);
    command.arg("--work-dir").arg(work);
    Ok(command)
}

pub fn run_here(homes: &[String], connections: u32, work: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(crawl(homes, connections, &work.join("fetching")))
}

async fn crawl(homes: &[String], connections: u32, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    let nodes = NodeTable::new(Clock::System);
    let monitor =
        Monitor::open(&Home::Disk(directory.join("monitor")), MonitorConfig::default(), Clock::System, nodes.clone())?;
    let registry = Registry::open(&directory.join("authority"), Clock::System)?;
    let access = Access { registry, own: String::new(), address: String::new() };
    let (dialer, memory) = transport::in_memory();
    let forgetting = Forgetting::new(monitor.clone(), Filesavers::default(), dialer.channel());
    let mut routes = RoutesBuilder::default();
    seine_monitor::rpc::add_services(&mut routes, &monitor, nodes, access, forgetting);
    routes.add_service(AnalyserServer::new(LinksAlone::default()).max_decoding_message_size(MAX_MESSAGE_BYTES));
    let stop = CancellationToken::new();
    let serving = tokio::spawn(transport::serve(routes.routes(), memory, stop.clone()));
    let config = CollectorConfig {
        hosts: Limits::new(1).hosts,
        embedded: true,
        max_in_flight: IN_FLIGHT,
        ..CollectorConfig::default()
    };
    let analysers = Analysers::of([("here".to_owned(), dialer.channel())]);
    let collecting = tokio::spawn(Collector::new(config, dialer.channel(), analysers).run(stop.clone()));

    let mut admin = AdminClient::new(dialer.channel());
    let crawl = Crawl {
        name: NAME.to_owned(),
        seeds: homes.to_vec(),
        scope: Scope::Host.into(),
        delay_ms: Some(0),
        connections_per_host: Some(connections),
        user_agent: Some("seine-bench/1".to_owned()),
        allow_net: vec!["127.0.0.0/8".to_owned()],
        max_body_bytes: Some(MAX_BODY_BYTES as u64),
        ..Crawl::default()
    };
    admin.add_crawl(AddCrawlRequest { crawl: Some(crawl), again: false }).await?;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let asked = admin.get_crawl(GetCrawlRequest { name: NAME.to_owned() }).await?.into_inner();
        if asked.status.context("no crawl was told")?.state() == CrawlState::Finished {
            break;
        }
    }
    stop.cancel();
    collecting.await??;
    serving.await?;
    monitor.close().await;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// Says of each page that it is saved.
#[derive(Default)]
struct LinksAlone(Arc<AnalyserConfig>);

#[tonic::async_trait]
impl Analyser for LinksAlone {
    type AnalyseStream = std::pin::Pin<Box<dyn Stream<Item = Result<AnalyseResponse, Status>> + Send>>;

    async fn analyse(
        &self,
        request: Request<Streaming<AnalyseRequest>>,
    ) -> Result<Response<Self::AnalyseStream>, Status> {
        let config = Arc::clone(&self.0);
        let answers = request
            .into_inner()
            .map_ok(move |request| answer(request, Arc::clone(&config)))
            .try_buffer_unordered(PAGES_AT_WORK)
            .map_ok(|answers| futures::stream::iter(answers.map(Ok)))
            .try_flatten();
        Ok(Response::new(answers.boxed()))
    }
}

async fn answer(request: AnalyseRequest, config: Arc<AnalyserConfig>) -> Result<[AnalyseResponse; 2], Status> {
    let page_id = request.page_id;
    let read = move || match request.page {
        Some(page) if !page.archive_only => links(&page, &config),
        _ => ParsedPage::default(),
    };
    let parsed = tokio::task::spawn_blocking(read).await.map_err(|error| Status::internal(error.to_string()))?;
    let event = |event| AnalyseResponse { page_id, event: Some(event) };
    Ok([event(Event::Parsed(parsed)), event(Event::Saved(SavedPage::default()))])
}

/// Found by the whole analysis, which is more than other crawlers do.
fn links(page: &seine_proto::common::v1::FetchedPage, config: &AnalyserConfig) -> ParsedPage {
    let Ok(analysis) = analyse(page, config) else { return ParsedPage::default() };
    ParsedPage { links: analysis.follow, fingerprint: analysis.description.fingerprint, ..ParsedPage::default() }
}
