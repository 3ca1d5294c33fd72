//! The thread that brings what was written into the store: takes all that waits as a group, sends it wave by wave, and calls it
//! confirmed when the masters have it on their disks and as many replicas as are asked for have it too.
//!
//! What was not confirmed is sent again, for as long as it takes. A slot counts its writes, so nothing is done twice.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::cluster::Cluster;
use super::failure::Failure;
use super::parcels::{Parcel, Write, waves};
use super::patience::{Patience, Troubles};
use super::scripts;
use crate::Result;
use crate::store::{Batch, Slot, Ticket};

/// Changes that may wait; who writes more waits with them.
const WAITING_CHANGES: usize = 200_000;
/// Changes that are sent as one group.
const GROUP_CHANGES: usize = 50_000;
/// Calls that are sent before the first answer is read.
const CALLS_AT_ONCE: usize = 1_000;

#[derive(Default)]
struct Waiting {
    parcels: VecDeque<Parcel>,
    changes: usize,
    written: Ticket,
    confirmed: Ticket,
    /// Slots that turned out to lack what was confirmed before.
    losses: u64,
    failed: Option<Failure>,
    ends: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dropping it sends what still waits, unless the store has been given up, and ends the thread.
pub struct Writer {
    shared: Arc<Shared>,
    troubles: Arc<Troubles>,
    thread: Option<JoinHandle<()>>,
}

/// Waits for what was written.
#[derive(Clone)]
pub struct Confirmation {
    shared: Arc<Shared>,
}

impl Writer {
    pub fn start(cluster: Cluster, epoch: u64, replicas: u32, troubles: &Arc<Troubles>) -> Self {
        let shared = Arc::<Shared>::default();
        let patience = Patience::new("writing", troubles);
        let mut sender = Sender { cluster, epoch, replicas, last: HashMap::new(), number: 0, losses: 0, patience };
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("frontier-writer".to_owned())
            .spawn(move || {
                let end = Ended(Arc::clone(&of_thread));
                sender.run(&of_thread);
                drop(end);
            })
            .expect("a thread can be started");
        Self { shared, troubles: Arc::clone(troubles), thread: Some(thread) }
    }

    /// Takes a batch; waits while too much waits already.
    pub fn write(&self, batch: &Arc<Batch>) -> Result<Ticket> {
        let mut waiting = self.shared.lock();
        while waiting.changes > WAITING_CHANGES && waiting.failed.is_none() {
            waiting = self.shared.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(reason) = &waiting.failed {
            return Err(reason.clone().into());
        }
        waiting.written.0 += 1;
        let ticket = waiting.written;
        waiting.changes += batch.len();
        waiting.parcels.push_back(Parcel { ticket, batch: Arc::clone(batch) });
        drop(waiting);
        self.shared.changed.notify_all();
        Ok(ticket)
    }

    /// All up to this is in the store for good; and how many slots have lost something so far.
    pub fn confirmed(&self) -> (Ticket, u64) {
        let waiting = self.shared.lock();
        (waiting.confirmed, waiting.losses)
    }

    pub fn confirmation(&self) -> Confirmation {
        Confirmation { shared: Arc::clone(&self.shared) }
    }
}

impl Confirmation {
    /// Waits until all that was written before is confirmed.
    pub fn wait(&self) -> Result<()> {
        let mut waiting = self.shared.lock();
        let written = waiting.written;
        while waiting.confirmed < written {
            if let Some(reason) = &waiting.failed {
                return Err(reason.clone().into());
            }
            waiting = self.shared.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.troubles.stop();
    }
}

/// Tells those who wait that nobody confirms anything any more, however the thread ended.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        if waiting.confirmed < waiting.written || !waiting.ends {
            let ended = || Failure::Refused("the thread that writes into it has ended".to_owned());
            waiting.failed.get_or_insert_with(ended);
        }
        drop(waiting);
        self.0.changed.notify_all();
    }
}

struct Sender {
    cluster: Cluster,
    epoch: u64,
    replicas: u32,
    /// The number of the last write of each slot.
    last: HashMap<Slot, u64>,
    number: u64,
    losses: u64,
    patience: Patience,
}

