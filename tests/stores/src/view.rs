//! What one node says of all: the reply to `CLUSTER NODES`, and what it says of itself alone.

use std::ops::RangeInclusive;

use crate::node::Node;

/// Of every cluster.
pub const SLOTS: usize = 16_384;

pub struct View {
    pub members: Vec<Member>,
}

pub struct Member {
    pub id: String,
    pub flags: Vec<String>,
    /// Whose replica it is.
    pub master: Option<String>,
    /// Who claims a slot with a higher one owns it.
    pub epoch: u64,
    /// Over the cluster's bus.
    pub is_linked: bool,
    pub slots: Vec<RangeInclusive<u16>>,
}

impl View {
    pub fn of(node: &Node) -> Result<Self, String> {
        let text = node.order(&["CLUSTER", "NODES"])?.text();
        Self::read(&text).ok_or_else(|| format!("{}: not a list of nodes: {text}", node.address()))
    }

    fn read(text: &str) -> Option<Self> {
        Some(Self { members: text.lines().map(Member::read).collect::<Option<_>>()? })
    }

    pub fn member(&self, id: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }
}

impl Member {
    /// `ID ADDRESS FLAG,… MASTER|- PINGED ANSWERED EPOCH connected|disconnected SLOT|FIRST-LAST…`
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let id = words.next()?.to_owned();
        let flags = words.nth(1)?.split(',').map(str::to_owned).collect();
        let master = words.next().filter(|master| *master != "-").map(str::to_owned);
        let epoch = words.nth(2)?.parse().ok()?;
        let is_linked = words.next()? == "connected";
        // In brackets: slots that are on their way and still owned.
        let slots = words.filter(|word| !word.starts_with('[')).map(read_range).collect::<Option<_>>()?;
        Some(Self { id, flags, master, epoch, is_linked, slots })
    }

    pub fn is(&self, flag: &str) -> bool {
        self.flags.iter().any(|other| other == flag)
    }

    /// Taken for dead, or nearly so, or not yet known well.
    pub fn is_doubted(&self) -> bool {
        ["fail", "fail?", "handshake", "noaddr"].iter().any(|flag| self.is(flag))
    }
}

fn read_range(word: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// The value of `name` in what `INFO` or `CLUSTER INFO` says: lines `name:value`.
pub fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(|value| value.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_replicas_and_moving_slots_are_read() {
        let view = View::read(
            "aa 127.0.0.1:10001@10002,,shard-id=77 myself,master - 0 0 12 connected 0-99 200 [7->-bb]\n\
             bb 127.0.0.1:10003@10004 slave,fail? aa 0 1426238316232 3 disconnected\n",
        );
        let members = view.expect("it is a list of nodes").members;
        assert_eq!((&*members[0].id, &members[0].master, members[0].epoch), ("aa", &None, 12));
        assert_eq!(members[0].slots, [0..=99, 200..=200]);
        assert!(members[0].is("master") && members[0].is_linked && !members[0].is_doubted());
        assert_eq!(members[1].master.as_deref(), Some("aa"));
        assert!(members[1].is_doubted() && !members[1].is_linked && members[1].slots.is_empty());
        assert!(View::read("aa 127.0.0.1:10001@10002 master -").is_none());
    }
}
