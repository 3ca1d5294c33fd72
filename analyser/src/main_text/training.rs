//! What the training tool needs: the units of a page with their features, the forest's form, and the choice.

use super::features::{Columns, Features};
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
        let mut columns = Columns::default();
        Features::of(&view).fill(&mut columns, 0..view.outline.units.len());
        let features = (0..feature_names().len()).map(|number| columns.column(number).to_vec()).collect();
        let units = view.outline.units.iter().map(|unit| view.text[unit.start as usize..unit.end as usize].to_owned());
        Some(Self { units: units.collect(), features })
    }
}

pub fn feature_names() -> Vec<String> {
    super::features::names()
}