/// A write with its number, and that of the one before in its slot.
struct Numbered {
    write: Write,
    before: u64,
    number: u64,
}

impl Sender {
    fn run(&mut self, shared: &Shared) {
        while let Some(group) = next_group(shared) {
            let Some(last) = group.last().map(|parcel| parcel.ticket) else { continue };
            let changes: usize = group.iter().map(|parcel| parcel.batch.len()).sum();
            for wave in waves(&group) {
                if let Err(failure) = self.send(wave) {
                    let mut waiting = shared.lock();
                    waiting.failed = Some(failure);
                    waiting.parcels.clear();
                    drop(waiting);
                    shared.changed.notify_all();
                    return;
                }
            }
            let mut waiting = shared.lock();
            waiting.confirmed = last;
            waiting.changes -= changes;
            waiting.losses = self.losses;
            drop(waiting);
            shared.changed.notify_all();
        }
    }

    /// Sends the writes of a wave until all are confirmed.
    fn send(&mut self, wave: Vec<Write>) -> std::result::Result<(), Failure> {
        let mut rest: Vec<Numbered> = wave
            .into_iter()
            .map(|write| {
                self.number += 1;
                let before = self.last.insert(write.slot, self.number).unwrap_or(0);
                Numbered { write, before, number: self.number }
            })
            .collect();
        let tail = scripts::confirmed_by(self.replicas);
        while !rest.is_empty() {
            let mut failed = None;
            let mut again = Vec::new();
            let mut behind: HashMap<Slot, u64> = HashMap::new();
            for some in rest.chunks(CALLS_AT_ONCE) {
                let calls: Vec<_> = some
                    .iter()
                    .map(|numbered| numbered.write.call(self.epoch, numbered.before, numbered.number))
                    .collect();
                let replies = self.cluster.try_all(&calls, tail.as_ref());
                for (numbered, reply) in some.iter().zip(replies) {
                    match reply {
                        Ok(_) => {}
                        Err(failure @ (Failure::Refused(_) | Failure::Stale(_))) => return Err(failure),
                        Err(failure) => {
                            // Only the first of a slot says something: the others miss it.
                            if let Failure::Behind(number) = failure {
                                behind.entry(numbered.write.slot).or_insert(number);
                            } else {
                                behind.entry(numbered.write.slot).or_insert(u64::MAX);
                                failed = Some(failure);
                            }
                            again.push(numbered.number);
                        }
                    }
                }
            }
            rest.retain(|numbered| again.contains(&numbered.number));
            self.go_on_after_loss(&mut rest, &behind);
            match failed {
                Some(Failure::NoScript) => scripts::load(&mut self.cluster),
                Some(failure) => self.cluster.wait(&failure, &mut self.patience)?,
                None => {}
            }
        }
        self.patience.succeeded();
        Ok(())
    }

    /// A slot without what was confirmed before has lost it with its nodes. What comes is still written.
    fn go_on_after_loss(&mut self, rest: &mut [Numbered], behind: &HashMap<Slot, u64>) {
        let mut first: Vec<Slot> = Vec::new();
        for numbered in rest {
            let slot = numbered.write.slot;
            if first.contains(&slot) {
                continue;
            }
            first.push(slot);
            if let Some(number) = behind.get(&slot).filter(|number| **number < numbered.before) {
                tracing::error!(
                    slot = slot.0,
                    has = number,
                    confirmed = numbered.before,
                    "the store has lost changes that it had confirmed; `seine frontier check` tells what is missing"
                );
                numbered.before = 0;
                self.losses += 1;
            }
        }
    }
}

/// Waits for something to send; `None` at the end.
fn next_group(shared: &Shared) -> Option<Vec<Parcel>> {
    let mut waiting = shared.lock();
    while waiting.parcels.is_empty() {
        if waiting.ends {
            return None;
        }
        waiting = shared.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
    }
    let (mut group, mut changes) = (Vec::new(), 0);
    while changes < GROUP_CHANGES
        && let Some(parcel) = waiting.parcels.pop_front()
    {
        changes += parcel.batch.len();
        group.push(parcel);
    }
    Some(group)
}
