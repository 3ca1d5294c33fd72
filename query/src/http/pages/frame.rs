//! What surrounds every page: the search box, the languages of the interface, and where style and script are.

use crate::http::assets;
use crate::http::page_search::PageSearch;
use crate::http::texts::{self, Texts};
use crate::http::ui::Ui;
use crate::request::MAX_QUERY_CHARACTERS;

pub struct Frame {
    /// Part of the addresses of style and script.
    pub stamp: &'static str,
    pub texts: &'static Texts,
    /// What stands in the box.
    pub query: String,
    pub max_length: usize,
    /// What the form sends besides.
    pub kept: Vec<(&'static str, String)>,
    pub home: String,
    pub description: String,
    pub languages: Vec<LanguageLink>,
}

/// The same page in another language.
pub struct LanguageLink {
    pub texts: &'static Texts,
    pub href: String,
    pub is_current: bool,
}

impl Frame {
    pub fn of(ui: Ui, search: &PageSearch) -> Self {
        let links = |code| PageSearch { ui: Some(code), ..search.clone() }.href();
        Self::new(ui, &search.query, search.kept_in_forms(), links)
    }

    pub fn without_search(ui: Ui, query: &str) -> Self {
        let kept = ui.parameter().map(|code| ("ui", code.to_owned())).into_iter().collect();
        Self::new(ui, query, kept, |code| format!("/?ui={code}"))
    }

    fn new(
        ui: Ui,
        query: &str,
        kept: Vec<(&'static str, String)>,
        in_language: impl Fn(&'static str) -> String,
    ) -> Self {
        let languages = texts::ALL.into_iter().map(|texts| LanguageLink {
            texts,
            href: in_language(texts.code),
            is_current: texts.code == ui.texts.code,
        });
        Self {
            stamp: assets::stamp(),
            texts: ui.texts,
            query: query.to_owned(),
            max_length: MAX_QUERY_CHARACTERS,
            kept,
            home: home_address(ui),
            description: format!("/opensearch.xml?ui={}", ui.texts.code),
            languages: languages.collect(),
        }
    }
}

pub fn home_address(ui: Ui) -> String {
    ui.parameter().map_or_else(|| "/".to_owned(), |code| format!("/?ui={code}"))
}
