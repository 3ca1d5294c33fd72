//! `seine node`: some tiers for the Monitor of another process, until Ctrl-C.

use std::collections::BTreeSet;

use seine_common::config::Config;
use seine_common::data_dir::DataDir;
use seine_node::shutdown::Shutdown;

use crate::End;
use crate::args::{NodeArguments, Role};
use crate::failure::{Failure, Result};
use crate::process::{Plan, Process};

pub async fn run(arguments: NodeArguments, config: Config) -> Result<End> {
    for (role, instead) in [(Role::Monitor, "seine serve"), (Role::Query, "seine serve --roles query")] {
        if arguments.roles.contains(&role) {
            return Err(Failure::usage(format!(
                "{} does not join another monitor; run it with `{instead}`",
                role.name()
            )));
        }
    }
    if arguments.join.parse::<std::net::SocketAddr>().is_ok_and(|address| !address.ip().is_loopback()) {
        return Err(Failure::usage(format!(
            "--join {}: nodes on other machines are not available yet; use loopback",
            arguments.join
        )));
    }
    let shutdown =
        Shutdown::on_signals(|| eprintln!("stopping: finishing what is under way; press Ctrl-C again to stop at once"))
            .map_err(Failure::failed)?;
    let plan = Plan {
        roles: arguments.roles.iter().map(|role| role.name()).collect::<BTreeSet<_>>(),
        data: DataDir::open(&arguments.data)?,
        config,
        grpc: arguments.grpc,
        join: Some(arguments.join),
        serves: true,
    };
    let process = Process::start(plan).await?;
    say!("ready grpc={}", process.grpc);
    let ended = tokio::select! {
        () = shutdown.token.cancelled() => Ok(End::Interrupted),
        failure = process.failure() => Err(failure),
    };
    let closed = process.close().await;
    ended.and_then(|end| closed.map(|()| end))
}
