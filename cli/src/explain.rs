//! `seine explain`: what is known about a URL, and why.

use seine_common::config::Config;
use seine_proto::monitor::v1::{CrawlVerdict, ExplainRequest, ExplainResponse, Outcome, OutcomeKind, Visit};
use serde_json::json;

use crate::End;
use crate::args::{ExplainArguments, Role};
use crate::connect::Connection;
use crate::failure::Result;
use crate::output::time_text;

pub async fn run(arguments: ExplainArguments, config: &Config) -> Result<End> {
    let connection = Connection::open(&arguments.target, &[Role::Monitor], config).await?;
    let answer = connection.services().admin.explain(ExplainRequest { url: arguments.url }).await;
    connection.close().await;
    let answer = answer?.into_inner();
    if arguments.target.json {
        say!("{}", as_json(&answer));
    } else {
        print(&answer);
    }
    Ok(End::Done)
}

fn as_json(answer: &ExplainResponse) -> serde_json::Value {
    let verdict = |verdict: &CrawlVerdict| {
        json!({
            "crawl": verdict.crawl,
            "state": verdict.state,
            "reason": verdict.reason,
            "depth": verdict.depth,
            "attempts": verdict.attempts,
            "rule": verdict.rule,
            "robots": said(&verdict.robots),
            "before_it": verdict.before_it,
            "next_visit": verdict.next_visit_ms.and_then(time_text),
            "duplicate_of": said(&verdict.duplicate_of),
            "in_index": verdict.in_index,
            "enumeration": said(&verdict.enumeration),
            "generation": said(&verdict.generation),
            "not_converted": saved(verdict).and_then(|outcome| said(&outcome.not_converted)),
            "usability": saved(verdict).map(|outcome| outcome.usability),
            "visits": verdict.visits.iter().map(visit).collect::<Vec<_>>(),
            "discovered_from": said(&verdict.discovered_from),
            "status": verdict.outcome.as_ref().map(|outcome| outcome.status),
            "fetched_at": verdict.outcome.as_ref().and_then(|outcome| time_text(outcome.fetched_at_ms)),
            "archive": verdict.outcome.as_ref().and_then(|outcome| outcome.archive.as_ref()).map(|position| {
                json!({
                "filesaver": position.filesaver,
                "file": position.file,
                "offset": position.offset,
                "length": position.length,
            })
            }),
        })
    };
    json!({
        "url": answer.canonical_url,
        "host": answer.host,
        "slot": answer.slot,
        "host_state": answer.host_state,
        "host_rests_until": answer.host_rests_until_ms.and_then(time_text),
        "host_rests_because": said(&answer.host_rests_because),
        "address": said(&answer.address),
        "address_state": said(&answer.address_state),
        "blocked_by": answer.blocks.iter().map(|block| &block.pattern).collect::<Vec<_>>(),
        "crawls": answer.crawls.iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn visit(visit: &Visit) -> serde_json::Value {
    json!({
        "at": time_text(visit.at_ms),
        "outcome": kind_name(visit.kind()),
        "status": visit.status,
        "detail": said(&visit.detail),
    })
}

/// `OUTCOME_KIND_NOT_MODIFIED` in words: `not modified`.
fn kind_name(kind: OutcomeKind) -> String {
    kind.as_str_name().trim_start_matches("OUTCOME_KIND_").to_ascii_lowercase().replace('_', " ")
}

fn saved(verdict: &CrawlVerdict) -> Option<&Outcome> {
    verdict.outcome.as_ref().filter(|outcome| outcome.kind() == OutcomeKind::Saved)
}

fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn print(answer: &ExplainResponse) {
    say!("{}", answer.canonical_url);
    say!("  host {}: {} (slot {})", answer.host, answer.host_state, answer.slot);
    if !answer.address.is_empty() {
        say!("  address {}: {}", answer.address, answer.address_state);
    }
    if let Some(until) = answer.host_rests_until_ms.and_then(time_text) {
        let because = said(&answer.host_rests_because).map(|reason| format!(": {reason}")).unwrap_or_default();
        say!("  host rests until {until}{because}");
    }
    for block in &answer.blocks {
        let because = said(&block.reason).map(|reason| format!(": {reason}")).unwrap_or_default();
        say!("  host is blocked by {}{because}", block.pattern);
    }
    for verdict in &answer.crawls {
        say!("  crawl {}: {}", verdict.crawl, verdict.state);
        if !verdict.reason.is_empty() {
            say!("    {}", verdict.reason);
        }
        if let Some(depth) = verdict.depth {
            say!("    depth {depth}, {} failed attempts", verdict.attempts);
        }
        say!("    rule: {}", verdict.rule);
        for (what, text) in [
            ("robots.txt:", &verdict.robots),
            ("found on", &verdict.discovered_from),
            ("same text as", &verdict.duplicate_of),
            ("links:", &verdict.enumeration),
            ("index:", &verdict.generation),
        ] {
            if !text.is_empty() {
                say!("    {what} {text}");
            }
        }
        if let Some(before) = verdict.before_it {
            say!("    {before} URLs of its host go before it");
        }
        if let Some(due) = verdict.next_visit_ms.and_then(time_text) {
            say!("    next visit {due}");
        }
        for visit in &verdict.visits {
            let when = time_text(visit.at_ms).unwrap_or_default();
            say!("    visited {when}: {} {} {}", kind_name(visit.kind()), visit.status, visit.detail);
        }
        if let Some(outcome) = &verdict.outcome {
            let when = time_text(outcome.fetched_at_ms).unwrap_or_default();
            say!("    status {}, {} bytes, {when}", outcome.status, outcome.bytes);
            if let Some(position) = &outcome.archive {
                say!("    archived in {} at byte {}", position.file, position.offset);
            }
            if let Some(reason) = saved(verdict).and_then(|outcome| said(&outcome.not_converted)) {
                say!("    kept, but its text could not be read: {reason}");
            }
            if verdict.state == "saved" {
                say!("    {}", if verdict.in_index { "in the index" } else { "kept out of the index" });
            }
        }
    }
    if answer.crawls.is_empty() {
        say!("  no crawl has been made here");
    }
}
