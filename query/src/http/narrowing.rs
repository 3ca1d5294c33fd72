//! What a search can be narrowed by, and is: facets as links that add a filter, chips as links that take one away.

use super::page_search::{PageSearch, next_year};
use super::texts::Texts;
use crate::facet::{FacetCount, FacetCounts};

/// Values of one kind that are shown at once; the others wait behind "show more".
const SHOWN_VALUES: usize = 6;

#[derive(Debug)]
pub struct FacetGroup {
    pub title: &'static str,
    pub values: Vec<FacetValue>,
    /// Less frequent ones.
    pub further: Vec<FacetValue>,
}

#[derive(Debug)]
pub struct FacetValue {
    pub label: String,
    pub count: u64,
    pub href: String,
    /// Asked for now; the link then takes it away.
    pub active: bool,
}

/// A filter that holds.
#[derive(Debug)]
pub struct Chip {
    pub kind: &'static str,
    pub label: String,
    pub remove: String,
    pub remove_text: String,
}

/// Kinds with something to choose, or chosen.
pub fn facet_groups(search: &PageSearch, facets: &FacetCounts, texts: &Texts) -> Vec<FacetGroup> {
    let years: Vec<FacetCount> = newest_first(&facets.year);
    let groups = [
        group(texts.site, &facets.site, search.site.as_deref(), search, str::to_owned, |search, site| {
            search.site = site;
        }),
        group(
            texts.language,
            &facets.lang,
            search.lang.as_deref(),
            search,
            |code| capitalised(&texts.language_or_code(code)),
            |search, lang| search.lang = lang,
        ),
        group(
            texts.content_type,
            &facets.content_type,
            search.content_type.as_deref(),
            search,
            |media_type| texts.type_name(media_type),
            |search, media_type| search.content_type = media_type,
        ),
        group(texts.year, &years, search.year(), search, str::to_owned, |search, year| {
            search.before = year.as_deref().and_then(next_year);
            search.after = year;
        }),
    ];
    groups.into_iter().filter(|group| group.values.len() > 1 || group.values.iter().any(|value| value.active)).collect()
}

fn group(
    title: &'static str,
    counts: &[FacetCount],
    asked: Option<&str>,
    search: &PageSearch,
    label: impl Fn(&str) -> String,
    narrow: impl Fn(&mut PageSearch, Option<String>),
) -> FacetGroup {
    let mut values: Vec<FacetValue> = counts
        .iter()
        .filter(|FacetCount { value, .. }| !value.is_empty())
        .map(|FacetCount { value, count }| {
            let active = asked.is_some_and(|asked| asked.eq_ignore_ascii_case(value));
            let wanted = (!active).then(|| value.clone());
            let href = search.with(|search| narrow(search, wanted)).href();
            FacetValue { label: label(value), count: *count, href, active }
        })
        .collect();
    let further = values.split_off(values.len().min(SHOWN_VALUES));
    FacetGroup { title, values, further }
}

fn newest_first(years: &[FacetCount]) -> Vec<FacetCount> {
    let mut years = years.to_vec();
    years.sort_by(|a, b| b.value.cmp(&a.value));
    years
}

pub fn chips(search: &PageSearch, texts: &Texts) -> Vec<Chip> {
    let mut chips = Vec::new();
    let mut add = |kind, label: String, without: PageSearch| {
        let remove_text = (texts.remove_filter)(&label);
        chips.push(Chip { kind, label, remove: without.href(), remove_text });
    };
    if let Some(site) = &search.site {
        add(texts.site, site.clone(), search.with(|search| search.site = None));
    }
    if let Some(lang) = &search.lang {
        let label = texts.language_or_code(&lang.to_ascii_lowercase());
        add(texts.language, capitalised(&label), search.with(|search| search.lang = None));
    }
    if let Some(media_type) = &search.content_type {
        add(texts.content_type, texts.type_name(media_type), search.with(|search| search.content_type = None));
    }
    if let Some(year) = search.year() {
        let without = search.with(|search| (search.after, search.before) = (None, None));
        add(texts.year, year.to_owned(), without);
    } else {
        if let Some(after) = &search.after {
            add(texts.by_date, (texts.since)(after), search.with(|search| search.after = None));
        }
        if let Some(before) = &search.before {
            add(texts.by_date, (texts.before)(before), search.with(|search| search.before = None));
        }
    }
    chips
}

/// Names of languages stand alone here, not in a sentence.
fn capitalised(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::texts;

    fn counts(values: &[(&str, u64)]) -> Vec<FacetCount> {
        values.iter().map(|&(value, count)| FacetCount { value: value.to_owned(), count }).collect()
    }

    fn search() -> PageSearch {
        PageSearch { query: "river".to_owned(), page: 4, ..PageSearch::default() }
    }

    #[test]
    fn a_facet_adds_its_filter_and_an_active_one_takes_it_away() {
        let facets = FacetCounts {
            site: counts(&[("a.example", 7), ("b.example", 2)]),
            lang: counts(&[("cs", 9)]),
            content_type: counts(&[("text/html", 8), ("application/pdf", 1)]),
            year: counts(&[("2023", 5), ("2025", 4)]),
        };
        let groups = facet_groups(&search(), &facets, texts::default());
        let titles: Vec<&str> = groups.iter().map(|group| group.title).collect();
        assert_eq!(titles, ["Site", "Type", "Year"], "one language alone is no choice");
        assert_eq!(groups[0].values[1].href, "/search?q=river&site=b.example");
        assert_eq!(groups[1].values[1].label, "PDF");
        assert_eq!(groups[2].values[0].href, "/search?q=river&after=2025&before=2026");

        let narrowed = PageSearch { lang: Some("cs".to_owned()), ..search() };
        let groups = facet_groups(&narrowed, &facets, texts::default());
        assert_eq!(groups[1].title, "Language");
        assert!(groups[1].values[0].active);
        assert_eq!(groups[1].values[0].href, "/search?q=river");
    }

    #[test]
    fn many_values_wait_behind_show_more() {
        let names: Vec<String> = (0..20).map(|n| format!("{n}.example")).collect();
        let site: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let groups =
            facet_groups(&search(), &FacetCounts { site: counts(&site), ..FacetCounts::default() }, texts::default());
        assert_eq!((groups[0].values.len(), groups[0].further.len()), (SHOWN_VALUES, 20 - SHOWN_VALUES));
    }

    #[test]
    fn each_filter_has_a_chip_that_removes_only_it() {
        let narrowed = PageSearch {
            site: Some("a.example".to_owned()),
            lang: Some("cs".to_owned()),
            after: Some("2024-05".to_owned()),
            ..search()
        };
        let chips = chips(&narrowed, texts::default());
        let shown: Vec<(&str, &str)> = chips.iter().map(|chip| (chip.label.as_str(), chip.remove.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("a.example", "/search?q=river&lang=cs&after=2024-05"),
                ("Czech", "/search?q=river&site=a.example&after=2024-05"),
                ("since 2024-05", "/search?q=river&site=a.example&lang=cs"),
            ]
        );
    }
}
