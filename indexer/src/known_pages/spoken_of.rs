//! What the last commit's pages say of each other, and of which page its document does not have that yet.

use seine_common::document_id::DocumentId;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::{TermDictionary, TermMerger, TermStreamer};
use tantivy::{DocSet, TERMINATED};

use super::{Form, Known, KnownPages, SegmentPages};
use crate::anchors::{self, Anchors, Link, Said, chosen};
use crate::schema::Fields;

/// Terms of one target that are looked at: of a page that is spoken of so often, the first will do.
const MAX_TERMS: usize = 1_000;
/// Dead documents of a term after which it is taken to have a living one.
const MAX_DEAD: usize = 100;

/// Pages whose documents do not have what others say of them now.
#[derive(Debug, Default)]
pub struct Outdated {
    pub pages: Vec<Known>,
    /// From where to go on; `None` behind the last page.
    pub next: Option<u64>,
}

impl KnownPages {
    /// What living pages say of this one.
    pub fn anchors_of(&self, id: &DocumentId) -> tantivy::Result<Anchors> {
        let target = anchors::number(id.as_bytes());
        Ok(chosen(&self.links_from(target)?.said_of(target, &self.segments)?))
    }

    /// Looks at pages in the order of their numbers from `start` on, until so many are looked at or found.
    pub fn outdated(&self, start: u64, looked_at: usize, found: usize, fields: &Fields) -> tantivy::Result<Outdated> {
        let mut ids = self.merged(start, |segment| segment.ids.terms())?;
        let mut links = self.links_from(start)?;
        let mut outdated = Outdated::default();
        let mut pages = 0;
        while ids.advance() {
            let number = anchors::number(ids.key());
            if pages == looked_at || outdated.pages.len() == found {
                outdated.next = Some(number);
                break;
            }
            pages += 1;
            let Some((segment, document)) = self.living(&ids)? else { continue };
            let digest = chosen(&links.said_of(number, &self.segments)?).digest;
            if segment.anchors.first(document).unwrap_or(0) == digest {
                continue;
            }
            let known = segment.known(document, fields)?;
            if known.form != Form::Gone {
                outdated.pages.push(known);
            }
        }
        Ok(outdated)
    }

    fn links_from(&self, target: u64) -> tantivy::Result<Links<'_>> {
        let mut terms = self.merged(target, |segment| segment.links.terms())?;
        let more = terms.advance();
        Ok(Links { terms, more })
    }

    fn merged<'a>(
        &'a self,
        start: u64,
        dictionary: impl Fn(&'a SegmentPages) -> &'a TermDictionary,
    ) -> tantivy::Result<TermMerger<'a>> {
        let streams = self.segments.iter().map(|segment| {
            let stream: TermStreamer = dictionary(segment).range().ge(start.to_be_bytes()).into_stream()?;
            Ok(stream)
        });
        Ok(TermMerger::new(streams.collect::<tantivy::Result<_>>()?))
    }

    /// The living document of the id that the merger stands at.
    fn living(&self, ids: &TermMerger) -> tantivy::Result<Option<(&SegmentPages, u32)>> {
        for (ordinal, term) in ids.current_segment_ords_and_term_infos() {
            let segment = &self.segments[ordinal];
            let mut documents = segment.ids.read_postings_from_terminfo(&term, IndexRecordOption::Basic)?;
            while documents.doc() != TERMINATED {
                if segment.is_alive(documents.doc()) {
                    return Ok(Some((segment, documents.doc())));
                }
                documents.advance();
            }
        }
        Ok(None)
    }
}

/// The terms of all links, read in step with the pages that they point to.
struct Links<'a> {
    terms: TermMerger<'a>,
    more: bool,
}

impl Links<'_> {
    /// Targets must come in order.
    fn said_of(&mut self, target: u64, segments: &[SegmentPages]) -> tantivy::Result<Said> {
        let mut said = Said::new();
        while self.more {
            let number = anchors::number(self.terms.key());
            if number > target {
                break;
            }
            if number == target && said.len() < MAX_TERMS {
                for (ordinal, term) in self.terms.current_segment_ords_and_term_infos() {
                    segments[ordinal].add_said(self.terms.key(), &term, &mut said)?;
                }
            }
            self.more = self.terms.advance();
        }
        Ok(said)
    }
}

impl SegmentPages {
    fn add_said(&self, key: &[u8], term: &TermInfo, said: &mut Said) -> tantivy::Result<()> {
        if let Some((link, host)) = Link::of_term(key)
            && self.is_said(term)?
        {
            said.insert((host, link.text));
        }
        Ok(())
    }

    /// Whether any of the first documents of a link's term lives.
    fn is_said(&self, term: &TermInfo) -> tantivy::Result<bool> {
        if self.alive.is_none() {
            return Ok(true);
        }
        let mut documents = self.links.read_postings_from_terminfo(term, IndexRecordOption::Basic)?;
        for _ in 0..MAX_DEAD {
            match documents.doc() {
                TERMINATED => return Ok(false),
                document if self.is_alive(document) => return Ok(true),
                _ => documents.advance(),
            };
        }
        Ok(true)
    }
}
