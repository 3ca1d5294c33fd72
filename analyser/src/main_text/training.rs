//! What the training tool needs: the units of a page with their features, the forest's form, and the choice.

use super::features::{Columns, Features, UNITS_AT_ONCE};
use crate::extract::links::LinkCollector;
use crate::format::HtmlPage;

pub use super::choose::choose;
pub use super::forest::{DEPTH, Forest, Tree};

pub struct TrainingPage {
    /// The text of each unit.
    pub units: Vec<String>,
    /// The values of each feature, one per unit.
    pub features: Vec<Vec<f32>>,
}

impl TrainingPage {
    pub fn of(body: &[u8], url: &str) -> Option<Self> {
        let url = seine_common::url::CanonicalUrl::parse(url).ok()?;
        let page = HtmlPage::read(body, None, "seine", LinkCollector::default());
        let view = page.view(&url);
        let (of_page, mut columns) = (Features::of(&view), Columns::default());
        let count = view.outline.units.len();
        let mut features = vec![Vec::with_capacity(count); feature_names().len()];
        for first in (0..count).step_by(UNITS_AT_ONCE) {
            of_page.fill(&mut columns, first..count.min(first + UNITS_AT_ONCE));
            for (number, values) in features.iter_mut().enumerate() {
                values.extend_from_slice(&columns.column(number)[..columns.rows()]);
            }
        }
        let units = view.outline.units.iter().map(|unit| view.text[unit.start as usize..unit.end as usize].to_owned());
        Some(Self { units: units.collect(), features })
    }
}

pub fn feature_names() -> Vec<String> {
    super::features::names()
}
