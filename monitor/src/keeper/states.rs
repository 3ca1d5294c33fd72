//! The state of a host and of an address: each is in exactly one of four.

use seine_common::address::AddressKey;
use seine_common::host::HostKey;

use super::Keeper;
use crate::Result;
use crate::politeness;
use crate::record::Trouble;

/// Hosts of an address that are looked at for its state.
const HOSTS_LOOKED_AT: usize = 1_000;

/// Of a host or an address. Of the states of its hosts an address has the one that stands furthest down here, but while it
/// rests as a whole none of them waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Nothing is left to ask.
    Done,
    /// It was asked a moment ago, has its general pause, or asked for patience.
    Resting,
    /// Something is left, and may be asked for.
    Waiting,
    /// It is leased.
    Active,
}

impl State {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Resting => "resting",
            Self::Waiting => "waiting",
            Self::Active => "active",
        }
    }
}

impl Keeper {
    pub(crate) fn host_state(&self, host: &HostKey, now: i64) -> Result<State> {
        let record = self.frontier.host(host)?;
        let rests = self.allowed_from(&record, now)? > now;
        let mut has_work = false;
        for crawl in self.crawls.keys() {
            has_work |= self.frontier.has_work(*crawl, host)?;
        }
        Ok(match (record.lease_token != 0, rests, has_work) {
            (true, ..) => State::Active,
            (false, true, _) => State::Resting,
            (false, false, true) => State::Waiting,
            (false, false, false) => State::Done,
        })
    }

    /// Of all hosts that were last found at the address. It rests after its work, even with nothing left to ask; `None`
    /// when there is no address.
    pub(crate) fn address_state(&self, address: &str, now: i64) -> Result<Option<State>> {
        let Some(key) = AddressKey::parse(address) else { return Ok(None) };
        let mut state = State::Done;
        if politeness::clamp(now, self.frontier.address(key)?.rests_until_ms) > now {
            state = State::Resting;
        }
        for host in self.frontier.hosts_at(key, HOSTS_LOOKED_AT)? {
            state = state.max(self.host_state(&host, now)?);
        }
        Ok(Some(state))
    }

    /// Until when a host rests and why, in words; `None` when it may be asked now.
    pub(crate) fn host_rest(&self, host: &HostKey, now: i64) -> Result<Option<(i64, String)>> {
        let record = self.frontier.host(host)?;
        let of_address = politeness::clamp(now, self.address_rests_until(&record.address)?);
        let own = politeness::clamp(now, record.next_allowed_ms);
        Ok(match own.max(of_address) {
            until if until <= now => None,
            until if of_address > own => {
                Some((until, format!("{} of its address {}", Trouble::Pause.in_words(), record.address)))
            }
            until => Some((until, record.trouble().in_words().to_owned())),
        })
    }
}
