//! Which pages an export takes: by site, time, language and crawl.
//!
//! Time has two meanings on purpose. `--until` goes back in time: of each page the newest version up to then counts, and
//! what became of it later is not looked at. `--since` then leaves out pages that were not fetched after it.

use std::collections::BTreeSet;

use seine_common::url::CanonicalUrl;
use seine_proto::common::v1::Description;
use seine_proto::filesaver::v1::{ArchivedAnswer, LogEntry, log_entry::Entry};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, Time};

use crate::args::export::SelectionFlags;
use crate::failure::{Failure, Result};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

#[derive(Clone, Debug)]
pub struct Selection {
    /// Hosts, with their port where it is not a default one.
    sites: Vec<String>,
    since_ms: i64,
    until_ms: i64,
    langs: Vec<String>,
    crawl: Option<String>,
}

impl Selection {
    pub fn of(flags: &SelectionFlags) -> Result<Self> {
        let since = flags.since.as_deref().map(|text| moment("--since", text)).transpose()?;
        let until = flags.until.as_deref().map(|text| moment("--until", text)).transpose()?;
        Ok(Self {
            sites: flags.site.iter().map(|site| host(site)).collect::<Result<_>>()?,
            since_ms: since.map_or(i64::MIN, |moment| moment.start_ms),
            until_ms: until.map_or(i64::MAX, |moment| moment.last_ms),
            langs: flags.lang.iter().map(|lang| lang.to_ascii_lowercase()).collect(),
            crawl: flags.crawl.clone(),
        })
    }

    /// A crawl that is asked for is one of those that have fetched anything.
    pub fn check_crawl(&self, known: &BTreeSet<String>) -> Result<()> {
        let Some(crawl) = self.crawl.as_ref().filter(|crawl| !known.contains(*crawl)) else { return Ok(()) };
        let known: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
        let advice = match known.is_empty() {
            true => "there are no pages at all".to_owned(),
            false => format!("there are pages of {}", known.join(", ")),
        };
        Err(Failure::failed(format!("--crawl {crawl:?}: no crawl of this name has fetched a page; {advice}")))
    }

    /// Whether an entry of the log has a say about what the newest version of its page is.
    pub fn considers(&self, entry: &LogEntry) -> bool {
        match &entry.entry {
            Some(Entry::Description(page)) => {
                page.fetched_at_ms <= self.until_ms && self.crawl.as_ref().is_none_or(|crawl| *crawl == page.crawl)
            }
            Some(Entry::Withdrawn(gone)) => gone.at_ms <= self.until_ms,
            None => false,
        }
    }

    /// Whether the newest version of a page is wanted.
    pub fn takes(&self, page: &Description) -> bool {
        page.fetched_at_ms >= self.since_ms
            && (self.langs.is_empty() || self.langs.contains(&page.lang))
            && (self.sites.is_empty() || self.is_of_site(&page.url))
    }

    /// Whether an answer that is no page is wanted; of which crawl it was, its records tell. Such answers are in no language.
    pub fn takes_answer(&self, answer: &ArchivedAnswer) -> bool {
        (self.since_ms..=self.until_ms).contains(&answer.at_ms)
            && self.langs.is_empty()
            && (self.sites.is_empty() || self.is_of_site(&answer.url))
    }

    /// The one crawl whose pages are wanted.
    pub fn crawl(&self) -> Option<&str> {
        self.crawl.as_deref()
    }

