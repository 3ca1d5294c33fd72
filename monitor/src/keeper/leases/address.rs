//! The address of a leased host: how many of its hosts are asked at once, how many requests all of them get before they
//! rest together, and where a host was found.

use std::net::IpAddr;

use seine_common::address::AddressKey;
use seine_common::host::HostKey;
use seine_proto::monitor::v1::{Pin, Pinned, monitor_message::Message};

use crate::Result;
use crate::keeper::Keeper;
use crate::lease::table::{ActiveLease, SessionId};
use crate::politeness::{self, AddressPause, HostPace};
use crate::record::{CrawlId, HostRecord};

/// Leases among which an address's requests are divided where the number of its hosts is not limited.
const PLACES: usize = 4;
/// Requests for robots.txt, with redirects: more are not promised to a lease that only prepares.
const TO_PREPARE: u32 = 6;

impl Keeper {
    /// The collector has found an address, and asks whether it may use it.
    pub(crate) fn pin(&mut self, session: SessionId, pin: &Pin) -> Result<()> {
        let Some(lease) = self.leases.held_by(pin.token, session) else { return Ok(()) };
        // What an earlier pin of the same lease was promised is asked for anew.
        lease.address = None;
        lease.allowed_by_name = pin.allowed_by_name;
        let lease = lease.clone();
        let address = pin.address.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        self.note_address(&lease.host, address)?;
        let room = match address {
            _ if self.is_refused_at(&lease.host, address)? => Room::Wait,
            Some(address) => self.room_at(AddressKey::of(address), &lease)?,
            None => Room::Go(None),
        };
        let (go, promised) = match room {
            Room::Go(promised) => (true, promised),
            Room::Wait => (false, None),
        };
        if let Some(lease) = self.leases.held_by(pin.token, session) {
            lease.address_busy = !go;
            lease.address = address.filter(|_| go);
            lease.request_allowance = promised.or(lease.request_allowance);
            let lease = lease.clone();
            if lease.address.is_some() {
                self.frontier.put_lease(&lease.record())?;
            }
        }
        if go && !pin.allowed_by_name {
            self.ask_for_contact(lease.crawl);
        }
        let pinned = Message::Pinned(Pinned { token: pin.token, go, request_allowance: promised.unwrap_or(0) });
        match promised {
            // What is promised counts as made if the collector is lost, so it is durable first.
            Some(_) => self.send_durably(session, pinned),
            None => self.send(session, pinned),
        }
        Ok(())
    }

    /// Whether one more host may be asked at the address.
    fn room_at(&self, address: AddressKey, lease: &ActiveLease) -> Result<Room> {
        let now = self.clock.now_ms();
        let record = self.frontier.address(address)?;
        if politeness::clamp(now, record.rests_until_ms) > now.max(lease.rests_until_ms) {
            return Ok(Room::Wait);
        }
        let Some(crawl) = self.crawls.get(&lease.crawl) else { return Ok(Room::Go(None)) };
        // Networks allowed by name are not limited, and fill the limit of nobody.
        let most = match crawl.record.settings.hosts_per_ip() as usize {
            0 => usize::MAX,
            _ if lease.allowed_by_name => usize::MAX,
            most => most,
        };
        let active = self.leases.at(address).filter(|lease| !lease.allowed_by_name).count();
        if active >= most {
            return Ok(Room::Wait);
        }
        let Some(pause) = AddressPause::of(&HostPace::of(&crawl.checked, &lease.host, 0)) else {
            return Ok(Room::Go(None));
        };
        let known = self.frontier.hosts_at(address, PLACES + active)?.len();
        let places = PLACES.min(most - active).min(known.saturating_sub(self.leases.at(address).count()));
        let share = pause.share(&record, self.promised_at(address), places as u32);
        let share = if lease.prepares { share.min(TO_PREPARE) } else { share };
        Ok(if share == 0 { Room::Wait } else { Room::Go(Some(share)) })
    }

    /// Requests that the leases at an address may still make.
    fn promised_at(&self, address: AddressKey) -> u32 {
        let promised = self.leases.at(address).filter_map(|lease| lease.request_allowance);
        promised.fold(0, u32::saturating_add)
    }

