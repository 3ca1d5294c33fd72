//! What the index keeps of a page, shared by the indexer that writes it and the query tier that reads it.
//!
//! A document is found by the words of its [word fields](Fields::words), narrowed by site, language, type and date,
//! replaced and removed by `id`. Word fields are marked with the page's language
//! ([`tokenizer::mark`](crate::tokenizer::mark)), also where they are stored.
//! A page that is gone leaves a *tombstone*: `id`, `url`, `fetched_at`, `epoch`, `token` and `gone` only, so that an older description
//! that arrives later is known to be older. It has no words and no date, so it never matches a search.

use seine_common::host::HostKey;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, IndexSettings};

use crate::tokenizer::{self, TOKENIZER};

/// Names of the columns that are read by name.
pub const HOST: &str = "host";
pub const HOST_NAME: &str = "host_name";
pub const LANG: &str = "lang";
pub const CONTENT_TYPE: &str = "type";
pub const DATE: &str = "date";
pub const FETCHED_AT: &str = "fetched_at";
pub const EPOCH: &str = "epoch";
pub const TOKEN: &str = "token";
pub const SIMHASH: &str = "simhash";
pub const EQUAL: &str = "equal";
pub const RANK: &str = "rank";
pub const LEADER: &str = "leader";
pub const ANCHORS_DIGEST: &str = "anchors_digest";

#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// The bytes of its [`DocumentId`](seine_common::document_id::DocumentId): what a document is found, replaced and
    /// removed by.
    pub id: Field,
    /// Stored only.
    pub url: Field,
    /// The host of the page and every domain above it, each with the port where it is not a default one.
    pub site: Field,
    /// [`host_number`] of the page's host: what results are grouped by.
    pub host: Field,
    /// The host itself: what results are counted by.
    pub host_name: Field,
    pub title: Field,
    /// Headings of the page, and how it describes itself. Not stored.
    pub summary: Field,
    /// Stored only.
    pub headings: Field,
    /// The words of the address. Not stored.
    pub address: Field,
    /// How the page describes itself. Stored only.
    pub description: Field,
    /// What the page is about; all its text where that is not told apart.
    pub text: Field,
    /// Menus, footers and the like, where they are told apart.
    pub rest: Field,
    /// What other pages call this one. Not stored.
    pub anchors: Field,
    /// Which texts that are; absent for none.
    pub anchors_digest: Field,
    /// What this page calls others; see [`anchors`](crate::anchors).
    pub links: Field,
    /// ISO 639-1; absent when unknown.
    pub lang: Field,
    /// Media type without parameters; absent when unknown.
    pub content_type: Field,
    pub crawl: Field,
    /// Unix milliseconds of the page's own date, else of its fetch.
    pub date: Field,
    /// Unix milliseconds.
    pub fetched_at: Field,
    /// With the token, of the lease under which the page was fetched.
    pub epoch: Field,
    pub token: Field,
    /// One of the two, for pages that may be like others; see [`likeness`](crate::likeness).
    pub simhash: Field,
    pub equal: Field,
    /// Which of alike pages is preferred.
    pub rank: Field,
    /// What pages like this one are found by, where it is shown and where it is folded.
    pub like_shown: Field,
    pub like_folded: Field,
    /// Present in folded pages only.
    pub folded: Field,
    /// Of a folded page, the rank of the page that is shown instead of it where both match.
    pub leader: Field,
    /// Length of the body as received.
    pub bytes: Field,
    /// File, offset and length in the archive, with spaces between; absent where the page must not be shown from there.
    pub archive: Field,
    /// Present in tombstones only.
    pub gone: Field,
}

impl Fields {
    /// The fields that are cut into words.
    pub fn words(&self) -> [Field; 6] {
        [self.text, self.title, self.summary, self.address, self.rest, self.anchors]
    }
}

