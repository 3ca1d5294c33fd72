//! What crawls know: a URL in the sieve stands in a queue or has a record, a record has its URL in the sieve and its next visit
//! planned, and a planned visit is that of a record.

use seine_common::url::CanonicalUrl;

use super::super::key::{self, URL_BYTES, UrlAt};
use super::super::sieve::Seen;
use super::{Check, Damage, crawl_of};
use crate::record::{QueueEntry, UrlRecord, decode};
use crate::store::{Batch, Entry, Slot, Table};
use crate::{MonitorError, Result};

impl Check<'_> {
    pub(super) fn seen(&mut self, _: Table, entries: &[(Slot, Entry)]) -> Result<()> {
        let read = entries.iter().map(|(slot, (key, value))| {
            let key: [u8; URL_BYTES] = key.as_ref().try_into().map_err(|_| MonitorError::Corrupt("seen URL"))?;
            Ok((UrlAt { slot: *slot, key }, Seen::decode(value)?))
        });
        let seen: Vec<(UrlAt, Seen)> = read.collect::<Result<_>>()?;
        let queued = seen.iter().filter_map(|(at, seen)| match seen {
            Seen::Queued { place, .. } => Some((*at, *seen, key::queue(&at.host(), *place).to_vec())),
            _ => None,
        });
        let retrying = seen.iter().filter_map(|(at, seen)| match seen {
            Seen::Retrying { due_ms, place, .. } => {
                Some((*at, *seen, key::retry(&at.host(), *due_ms, *place).to_vec()))
            }
            _ => None,
        });
        let (queued, retrying): (Vec<_>, Vec<_>) = (queued.collect(), retrying.collect());
        self.seen_waiting(Table::Queue, &queued)?;
        self.seen_waiting(Table::Retries, &retrying)?;
        let settled: Vec<UrlAt> =
            seen.iter().filter(|(_, seen)| matches!(seen, Seen::Settled { .. })).map(|(at, _)| *at).collect();
        let keys: Vec<(Slot, &[u8])> = settled.iter().map(|at| (at.slot, &at.key[..])).collect();
        let records = self.values(Table::Records, &keys)?;
        for at in settled.iter().zip(records).filter(|(_, record)| record.is_none()).map(|(at, _)| *at) {
            self.lose(at)?;
        }
        Ok(())
    }

    fn seen_waiting(&mut self, table: Table, waiting: &[(UrlAt, Seen, Vec<u8>)]) -> Result<()> {
        let keys: Vec<(Slot, &[u8])> = waiting.iter().map(|(at, _, key)| (at.slot, &key[..])).collect();
        let entries = self.values(table, &keys)?;
        for ((at, seen, _), entry) in waiting.iter().zip(entries) {
            let entry: Option<QueueEntry> = entry.map(|bytes| decode(&bytes, table.name())).transpose()?;
            let fingerprint = entry.map(|entry| self.frontier.fingerprinter.of(entry.url.as_bytes()));
            if fingerprint.is_some_and(|fingerprint| at.key.ends_with(&fingerprint.to_be_bytes())) {
                continue;
            }
            match self.frontier.record_at(at)? {
                Some(record) => self.waits_nowhere(at, *seen, &record)?,
                None => self.lose(*at)?,
            }
        }
        Ok(())
    }

    /// A known page was to be visited again.
    fn waits_nowhere(&mut self, at: &UrlAt, seen: Seen, record: &UrlRecord) -> Result<()> {
        self.found(Damage::WaitsNowhere, || record.entry.url.clone());
        if self.mends {
            let (Seen::Queued { depth, .. } | Seen::Retrying { depth, .. } | Seen::Settled { depth }) = seen;
            let record = UrlRecord { next_visit_ms: record.next_visit_ms.max(1), ..record.clone() };
            let mut batch = Batch::at(at.slot);
            batch.put(Table::Seen, at.key, Seen::Settled { depth }.encode());
            self.frontier.write_record(&mut batch, at, None, &record);
            self.frontier.write(batch)?;
        }
        Ok(())
    }

    /// Nothing has the URL itself. It is let in again, so that whatever names it brings it back.
    fn lose(&mut self, at: UrlAt) -> Result<()> {
        self.found(Damage::Lost, || {
            let fingerprint = at.key[URL_BYTES - 8..].iter().map(|byte| format!("{byte:02x}"));
            format!("fingerprint {}", fingerprint.collect::<String>())
        });
        self.lost.insert(at.key);
        if self.mends {
            self.frontier.delete(at.slot, Table::Seen, at.key)?;
        }
        Ok(())
    }

    pub(super) fn records(&mut self, _: Table, entries: &[(Slot, Entry)]) -> Result<()> {
        let read = entries.iter().map(|(_, (key, value))| self.read_record(key, value));
        let records: Vec<(UrlAt, UrlRecord)> = read.collect::<Result<_>>()?;
        let keys: Vec<(Slot, &[u8])> = records.iter().map(|(at, _)| (at.slot, &at.key[..])).collect();
        let seen = self.values(Table::Seen, &keys)?;
        let visits: Vec<_> =
            records.iter().map(|(at, record)| (at.slot, key::visit(&at.key, record.next_visit_ms))).collect();
        let visits: Vec<(Slot, &[u8])> = visits.iter().map(|(slot, key)| (*slot, &key[..])).collect();
        let planned = self.values(Table::Visits, &visits)?;
        for (((at, record), seen), planned) in records.iter().zip(seen).zip(planned) {
            let seen = seen.map(|bytes| Seen::decode(&bytes)).transpose()?;
            if seen.is_none() {
                self.found(Damage::RecordUnknown, || record.entry.url.clone());
                if self.mends {
                    let seen = Seen::Settled { depth: record.entry.depth };
                    self.frontier.put(at.slot, Table::Seen, at.key, seen.encode())?;
                }
            }
            // While it waits for a visit, it is not among those that are planned.
            let is_settled = matches!(seen, None | Some(Seen::Settled { .. }));
            if is_settled && record.next_visit_ms > 0 && planned.is_none() {
                self.found(Damage::VisitMissing, || record.entry.url.clone());
                if self.mends {
                    let mut batch = Batch::at(at.slot);
                    self.frontier.write_record(&mut batch, at, None, record);
                    self.frontier.write(batch)?;
                }
            }
            self.follow_redirect(at, record)?;
        }
        Ok(())
    }

    pub(super) fn read_record(&self, key: &[u8], value: &[u8]) -> Result<(UrlAt, UrlRecord)> {
        let record: UrlRecord = decode(value, "URL record")?;
        let url = CanonicalUrl::parse(&record.entry.url).map_err(|_| MonitorError::Corrupt("URL record"))?;
        let at = self.frontier.url_at(crawl_of(key)?, &url);
        if at.key != *key {
            return Err(MonitorError::Corrupt("URL record"));
        }
        Ok((at, record))
    }

    pub(super) fn visits(&mut self, _: Table, entries: &[(Slot, Entry)]) -> Result<()> {
        let read =
            entries.iter().map(|(slot, (key, _))| key::read_visit(*slot, key).ok_or(MonitorError::Corrupt("visit")));
        let visits: Vec<(i64, UrlAt)> = read.collect::<Result<_>>()?;
        let keys: Vec<(Slot, &[u8])> = visits.iter().map(|(_, at)| (at.slot, &at.key[..])).collect();
        let records = self.values(Table::Records, &keys)?;
        for (((due_ms, at), record), (_, (key, _))) in visits.iter().zip(records).zip(entries) {
            let record: Option<UrlRecord> = record.map(|bytes| decode(&bytes, "URL record")).transpose()?;
            if record.as_ref().is_some_and(|record| record.next_visit_ms == *due_ms) {
                continue;
            }
            self.found(Damage::VisitOfNothing, || match record {
                Some(record) => record.entry.url,
                None => "a URL without a record".to_owned(),
            });
            if self.mends {
                self.frontier.delete(at.slot, Table::Visits, key)?;
            }
        }
        Ok(())
    }
}
