//! `seine hosts`: blocking hosts over all crawls, and telling what hosts are doing.

mod show;

use std::collections::BTreeSet;

use seine_common::config::Config;
use seine_proto::monitor::v1::{
    BlockHostsRequest, BlockHostsResponse, GetHostRequest, HostBlock, HostState, ListBlocksRequest, ListHostsRequest,
    ListedHost, UnblockHostsRequest, UnblockHostsResponse,
};
use serde_json::{Value, json};

use crate::End;
use crate::args::{HostsArguments, HostsCommand, StateFlag, Target};
use crate::connect::{Admin, with_admin};
use crate::failure::Result;
use crate::output::time_text;

pub async fn run(arguments: HostsArguments, config: &Config) -> Result<End> {
    use HostsCommand as C;
    match arguments.command {
        C::Block { pattern, reason, target } => {
            with_admin(&target, config, async |mut admin| {
                let answer = admin.block_hosts(BlockHostsRequest { pattern, reason }).await?.into_inner();
                tell_blocked(&answer, &target);
                Ok(())
            })
            .await
        }
        C::Unblock { pattern, target } => {
            with_admin(&target, config, async |mut admin| {
                let answer = admin.unblock_hosts(UnblockHostsRequest { pattern }).await?.into_inner();
                tell_unblocked(&answer, &target);
                Ok(())
            })
            .await
        }
        C::List { pattern, state, blocked, limit, target } => {
            with_admin(&target, config, async |mut admin| {
                let blocks = admin.list_blocks(ListBlocksRequest {}).await?.into_inner().blocks;
                let wanted = ListHostsRequest {
                    pattern: pattern.unwrap_or_default(),
                    state: wanted_state(state).into(),
                    only_blocked: blocked,
                    ..ListHostsRequest::default()
                };
                let (hosts, has_more) = match limit {
                    0 => (Vec::new(), false),
                    _ => hosts(&mut admin, wanted, limit).await?,
                };
                tell_list(&blocks, &hosts, has_more, &target);
                Ok(())
            })
            .await
        }
        C::Show { host, target } => {
            with_admin(&target, config, async |mut admin| {
                let shown = admin.get_host(GetHostRequest { host }).await?.into_inner();
                show::tell(&shown, &target);
                Ok(())
            })
            .await
        }
    }
}

/// Up to `limit` hosts, and whether there are more.
async fn hosts(admin: &mut Admin, mut wanted: ListHostsRequest, limit: usize) -> Result<(Vec<ListedHost>, bool)> {
    let mut hosts: Vec<ListedHost> = Vec::new();
    // A host that waits in two crawls is told twice.
    let mut told = BTreeSet::new();
    loop {
        let answer = admin.list_hosts(wanted.clone()).await?.into_inner();
        hosts.extend(answer.hosts.into_iter().filter(|host| told.insert(host.host.clone())));
        if hosts.len() > limit {
            hosts.truncate(limit);
            return Ok((hosts, true));
        }
        wanted.cursor = answer.cursor;
        if wanted.cursor.is_empty() {
            return Ok((hosts, false));
        }
    }
}

fn tell_blocked(answer: &BlockHostsResponse, target: &Target) {
    let block = answer.block.clone().unwrap_or_default();
    if target.json {
        say!("{}", json!({ "blocked": block_json(&block), "leases_ended": answer.leases }));
        return;
    }
    say!("blocked {}; {} leases end, nothing more is asked", line(&block), answer.leases);
    if let Some(domain) = block.pattern.strip_prefix("*.") {
        eprintln!("{domain} itself is not among them; block it too if you mean it");
    }
}

fn tell_unblocked(answer: &UnblockHostsResponse, target: &Target) {
    let block = answer.block.clone().unwrap_or_default();
    if target.json {
        let (hosts, crawls) = (answer.hosts, &answer.finished_crawls);
        say!("{}", json!({ "unblocked": block_json(&block), "hosts": hosts, "finished_crawls": crawls }));
        return;
    }
    say!("unblocked {}; {} hosts with something waiting may be asked again", block.pattern, answer.hosts);
    for crawl in &answer.finished_crawls {
        eprintln!("crawl {crawl} had finished without them; `seine crawls resume {crawl}` goes on with it");
    }
}

fn tell_list(blocks: &[HostBlock], hosts: &[ListedHost], has_more: bool, target: &Target) {
    if target.json {
        let blocks: Vec<_> = blocks.iter().map(block_json).collect();
        let hosts: Vec<_> = hosts.iter().map(host_json).collect();
        say!("{}", json!({ "blocked": blocks, "hosts": hosts, "more": has_more }));
        return;
    }
    for block in blocks {
        say!("blocked  {}", line(block));
    }
    for host in hosts {
        let address = if host.address.is_empty() { "" } else { " at " };
        let blocked = host.block.as_ref().map(|block| format!(", blocked by {}", block.pattern)).unwrap_or_default();
        say!("{:<8} {}{address}{}{blocked}", state_name(host.state()), host.host, host.address);
    }
    if has_more {
        eprintln!("there are more; raise --limit, or name hosts with a pattern or --state");
    } else if blocks.is_empty() && hosts.is_empty() {
        eprintln!("nothing is blocked, and there is no such host");
    }
}

/// A block in one line, for people.
fn line(block: &HostBlock) -> String {
    let since = time_text(block.since_ms).unwrap_or_default();
    let because = if block.reason.is_empty() { String::new() } else { format!(": {}", block.reason) };
    format!("{} since {since}{because}", block.pattern)
}

fn block_json(block: &HostBlock) -> Value {
    json!({ "pattern": block.pattern, "reason": block.reason, "since": time_text(block.since_ms) })
}

fn host_json(host: &ListedHost) -> Value {
    json!({
        "host": host.host,
        "state": state_name(host.state()),
        "address": Some(&host.address).filter(|address| !address.is_empty()),
        "rests_until": host.rests_until_ms.and_then(time_text),
        "blocked_by": host.block.as_ref().map(|block| &block.pattern),
    })
}

fn state_name(state: HostState) -> &'static str {
    match state {
        HostState::Waiting => "waiting",
        HostState::Active => "active",
        HostState::Resting => "resting",
        HostState::Done => "done",
        HostState::Unspecified => "unknown",
    }
}

fn wanted_state(flag: Option<StateFlag>) -> HostState {
    match flag {
        Some(StateFlag::Waiting) => HostState::Waiting,
        Some(StateFlag::Active) => HostState::Active,
        Some(StateFlag::Resting) => HostState::Resting,
        Some(StateFlag::Done) => HostState::Done,
        None => HostState::Unspecified,
    }
}
