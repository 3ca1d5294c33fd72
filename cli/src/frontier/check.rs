//! `seine frontier check` and `repair`: the same walk, which only looks in the one case and mends in the other.

use futures::executor::block_on;
use indicatif::{HumanCount, ProgressBar};
use seine_common::clock::Clock;
use seine_common::config::Config;
use seine_monitor::frontier::check::{self, Check, Report};
use seine_monitor::store::Store;
use serde_json::json;
use tokio::runtime::Handle;

use super::logs::Logs;
use super::{blocking, open_data, open_store, spinner};
use crate::End;
use crate::args::FrontierPlace;
use crate::failure::{Failure, Result};

pub async fn run(place: FrontierPlace, config: Config, mends: bool) -> Result<End> {
    let (data, _lock) = open_data(&place)?;
    let store = {
        let (config, data) = (config.clone(), data.clone());
        blocking(move || open_store(&config, &data)).await?
    };
    let logs = Logs::open(&data, &config).await?;
    let has_logs = !logs.names().is_empty();
    let handle = Handle::current();
    let (report, logs) = blocking(move || {
        let mut logs = logs;
        let report = walk(store, &mut logs, &handle, mends);
        Ok((report, logs))
    })
    .await?;
    logs.close().await;
    let report = report?;
    if !has_logs {
        eprintln!("there is no description log in {}: only the frontier itself was looked at", data.root().display());
    }
    tell_left_out(&report);
    match place.json {
        true => say!("{}", as_json(&report, mends)),
        false => tell(&report, mends),
    }
    Ok(if report.is_sound() || mends { End::Done } else { End::Damaged })
}

fn walk(store: Box<dyn Store>, logs: &mut Logs, handle: &Handle, mends: bool) -> Result<Report> {
    let bar = spinner();
    let mut frontier = check::open(store).map_err(Failure::failed)?;
    let mut check = Check::new(&mut frontier, mends, Clock::System.now_ms()).map_err(Failure::failed)?;
    let mut watch = |what: &'static str, entries: u64| show(&bar, what, entries);
    check.tables(&mut watch).map_err(Failure::failed)?;
    let mut read = 0;
    logs.read(handle, |first, entries| {
        read += entries.len() as u64;
        show(&bar, "entries of the logs", read);
        check.log_entries(first, entries).map_err(Failure::failed)
    })?;
    if check.has_to_restore() {
        logs.read(handle, |first, entries| {
            show(&bar, "entries of the logs, for what is missing", first + entries.len() as u64);
            check.restore(first, entries).map_err(Failure::failed)
        })?;
    }
    let report = check.end(&logs.names(), &mut watch).map_err(Failure::failed)?;
    if mends {
        block_on(frontier.syncer().sync()).map_err(Failure::failed)?;
    }
    bar.finish_and_clear();
    Ok(report)
}

fn show(bar: &ProgressBar, what: &str, entries: u64) {
    bar.set_message(format!("{what}: {}", HumanCount(entries)));
    bar.tick();
}

/// What could not be compared is no damage.
fn tell_left_out(report: &Report) {
    if report.in_other_logs > 0 {
        eprintln!("{} saved pages are in logs on other machines and were not looked for", report.in_other_logs);
    }
    if report.of_unknown_crawls > 0 {
        eprintln!("{} log entries are of crawls that this frontier does not have", report.of_unknown_crawls);
    }
}

fn tell(report: &Report, mends: bool) {
    let looked_at =
        format!("{} entries of its tables, {} of the logs", HumanCount(report.entries), HumanCount(report.log_entries));
    if report.is_sound() {
        say!("the frontier is sound: {looked_at}");
        return;
    }
    for (damage, found) in &report.damage {
        say!("{}: {} (such as {})", HumanCount(found.count), damage.in_words(), found.examples.join("; "));
        if mends {
            say!("    {}", damage.mended());
        }
    }
    if mends && report.found_again + report.not_found_again > 0 {
        say!(
            "{} URLs were found again by their fingerprints; {} enter again when a page names them",
            HumanCount(report.found_again),
            HumanCount(report.not_found_again)
        );
    }
    match mends {
        true => say!("the frontier is repaired: {looked_at}"),
        false => say!("the frontier is damaged ({looked_at}); `seine frontier repair` puts it right"),
    }
}

fn as_json(report: &Report, mends: bool) -> serde_json::Value {
    let damage = report.damage.iter().map(|(damage, found)| {
        json!({ "kind": damage.name(), "what": damage.in_words(), "count": found.count, "examples": found.examples })
    });
    json!({
        "sound": report.is_sound(),
        "repaired": mends && !report.is_sound(),
        "entries": report.entries,
        "log_entries": report.log_entries,
        "damage": damage.collect::<Vec<_>>(),
        "found_again": report.found_again,
        "not_found_again": report.not_found_again,
        "in_other_logs": report.in_other_logs,
        "of_unknown_crawls": report.of_unknown_crawls,
    })
}
