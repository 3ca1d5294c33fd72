//! `seine hosts show`: all about one host, in words or as JSON.

use seine_common::clock::Clock;
use seine_proto::monitor::v1::{DelayReason, GetHostResponse, HostInCrawl, HostState, KnownRobots, RobotsVerdict};
use serde_json::{Value, json};

use super::{block_json, line, state_name};
use crate::args::Target;
use crate::output::time_text;

pub(super) fn tell(shown: &GetHostResponse, target: &Target) {
    if target.json {
        say!("{}", to_json(shown));
    } else {
        print(shown);
    }
}

fn print(shown: &GetHostResponse) {
    let host = shown.host.clone().unwrap_or_default();
    say!("{}: {} (slot {})", host.host, state_name(host.state()), shown.slot);
    for block in &shown.blocks {
        say!("  blocked by   {}", line(block));
    }
    if let Some(until) = host.rests_until_ms.and_then(time_text) {
        let because = if shown.rests_because.is_empty() { "" } else { ": " };
        say!("  rests until  {until}{because}{}", shown.rests_because);
    }
    match (host.address.as_str(), shown.address_state()) {
        ("", _) => say!("  address      not found yet"),
        (address, state) => say!("  address      {address}: {}", state_name(state)),
    }
    for robots in &shown.robots {
        say!("  robots.txt   {}: {}, read {}, {}", robots.origin, verdict(robots), read_at(robots), freshness(robots));
    }
    if shown.robots.is_empty() {
        say!("  robots.txt   not read yet");
    }
    if let Some(lease) = &shown.lease {
        let ending = if lease.ending { ", told to end" } else { "" };
        say!("  leased       for crawl {} to collector {}{ending}", lease.crawl, lease.collector);
    }
    for crawl in &shown.crawls {
        say!("  crawl        {}: {} pages, {} waiting", crawl.crawl, crawl.pages, crawl.queued);
        say!("    delay      {} s, {}", f64::from(crawl.delay_ms) / 1000.0, delay_reason(crawl));
    }
    if shown.crawls.is_empty() {
        say!("  no crawl has anything of it");
    }
}

fn to_json(shown: &GetHostResponse) -> Value {
    let host = shown.host.clone().unwrap_or_default();
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let robots = |robots: &KnownRobots| {
        json!({
            "origin": robots.origin,
            "says": verdict(robots),
            "fetched_at": time_text(robots.fetched_at_ms),
            "fresh_until": time_text(robots.fresh_until_ms),
            "fresh": is_fresh(robots),
        })
    };
    let crawl = |crawl: &HostInCrawl| {
        json!({
            "crawl": crawl.crawl,
            "queued": crawl.queued,
            "pages": crawl.pages,
            "bytes": crawl.bytes,
            "delay_seconds": f64::from(crawl.delay_ms) / 1000.0,
            "delay_because": delay_reason(crawl),
        })
    };
    let address_state = Some(shown.address_state()).filter(|state| *state != HostState::Unspecified);
    json!({
        "host": host.host,
        "slot": shown.slot,
        "state": state_name(host.state()),
        "rests_until": host.rests_until_ms.and_then(time_text),
        "rests_because": said(&shown.rests_because),
        "address": said(&host.address),
        "address_state": address_state.map(state_name),
        "blocked": shown.blocks.iter().map(block_json).collect::<Vec<_>>(),
        "robots": shown.robots.iter().map(robots).collect::<Vec<_>>(),
        "crawls": shown.crawls.iter().map(crawl).collect::<Vec<_>>(),
        "lease": shown.lease.as_ref().map(|lease| json!({
            "crawl": lease.crawl,
            "collector": said(&lease.collector),
            "token": lease.token,
            "ending": lease.ending,
        })),
    })
}

fn verdict(robots: &KnownRobots) -> &'static str {
    match robots.verdict() {
        RobotsVerdict::Rules => "has rules",
        RobotsVerdict::AllowAll => "there is none",
        RobotsVerdict::Unavailable => "could not be read",
        RobotsVerdict::Unspecified => "unknown",
    }
}

fn read_at(robots: &KnownRobots) -> String {
    time_text(robots.fetched_at_ms).unwrap_or_else(|| "at an unknown time".to_owned())
}

fn freshness(robots: &KnownRobots) -> String {
    match time_text(robots.fresh_until_ms) {
        Some(until) if is_fresh(robots) => format!("fresh until {until}"),
        _ => "to be read again".to_owned(),
    }
}

/// One that could not be read is asked for again whenever the host is.
fn is_fresh(robots: &KnownRobots) -> bool {
    robots.fresh_until_ms > Clock::System.now_ms() && robots.verdict() != RobotsVerdict::Unavailable
}

fn delay_reason(crawl: &HostInCrawl) -> &'static str {
    match crawl.delay_because() {
        DelayReason::Crawl => "the crawl's delay",
        DelayReason::HostSettings => "set for this host",
        DelayReason::Robots => "robots.txt asks for it",
        DelayReason::OtherCrawl => "another crawl that wants something of it asks for more",
        DelayReason::Unspecified => "for an unknown reason",
    }
}
