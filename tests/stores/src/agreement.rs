//! What the running nodes of a cluster say together.
//!
//! Each has a view of its own, and for some time after a failover or a move the views differ. Who owns a slot is decided as
//! nodes decide it: the claim with the highest epoch wins.

use std::ops::RangeInclusive;

use crate::node::Node;
use crate::view::{SLOTS, View, field};

/// For each slot the index of its owner.
pub type Owners = Vec<Option<usize>>;

/// The nodes that are running, and what each sees.
pub struct Views<'a> {
    nodes: &'a [Node],
    seen: Vec<(&'a Node, View)>,
}

impl<'a> Views<'a> {
    pub fn of(nodes: &'a [Node]) -> Result<Self, String> {
        let running = nodes.iter().filter(|node| node.is_running());
        let seen = running.map(|node| Ok((node, View::of(node)?))).collect::<Result<Vec<_>, String>>()?;
        if seen.is_empty() {
            return Err("no node is running".to_owned());
        }
        Ok(Self { nodes, seen })
    }

    pub fn owners(&self) -> Owners {
        self.owners_by(self.seen.iter().map(|(_, view)| view))
    }

    fn owners_by<'v>(&self, views: impl Iterator<Item = &'v View>) -> Owners {
        let mut claims = vec![(0, None); SLOTS];
        for member in views.flat_map(|view| &view.members) {
            let index = self.nodes.iter().position(|node| node.id() == member.id);
            for slot in member.slots.iter().cloned().flatten() {
                let claim = &mut claims[usize::from(slot)];
                if claim.1.is_none() || claim.0 < member.epoch {
                    *claim = (member.epoch, index);
                }
            }
        }
        claims.into_iter().map(|(_, owner)| owner).collect()
    }

    /// What every running node sees, or whose sight differs.
    pub fn agreed_owners(&self) -> Result<Owners, String> {
        let owners = self.owners();
        for (node, view) in &self.seen {
            let own = self.owners_by(std::iter::once(view));
            if let Some(slot) = (0..SLOTS).find(|slot| own[*slot] != owners[*slot]) {
                let address = node.address();
                let (own, all) = (self.name(own[slot]), self.name(owners[slot]));
                return Err(format!("{address} sees slot {slot} at {own}, others see it at {all}"));
            }
        }
        Ok(owners)
    }

    fn name(&self, owner: Option<usize>) -> String {
        owner.map_or("nobody".to_owned(), |index| self.nodes[index].address())
    }

    /// All sides see the same masters and replicas and doubt none that is running.
    fn check_members(&self) -> Result<(), String> {
        for (subject, own_view) in &self.seen {
            let own = own_view.member(subject.id()).ok_or("a node does not know itself")?;
            for (node, view) in &self.seen {
                let member = view.member(subject.id()).filter(|member| !member.is_doubted());
                if !member.is_some_and(|member| member.is("master") == own.is("master") && member.master == own.master)
                {
                    return Err(format!("{} does not see {} as that does itself", node.address(), subject.address()));
                }
            }
        }
        Ok(())
    }

    /// Replicas have what their masters have, and those know it.
    fn check_replicas(&self) -> Result<(), String> {
        for (node, view) in &self.seen {
            let replication = node.order(&["INFO", "replication"])?.text();
            let own = view.member(node.id()).ok_or("a node does not know itself")?;
            if own.is("master") {
                let expected = self.replicas_of(node);
                let online = replication.matches("state=online").count();
                if online < expected {
                    return Err(format!("{} has {online} of {expected} replicas", node.address()));
                }
            } else if field(&replication, "master_link_status").as_deref() != Some("up") {
                return Err(format!("{} has no link to its master", node.address()));
            }
        }
        Ok(())
    }

    fn replicas_of(&self, master: &Node) -> usize {
        let own = self.seen.iter().filter_map(|(node, view)| view.member(node.id()));
        own.filter(|member| member.master.as_deref() == Some(master.id())).count()
    }
}

/// Every slot has a master that is running, and every running node says so, and that all is well.
pub fn check_all_is_well(nodes: &[Node]) -> Result<(), String> {
    for node in nodes.iter().filter(|node| node.is_running()) {
        let state = field(&node.order(&["CLUSTER", "INFO"])?.text(), "cluster_state");
        if state.as_deref() != Some("ok") {
            return Err(format!("{} says cluster_state:{}", node.address(), state.unwrap_or_default()));
        }
    }
    let views = Views::of(nodes)?;
    for (slot, owner) in views.agreed_owners()?.into_iter().enumerate() {
        if !owner.is_some_and(|owner| nodes[owner].is_running()) {
            return Err(format!("slot {slot} is at {}, which is not running", views.name(owner)));
        }
    }
    views.check_members()?;
    views.check_replicas()
}

/// Every running node sees every slot at another node than `index`.
pub fn check_failover(nodes: &[Node], index: usize) -> Result<(), String> {
    let owners = Views::of(nodes)?.agreed_owners()?;
    if let Some(slot) = owners.iter().position(Option::is_none) {
        return Err(format!("slot {slot} is at nobody"));
    }
    match owners.iter().position(|owner| *owner == Some(index)) {
        Some(slot) => Err(format!("slot {slot} is still at {}", nodes[index].address())),
        None => Ok(()),
    }
}

/// Every running node sees `slots` at `index`.
pub fn check_move(nodes: &[Node], index: usize, mut slots: RangeInclusive<u16>) -> Result<(), String> {
    let owners = Views::of(nodes)?.agreed_owners()?;
    match slots.find(|slot| owners[usize::from(*slot)] != Some(index)) {
        Some(slot) => Err(format!("slot {slot} is not at {}", nodes[index].address())),
        None => Ok(()),
    }
}
