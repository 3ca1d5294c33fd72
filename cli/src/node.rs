//! `seine node`: some tiers for the Monitor of another process, until Ctrl-C.

use std::collections::BTreeSet;

use seine_common::config::Config;
use seine_common::data_dir::DataDir;

use crate::End;
use crate::args::{NodeArguments, Role};
use crate::failure::{Failure, Result};
use crate::process::Plan;
use crate::serve;

pub async fn run(arguments: NodeArguments, config: Config) -> Result<End> {
    if arguments.roles.contains(&Role::Monitor) {
        return Err(Failure::usage("the monitor does not join another monitor; run it with `seine serve`"));
    }
    if arguments.join.parse::<std::net::SocketAddr>().is_ok_and(|address| !address.ip().is_loopback()) {
        return Err(Failure::usage(format!(
            "--join {}: nodes on other machines are not available yet; use loopback",
            arguments.join
        )));
    }
    let plan = Plan {
        roles: arguments.roles.iter().map(|role| role.name()).collect::<BTreeSet<_>>(),
        data: DataDir::open(&arguments.data)?,
        config,
        grpc: arguments.grpc,
        join: Some(arguments.join),
        serves: true,
    };
    serve::until_stopped(plan, arguments.http).await
}
