//! Nodes and tokens as people and scripts see them.

use seine_node::membership::state_name;
use seine_proto::monitor::v1::{Bounds, Figures, JoinToken, LimitFigures, NodeInfo, NodeSettings, NodeStatus};
use serde_json::{Value, json};

use super::labels_text;
use crate::args::{Role, Target};
use crate::failure::{Failure, Result};
use crate::output::time_text;

pub fn nodes(nodes: &[NodeStatus], target: &Target) -> Result<()> {
    if target.json {
        say!("{}", Value::Array(nodes.iter().map(shown).collect()));
        return Ok(());
    }
    for status in nodes {
        say!("{}", line(status));
    }
    Ok(())
}

fn line(status: &NodeStatus) -> String {
    let node = status.node.clone().unwrap_or_default();
    let Figures { cpu_percent, memory_bytes, pages_per_second, .. } = status.figures.clone().unwrap_or_default();
    let mut parts = vec![format!("{:<22} {:<9} {}", node.id, state_name(status.state()), roles_text(&node))];
    if status.is_monitor {
        parts.push("(this server)".to_owned());
    }
    if node.standby {
        parts.push("(standby indexer)".to_owned());
    }
    if !node.address.is_empty() {
        parts.push(format!("at {}", node.address));
    }
    if memory_bytes > 0 {
        let megabytes = memory_bytes / 1_000_000;
        parts.push(format!("{cpu_percent:.0} % CPU, {megabytes} MB, {pages_per_second:.1} pages/s"));
    }
    if status.leases > 0 {
        parts.push(format!("{} hosts", status.leases));
    }
    if !status.labels.is_empty() {
        parts.push(labels_text(&status.labels));
    }
    if !status.reason.is_empty() {
        parts.push(status.reason.clone());
    }
    for trouble in &node.troubles {
        parts.push(format!("the {} is not well: {}", trouble.tier, trouble.reason));
    }
    parts.join("  ")
}

fn roles_text(node: &NodeInfo) -> String {
    let stands_by = |role: &str| node.monitor_standby && role == Role::Monitor.name();
    let text = |role: &String| if stands_by(role) { format!("{role} (standby)") } else { role.clone() };
    node.roles.iter().map(text).collect::<Vec<_>>().join(",")
}

pub fn node(status: Option<&NodeStatus>, target: &Target) -> Result<()> {
    let status = status.ok_or_else(|| Failure::failed("the monitor did not say how the node is"))?;
    if target.json {
        say!("{}", shown(status));
        return Ok(());
    }
    say!("{}", line(status));
    let figures = status.figures.clone().unwrap_or_default();
    let tell = |name: &str, value: String| {
        if !value.is_empty() {
            say!("  {name:<18} {value}");
        }
    };
    tell("version", status.version.clone());
    tell("joined", time_text(status.joined_at_ms).unwrap_or_default());
    tell("certificate until", time_text(status.certificate_ends_at_ms).unwrap_or_default());
    tell(
        "last sign of life",
        if status.silent_ms < 0 { String::new() } else { format!("{:.1} s ago", status.silent_ms as f64 / 1000.0) },
    );
    if status.figures.is_some() {
        tell("running", format!("{} s", figures.running_seconds));
        tell("CPU", format!("{:.0} % of one core", figures.cpu_percent));
        tell("memory", format!("{} MB", figures.memory_bytes / 1_000_000));
        tell("open files", format!("{} of {}", figures.open_files, figures.max_open_files));
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        tell(
            "disk",
            format!("{:.1} of {:.1} GB free", gigabytes(figures.disk_free_bytes), gigabytes(figures.disk_total_bytes)),
        );
        tell("bandwidth", format!("{:.0} kB/s", figures.bytes_per_second / 1000.0));
        tell("pages", format!("{} ({:.1} per second)", figures.pages, figures.pages_per_second));
        tell("links", format!("{:.1} per second", figures.urls_per_second));
        tell("hosts at work", figures.hosts_at_work.to_string());
        let mut queues: Vec<_> = figures.queues.iter().collect();
        queues.sort();
        queues.into_iter().for_each(|(name, size)| tell(&format!("queue {name}"), size.to_string()));
        figures.limits.iter().for_each(|limit| tell(&format!("at once {}", limit.name), limit_text(limit)));
    }
    tell("log", node_log(status));
    tell("set", set_text(&status.settings.clone().unwrap_or_default()));
    Ok(())
}