    /// Whether the host has to wait because others of its address may make all the requests that are left before they rest.
    pub(super) fn is_all_promised(&self, crawl: CrawlId, host: &HostKey, record: &HostRecord) -> Result<bool> {
        let pause = AddressPause::of(&HostPace::of(&self.crawls[&crawl].checked, host, 0));
        match (pause, AddressKey::parse(&record.address)) {
            (Some(pause), Some(address)) => {
                Ok(pause.share(&self.frontier.address(address)?, self.promised_at(address), 1) == 0)
            }
            _ => Ok(false),
        }
    }

    /// From when on the host may be asked, as far as it and its address rest.
    pub(crate) fn allowed_from(&self, record: &HostRecord, now: i64) -> Result<i64> {
        let of_address = self.address_rests_until(&record.address)?;
        Ok(politeness::clamp(now, record.next_allowed_ms.max(of_address)))
    }

    /// Writes down a rest that no clock can have meant as what it counts now, or it would lie as far ahead at each look.
    pub(super) fn bring_address_rest_within_bounds(&mut self, address: &str, now: i64) -> Result<()> {
        let Some(address) = AddressKey::parse(address) else { return Ok(()) };
        let mut record = self.frontier.address(address)?;
        let rests_ms = politeness::clamp(now, record.rests_until_ms);
        if rests_ms < record.rests_until_ms {
            record.rests_until_ms = rests_ms;
            self.frontier.put_address(address, &record)?;
        }
        Ok(())
    }

    /// When the general pause of an address ends or ended; 0 when it had none.
    pub(crate) fn address_rests_until(&self, address: &str) -> Result<i64> {
        match AddressKey::parse(address) {
            Some(address) => Ok(self.frontier.address(address)?.rests_until_ms),
            None => Ok(0),
        }
    }

    /// Counts what a lease that is over has asked, or may have asked, of its address. The lease's record must go after that:
    /// a crash in between then counts its requests twice rather than never.
    pub(super) fn count_at_address(&mut self, lease: &ActiveLease, pace: HostPace, made: u32, now: i64) -> Result<()> {
        let Some(address) = lease.address.map(AddressKey::of) else { return Ok(()) };
        let before = self.frontier.address(address)?;
        let mut record = before;
        // Also for a crawl without a pause: another one may have it.
        record.requests_since_pause = record.requests_since_pause.saturating_add(made);
        let pause = AddressPause::of(&pace);
        let rests = pause.is_some_and(|pause| pause.begin_if_due(&mut record, self.promised_at(address), now));
        if record != before {
            self.frontier.put_address(address, &record)?;
        }
        if rests {
            tracing::debug!(address = %address, seconds = pace.pause_ms / 1000, "general pause of an address");
            let others: Vec<u64> = self.leases.at(address).map(|lease| lease.token).collect();
            for token in others {
                self.revoke(token, "its address rests");
            }
        }
        Ok(())
    }

    /// Where the host is, for people and for those that share its address.
    fn note_address(&mut self, host: &HostKey, address: Option<IpAddr>) -> Result<()> {
        let record = self.frontier.host(host)?;
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        self.frontier.move_host(&record, &address)
    }

    /// Says once for each crawl that the owners of public sites cannot tell who is crawling.
    fn ask_for_contact(&mut self, crawl: CrawlId) {
        let Some(settings) = self.crawls.get(&crawl).map(|crawl| &crawl.record.settings) else { return };
        if !names_a_contact(settings.user_agent()) && self.asked_for_contact.insert(crawl) {
            tracing::warn!(
                crawl = settings.name,
                user_agent = settings.user_agent(),
                "the crawl asks public sites without telling who is crawling; set `contact` in [crawl] of the settings to a \
                 page about your robot, or name an address in --user-agent"
            );
        }
    }
}

enum Room {
    /// With so many requests at most, where all hosts of the address pause together.
    Go(Option<u32>),
    Wait,
}

/// Whether a user agent has a page or a mail address in it.
fn names_a_contact(user_agent: &str) -> bool {
    user_agent.contains("://") || user_agent.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_or_a_mail_address_is_a_contact() {
        assert!(names_a_contact("seine/0.1 (+https://example.org/robot)"));
        assert!(names_a_contact("seine/0.1 (robot@example.org)"));
        assert!(!names_a_contact("seine/0.1"));
    }
}
