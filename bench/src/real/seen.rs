//! What a server saw of one crawler, whichever server it was.
//!
//! Pages are counted here and not by crawlers, because each of them means something else by a page.

use std::collections::HashSet;

use seine_tests::RecordedRequest;
use serde::Serialize;

/// One answered request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// Seconds since 1970.
    pub at: f64,
    /// By its address, without the port, which some clients leave out.
    pub host: String,
    /// With the query.
    pub path: String,
    /// It was answered with 200 and HTML.
    pub page: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Seen {
    /// Distinct ones.
    pub pages: u64,
    /// Answers with a page that had been given before.
    pub repeated: u64,
    /// All other answers: robots.txt, redirects, errors, what is no HTML.
    pub other: u64,
    /// When pages were answered the first time, in seconds since 1970.
    #[serde(skip)]
    pub times: Vec<f64>,
    /// The last of them, repeated ones included.
    pub last_page_at: Option<f64>,
}

impl Seen {
    pub fn of(answered: &[Answered]) -> Self {
        let (mut known, mut seen) = (HashSet::new(), Self::default());
        for Answered { at, host, path, page } in answered {
            if !page {
                seen.other += 1;
                continue;
            }
            let new = known.insert((host, path));
            seen.pages += u64::from(new);
            seen.times.extend(new.then_some(*at));
            seen.repeated += u64::from(!new);
            seen.last_page_at = Some(seen.last_page_at.map_or(*at, |last| last.max(*at)));
        }
        seen
    }
}

impl Answered {
    /// From a line of nginx's log as `real-web.sh` has it written: `TIME ADDRESS STATUS BYTES TYPE|PATH`. None for other lines.
    pub fn from_log_line(line: &str) -> Option<Self> {
        let (fields, path) = line.split_once('|')?;
        let mut fields = fields.splitn(5, ' ');
        let (at, host, status) = (fields.next()?.parse().ok()?, fields.next()?, fields.next()?);
        let content_type = fields.nth(1)?;
        let page = status == "200" && content_type.starts_with("text/html");
        Some(Self { at, host: host.to_owned(), path: path.to_owned(), page })
    }

    pub fn from_made_web(request: &RecordedRequest) -> Self {
        let host = request.host.split_once(':').map_or(&*request.host, |(host, _)| host);
        let page = request.status == 200 && (&*request.path == "/" || request.path.starts_with("/p/"));
        Self { at: request.unix_micros as f64 / 1e6, host: host.to_owned(), path: request.path.to_string(), page }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
        1700000000.100 127.0.0.11 404 153 text/html|/robots.txt\n\
        1700000000.200 127.0.0.11 200 4000 text/html; charset=utf-8|/index.html\n\
        1700000000.300 127.0.0.12 200 4000 text/html; charset=utf-8|/index.html\n\
        1700000000.900 127.0.0.11 200 4000 text/html; charset=utf-8|/index.html\n\
        1700000000.400 127.0.0.11 200 4000 text/html; charset=utf-8|/index.html?a|b c\n\
        1700000001.000 127.0.0.11 301 0 text/html|/folder\n\
        1700000002.000 127.0.0.11 200 10 text/css|/style.css\n\
        cut off";

    #[test]
    fn pages_are_counted_once_for_each_host_and_repeats_and_other_answers_apart() {
        let answered: Vec<_> = LOG.lines().filter_map(Answered::from_log_line).collect();
        assert_eq!(answered.len(), 7);
        assert_eq!(answered[4].path, "/index.html?a|b c");
        let seen = Seen::of(&answered);
        assert_eq!((seen.pages, seen.repeated, seen.other), (3, 1, 3));
        assert_eq!((seen.times.len(), seen.last_page_at), (3, Some(1_700_000_000.9)));
    }

    #[test]
    fn nothing_asked_is_nothing_seen() {
        assert_eq!(Seen::of(&[]), Seen::default());
    }
}
