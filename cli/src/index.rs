//! `seine index`: work on the index.

use seine_common::config::Config;
use seine_proto::indexer::v1::RebuildRequest;

use crate::End;
use crate::args::{Role, Target};
use crate::connect::Connection;
use crate::failure::Result;

pub async fn rebuild(target: Target, config: &Config) -> Result<End> {
    let roles = [Role::Monitor, Role::Filesaver, Role::Indexer];
    let connection = Connection::open(&target, &roles, config).await?;
    eprintln!("rebuilding the index from the description log; searches go on meanwhile");
    let rebuilt = connection.services().indexer.rebuild(RebuildRequest {}).await;
    connection.close().await;
    let documents = rebuilt?.into_inner().documents;
    if target.json {
        say!("{{\"documents\":{documents}}}");
    } else {
        say!("rebuilt: {documents} documents");
    }
    Ok(End::Done)
}
