//! Reads a page back out of the index: all that it takes to write it in another form.

use tantivy::schema::{Field, Value};
use tantivy::{DocAddress, Searcher, TantivyDocument};

use crate::anchors::Link;
use crate::entry::Page;
use crate::schema::{DATE, Fields};
use crate::tokenizer::unmarked;
use crate::version::Version;

/// Its signatures are not known any more.
pub(crate) fn page(
    searcher: &Searcher,
    address: DocAddress,
    version: Version,
    fields: &Fields,
) -> tantivy::Result<Page> {
    let stored: TantivyDocument = searcher.doc(address)?;
    let text = |field: Field| stored.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let words = |field: Field| unmarked(&text(field)).1.to_owned();
    let dates = searcher.segment_reader(address.segment_ord).fast_fields().i64(DATE)?;
    let date_ms = dates.first(address.doc_id).filter(|date| *date != version.fetched_at_ms).unwrap_or(0);
    let links = stored.get_all(fields.links).filter_map(|value| Link::of_term(value.as_bytes()?));
    Ok(Page {
        links: links.map(|(link, _)| link).collect(),
        url: text(fields.url),
        crawl: text(fields.crawl),
        title: words(fields.title),
        headings: text(fields.headings),
        description: text(fields.description),
        text: words(fields.text),
        rest: words(fields.rest),
        lang: text(fields.lang),
        content_type: text(fields.content_type),
        bytes: stored.get_first(fields.bytes).and_then(|value| value.as_u64()).unwrap_or(0),
        archive: text(fields.archive),
        date_ms,
        fetched_at_ms: version.fetched_at_ms,
        epoch: version.epoch,
        token: version.token,
        ..Page::default()
    })
}
