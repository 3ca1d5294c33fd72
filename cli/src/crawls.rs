//! `seine crawls`: adding, showing and controlling crawls.

use seine_common::config::Config;
use seine_proto::monitor::v1::{
    AddCrawlRequest, CrawlState, GetCrawlRequest, ListCrawlsRequest, RefreshCrawlRequest, SetCrawlRequest,
    SetCrawlStateRequest, SettingChange,
};
use serde_json::json;

use crate::End;
use crate::args::{CrawlFlags, CrawlsArguments, CrawlsCommand, Role, SettingFlags, Target};
use crate::connect::{Connection, with_admin};
use crate::crawl_settings;
use crate::failure::{Failure, Result};

mod display;

use display::{line, print_json, show, show_settings, shown};

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
                show(status.as_ref(), &target)?;
                if let (Some(crawl), false) = (status.and_then(|status| status.crawl), target.json) {
                    show_settings(&crawl);
                }
                Ok(())
            })
            .await
        }
        C::Set { name, settings, target } => set(&name, &settings, &target, config).await,
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

async fn set(name: &str, flags: &SettingFlags, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let status = admin.get_crawl(GetCrawlRequest { name: name.to_owned() }).await?.into_inner().status;
        let current = status.and_then(|status| status.crawl);
        let current = current.ok_or_else(|| Failure::failed("the monitor did not say what the crawl is"))?;
        let (settings, fields) = crawl_settings::changed(&current, flags, config)?;
        if fields.is_empty() {
            eprintln!("nothing changes: name a setting with another value than it has, such as --delay 2");
        }
        // Only these are taken over, whatever somebody else sets meanwhile.
        let request = SetCrawlRequest { name: name.to_owned(), settings: Some(settings), fields };
        let changes = admin.set_crawl(request).await?.into_inner().changes;
        if target.json {
            let change = |c: &SettingChange| json!({ "setting": c.setting, "old": c.before, "new": c.now });
            return print_json(&json!({ "crawl": name, "changes": changes.iter().map(change).collect::<Vec<_>>() }));
        }
        for SettingChange { setting, before, now } in &changes {
            say!("{setting}: {before} → {now}");
        }
        Ok(())
    })
    .await
}

async fn set_state(name: String, state: CrawlState, target: &Target, config: &Config) -> Result<End> {
    with_admin(target, config, async |mut admin| {
        let request = SetCrawlStateRequest { name: name.clone(), state: state.into() };
        show(admin.set_crawl_state(request).await?.into_inner().status.as_ref(), target)
    })
    .await
}