pub fn schema() -> (Schema, Fields) {
    let exact = || {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic);
        TextOptions::default().set_indexing_options(indexing)
    };
    let words = || {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        TextOptions::default().set_indexing_options(indexing)
    };
    let mut schema = Schema::builder();
    let fields = Fields {
        id: schema.add_bytes_field("id", INDEXED),
        url: schema.add_text_field("url", STORED),
        site: schema.add_text_field("site", exact()),
        host: schema.add_u64_field(HOST, FAST),
        host_name: schema.add_text_field(HOST_NAME, TextOptions::default().set_fast("raw")),
        title: schema.add_text_field("title", words().set_stored()),
        summary: schema.add_text_field("summary", words()),
        headings: schema.add_text_field("headings", STORED),
        address: schema.add_text_field("address", words()),
        description: schema.add_text_field("description", STORED),
        text: schema.add_text_field("text", words().set_stored()),
        rest: schema.add_text_field("rest", words().set_stored()),
        anchors: schema.add_text_field("anchors", words()),
        anchors_digest: schema.add_u64_field(ANCHORS_DIGEST, FAST),
        links: schema.add_bytes_field("links", INDEXED | STORED),
        lang: schema.add_text_field(LANG, exact().set_stored().set_fast("raw")),
        content_type: schema.add_text_field(CONTENT_TYPE, exact().set_stored().set_fast("raw")),
        crawl: schema.add_text_field("crawl", exact().set_stored()),
        date: schema.add_i64_field(DATE, FAST),
        fetched_at: schema.add_i64_field(FETCHED_AT, FAST),
        epoch: schema.add_u64_field(EPOCH, FAST),
        token: schema.add_u64_field(TOKEN, FAST),
        simhash: schema.add_u64_field(SIMHASH, FAST),
        equal: schema.add_u64_field(EQUAL, FAST),
        rank: schema.add_u64_field(RANK, FAST),
        like_shown: schema.add_u64_field("like_shown", INDEXED),
        like_folded: schema.add_u64_field("like_folded", INDEXED),
        folded: schema.add_bool_field("folded", INDEXED),
        leader: schema.add_u64_field(LEADER, FAST),
        bytes: schema.add_u64_field("bytes", STORED),
        archive: schema.add_text_field("archive", STORED),
        gone: schema.add_bool_field("gone", INDEXED),
    };
    (schema.build(), fields)
}

/// Settings of a new index.
pub fn settings() -> IndexSettings {
    // Compression of stored text on its own thread would hand every block over for little: lz4 is cheap.
    IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() }
}

/// Makes the words of the schema known to an index that was opened or created.
pub fn register_tokenizer(index: &Index) {
    index.tokenizers().register(TOKENIZER, tokenizer::analyzer());
}

/// The host and every domain above it: `a.b.example:8080` → itself, `b.example:8080`, `example:8080`.
pub fn site_terms(host: &HostKey) -> impl Iterator<Item = &str> {
    let whole = host.as_str();
    let name = match whole.rsplit_once(':') {
        Some((name, _)) if !whole.ends_with(']') => name,
        _ => whole,
    };
    let is_address = name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok();
    let above = name.char_indices().filter(move |&(_, c)| c == '.' && !is_address).map(|(dot, _)| &whole[dot + 1..]);
    std::iter::once(whole).chain(above.filter(|domain| !domain.is_empty()))
}

/// A number by which pages of one host are recognised without comparing names.
pub fn host_number(host: &HostKey) -> u64 {
    // Whoever forges a collision only has two hosts share one place in grouped results.
    fnv1a(host.as_str().bytes())
}

pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(host: &str) -> Vec<String> {
        site_terms(&HostKey::from_stored(host.to_owned())).map(str::to_owned).collect()
    }

    #[test]
    fn a_site_filter_finds_the_host_and_its_subdomains_by_one_term() {
        assert_eq!(terms("a.b.example"), ["a.b.example", "b.example", "example"]);
        assert_eq!(terms("a.example:8080"), ["a.example:8080", "example:8080"]);
        assert_eq!(terms("localhost"), ["localhost"]);
    }

    #[test]
    fn addresses_have_no_domains_above_them() {
        assert_eq!(terms("127.0.0.1"), ["127.0.0.1"]);
        assert_eq!(terms("127.0.0.1:8080"), ["127.0.0.1:8080"]);
        assert_eq!(terms("[::1]:81"), ["[::1]:81"]);
        assert_eq!(terms("[2001:db8::1]"), ["[2001:db8::1]"]);
    }
}
