//! Strangers become a cluster.
//!
//! Order matters: epochs can only be set on a node that knows no other, slots are given out while nobody can object, and a
//! replica must have met its master. Replica `r` of master `m` is node `masters × (r + 1) + m`.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::node::Node;
use crate::setup::Setup;
use crate::view::{SLOTS, View};
use crate::wait::wait;

const MEETING_DEADLINE: Duration = Duration::from_secs(30);

/// Nodes that know each other and their tasks; they may not have agreed yet.
pub fn form(nodes: &[Node], setup: &Setup) -> Result<(), String> {
    for (index, node) in nodes.iter().enumerate() {
        // Two masters with one epoch would have to settle first which of them takes a later one.
        node.order(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()])?;
    }
    for (index, node) in nodes[..setup.masters].iter().enumerate() {
        let slots = share(index, setup.masters);
        node.order(&["CLUSTER", "ADDSLOTSRANGE", &slots.start().to_string(), &slots.end().to_string()])?;
    }
    meet(nodes)?;
    for (index, replica) in nodes.iter().enumerate().skip(setup.masters) {
        replica.order(&["CLUSTER", "REPLICATE", nodes[index % setup.masters].id()])?;
    }
    Ok(())
}

/// The slots of one of `masters`.
fn share(index: usize, masters: usize) -> RangeInclusive<u16> {
    let first = |index: usize| u16::try_from(SLOTS * index / masters).expect("there are less slots than that");
    first(index)..=(first(index + 1) - 1)
}

fn meet(nodes: &[Node]) -> Result<(), String> {
    // Each pair: rumours would bring them together too, a second later.
    for (index, node) in nodes.iter().enumerate() {
        for other in &nodes[index + 1..] {
            let ports = other.ports();
            node.order(&["CLUSTER", "MEET", "127.0.0.1", &ports.clients.to_string(), &ports.bus.to_string()])?;
        }
    }
    wait(MEETING_DEADLINE, || nodes.iter().try_for_each(|node| knows_all(node, nodes)))
}

fn knows_all(node: &Node, nodes: &[Node]) -> Result<(), String> {
    let view = View::of(node)?;
    for other in nodes {
        let known = view.member(other.id()).is_some_and(|member| member.is_linked);
        if !known {
            return Err(format!("{} has not met {}", node.address(), other.address()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_given_to_exactly_one_master() {
        for masters in 1..8 {
            let shares = (0..masters).flat_map(|index| share(index, masters));
            assert!(shares.map(usize::from).eq(0..SLOTS), "{masters}");
        }
    }
}
