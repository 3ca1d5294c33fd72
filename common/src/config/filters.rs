//! The section `[filters]`: filters by name, each checked as a whole.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ConfigError;
use crate::filter::{ENUMERATION_DEFAULT, Filter, FilterSettings, GENERATION_DEFAULT};

#[derive(Deserialize)]
pub(super) struct RawFilter {
    #[serde(default)]
    rules: Vec<String>,
    otherwise: Option<String>,
    #[serde(default)]
    max_links: u32,
    #[serde(default)]
    content_type: String,
}

/// All filters that a crawl may name, the two that always exist included.
#[derive(Clone, Debug)]
pub struct FilterBook {
    by_name: BTreeMap<String, FilterSettings>,
}

impl FilterBook {
    pub(super) fn of(raw: BTreeMap<String, RawFilter>) -> Result<Self, ConfigError> {
        let always = [ENUMERATION_DEFAULT, GENERATION_DEFAULT];
        let mut by_name: BTreeMap<_, _> =
            always.into_iter().map(|name| (name.to_owned(), FilterSettings::open(name))).collect();
        for (name, raw) in raw {
            let otherwise_deny = match raw.otherwise.as_deref() {
                None | Some("allow") => false,
                Some("deny") => true,
                Some(other) => return Err(ConfigError::Otherwise { name, value: other.to_owned() }),
            };
            let settings = FilterSettings {
                rules: raw.rules,
                otherwise_deny,
                max_links: raw.max_links,
                content_type: raw.content_type,
                ..FilterSettings::open(&name)
            };
            Filter::compile(&settings)?;
            by_name.insert(name, settings);
        }
        Ok(Self { by_name })
    }

    /// The filter that `crawl.KEY` names.
    pub fn get(&self, key: &'static str, name: &str) -> Result<&FilterSettings, ConfigError> {
        self.by_name.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            let advice = format!("define it as [filters.{name}], or name one of {}", known.join(", "));
            ConfigError::NoFilter { key, name: name.to_owned(), advice }
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &FilterSettings> {
        self.by_name.values()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn file(text: &str) -> Result<Config, String> {
        Config::from_layers(Some(("seine.toml", text)), []).map_err(|error| error.to_string())
    }

    #[test]
    fn filters_are_named_and_crawls_name_them() {
        let config = file(
            "[crawl]\ngeneration = \"articles\"\n[filters.articles]\nrules = [\n  # no print pages\n  \"deny path glob */print/*\",\n]\notherwise = \"deny\"\nmax_links = 10\ncontent_type = \"text/html\"",
        )
        .unwrap();
        let articles = config.filters.get("generation", &config.crawl.generation).unwrap();
        assert_eq!(articles.rules, ["deny path glob */print/*"]);
        assert!(articles.otherwise_deny && articles.max_links == 10 && articles.content_type == "text/html");
        assert!(config.filters.get("enumeration", &config.crawl.enumeration).unwrap().is_open());
        assert_eq!(config.filters.iter().count(), 3);
    }

    #[test]
    fn the_filters_that_always_exist_may_be_defined_differently() {
        let config = file("[filters.generation-default]\nrules = [\"deny depth = 0\"]").unwrap();
        assert!(!config.filters.get("generation", &config.crawl.generation).unwrap().is_open());
    }

    #[test]
    fn what_is_wrong_in_a_filter_is_named() {
        for (text, words) in [
            ("[filters.a]\nrules = [\"deny lenght > 5\"]", &["\"a\"", "rule 1", "lenght", "content-length"][..]),
            ("[filters.a]\nrule = []", &["filters.a.rule", "filters.a.rules"]),
            ("[filters.a]\notherwise = \"maybe\"", &["maybe", "allow"]),
            ("[filters]\na = 1", &["filters.a", "[filters.a]"]),
            ("[filters.\"a b\"]", &["\"a b\""]),
            ("[crawl]\nenumeration = \"x\"", &["\"x\"", "enumeration-default"]),
            ("[analyse]\nlanguages = [\"english\"]", &["english", "two letters"]),
        ] {
            let problem = file(text).unwrap_err();
            assert!(words.iter().all(|word| problem.contains(word)), "{text}: {problem}");
        }
    }
}
