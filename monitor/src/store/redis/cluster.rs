//! The client of a cluster: sends each command to the master of its slot, all at once, and reads the replies.
//!
//! It blocks, and belongs to one thread. What must be counted on one connection, such as `WAIT`, follows the commands on theirs.
//! When a command did not arrive, or its slot is elsewhere by now, the map of slots is read again from whichever node answers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::Value;
use seine_common::config::RedisSettings;

use super::connect::{Link, Opener};
use super::failure::Failure;
use super::patience::Patience;
use super::topology::{Address, Topology};
use crate::store::Slot;

/// For one round of commands and replies, over all masters.
const ROUND_TAKES: Duration = Duration::from_secs(5);
/// For the map of slots, of one node.
const MAP_TAKES: Duration = Duration::from_secs(1);

/// A command, packed, for the master of a slot.
#[derive(Clone, Debug)]
pub struct Call {
    pub slot: Slot,
    pub command: Vec<u8>,
}

impl Call {
    pub fn new(slot: Slot, words: &[&[u8]]) -> Self {
        Self { slot, command: packed(words) }
    }
}

/// A command as it travels.
pub fn packed(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(words.iter().map(|word| word.len() + 16).sum::<usize>() + 16);
    begin(&mut bytes, words.len());
    words.iter().for_each(|word| push(&mut bytes, word));
    bytes
}

/// The beginning of a command of so many words.
pub fn begin(bytes: &mut Vec<u8>, words: usize) {
    bytes.push(b'*');
    bytes.extend_from_slice(words.to_string().as_bytes());
    bytes.extend_from_slice(b"\r\n");
}

pub fn push(bytes: &mut Vec<u8>, word: &[u8]) {
    bytes.push(b'$');
    bytes.extend_from_slice(word.len().to_string().as_bytes());
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(word);
    bytes.extend_from_slice(b"\r\n");
}

/// Whether what was asked for has been reached.
pub type Accept = Box<dyn Fn(&Value) -> Result<(), Failure> + Send>;

/// A command behind all those for a master. When its reply is not accepted, none of theirs is.
pub struct Tail {
    pub command: Vec<u8>,
    pub accept: Accept,
}

pub type Reply = Result<Value, Failure>;

pub struct Cluster {
    opener: Opener,
    seeds: Vec<String>,
    topology: Topology,
    links: HashMap<Address, Link>,
}

impl Cluster {
    pub fn new(settings: &RedisSettings) -> Result<Self, String> {
        Ok(Self {
            opener: Opener::new(settings)?,
            seeds: settings.nodes.clone(),
            topology: Topology::default(),
            links: HashMap::new(),
        })
    }

    /// The same cluster, over connections of its own.
    pub fn again(&self) -> Self {
        Self {
            opener: self.opener.clone(),
            seeds: self.seeds.clone(),
            topology: self.topology.clone(),
            links: HashMap::new(),
        }
    }

    pub fn masters(&self) -> Vec<Address> {
        self.topology.masters()
    }

    pub fn unassigned_slots(&self) -> usize {
        self.topology.unassigned()
    }

