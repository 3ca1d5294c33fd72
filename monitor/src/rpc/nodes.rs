//! Registration of nodes.

use seine_proto::monitor::v1::nodes_server::Nodes;
use seine_proto::monitor::v1::{RegisterRequest, RegisterResponse};
use tonic::{Request, Response, Status};

use crate::Monitor;
use crate::keeper::Command;
use seine_node::membership::NodeTable;

pub(super) struct NodesService {
    nodes: NodeTable,
    monitor: Monitor,
}

impl NodesService {
    pub fn new(nodes: NodeTable, monitor: Monitor) -> Self {
        Self { nodes, monitor }
    }
}

#[tonic::async_trait]
impl Nodes for NodesService {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        let RegisterRequest { node, highest_epoch: epoch } = request.into_inner();
        let node = node.filter(|node| !node.id.is_empty() && node.id.len() <= 200);
        let node = node.ok_or_else(|| Status::invalid_argument("a node needs an id of 1 to 200 characters"))?;
        if epoch > 0 {
            self.monitor.ask(|answer| Command::SawEpoch { epoch, answer }).await?;
        }
        let nodes = self.nodes.register(&node);
        let nodes = nodes.ok_or_else(|| Status::resource_exhausted("too many nodes have registered"))?;
        Ok(Response::new(RegisterResponse { nodes }))
    }
}
