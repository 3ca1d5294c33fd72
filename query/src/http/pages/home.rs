//! The first page: the box, and what the index has.

use askama::Template;

use super::frame::Frame;
use crate::http::ui::Ui;

#[derive(Template)]
#[template(path = "home.html")]
pub struct HomePage {
    frame: Frame,
    index_is_empty: bool,
    in_the_index: String,
}

impl HomePage {
    /// `documents` is `None` when the index cannot be read now.
    pub fn new(ui: Ui, documents: Option<u64>) -> Self {
        Self {
            frame: Frame::without_search(ui, ""),
            index_is_empty: documents == Some(0),
            in_the_index: documents
                .map_or_else(|| ui.texts.index_cannot_be_read.to_owned(), ui.texts.pages_in_the_index),
        }
    }
}
