//! An entry in the form that tantivy takes: its texts, marked with their language, are indexed and stored from where
//! they lie, without a copy.
//!
//! A document carries a [`Permit`] of the [`Budget`] it counts against: the queues of the threads that write segments are bounded
//! by the number of documents only; the budget bounds their bytes, and gives them back when the document has been written.

use std::iter;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use seine_common::document_id::DocumentId;
use seine_common::host::HostKey;
use seine_common::url::CanonicalUrl;
use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};

use crate::anchors::Anchors;
use crate::entry::Entry;
use crate::known_pages::Form;
use crate::likeness::{Likeness, Signature};
use crate::schema::{Fields, host_number, site_terms};
use crate::tokenizer::mark;

pub struct PageDocument {
    fields: Fields,
    id: DocumentId,
    entry: Entry,
    likeness: Option<Likeness>,
    /// The rank of the page that it is folded into.
    leader: Option<u64>,
    /// Headings and the page's description of itself.
    summary: String,
    /// The address with its percent-encoding undone.
    address: String,
    anchors: Anchors,
    /// Of the page's links.
    links: Vec<Vec<u8>>,
    /// Absent in tombstones and where the URL has none.
    host: Option<HostKey>,
    _permit: Permit,
}

impl PageDocument {
    /// `form` must fit the entry.
    pub fn new(
        fields: Fields,
        id: DocumentId,
        mut entry: Entry,
        form: Form,
        mut anchors: Anchors,
        permit: Permit,
    ) -> Self {
        let (mut summary, mut address, mut host) = (String::new(), String::new(), None);
        let mut links = Vec::new();
        let (likeness, leader) = match form {
            Form::Shown(likeness) => (likeness, None),
            Form::Folded { likeness, leader } => (Some(likeness), Some(leader)),
            Form::Gone => (None, None),
        };
        if let Entry::Page(page) = &mut entry {
            host = CanonicalUrl::parse(&page.url).ok().map(|url| url.host());
            summary.push_str(&page.headings);
            if !page.description.is_empty() {
                summary.push('\n');
                summary.push_str(&page.description);
            }
            let host_number = host.as_ref().map_or(0, host_number);
            links.extend(page.links.iter().map(|link| link.term(host_number)));
            address = percent_decode_str(&page.url).decode_utf8_lossy().into_owned();
            let texts = [&mut page.title, &mut page.text, &mut page.rest, &mut summary, &mut address];
            for text in texts.into_iter().chain(&mut anchors.texts) {
                if !text.is_empty() {
                    mark(text, &page.lang);
                }
            }
        }
        Self { fields, id, entry, likeness, leader, summary, address, anchors, links, host, _permit: permit }
    }

    pub fn id(&self) -> &DocumentId {
        &self.id
    }

    /// Those of one field stand together.
    pub fn values(&self) -> Vec<(Field, PageValue<'_>)> {
        let fields = &self.fields;
        let version = self.entry.version();
        let mut values = Vec::with_capacity(24);
        values.push((fields.id, PageValue::Bytes(self.id.as_bytes())));
        values.push((fields.url, PageValue::Text(self.entry.url())));
        values.push((fields.fetched_at, PageValue::Signed(version.fetched_at_ms)));
        values.push((fields.epoch, PageValue::Unsigned(version.epoch)));
        values.push((fields.token, PageValue::Unsigned(version.token)));
        let Entry::Page(page) = &self.entry else {
            values.push((fields.gone, PageValue::Flag(true)));
            return values;
        };
        self.likeness_values(&mut values);
        if let Some(leader) = self.leader {
            values.push((fields.folded, PageValue::Flag(true)));
            values.push((fields.leader, PageValue::Unsigned(leader)));
        }
        if let Some(host) = &self.host {
            values.extend(site_terms(host).map(|term| (fields.site, PageValue::Text(term))));
            values.push((fields.host, PageValue::Unsigned(host_number(host))));
            values.push((fields.host_name, PageValue::Text(host.as_str())));
        }
        let date = if page.date_ms == 0 { page.fetched_at_ms } else { page.date_ms };
        values.push((fields.date, PageValue::Signed(date)));
        values.push((fields.bytes, PageValue::Unsigned(page.bytes)));
        values.extend(self.links.iter().map(|term| (fields.links, PageValue::Bytes(term))));
        if self.anchors.digest != 0 {
            values.push((fields.anchors_digest, PageValue::Unsigned(self.anchors.digest)));
            values.extend(self.anchors.texts.iter().map(|text| (fields.anchors, PageValue::Text(text))));
        }
        let texts = [
            (fields.title, &page.title),
            (fields.summary, &self.summary),
            (fields.headings, &page.headings),
            (fields.address, &self.address),
            (fields.description, &page.description),
            (fields.text, &page.text),
            (fields.rest, &page.rest),
            (fields.crawl, &page.crawl),
            (fields.lang, &page.lang),
            (fields.content_type, &page.content_type),
            (fields.archive, &page.archive),
        ];
        let present = texts.into_iter().filter(|(_, text)| !text.is_empty());
        values.extend(present.map(|(field, text)| (field, PageValue::Text(text))));
        values
    }
}