fn limit_text(limit: &LimitFigures) -> String {
    let LimitFigures { value, in_use, lowest, highest, at, .. } = limit;
    let kept = match at.as_str() {
        "" => "",
        "highest" => "; it is the most that is allowed",
        "cpu" => "; all cores are busy",
        "memory" => "; memory is short",
        "bandwidth" => "; the bandwidth that is set for it is used up",
        "queue" => "; what was fetched waits to be analysed",
        other => other,
    };
    format!("{in_use} of {value} (from {lowest} to {highest}){kept}")
}

fn set_text(settings: &NodeSettings) -> String {
    let bounds = |name: &str, bounds: &Option<Bounds>| {
        bounds.as_ref().map(|Bounds { lowest, highest }| format!("{name} {lowest}..{highest}"))
    };
    let set = [
        settings.log.as_ref().map(|level| format!("log {level}")),
        bounds("hosts", &settings.hosts),
        bounds("analysis", &settings.analysis),
        bounds("converters", &settings.converters),
        settings.bandwidth.map(|rate| format!("bandwidth {} kB/s", rate / 1000)),
    ];
    set.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn shown_limit(limit: &LimitFigures) -> Value {
    let LimitFigures { name, value, in_use, lowest, highest, at } = limit;
    json!({ "name": name, "value": value, "in_use": in_use, "lowest": lowest, "highest": highest, "at": at })
}

fn shown_bounds(bounds: &Option<Bounds>) -> Value {
    bounds.as_ref().map_or(Value::Null, |Bounds { lowest, highest }| json!({ "lowest": lowest, "highest": highest }))
}

fn node_log(status: &NodeStatus) -> String {
    status.node.as_ref().map(|node| node.log_id.clone()).unwrap_or_default()
}

fn shown(status: &NodeStatus) -> Value {
    let node = status.node.clone().unwrap_or_default();
    let troubles = node.troubles.iter().map(|trouble| json!({ "tier": trouble.tier, "reason": trouble.reason }));
    let figures = status.figures.as_ref().map(|figures| {
        json!({
            "running_seconds": figures.running_seconds,
            "cpu_percent": figures.cpu_percent,
            "memory_bytes": figures.memory_bytes,
            "open_files": figures.open_files,
            "max_open_files": figures.max_open_files,
            "disk_free_bytes": figures.disk_free_bytes,
            "disk_total_bytes": figures.disk_total_bytes,
            "bytes_per_second": figures.bytes_per_second,
            "pages": figures.pages,
            "pages_per_second": figures.pages_per_second,
            "urls_per_second": figures.urls_per_second,
            "hosts_at_work": figures.hosts_at_work,
            "queues": figures.queues,
            "limits": figures.limits.iter().map(shown_limit).collect::<Vec<_>>(),
        })
    });
    let settings = status.settings.clone().unwrap_or_default();
    json!({
        "id": node.id,
        "state": state_name(status.state()),
        "reason": status.reason,
        "roles": node.roles,
        "address": node.address,
        "log": node.log_id,
        "standby": node.standby,
        "monitor_standby": node.monitor_standby,
        "monitor": status.is_monitor,
        "troubles": troubles.collect::<Vec<_>>(),
        "labels": status.labels,
        "version": status.version,
        "joined_at": time_text(status.joined_at_ms),
        "certificate_until": time_text(status.certificate_ends_at_ms),
        "silent_ms": (status.silent_ms >= 0).then_some(status.silent_ms),
        "leases": status.leases,
        "figures": figures,
        "settings": {
            "log": settings.log,
            "hosts": shown_bounds(&settings.hosts),
            "analysis": shown_bounds(&settings.analysis),
            "converters": shown_bounds(&settings.converters),
            "bandwidth": settings.bandwidth,
        },
    })
}

pub fn tokens(tokens: &[JoinToken], target: &Target) -> Result<()> {
    if target.json {
        let shown = |token: &JoinToken| {
            json!({
                "id": token.id, "roles": token.roles, "uses": token.uses, "uses_left": token.uses_left,
                "revoked": token.revoked, "created_at": time_text(token.created_at_ms),
                "expires_at": time_text(token.expires_at_ms), "node": token.node,
            })
        };
        say!("{}", Value::Array(tokens.iter().map(shown).collect()));
        return Ok(());
    }
    for token in tokens {
        let roles = if token.roles.is_empty() { "every role".to_owned() } else { token.roles.join(",") };
        let standing = match token {
            token if token.revoked => "revoked".to_owned(),
            token => format!("{} of {} uses left", token.uses_left, token.uses),
        };
        let until = time_text(token.expires_at_ms).unwrap_or_default();
        let of_node = if token.node.is_empty() { String::new() } else { format!("  for node {}", token.node) };
        say!("{}  {roles}  {standing}  until {until}{of_node}", token.id);
    }
    if tokens.is_empty() {
        eprintln!("there is no join token; `seine nodes token create` makes one");
    }
    Ok(())
}
