//! What differs between two settings of one crawl.

use seine_proto::monitor::v1::Crawl;

/// What differs from last time, a sentence each. Seeds are not settings: new ones simply join.
pub fn changes(before: &Crawl, now: &Crawl) -> Vec<String> {
    let limit = |value: Option<u64>| value.map_or("unlimited".to_owned(), |value| value.to_string());
    let list = |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(", ") };
    let pairs = [
        ("scope", before.scope().as_str_name().to_owned(), now.scope().as_str_name().to_owned()),
        ("strategy", before.strategy().as_str_name().to_owned(), now.strategy().as_str_name().to_owned()),
        ("depth", limit(before.max_depth.map(u64::from)), limit(now.max_depth.map(u64::from))),
        ("max pages", limit(before.max_pages), limit(now.max_pages)),
        ("delay", format!("{} ms", before.delay_ms), format!("{} ms", now.delay_ms)),
        ("connections per host", before.connections_per_host.to_string(), now.connections_per_host.to_string()),
        ("hosts per IP", before.hosts_per_ip.to_string(), now.hosts_per_ip.to_string()),
        ("user agent", before.user_agent.clone(), now.user_agent.clone()),
        ("allowed networks", list(&before.allow_net), list(&now.allow_net)),
        ("fixed addresses", list(&before.resolve), list(&now.resolve)),
        ("robots.txt ignored", before.ignore_robots.to_string(), now.ignore_robots.to_string()),
        ("sitemaps ignored", before.ignore_sitemaps.to_string(), now.ignore_sitemaps.to_string()),
        ("body limit", before.max_body_bytes.to_string(), now.max_body_bytes.to_string()),
        ("attempts", before.max_attempts.to_string(), now.max_attempts.to_string()),
        ("max bytes", limit(before.max_bytes), limit(now.max_bytes)),
        ("max pages per host", limit(before.max_pages_per_host), limit(now.max_pages_per_host)),
        ("max bytes per host", limit(before.max_bytes_per_host), limit(now.max_bytes_per_host)),
        ("general pause", pause(before), pause(now)),
        ("response factor", before.response_factor.to_string(), now.response_factor.to_string()),
        ("keywords", list(&before.keywords), list(&now.keywords)),
        ("value threshold", before.value_threshold.to_string(), now.value_threshold.to_string()),
        ("unusable below", before.unusable_below.to_string(), now.unusable_below.to_string()),
        ("breadth budget", before.breadth_budget.to_string(), now.breadth_budget.to_string()),
    ];
    let mut told: Vec<String> = pairs
        .into_iter()
        .filter(|(_, before, now)| before != now)
        .map(|(what, before, now)| format!("{what} was {}, now {}", plain(&before), plain(&now)))
        .collect();
    // Too long to be told in full.
    let differ = [
        ("the rules for URLs", before.admission != now.admission),
        ("the filter for links", before.enumeration != now.enumeration),
        ("the filter for the index", before.generation != now.generation),
        ("the settings for some hosts", before.hosts != now.hosts),
        ("when pages are visited again", before.refresh != now.refresh),
    ];
    told.extend(differ.iter().filter(|(_, differs)| *differs).map(|(what, _)| format!("{what} changed")));
    told
}

fn pause(crawl: &Crawl) -> String {
    match crawl.requests_before_pause {
        0 => "none".to_owned(),
        requests => format!("{} ms after {requests} requests", crawl.pause_ms),
    }
}

/// `SCOPE_HOST` as people write it: `host`.
fn plain(value: &str) -> String {
    match value.strip_prefix("SCOPE_").or_else(|| value.strip_prefix("STRATEGY_")) {
        Some(name) => name.to_ascii_lowercase().replace('_', "-"),
        None => value.to_owned(),
    }
}
