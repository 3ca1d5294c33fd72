//! What a page names as an address, and what is written for it.
//!
//! A page of a few megabytes can name hundreds of thousands of addresses by one letter each, below a base of some
//! kilobytes. What is written for them is bounded by the page's own length; addresses beyond that are left out.

use seine_common::url::MAX_URL_BYTES;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Cancelled, LinkRewriter, Use};

/// Bytes of addresses that a page may have beyond its own length.
const MAX_GROWTH_BYTES: usize = 16 << 20;
/// Tokens between two looks at whether anybody still waits.
const STEPS_PER_LOOK: u32 = 1 << 12;

pub(super) struct References<'l, 'f> {
    base: Url,
    /// By the page itself, or because there is no page: then a fragment alone is an address too.
    base_is_stated: bool,
    link: &'l mut LinkRewriter<'f>,
    /// What may still be written.
    room: usize,
    cancelled: &'l CancellationToken,
    steps: u32,
}

impl<'l, 'f> References<'l, 'f> {
    pub fn of_page(base: Url, length: usize, link: &'l mut LinkRewriter<'f>, cancelled: &'l CancellationToken) -> Self {
        let room = length.saturating_add(MAX_GROWTH_BYTES);
        Self { base, base_is_stated: false, link, room, cancelled, steps: 0 }
    }

    pub fn of_sheet(
        base: Url,
        length: usize,
        link: &'l mut LinkRewriter<'f>,
        cancelled: &'l CancellationToken,
    ) -> Self {
        Self { base_is_stated: true, ..Self::of_page(base, length, link, cancelled) }
    }

    /// `<base href>`: the first one counts.
    pub fn state_base(&mut self, href: &str) {
        if self.base_is_stated || href.len() > MAX_URL_BYTES {
            return;
        }
        let stated = self.base.join(href).ok();
        let is_usable = |base: &Url| matches!(base.scheme(), "http" | "https") && base.as_str().len() <= MAX_URL_BYTES;
        if let Some(base) = stated.filter(is_usable) {
            self.base = base;
            self.base_is_stated = true;
        }
    }

    /// To be called for each token, so that long work ends soon after the last who waits for it has gone.
    pub fn step(&mut self) -> Result<(), Cancelled> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && self.cancelled.is_cancelled() {
            return Err(Cancelled);
        }
        Ok(())
    }

    /// What to write for a reference; `None` where it must not be followed.
    pub fn resolve(&mut self, reference: &str, wanted_as: Use) -> Option<String> {
        let reference = reference.trim();
        let is_image_data = reference.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
        // As a page of its own, a drawing could run scripts.
        let is_shown = is_image_data && wanted_as == Use::Part;
        if is_shown || (reference.starts_with('#') && !self.base_is_stated) {
            return Some(reference.to_owned());
        }
        // A part without an address would be the page itself.
        if self.room == 0 || (reference.is_empty() && wanted_as != Use::Link) {
            return None;
        }
        let target = self.base.join(reference).ok()?;
        let written = match target.scheme() {
            "http" | "https" => (self.link)(&target, wanted_as),
            "mailto" | "tel" if wanted_as == Use::Link => Some(target.as_str().to_owned()),
            _ => None,
        };
        let length = written.as_ref().map_or(0, String::len).max(target.as_str().len());
        self.room = self.room.saturating_sub(length);
        written
    }
}
