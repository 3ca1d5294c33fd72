//! Slots go from one master to another with their keys, as each server has it done.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::node::Node;
use crate::resp::Reply;
use crate::wait::wait;

/// Keys that Redis sends at once.
const KEYS_PER_ORDER: &str = "100";
const SENDING_MILLISECONDS: &str = "10000";

/// Valkey moves them as a whole: clients see them at one node, then at the other.
pub fn move_as_a_whole(from: &Node, to: &Node, slots: &RangeInclusive<u16>, deadline: Duration) -> Result<(), String> {
    let (first, last) = (slots.start().to_string(), slots.end().to_string());
    from.order(&["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", &first, &last, "NODE", to.id()])?;
    // The outer error ends the waiting at once, the inner one is probed again.
    wait(deadline, || match newest_job(from)? {
        (state, _) if state == "success" => Ok(Ok(())),
        (state, message) if state == "failed" || state == "canceled" => Ok(Err(format!("{state}: {message}"))),
        (state, _) => Err(format!("moving slots is in the state {state}")),
    })?
}

/// Its state and what the server says of it.
fn newest_job(from: &Node) -> Result<(String, String), String> {
    let jobs = from.order(&["CLUSTER", "GETSLOTMIGRATIONS"])?.array();
    let job = jobs.into_iter().next().ok_or("there is no job that moves slots")?.array();
    let value = |name: &str| {
        let pair = job.chunks_exact(2).find(|pair| pair[0].text() == name);
        pair.map_or(String::new(), |pair| pair[1].text())
    };
    Ok((value("state"), value("message")))
}

/// Redis moves them key by key: meanwhile both nodes have a part of a slot, and the first one says so with `ASK`.
pub fn move_key_by_key(
    (from, to, masters): (&Node, &Node, &[&Node]),
    slots: RangeInclusive<u16>,
    password: Option<&str>,
) -> Result<(), String> {
    for slot in slots {
        let slot = slot.to_string();
        to.order(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", from.id()])?;
        from.order(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", to.id()])?;
        send_keys(from, to, &slot, password)?;
        // The new owner first: it must never be that both send clients to each other.
        for node in [to, from].iter().chain(masters) {
            node.order(&["CLUSTER", "SETSLOT", &slot, "NODE", to.id()])?;
        }
    }
    Ok(())
}

fn send_keys(from: &Node, to: &Node, slot: &str, password: Option<&str>) -> Result<(), String> {
    let port = to.ports().clients.to_string();
    let mut head: Vec<&str> = vec!["MIGRATE", "127.0.0.1", &port, "", "0", SENDING_MILLISECONDS];
    if let Some(password) = password {
        head.extend(["AUTH", password]);
    }
    head.push("KEYS");
    loop {
        let keys = from.order(&["CLUSTER", "GETKEYSINSLOT", slot, KEYS_PER_ORDER])?.array();
        if keys.is_empty() {
            return Ok(());
        }
        let mut words: Vec<Vec<u8>> = head.iter().map(|word| word.as_bytes().to_vec()).collect();
        words.extend(keys.into_iter().filter_map(|key| if let Reply::Bulk(key) = key { Some(key.0) } else { None }));
        if let Reply::Error(error) = from.call(&words)? {
            return Err(format!("{}: MIGRATE: {error}", from.address()));
        }
    }
}
