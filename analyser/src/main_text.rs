//! The main text of a page: what a reader came for, without navigation, banners, footers and lists of links.
//!
//! The page's [outline](crate::extract::outline) divides its text into units. [`features`] says what is known of each,
//! a [`forest`] of small rules gives each a probability of being wanted, and [`choose`] takes those that together make
//! the best text. The forest is trained by `examples/train_main_text` on pages whose main text is known; nothing in
//! it is about one site.

mod page_stats;
mod phrases;
mod features;
mod forest;
mod choose;
#[doc(hidden)]
pub mod training;

use features::{Columns, Features, UNITS_AT_ONCE};
pub(crate) use features::{PageView, heading_level};

/// For each unit of the page whether it belongs to the main text.
pub(crate) fn main_units(page: &PageView<'_>) -> Vec<bool> {
    let units = page.outline.units.len();
    if units == 0 {
        return Vec::new();
    }
    let features = Features::of(page);
    let mut probabilities = Vec::with_capacity(units);
    let mut columns = Columns::default();
    for first in (0..units).step_by(UNITS_AT_ONCE) {
        features.fill(&mut columns, first..units.min(first + UNITS_AT_ONCE));
        forest::trained().add_probabilities(&columns, &mut probabilities);
    }
    let lengths: Vec<f32> = page.outline.units.iter().map(|unit| (unit.end - unit.start) as f32).collect();
    choose::choose(&probabilities, &lengths)
}
