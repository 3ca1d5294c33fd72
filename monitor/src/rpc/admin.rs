//! Admin calls, for people and their tools.

use seine_proto::monitor::v1::admin_server::Admin;
use seine_proto::monitor::v1::{
    AddCrawlRequest, AddCrawlResponse, BlockHostsRequest, BlockHostsResponse, DrainNodeRequest, DrainNodeResponse,
    ExplainRequest, ExplainResponse, ForgetRequest, ForgetResponse, GetCrawlRequest, GetCrawlResponse, GetHostRequest,
    GetHostResponse, ListBlocksRequest, ListBlocksResponse, ListCrawlsRequest, ListCrawlsResponse, ListHostsRequest,
    ListHostsResponse, ListNodesRequest, ListNodesResponse, RefreshCrawlRequest, RefreshCrawlResponse, SetCrawlRequest,
    SetCrawlResponse, SetCrawlStateRequest, SetCrawlStateResponse, UnblockHostsRequest, UnblockHostsResponse,
};
use tonic::service::Interceptor;
use tonic::{Request, Response, Status};

use crate::Monitor;
use crate::keeper::Command;
use seine_node::membership::NodeTable;

pub(super) struct AdminService {
    monitor: Monitor,
    nodes: NodeTable,
}

impl AdminService {
    pub fn new(monitor: Monitor, nodes: NodeTable) -> Self {
        Self { monitor, nodes }
    }
}

/// Lets only those through who present the token of the data directory.
#[derive(Clone)]
pub struct TokenCheck(pub String);

impl Interceptor for TokenCheck {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        let presented = request.metadata().get("authorization").map(|value| value.as_bytes());
        let presented = presented.and_then(|value| value.strip_prefix(b"Bearer ")).unwrap_or_default();
        if equal_in_constant_time(presented, self.0.as_bytes()) {
            return Ok(request);
        }
        Err(Status::unauthenticated("this call needs the admin token; give it with --token or run with --data"))
    }
}

/// How long it takes tells nothing about where two secrets differ.
fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[tonic::async_trait]
impl Admin for AdminService {
    async fn add_crawl(&self, request: Request<AddCrawlRequest>) -> Result<Response<AddCrawlResponse>, Status> {
        let request = Box::new(request.into_inner());
        let added = self.monitor.ask(|answer| Command::AddCrawl { request, answer }).await?;
        Ok(Response::new(added))
    }

    async fn set_crawl(&self, request: Request<SetCrawlRequest>) -> Result<Response<SetCrawlResponse>, Status> {
        let request = Box::new(request.into_inner());
        let changed = self.monitor.ask(|answer| Command::SetCrawl { request, answer }).await?;
        Ok(Response::new(changed))
    }

    async fn list_crawls(&self, _: Request<ListCrawlsRequest>) -> Result<Response<ListCrawlsResponse>, Status> {
        let crawls = self.monitor.ask(|answer| Command::Crawls { answer }).await?;
        Ok(Response::new(ListCrawlsResponse { crawls }))
    }

    async fn get_crawl(&self, request: Request<GetCrawlRequest>) -> Result<Response<GetCrawlResponse>, Status> {
        let name = request.into_inner().name;
        let status = self.monitor.ask(|answer| Command::Crawl { name, answer }).await?;
        Ok(Response::new(GetCrawlResponse { status: Some(status) }))
    }

    async fn set_crawl_state(
        &self,
        request: Request<SetCrawlStateRequest>,
    ) -> Result<Response<SetCrawlStateResponse>, Status> {
        let request = request.into_inner();
        let status = self.monitor.ask(|answer| Command::SetState { request, answer }).await?;
        Ok(Response::new(SetCrawlStateResponse { status: Some(status) }))
    }

    async fn explain(&self, request: Request<ExplainRequest>) -> Result<Response<ExplainResponse>, Status> {
        let url = request.into_inner().url;
        let explained = self.monitor.ask(|answer| Command::Explain { url, answer }).await?;
        Ok(Response::new(explained))
    }

    async fn refresh_crawl(
        &self,
        request: Request<RefreshCrawlRequest>,
    ) -> Result<Response<RefreshCrawlResponse>, Status> {
        let name = request.into_inner().name;
        let status = self.monitor.ask(|answer| Command::Refresh { name, answer }).await?;
        Ok(Response::new(RefreshCrawlResponse { status: Some(status) }))
    }

    async fn forget(&self, request: Request<ForgetRequest>) -> Result<Response<ForgetResponse>, Status> {
        let request = request.into_inner();
        let forgotten = self.monitor.ask(|answer| Command::Forget { request, answer }).await?;
        Ok(Response::new(forgotten))
    }

    async fn block_hosts(&self, request: Request<BlockHostsRequest>) -> Result<Response<BlockHostsResponse>, Status> {
        let request = request.into_inner();
        let blocked = self.monitor.ask(|answer| Command::Block { request, answer }).await?;
        Ok(Response::new(blocked))
    }

    async fn unblock_hosts(
        &self,
        request: Request<UnblockHostsRequest>,
    ) -> Result<Response<UnblockHostsResponse>, Status> {
        let request = request.into_inner();
        let unblocked = self.monitor.ask(|answer| Command::Unblock { request, answer }).await?;
        Ok(Response::new(unblocked))
    }

    async fn list_blocks(&self, _: Request<ListBlocksRequest>) -> Result<Response<ListBlocksResponse>, Status> {
        let blocks = self.monitor.ask(|answer| Command::Blocks { answer }).await?;
        Ok(Response::new(ListBlocksResponse { blocks }))
    }

    async fn list_hosts(&self, request: Request<ListHostsRequest>) -> Result<Response<ListHostsResponse>, Status> {
        let request = request.into_inner();
        let hosts = self.monitor.ask(|answer| Command::Hosts { request, answer }).await?;
        Ok(Response::new(hosts))
    }

    async fn get_host(&self, request: Request<GetHostRequest>) -> Result<Response<GetHostResponse>, Status> {
        let name = request.into_inner().host;
        let host = self.monitor.ask(|answer| Command::Host { name, answer }).await?;
        Ok(Response::new(host))
    }

    async fn drain_node(&self, request: Request<DrainNodeRequest>) -> Result<Response<DrainNodeResponse>, Status> {
        let DrainNodeRequest { node, undo } = request.into_inner();
        let leases = self.monitor.drain(&node, undo).await?;
        Ok(Response::new(DrainNodeResponse { leases }))
    }

    async fn list_nodes(&self, _: Request<ListNodesRequest>) -> Result<Response<ListNodesResponse>, Status> {
        Ok(Response::new(ListNodesResponse { nodes: self.nodes.all() }))
    }
}
