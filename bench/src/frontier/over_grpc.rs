//! New URLs as collectors bring them: links of pages over one gRPC stream to a Monitor, answered page by page.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use seine_common::clock::Clock;
use seine_common::limits::MAX_BODY_BYTES;
use seine_monitor::forgetting::Forgetting;
use seine_monitor::keeper::Durability;
use seine_monitor::rpc::Access;
use seine_monitor::{Home, Monitor, MonitorConfig};
use seine_node::membership::{Filesavers, NodeTable};
use seine_node::registry::Registry;
use seine_node::transport;
use seine_node::transport::user_client::user_channel;
use seine_proto::monitor::v1::admin_client::AdminClient;
use seine_proto::monitor::v1::collector_message::Message as Up;
use seine_proto::monitor::v1::monitor_message::Message as Down;
use seine_proto::monitor::v1::work_client::WorkClient;
use seine_proto::monitor::v1::{
    AddCrawlRequest, CollectorMessage, Crawl, Credit, Discover, Heartbeat, Hello, MonitorMessage, QueuedUrl, Scope,
    Strategy,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::service::RoutesBuilder;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::urls::UrlSource;
use super::{BATCH, FrontierReport};

/// Pages whose links are under way at once.
const UNDER_WAY: usize = 64;

pub fn measure(report: &mut FrontierReport, urls: u64, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    // Made before: it is not the Monitor's work.
    let mut source = UrlSource::new(urls);
    let text = |_| source.batch(BATCH).into_iter().map(|candidate| candidate.entry.url).collect::<Vec<_>>();
    let pages: Vec<Vec<String>> = (0..urls / BATCH).map(text).collect();
    let runtime = tokio::runtime::Runtime::new()?;
    report.grpc_urls = pages.len() as u64 * BATCH;
    report.grpc_urls_per_second = runtime.block_on(discover(pages, directory))?;
    drop(runtime);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

async fn discover(pages: Vec<Vec<String>>, directory: &Path) -> anyhow::Result<f64> {
    let config = MonitorConfig { durability: Durability::Os, ..MonitorConfig::default() };
    let nodes = NodeTable::new(Clock::System);
    let monitor = Monitor::open(&Home::Disk(directory.to_owned()), config, Clock::System, nodes.clone())?;
    let mut routes = RoutesBuilder::default();
    let registry = Registry::open(&directory.join("authority"), Clock::System)?;
    let access = Access { registry, own: String::new(), address: String::new() };
    // Nothing is forgotten here, so nobody is asked to.
    let nobody = transport::in_memory().0.channel();
    let forgetting = Forgetting::new(monitor.clone(), Filesavers::default(), nobody);
    seine_monitor::rpc::add_services(&mut routes, &monitor, nodes, access, forgetting);
    let listener = transport::listen("127.0.0.1:0".parse()?).await?;
    let address = listener.local_addr()?.to_string();
    let stop = CancellationToken::new();
    let serving = Server::builder()
        .add_routes(routes.routes())
        .serve_with_incoming_shutdown(TcpIncoming::from(listener), stop.clone().cancelled_owned());
    let serving = tokio::spawn(serving);

    let channel = user_channel(&address, None)?;
    AdminClient::new(channel.clone()).add_crawl(AddCrawlRequest { crawl: Some(crawl()), again: false }).await?;

    let (outgoing, messages) = mpsc::channel(UNDER_WAY + 8);
    send(&outgoing, Up::Hello(Hello { collector_id: "bench".to_owned(), ..Hello::default() })).await?;
    send(&outgoing, Up::Credit(Credit { leases: 1, ..Credit::default() })).await?;
    let mut answers = WorkClient::new(channel).attach(ReceiverStream::new(messages)).await?.into_inner();
    let Down::Welcome(_) = next(&mut answers).await? else { bail!("the first message is no welcome") };
    let Down::Lease(lease) = next(&mut answers).await? else { bail!("the second message is no lease") };
    let home = lease.urls.and_then(|urls| urls.urls.into_iter().next()).context("the lease has a URL")?;

    let links = pages.len() as f64 * BATCH as f64;
    let started = Instant::now();
    let mut pages = pages.into_iter();
    let mut open = 0;
    for links in pages.by_ref().take(UNDER_WAY) {
        send(&outgoing, page(lease.token, &home, links)).await?;
        open += 1;
    }
    let mut since_heartbeat = Instant::now();
    while open > 0 {
        if let Down::Discovered(_) = next(&mut answers).await? {
            match pages.next() {
                Some(links) => send(&outgoing, page(lease.token, &home, links)).await?,
                None => open -= 1,
            }
        }
        if since_heartbeat.elapsed().as_secs() >= 5 {
            since_heartbeat = Instant::now();
            send(&outgoing, Up::Heartbeat(Heartbeat { tokens: vec![lease.token], ..Heartbeat::default() })).await?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    drop(outgoing);
    stop.cancel();
    monitor.close().await;
    serving.abort();
    Ok(links / seconds)
}

fn page(token: u64, home: &QueuedUrl, links: Vec<String>) -> Up {
    Up::Discover(Discover {
        token,
        from_url: home.url.clone(),
        from_place: home.place.clone(),
        links,
        ..Discover::default()
    })
}

fn crawl() -> Crawl {
    Crawl {
        name: "bench".to_owned(),
        seeds: vec!["https://www.example.org/".to_owned()],
        scope: Scope::Any.into(),
        strategy: Strategy::DepthFirst.into(),
        delay_ms: Some(1_000),
        connections_per_host: Some(1),
        user_agent: Some("seine-bench/1".to_owned()),
        max_body_bytes: Some(MAX_BODY_BYTES as u64),
        ..Crawl::default()
    }
}

async fn send(outgoing: &mpsc::Sender<CollectorMessage>, message: Up) -> anyhow::Result<()> {
    outgoing.send(CollectorMessage { message: Some(message) }).await.context("the Monitor ended the stream")
}

async fn next(answers: &mut Streaming<MonitorMessage>) -> anyhow::Result<Down> {
    let answer = answers.message().await?.context("the Monitor ended the stream")?;
    answer.message.context("the Monitor sent an empty message")
}
