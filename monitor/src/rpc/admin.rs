//! Admin calls, for people and their tools.

use seine_proto::monitor::v1::admin_server::Admin;
use seine_proto::monitor::v1::{
    AddCrawlRequest, AddCrawlResponse, BlockHostsRequest, BlockHostsResponse, CreateJoinTokenRequest,
    CreateJoinTokenResponse, DrainNodeRequest, DrainNodeResponse, ExplainRequest, ExplainResponse, ForgetProgress,
    ForgetRequest, GetCrawlRequest, GetCrawlResponse, GetHostRequest, GetHostResponse, LabelNodeRequest,
    LabelNodeResponse, ListBlocksRequest, ListBlocksResponse, ListCrawlsRequest, ListCrawlsResponse, ListHostsRequest,
    ListHostsResponse, ListJoinTokensRequest, ListJoinTokensResponse, ListNodesRequest, ListNodesResponse, NodeStatus,
    RefreshCrawlRequest, RefreshCrawlResponse, RemoveNodeRequest, RemoveNodeResponse, RevokeJoinTokenRequest,
    RevokeJoinTokenResponse, RotateAuthorityRequest, RotateAuthorityResponse, SetCrawlRequest, SetCrawlResponse,
    SetCrawlStateRequest, SetCrawlStateResponse, SetNodeRequest, SetNodeResponse, UnblockHostsRequest,
    UnblockHostsResponse, UnforgetRequest, UnforgetResponse,
};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use crate::Monitor;
use crate::forgetting::Forgetting;
use crate::keeper::Command;
use crate::rpc::access::Access;
use seine_node::membership::NodeTable;

pub(super) struct AdminService {
    monitor: Monitor,
    nodes: NodeTable,
    access: Access,
    forgetting: Forgetting,
}

impl AdminService {
    pub fn new(monitor: Monitor, nodes: NodeTable, access: Access, forgetting: Forgetting) -> Self {
        Self { monitor, nodes, access, forgetting }
    }

    async fn node(&self, id: &str) -> Result<Option<NodeStatus>, Status> {
        let leases = self.monitor.ask(|answer| Command::LeaseCounts { answer }).await?;
        self.access.node(&self.nodes, &leases, id).map(Some)
    }
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
        let crawls = self.monitor.crawls().await?;
        Ok(Response::new(ListCrawlsResponse { crawls }))
    }

    async fn get_crawl(&self, request: Request<GetCrawlRequest>) -> Result<Response<GetCrawlResponse>, Status> {
        let name = request.into_inner().name;
        let status = self.monitor.crawl(name).await?;
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

    type ForgetStream = Box<dyn Stream<Item = Result<ForgetProgress, Status>> + Send + Unpin>;

    async fn forget(&self, request: Request<ForgetRequest>) -> Result<Response<Self::ForgetStream>, Status> {
        let progress = self.forgetting.begin(request.into_inner().what).await?;
        Ok(Response::new(Box::new(WatchStream::new(progress).map(Ok))))
    }

    async fn unforget(&self, request: Request<UnforgetRequest>) -> Result<Response<UnforgetResponse>, Status> {
        let request = request.into_inner();
        let unforgotten = self.monitor.ask(|answer| Command::Unforget { request, answer }).await?;
        self.forgetting.look_again();
        Ok(Response::new(unforgotten))
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

    async fn list_nodes(&self, request: Request<ListNodesRequest>) -> Result<Response<ListNodesResponse>, Status> {
        let leases = self.monitor.ask(|answer| Command::LeaseCounts { answer }).await?;
        let nodes = self.access.nodes(&self.nodes, &leases, request.into_inner().removed);
        Ok(Response::new(ListNodesResponse { nodes }))
    }

    async fn drain_node(&self, request: Request<DrainNodeRequest>) -> Result<Response<DrainNodeResponse>, Status> {
        let DrainNodeRequest { node, undo } = request.into_inner();
        self.node(&node).await?;
        let leases = self.monitor.drain(&node, undo).await?;
        Ok(Response::new(DrainNodeResponse { leases }))
    }

    async fn remove_node(&self, request: Request<RemoveNodeRequest>) -> Result<Response<RemoveNodeResponse>, Status> {
        let node = request.into_inner().node;
        self.access.remove(&self.nodes, &node).await?;
        // Its slots go to the others; what it has ends with its leases, when it has no connections to sites any more.
        self.monitor.drain(&node, false).await?;
        Ok(Response::new(RemoveNodeResponse {}))
    }

    async fn label_node(&self, request: Request<LabelNodeRequest>) -> Result<Response<LabelNodeResponse>, Status> {
        let request = request.into_inner();
        let node = request.node.clone();
        self.access.label(request).await?;
        Ok(Response::new(LabelNodeResponse { node: self.node(&node).await? }))
    }

    async fn set_node(&self, request: Request<SetNodeRequest>) -> Result<Response<SetNodeResponse>, Status> {
        let request = request.into_inner();
        let node = request.node.clone();
        self.access.set(&self.nodes, request).await?;
        Ok(Response::new(SetNodeResponse { node: self.node(&node).await? }))
    }

    async fn rotate_authority(
        &self,
        request: Request<RotateAuthorityRequest>,
    ) -> Result<Response<RotateAuthorityResponse>, Status> {
        self.access.rotate(&self.nodes, request.into_inner()).await.map(Response::new)
    }

    async fn create_join_token(
        &self,
        request: Request<CreateJoinTokenRequest>,
    ) -> Result<Response<CreateJoinTokenResponse>, Status> {
        self.access.create_token(request.into_inner()).await.map(Response::new)
    }

    async fn list_join_tokens(
        &self,
        _: Request<ListJoinTokensRequest>,
    ) -> Result<Response<ListJoinTokensResponse>, Status> {
        Ok(Response::new(self.access.tokens()))
    }

    async fn revoke_join_token(
        &self,
        request: Request<RevokeJoinTokenRequest>,
    ) -> Result<Response<RevokeJoinTokenResponse>, Status> {
        self.access.revoke_token(request.into_inner()).await?;
        Ok(Response::new(RevokeJoinTokenResponse {}))
    }
}
