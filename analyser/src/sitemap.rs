//! Reads a sitemap: the addresses in it with the dates of their last change, and the sitemaps that it names.
//!
//! A file is XML (`urlset` or `sitemapindex`) or plain text with an address a line; it may be packed with gzip. It is
//! read as leniently as pages are: a broken file gives what it has. Not responsible for: which of the addresses a crawl
//! takes in (the Monitor).

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::FetchedPage;

use crate::charset;
use crate::dates::parse_date;
use crate::decode;
use crate::error::Error;
use crate::format::markup::{self, MarkupAttributes, Reader};

/// Of one file, as sitemaps.org limits it.
const MAX_ADDRESSES: usize = 50_000;
/// Of all addresses of one file, so that they fit into messages.
const MAX_ADDRESS_BYTES: usize = 8 << 20;
/// Longer addresses and dates are none.
const MAX_FIELD_BYTES: usize = 4 << 10;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Canonical.
    pub pages: Vec<String>,
    /// For each page, Unix milliseconds; 0 where the file does not say.
    pub lastmod_ms: Vec<i64>,
    pub sitemaps: Vec<String>,
}

pub fn read(page: &FetchedPage) -> Result<Sitemap, Error> {
    let url = CanonicalUrl::parse(&page.url)?;
    let encodings: Vec<&str> =
        page.headers.iter().filter(|h| h.name == "content-encoding").map(|h| h.value.as_str()).collect();
    let decoded = decode::decode(&encodings, &page.body).unwrap_or_default();
    // The file itself may be packed, whatever its header says; one that is not comes back as it is.
    let body = decode::decode(&["gzip"], &decoded).unwrap_or_default();
    let text = charset::to_text(&body, None, markup::declared_charset).text;
    let mut reader = SitemapReader { url: &url, found: Sitemap::default(), bytes: 0, entry: Entry::default() };
    if text.trim_start().starts_with('<') {
        markup::read(text.as_bytes(), &mut reader);
    } else {
        for line in text.lines() {
            reader.add(Kind::Page, line, "");
        }
    }
    Ok(reader.found)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Page,
    Sitemap,
}

/// The `<url>` or `<sitemap>` at hand.
#[derive(Default)]
struct Entry {
    kind: Option<Kind>,
    field: Field,
    address: Vec<u8>,
    date: Vec<u8>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Field {
    #[default]
    None,
    Address,
    Date,
}

struct SitemapReader<'u> {
    url: &'u CanonicalUrl,
    found: Sitemap,
    bytes: usize,
    entry: Entry,
}

impl SitemapReader<'_> {
    fn add(&mut self, kind: Kind, address: &str, date: &str) {
        let full = self.found.pages.len() + self.found.sitemaps.len() >= MAX_ADDRESSES;
        // Absolute by the rules, but people write what they write.
        let Ok(joined) = self.url.as_url().join(address.trim()) else { return };
        let Ok(url) = CanonicalUrl::parse(joined.as_str()) else { return };
        self.bytes += url.as_str().len();
        if full || address.trim().is_empty() || self.bytes > MAX_ADDRESS_BYTES {
            return;
        }
        match kind {
            Kind::Sitemap => self.found.sitemaps.push(url.as_str().to_owned()),
            Kind::Page => {
                self.found.pages.push(url.as_str().to_owned());
                self.found.lastmod_ms.push(parse_date(date).unwrap_or(0).max(0));
            }
        }
    }
}

impl Reader for SitemapReader<'_> {
    fn start(&mut self, name: &[u8], _: &MarkupAttributes) {
        let kind = match name {
            b"url" => Some(Kind::Page),
            b"sitemap" => Some(Kind::Sitemap),
            _ => None,
        };
        if kind.is_some() {
            self.entry = Entry { kind, ..Entry::default() };
        }
        // Names with a prefix, such as image:loc, are extensions that tell of other things.
        self.entry.field = match name {
            b"loc" => Field::Address,
            b"lastmod" => Field::Date,
            _ => Field::None,
        };
    }

    fn end(&mut self, name: &[u8]) {
        self.entry.field = Field::None;
        if matches!(name, b"url" | b"sitemap") {
            let Entry { kind, address, date, .. } = std::mem::take(&mut self.entry);
            if let Some(kind) = kind {
                self.add(kind, &String::from_utf8_lossy(&address), &String::from_utf8_lossy(&date));
            }
        }
    }

    fn text(&mut self, piece: &[u8]) {
        let field = match self.entry.field {
            Field::None => return,
            Field::Address => &mut self.entry.address,
            Field::Date => &mut self.entry.date,
        };
        let room = MAX_FIELD_BYTES.saturating_sub(field.len());
        field.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn sitemap(body: impl Into<Vec<u8>>) -> Sitemap {
        let body: Vec<u8> = body.into();
        let page =
            FetchedPage { url: "http://a.example/map.xml".to_owned(), body: body.into(), ..FetchedPage::default() };
        read(&page).unwrap()
    }

    const FILE: &str = "<?xml version='1.0' encoding='UTF-8'?>\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
        <url><loc> http://a.example/x?b=1&amp;c=2 </loc><lastmod>2024-05-06</lastmod>\
        <image:image><image:loc>http://a.example/picture.png</image:loc></image:image></url>\
        <url><lastmod>soon</lastmod><loc><![CDATA[http://a.example/č]]></loc></url><url></url></urlset>";

    #[test]
    fn addresses_come_with_their_dates_and_pictures_do_not() {
        let read = sitemap(FILE);
        assert_eq!(read.pages, ["http://a.example/x?b=1&c=2", "http://a.example/%C4%8D"]);
        assert_eq!(read.lastmod_ms, [1_714_953_600_000, 0]);
        assert_eq!(read.sitemaps, [""; 0]);
    }

    #[test]
    fn an_index_names_sitemaps_and_a_text_file_names_pages() {
        let index = sitemap("<sitemapindex><sitemap><loc>/one.xml.gz</loc></sitemap></sitemapindex>");
        assert_eq!(
            (index.sitemaps.as_slice(), index.pages.len()),
            (&["http://a.example/one.xml.gz".to_owned()][..], 0)
        );
        let text = sitemap("\u{feff}http://a.example/1\r\n\r\nhttp://a.example/2\n");
        assert_eq!(text.pages, ["http://a.example/1", "http://a.example/2"]);
        assert_eq!(text.lastmod_ms, [0, 0]);
    }

    #[test]
    fn a_packed_file_is_unpacked_and_a_cut_one_gives_what_it_has() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(FILE.as_bytes()).unwrap();
        assert_eq!(sitemap(gzip.finish().unwrap()).pages.len(), 2);
        let first = FILE.find("</url>").unwrap() + 6;
        assert_eq!(sitemap(&FILE.as_bytes()[..first]).pages.len(), 1);
    }

    #[test]
    fn a_file_beyond_all_limits_is_cut() {
        let endless: String = (0..60_000).map(|n| format!("http://a.example/{n}\n")).collect();
        assert_eq!(sitemap(endless).pages.len(), MAX_ADDRESSES);
        let long = format!("http://a.example/{}\n", "a".repeat(1_000)).repeat(20_000);
        assert!(sitemap(long).pages.len() <= MAX_ADDRESS_BYTES / 1_000);
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic_and_each_page_has_a_date_or_none(
            body in "(<(/|)(urlset|url|loc|lastmod|sitemap|x:loc)>|http://a/b|2024-01-01|<!\\[CDATA\\[|\\]\\]>|.){0,40}",
        ) {
            let read = sitemap(body);
            prop_assert_eq!(read.pages.len(), read.lastmod_ms.len());
        }
    }
}