    fn is_of_site(&self, url: &str) -> bool {
        let Ok(url) = CanonicalUrl::parse(url) else { return false };
        let host = url.host();
        let is_below = |site: &String| {
            host.as_str().strip_suffix(site.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.sites.iter().any(is_below)
    }
}

fn host(site: &str) -> Result<String> {
    let wrong = || {
        Failure::usage(format!(
            "--site {site:?} is not a host; write it as example.org, or example.org:8080 with a port"
        ))
    };
    if site.is_empty() || site.contains(['/', '?', '#', '@', '\\', ' ']) {
        return Err(wrong());
    }
    Ok(CanonicalUrl::parse(&format!("http://{site}/")).map_err(|_| wrong())?.host().as_str().to_owned())
}

/// A point in time, or a whole day.
struct Moment {
    start_ms: i64,
    last_ms: i64,
}

fn moment(flag: &str, text: &str) -> Result<Moment> {
    let day = Date::parse(text, format_description!("[year]-[month]-[day]"));
    if let Ok(day) = day {
        let start_ms = day.with_time(Time::MIDNIGHT).assume_utc().unix_timestamp() * 1000;
        return Ok(Moment { start_ms, last_ms: start_ms + DAY_MS - 1 });
    }
    let point = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| {
        Failure::usage(format!("{flag} {text:?} is not a date; write 2026-11-16, or 2026-11-16T08:30:00Z with a time"))
    })?;
    let ms = point.unix_timestamp() * 1000 + i64::from(point.millisecond());
    // A time is meant to the second, as times are shown.
    Ok(Moment { start_ms: ms, last_ms: if point.millisecond() == 0 { ms + 999 } else { ms } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(change: impl FnOnce(&mut SelectionFlags)) -> Result<Selection> {
        let mut flags = SelectionFlags { site: vec![], since: None, until: None, lang: vec![], crawl: None };
        change(&mut flags);
        Selection::of(&flags)
    }

    fn page(url: &str) -> Description {
        Description { url: url.into(), lang: "en".into(), fetched_at_ms: 1_700_000_000_000, ..Description::default() }
    }

    #[test]
    fn a_site_is_a_host_with_its_subdomains_and_nothing_that_only_ends_alike() {
        let site = selection(|flags| flags.site = vec!["Example.org".into()]).unwrap();
        assert!(site.takes(&page("https://example.org/a")));
        assert!(site.takes(&page("http://www.example.org/a")));
        assert!(!site.takes(&page("http://notexample.org/a")));
        assert!(!site.takes(&page("http://example.org:8080/a")));
        let port = selection(|flags| flags.site = vec!["127.0.0.1:8080".into()]).unwrap();
        assert!(port.takes(&page("http://127.0.0.1:8080/")));
        assert!(!port.takes(&page("http://127.0.0.1:8081/")));
    }

    #[test]
    fn a_day_is_meant_from_its_beginning_to_its_end() {
        // 1,700,000,000 is in the night of 2023-11-14.
        let on = |since: &str, until: &str| {
            let found =
                selection(|flags| (flags.since, flags.until) = (Some(since.into()), Some(until.into()))).unwrap();
            let entry = LogEntry { entry: Some(Entry::Description(page("http://a/"))) };
            found.considers(&entry) && found.takes(&page("http://a/"))
        };
        assert!(on("2023-11-14", "2023-11-14"));
        assert!(on("2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"));
        assert!(!on("2023-11-15", "2023-11-15"));
        assert!(!on("2023-11-13", "2023-11-13"));
        assert!(!on("2023-11-13", "2023-11-14T22:13:19Z"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_value() {
        for (text, flags) in [
            ("\"yesterday\"", selection(|flags| flags.since = Some("yesterday".into()))),
            ("\"http://a/\"", selection(|flags| flags.site = vec!["http://a/".into()])),
        ] {
            let failure = flags.unwrap_err();
            assert!(failure.exit_code() == 2 && failure.to_string().contains(text), "{failure}");
        }
    }

    #[test]
    fn a_crawl_that_fetched_nothing_is_refused_with_the_names_of_those_that_did() {
        let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let asked = selection(|flags| flags.crawl = Some("nope".into())).unwrap();
        let refusal = asked.check_crawl(&known(&["news", "site"])).unwrap_err().to_string();
        assert!(["\"nope\"", "\"news\"", "\"site\""].iter().all(|name| refusal.contains(name)), "{refusal}");
        assert!(asked.check_crawl(&known(&[])).unwrap_err().to_string().contains("no pages"));
        assert!(asked.check_crawl(&known(&["nope"])).is_ok());
        assert!(selection(|_| ()).unwrap().check_crawl(&known(&[])).is_ok(), "without the flag all is well");
    }

    #[test]
    fn languages_and_crawls_are_compared() {
        let english = selection(|flags| flags.lang = vec!["EN".into()]).unwrap();
        assert!(english.takes(&page("http://a/")));
        let czech = selection(|flags| flags.lang = vec!["cs".into()]).unwrap();
        assert!(!czech.takes(&page("http://a/")));
        let crawl = selection(|flags| flags.crawl = Some("other".into())).unwrap();
        assert!(!crawl.considers(&LogEntry { entry: Some(Entry::Description(page("http://a/"))) }));
    }
}