impl PageDocument {
    fn likeness_values(&self, values: &mut Vec<(Field, PageValue<'_>)>) {
        let Some(Likeness { signature, rank }) = self.likeness else { return };
        let fields = &self.fields;
        values.push(match signature {
            Signature::Near(simhash) => (fields.simhash, PageValue::Unsigned(simhash)),
            Signature::Equal(key) => (fields.equal, PageValue::Unsigned(key)),
        });
        values.push((fields.rank, PageValue::Unsigned(rank)));
        let field = if self.leader.is_some() { fields.like_folded } else { fields.like_shown };
        values.extend(signature.terms().map(|term| (field, PageValue::Unsigned(term))));
    }
}

impl Document for PageDocument {
    type Value<'a> = PageValue<'a>;
    type FieldsValuesIter<'a> = std::vec::IntoIter<(Field, PageValue<'a>)>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.values().into_iter()
    }
}

#[derive(Clone, Copy, Debug)]
pub enum PageValue<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
    Unsigned(u64),
    Signed(i64),
    Flag(bool),
}

impl<'a> Value<'a> for PageValue<'a> {
    type ArrayIter = iter::Empty<Self>;
    type ObjectIter = iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match *self {
            Self::Text(text) => ReferenceValueLeaf::Str(text),
            Self::Bytes(bytes) => ReferenceValueLeaf::Bytes(bytes),
            Self::Unsigned(number) => ReferenceValueLeaf::U64(number),
            Self::Signed(number) => ReferenceValueLeaf::I64(number),
            Self::Flag(flag) => ReferenceValueLeaf::Bool(flag),
        })
    }
}

/// Bytes of documents that may wait to be written.
pub struct Budget {
    limit: usize,
    used: Mutex<usize>,
    given_back: Condvar,
}

/// A share of the budget; dropping it gives it back.
pub struct Permit {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: Mutex::new(0), given_back: Condvar::new() })
    }

    /// Waits for room; a share larger than the whole waits until nothing else is out. `None` when nothing moved for
    /// `patience`: then nobody writes any more.
    pub fn take(self: &Arc<Self>, bytes: usize, patience: Duration) -> Option<Permit> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > self.limit {
            let (guard, waited) = self.given_back.wait_timeout(used, patience).unwrap_or_else(PoisonError::into_inner);
            used = guard;
            if waited.timed_out() {
                return None;
            }
        }
        *used += bytes;
        Some(Permit { budget: Arc::clone(self), bytes })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut used = self.budget.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used -= self.bytes;
        drop(used);
        self.budget.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_budget_makes_the_next_document_wait_until_one_is_written() {
        let budget = Budget::new(100);
        let first = budget.take(80, Duration::from_secs(10)).unwrap();
        assert!(budget.take(30, Duration::from_millis(5)).is_none());
        let waiting = std::thread::spawn({
            let budget = Arc::clone(&budget);
            move || budget.take(30, Duration::from_secs(10)).is_some()
        });
        drop(first);
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn a_document_larger_than_the_budget_goes_alone_instead_of_never() {
        let budget = Budget::new(10);
        let large = budget.take(1000, Duration::from_secs(10)).unwrap();
        assert!(budget.take(1, Duration::from_millis(5)).is_none());
        drop(large);
        assert!(budget.take(1, Duration::from_secs(10)).is_some());
    }
}
