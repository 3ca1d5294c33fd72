//! Which master has which slot, as a node of the cluster tells it.

use std::collections::BTreeMap;
use std::sync::Arc;

use redis::Value;

use crate::store::Slot;

/// A master's address.
pub type Address = Arc<str>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The last slot of each range, by the first.
    ranges: BTreeMap<u16, (u16, Address)>,
    /// Replicas too: whoever still knows when a master is gone.
    pub nodes: Vec<String>,
}

impl Topology {
    /// What `CLUSTER SLOTS` answers: ranges of slots, each with its nodes, the master first. A node that does not know its
    /// own address tells none, and means the one it was asked at.
    pub fn read(answer: &Value, asked: &str) -> Option<Self> {
        let Value::Array(ranges) = answer else { return None };
        let mut topology = Self::default();
        for range in ranges {
            let Value::Array(parts) = range else { return None };
            let [Value::Int(first), Value::Int(last), nodes @ ..] = parts.as_slice() else { return None };
            let addresses = nodes.iter().map(|node| address(node, asked)).collect::<Option<Vec<_>>>()?;
            let range = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
            topology.ranges.insert(range.0, (range.1, addresses.first()?.as_str().into()));
            topology.nodes.extend(addresses);
        }
        topology.nodes.sort();
        topology.nodes.dedup();
        Some(topology)
    }

    pub fn master(&self, slot: Slot) -> Option<&Address> {
        let (_, (last, address)) = self.ranges.range(..=slot.0).next_back()?;
        (slot.0 <= *last).then_some(address)
    }

    pub fn masters(&self) -> Vec<Address> {
        let mut masters: Vec<Address> = self.ranges.values().map(|(_, address)| address.clone()).collect();
        masters.sort();
        masters.dedup();
        masters
    }

    /// Slots that no node has.
    pub fn unassigned(&self) -> usize {
        let assigned: usize = self.ranges.iter().map(|(first, (last, _))| usize::from(last - first) + 1).sum();
        usize::from(Slot::COUNT).saturating_sub(assigned)
    }
}

fn address(node: &Value, asked: &str) -> Option<String> {
    let Value::Array(parts) = node else { return None };
    let [host, Value::Int(port), ..] = parts.as_slice() else { return None };
    let host = match host {
        Value::BulkString(bytes) if !bytes.is_empty() => String::from_utf8(bytes.clone()).ok()?,
        Value::SimpleString(text) if !text.is_empty() => text.clone(),
        Value::Nil | Value::BulkString(_) => asked.rsplit_once(':')?.0.trim_matches(['[', ']']).to_owned(),
        _ => return None,
    };
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::BulkString(host.into()), Value::Int(port), Value::BulkString(b"id".to_vec())])
    }

    #[test]
    fn slots_belong_to_the_first_node_of_their_range() {
        let range =
            |first, last, nodes: &[Value]| Value::Array([&[Value::Int(first), Value::Int(last)], nodes].concat());
        let answer = Value::Array(vec![
            range(0, 99, &[node("10.0.0.1", 7), node("10.0.0.2", 7)]),
            range(200, 16_383, &[node("", 8)]),
        ]);
        let topology = Topology::read(&answer, "[::1]:9").unwrap();
        let master = |slot| topology.master(Slot(slot)).map(|address| address.to_string());
        assert_eq!(master(99), Some("10.0.0.1:7".to_owned()));
        assert_eq!(master(100), None);
        assert_eq!(master(16_383), Some("[::1]:8".to_owned()));
        assert_eq!(topology.nodes.len(), 3);
        assert_eq!(topology.unassigned(), 100);
        assert_eq!(topology.masters().len(), 2);
    }

    #[test]
    fn an_answer_of_another_shape_is_none() {
        for answer in [Value::Nil, Value::Array(vec![Value::Int(1)]), Value::Array(vec![Value::Array(vec![])])] {
            assert_eq!(Topology::read(&answer, "a:1"), None);
        }
    }
}
