//! `seine explain`: what is known about a URL, and why.

use seine_common::config::Config;
use seine_proto::monitor::v1::{CrawlVerdict, ExplainRequest, ExplainResponse};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::End;
use crate::args::{ExplainArguments, Role};
use crate::connect::Connection;
use crate::failure::Result;

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
            "discovered_from": Some(&verdict.discovered_from).filter(|from| !from.is_empty()),
            "status": verdict.outcome.as_ref().map(|outcome| outcome.status),
            "fetched_at": verdict.outcome.as_ref().and_then(|outcome| time_text(outcome.fetched_at_ms)),
            "archive": verdict.outcome.as_ref().and_then(|outcome| outcome.archive.as_ref()).map(|position| {
                json!({ "file": position.file, "offset": position.offset, "length": position.length })
            }),
        })
    };
    json!({
        "url": answer.canonical_url,
        "host": answer.host,
        "slot": answer.slot,
        "host_rests_until": answer.host_rests_until_ms.and_then(time_text),
        "crawls": answer.crawls.iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn print(answer: &ExplainResponse) {
    say!("{}", answer.canonical_url);
    say!("  host {} (slot {})", answer.host, answer.slot);
    if let Some(until) = answer.host_rests_until_ms.and_then(time_text) {
        say!("  host rests until {until}");
    }
    for verdict in &answer.crawls {
        say!("  crawl {}: {}", verdict.crawl, verdict.state);
        if !verdict.reason.is_empty() {
            say!("    {}", verdict.reason);
        }
        if let Some(depth) = verdict.depth {
            say!("    depth {depth}, {} failed attempts", verdict.attempts);
        }
        if !verdict.discovered_from.is_empty() {
            say!("    found on {}", verdict.discovered_from);
        }
        if let Some(outcome) = &verdict.outcome {
            let when = time_text(outcome.fetched_at_ms).unwrap_or_default();
            say!("    status {}, {} bytes, {when}", outcome.status, outcome.bytes);
            if let Some(position) = &outcome.archive {
                say!("    archived in {} at byte {}", position.file, position.offset);
            }
        }
    }
    if answer.crawls.is_empty() {
        say!("  no crawl has been made here");
    }
}

fn time_text(ms: i64) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp(ms / 1000).ok()?;
    (ms > 0).then(|| time.format(&Rfc3339).ok()).flatten()
}
