//! How a crawl is told to people and to scripts: its state, what it has done, and all its settings.

use seine_monitor::crawl::settings::{SETTINGS, Value};
use seine_proto::monitor::v1::{Crawl, CrawlStatus, Exclusion};
use serde::Serialize;

use crate::args::Target;
use crate::failure::{Failure, Result};
use crate::output::time_text;

/// A crawl as `--json` shows it.
#[derive(Serialize)]
pub struct Shown<'a> {
    crawl: &'a str,
    state: String,
    seeds: &'a [String],
    pages: u64,
    failed: u64,
    refused_by_robots: u64,
    redirected: u64,
    duplicates: u64,
    unwanted: u64,
    not_indexed: u64,
    bytes: u64,
    queued: u64,
    excluded: u64,
    exclusions: Vec<ShownExclusion<'a>>,
    gone: u64,
    revisits: u64,
    unchanged: u64,
    deferred: u64,
    next_visit: Option<String>,
    active_hosts: u64,
    blocked_hosts: u32,
    waiting: Option<&'a str>,
    troubles: &'a [String],
    settings: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct ShownExclusion<'a> {
    rule: &'a str,
    links: u64,
    example: &'a str,
}

pub fn show(status: Option<&CrawlStatus>, target: &Target) -> Result<()> {
    let status = status.ok_or_else(|| Failure::failed("the monitor did not say how the crawl stands"))?;
    if target.json {
        return print_json(&shown(status));
    }
    say!("{}", line(status));
    let waiting = if status.waiting_reason.is_empty() { "nothing" } else { &status.waiting_reason };
    let settings = status.crawl.clone().unwrap_or_default();
    let limit = settings.max_pages.map_or_else(|| "unlimited".to_owned(), |pages| pages.to_string());
    say!("  starts from        {}", settings.seeds.join(" "));
    say!("  pages              {} of {limit}, {} bytes", status.pages, status.bytes);
    say!("  redirected         {}", status.redirected);
    say!("  failed             {}", status.failed);
    say!("  refused by robots  {}", status.refused_by_robots);
    say!("  other types        {}", status.unwanted);
    say!("  equal pages        {}", status.duplicates);
    say!("  not for the index  {}", status.not_indexed);
    say!("  URLs waiting       {}", status.queued);
    say!("  links kept out     {}", status.excluded);
    for exclusion in &status.exclusions {
        say!("    {:>14}   {}, such as {}", exclusion.links, exclusion.rule, exclusion.example);
    }
    if status.deferred > 0 {
        say!("  put off            {}", status.deferred);
    }
    if status.revisits > 0 {
        say!("  visits again       {}, {} unchanged, {} pages gone", status.revisits, status.unchanged, status.gone);
    }
    if let Some(due) = status.next_visit_ms.and_then(time_text) {
        say!("  next visit due     {due}");
    }
    say!("  hosts at work      {}", status.active_hosts);
    if status.blocked_hosts > 0 {
        say!("  hosts blocked      {}", status.blocked_hosts);
    }
    say!("  waiting for        {waiting}");
    for trouble in &status.troubles {
        say!("  not well           {trouble}");
    }
    Ok(())
}

pub fn line(status: &CrawlStatus) -> String {
    let name = status.crawl.as_ref().map_or("", |crawl| crawl.name.as_str());
    format!("{name}  {}  {} pages, {} waiting, {} failed", state(status), status.pages, status.queued, status.failed)
}

fn state(status: &CrawlStatus) -> String {
    status.state().as_str_name().trim_start_matches("CRAWL_STATE_").to_ascii_lowercase()
}

pub fn shown(status: &CrawlStatus) -> Shown<'_> {
    Shown {
        crawl: status.crawl.as_ref().map_or("", |crawl| &crawl.name),
        state: state(status),
        seeds: status.crawl.as_ref().map_or(&[], |crawl| &crawl.seeds),
        pages: status.pages,
        failed: status.failed,
        refused_by_robots: status.refused_by_robots,
        redirected: status.redirected,
        duplicates: status.duplicates,
        unwanted: status.unwanted,
        not_indexed: status.not_indexed,
        bytes: status.bytes,
        queued: status.queued,
        excluded: status.excluded,
        exclusions: status.exclusions.iter().map(shown_exclusion).collect(),
        gone: status.gone,
        revisits: status.revisits,
        unchanged: status.unchanged,
        deferred: status.deferred,
        next_visit: status.next_visit_ms.and_then(time_text),
        active_hosts: status.active_hosts,
        blocked_hosts: status.blocked_hosts,
        waiting: Some(status.waiting_reason.as_str()).filter(|reason| !reason.is_empty()),
        troubles: &status.troubles,
        settings: status.crawl.as_ref().map(settings_json).unwrap_or_default(),
    }
}

/// All settings of a crawl, one a line.
pub fn show_settings(crawl: &Crawl) {
    say!("settings");
    for setting in SETTINGS {
        say!("  {:<22} {}", setting.name, setting.value(crawl));
    }
}

fn settings_json(crawl: &Crawl) -> serde_json::Map<String, serde_json::Value> {
    SETTINGS.iter().map(|setting| (setting.name.to_owned(), value_json(setting.value(crawl)))).collect()
}

fn value_json(value: Value) -> serde_json::Value {
    match value {
        Value::Unset(_) => serde_json::Value::Null,
        Value::Flag(flag) => flag.into(),
        Value::Count(count) => count.into(),
        // As it is written, not as the nearest number of another precision.
        Value::Share(share) => share.to_string().parse::<f64>().ok().into(),
        Value::Span(ms) => (ms as f64 / 1000.0).into(),
        Value::Text(text) => text.into(),
        Value::List(items) => items.into(),
    }
}

fn shown_exclusion(exclusion: &Exclusion) -> ShownExclusion<'_> {
    ShownExclusion { rule: &exclusion.rule, links: exclusion.links, example: &exclusion.example }
}

pub fn print_json(value: &impl Serialize) -> Result<()> {
    say!("{}", serde_json::to_string(value).map_err(Failure::failed)?);
    Ok(())
}