    /// Asks whichever node answers which master has which slot.
    pub fn read_map(&mut self) -> Result<(), Failure> {
        let mut nodes = self.topology.nodes.clone();
        nodes.extend(self.seeds.iter().filter(|seed| !self.topology.nodes.contains(seed)).cloned());
        let mut last = Failure::Refused("frontier.nodes names no node".to_owned());
        for address in nodes {
            match self.map_of(&address) {
                Ok(topology) if topology.masters().is_empty() => {
                    last = Failure::Busy(format!("{address} says that no node has a slot"));
                }
                Ok(topology) => {
                    self.links.retain(|address, _| topology.masters().contains(address));
                    self.topology = topology;
                    return Ok(());
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    fn map_of(&mut self, address: &str) -> Result<Topology, Failure> {
        let deadline = Instant::now() + MAP_TAKES;
        let asked = packed(&[b"CLUSTER", b"SLOTS"]);
        // A connection of its own: replies of others may still be under way on those that there are.
        match self.opener.open(address)?.ask(&asked, deadline)? {
            Value::ServerError(error) => Err(Failure::of(&error)),
            answer => Topology::read(&answer, address)
                .ok_or_else(|| Failure::Refused(format!("{address} is not a node of a cluster"))),
        }
    }

    /// Sends all, each to its master, and gives the replies in the order of the calls. Nothing is tried again.
    pub fn try_all(&mut self, calls: &[Call], tail: Option<&Tail>) -> Vec<Reply> {
        let deadline = Instant::now() + ROUND_TAKES;
        let mut replies: Vec<Reply> = vec![Err(Failure::Moved); calls.len()];
        let mut by_master: HashMap<Address, Vec<usize>> = HashMap::new();
        for (number, call) in calls.iter().enumerate() {
            if let Some(master) = self.topology.master(call.slot) {
                by_master.entry(master.clone()).or_default().push(number);
            }
        }
        let mut under_way = Vec::with_capacity(by_master.len());
        for (master, numbers) in by_master {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| bytes.extend_from_slice(&calls[*number].command));
            tail.iter().for_each(|tail| bytes.extend_from_slice(&tail.command));
            match self.link(&master).and_then(|link| link.send(&bytes, deadline)) {
                Ok(()) => under_way.push((master, numbers)),
                Err(failure) => self.fail(&master, &numbers, &failure, &mut replies),
            }
        }
        for (master, numbers) in under_way {
            if let Err(failure) = self.receive(&master, &numbers, tail, deadline, &mut replies) {
                self.fail(&master, &numbers, &failure, &mut replies);
            }
        }
        replies
    }

    fn receive(
        &mut self,
        master: &Address,
        numbers: &[usize],
        tail: Option<&Tail>,
        deadline: Instant,
        replies: &mut [Reply],
    ) -> Result<(), Failure> {
        let link = self.link(master)?;
        for number in numbers {
            replies[*number] = match link.receive(deadline)? {
                Value::ServerError(error) => Err(Failure::of(&error)),
                value => Ok(value),
            };
        }
        if let Some(tail) = tail {
            let accepted = match link.receive(deadline)? {
                Value::ServerError(error) => Err(Failure::of(&error)),
                value => (tail.accept)(&value),
            };
            if let Err(failure) = accepted {
                for number in numbers {
                    if replies[*number].is_ok() {
                        replies[*number] = Err(failure.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// What may still come over the connection belongs to nobody: it is closed.
    fn fail(&mut self, master: &Address, numbers: &[usize], failure: &Failure, replies: &mut [Reply]) {
        self.links.remove(master);
        for number in numbers {
            replies[*number] = Err(failure.clone());
        }
    }

    fn link(&mut self, master: &Address) -> Result<&mut Link, Failure> {
        if !self.links.contains_key(master) {
            let link = self.opener.open(master)?;
            self.links.insert(master.clone(), link);
        }
        Ok(self.links.get_mut(master).expect("it was there or has been inserted"))
    }

    /// Commands that may be carried out any number of times, until all are answered.
    pub fn ask_all(&mut self, calls: &[Call], patience: &mut Patience) -> Result<Vec<Value>, Failure> {
        let mut answers: Vec<Option<Value>> = vec![None; calls.len()];
        let mut left: Vec<usize> = (0..calls.len()).collect();
        while !left.is_empty() {
            let again: Vec<Call> = match left.len() == calls.len() {
                true => Vec::new(),
                false => left.iter().map(|number| calls[*number].clone()).collect(),
            };
            let replies = self.try_all(if again.is_empty() { calls } else { &again }, None);
            let mut failed = None;
            let mut unanswered = Vec::new();
            for (number, reply) in left.into_iter().zip(replies) {
                match reply {
                    Ok(value) => answers[number] = Some(value),
                    Err(failure @ (Failure::Refused(_) | Failure::Stale(_))) => return Err(failure),
                    Err(failure) => {
                        unanswered.push(number);
                        failed = Some(failure);
                    }
                }
            }
            left = unanswered;
            if let Some(failure) = failed {
                self.wait(&failure, patience)?;
            }
        }
        patience.succeeded();
        Ok(answers.into_iter().flatten().collect())
    }

    /// Before the next try.
    pub fn wait(&mut self, failure: &Failure, patience: &mut Patience) -> Result<(), Failure> {
        // The first time a slot has moved there is nothing to wait for.
        if *failure != Failure::Moved || patience.has_failed() {
            patience.wait(failure)?;
        } else {
            patience.begin();
        }
        if failure.asks_for_map()
            && let Err(failure) = self.read_map()
        {
            patience.wait(&failure)?;
        }
        Ok(())
    }

    /// A command for each master, such as what it says of itself. Those that cannot be asked are left out.
    pub fn ask_masters(&mut self, words: &[&[u8]]) -> Vec<(Address, Value)> {
        let deadline = Instant::now() + ROUND_TAKES;
        let command = packed(words);
        let mut answers = Vec::new();
        for master in self.masters() {
            match self.link(&master).and_then(|link| link.ask(&command, deadline)) {
                Ok(value) => answers.push((master, value)),
                Err(_) => drop(self.links.remove(&master)),
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_packed_as_the_protocol_says() {
        assert_eq!(packed(&[b"GET", b"\0\xff"]), b"*2\r\n$3\r\nGET\r\n$2\r\n\0\xff\r\n");
    }
}
