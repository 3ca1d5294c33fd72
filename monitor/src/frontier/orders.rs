//! Orders of people that hold over all crawls: hosts to be blocked, and pages to be forgotten.

use prost::Message;

use super::{Frontier, key};
use crate::Result;
use crate::record::{BlockRecord, ForgettingRecord};
use crate::store::{Slot, Table};

impl Frontier {
    /// Hosts that an administrator has blocked.
    pub fn blocks(&self) -> Result<Vec<BlockRecord>> {
        self.read_all(Slot::HOME, Table::Blocks, key::meta::BLOCKS, "block")
    }

    pub fn put_block(&mut self, block: &BlockRecord) -> Result<()> {
        self.put(Slot::HOME, Table::Blocks, key::meta::block(&block.pattern), block.encode_to_vec())
    }

    pub fn remove_block(&mut self, pattern: &str) -> Result<()> {
        self.delete(Slot::HOME, Table::Blocks, key::meta::block(pattern))
    }

    /// What is to be forgotten and is not out of every tier yet, in the order in which it was asked for.
    pub fn forgettings(&self) -> Result<Vec<ForgettingRecord>> {
        self.read_all(Slot::HOME, Table::Forgettings, key::meta::FORGETTINGS, "forgetting")
    }

    pub fn put_forgetting(&mut self, forgetting: &ForgettingRecord) -> Result<()> {
        self.put(Slot::HOME, Table::Forgettings, key::meta::forgetting(forgetting.id), forgetting.encode_to_vec())
    }

    pub fn remove_forgetting(&mut self, id: u64) -> Result<()> {
        self.delete(Slot::HOME, Table::Forgettings, key::meta::forgetting(id))
    }
}
