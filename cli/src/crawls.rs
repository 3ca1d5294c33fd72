//! `seine crawls`: adding, showing and controlling crawls.

use seine_common::config::Config;
use seine_proto::monitor::v1::{
    AddCrawlRequest, CrawlState, CrawlStatus, Exclusion, GetCrawlRequest, ListCrawlsRequest, RefreshCrawlRequest,
    SetCrawlStateRequest,
};
use serde::Serialize;

use crate::End;
use crate::args::{CrawlFlags, CrawlsArguments, CrawlsCommand, Role, Target};
use crate::connect::{Admin, Connection};
use crate::crawl_settings;
use crate::failure::{Failure, Result};
use crate::output::time_text;

/// A crawl as `--json` shows it.
#[derive(Serialize)]
struct Shown<'a> {
    crawl: &'a str,
    state: String,
    seeds: &'a [String],
    pages: u64,
    failed: u64,
    refused_by_robots: u64,
    redirected: u64,
    duplicates: u64,
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
    waiting: Option<&'a str>,
}

#[derive(Serialize)]
struct ShownExclusion<'a> {
    rule: &'a str,
    links: u64,
    example: &'a str,
}

pub async fn run(arguments: CrawlsArguments, config: &Config) -> Result<End> {
    use CrawlsCommand as C;
    match arguments.command {
        C::Add { what, target } => add(&what, &target, config).await,
        C::List { target } => {
            with_admin(&target, config, async |mut admin| {
                let crawls = admin.list_crawls(ListCrawlsRequest {}).await?.into_inner().crawls;
                if target.json {
                    return print_json(&crawls.iter().map(shown).collect::<Vec<_>>());
                }
                for status in &crawls {
                    say!("{}", line(status));
                }
                if crawls.is_empty() {
                    eprintln!("there is no crawl yet; `seine crawl URL` makes one");
                }
                Ok(())
            })
            .await
        }
        C::Show { name, target } => {
            with_admin(&target, config, async |mut admin| {
                let status = admin.get_crawl(GetCrawlRequest { name: name.clone() }).await?.into_inner().status;
                show(status.as_ref(), &target)
            })
            .await
        }
        C::Pause { name, target } => set_state(name, CrawlState::Paused, &target, config).await,
        C::Resume { name, target } => set_state(name, CrawlState::Running, &target, config).await,
        C::Stop { name, target } => set_state(name, CrawlState::Stopped, &target, config).await,
        C::Refresh { name, target } => {
            with_admin(&target, config, async |mut admin| {
                let status = admin.refresh_crawl(RefreshCrawlRequest { name: name.clone() }).await?.into_inner().status;
                show(status.as_ref(), &target)
            })
            .await
        }
    }
}

async fn add(what: &CrawlFlags, target: &Target, config: &Config) -> Result<End> {
    let crawl = crawl_settings::crawl(what, config)?;
    let connection = Connection::open(target, &[Role::Monitor], config).await?;
    let added = connection.services().admin.add_crawl(AddCrawlRequest { crawl: Some(crawl), again: false }).await;
    let remote = connection.is_remote();
    connection.close().await;
    let added = added?.into_inner();
    for change in &added.changes {
        eprintln!("changed since last time: {change}");
    }
    if !remote {
        eprintln!("no process runs on {}; `seine serve --data {0}` will do the crawl", target.data.display());
    }
    show(added.status.as_ref(), target)?;
    Ok(End::Done)
}

async fn set_state(name: String, state: CrawlState, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let request = SetCrawlStateRequest { name: name.clone(), state: state.into() };
        show(admin.set_crawl_state(request).await?.into_inner().status.as_ref(), target)
    })
    .await
}

async fn with_admin(target: &Target, config: &Config, ask: impl AsyncFnOnce(Admin) -> Result<()>) -> Result<End> {
    let connection = Connection::open(target, &[Role::Monitor], config).await?;
    let result = ask(connection.services().admin).await;
    connection.close().await;
    result.map(|()| End::Done)
}

fn show(status: Option<&CrawlStatus>, target: &Target) -> Result<()> {
    let status = status.ok_or_else(|| Failure::failed("the monitor did not say how the crawl stands"))?;
    if target.json {
        return print_json(&shown(status));
    }
    say!("{}", line(status));
    let waiting = if status.waiting_reason.is_empty() { "nothing" } else { &status.waiting_reason };
    let settings = status.crawl.clone().unwrap_or_default();
    let limit = settings.max_pages.map_or_else(|| "unlimited".to_owned(), |pages| pages.to_string());
    say!("  starts from        {}", settings.seeds.join(" "));
    for (what, filter) in [("links", &settings.enumeration), ("index", &settings.generation)] {
        if let Some(filter) = filter {
            say!("  filter for {what}   {}, {} rules", filter.name, filter.rules.len());
        }
    }
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
    say!("  waiting for        {waiting}");
    Ok(())
}

fn line(status: &CrawlStatus) -> String {
    let name = status.crawl.as_ref().map_or("", |crawl| crawl.name.as_str());
    format!("{name}  {}  {} pages, {} waiting, {} failed", state(status), status.pages, status.queued, status.failed)
}

fn state(status: &CrawlStatus) -> String {
    status.state().as_str_name().trim_start_matches("CRAWL_STATE_").to_ascii_lowercase()
}

fn shown(status: &CrawlStatus) -> Shown<'_> {
    Shown {
        crawl: status.crawl.as_ref().map_or("", |crawl| &crawl.name),
        state: state(status),
        seeds: status.crawl.as_ref().map_or(&[], |crawl| &crawl.seeds),
        pages: status.pages,
        failed: status.failed,
        refused_by_robots: status.refused_by_robots,
        redirected: status.redirected,
        duplicates: status.duplicates,
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
        waiting: Some(status.waiting_reason.as_str()).filter(|reason| !reason.is_empty()),
    }
}

fn shown_exclusion(exclusion: &Exclusion) -> ShownExclusion<'_> {
    ShownExclusion { rule: &exclusion.rule, links: exclusion.links, example: &exclusion.example }
}

fn print_json(value: &impl Serialize) -> Result<()> {
    say!("{}", serde_json::to_string(value).map_err(Failure::failed)?);
    Ok(())
}
