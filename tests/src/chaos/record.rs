//! Reads the web's record: which pages came twice and whether they may have, whether delays were kept, who was there at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::strike::Strike;
use crate::RecordedRequest;

const ROBOTS: &str = "/robots.txt";

pub type ByHost = BTreeMap<String, Vec<RecordedRequest>>;

pub fn by_host(requests: Vec<RecordedRequest>) -> ByHost {
    let mut hosts = ByHost::new();
    for request in requests {
        hosts.entry(request.host.to_string()).or_default().push(request);
    }
    hosts
}

/// Something that was asked for again.
#[derive(Debug)]
pub struct Repeat {
    pub host: String,
    pub path: String,
    pub first: Instant,
    pub second: Instant,
}

/// In order of time. What comes three times is two of them.
pub fn repeats(hosts: &ByHost) -> Vec<Repeat> {
    let mut repeats = Vec::new();
    for (host, requests) in hosts {
        let mut last: BTreeMap<&str, Instant> = BTreeMap::new();
        for request in requests {
            if let Some(first) = last.insert(&request.path, request.at) {
                let (host, path) = (host.clone(), request.path.to_string());
                repeats.push(Repeat { host, path, first, second: request.at });
            }
        }
    }
    repeats.sort_by_key(|repeat| repeat.second);
    repeats
}

/// Those that no strike explains: at each host, a strike explains as many pages as were in flight there, asked for before it
/// and again after it, and robots.txt if the Monitor did not have it.
pub fn unexplained<'a>(hosts: &ByHost, repeats: &'a [Repeat], strikes: &[&Strike]) -> Vec<&'a Repeat> {
    let mut left: Vec<BTreeMap<&str, u64>> = strikes.iter().map(|strike| in_flight(hosts, strike)).collect();
    let explained = |repeat: &Repeat, strike: &Strike, left: &mut BTreeMap<&str, u64>| {
        if repeat.first > strike.until || repeat.second < strike.at {
            return false;
        }
        if repeat.path == ROBOTS {
            return strike.hosts.get(&repeat.host).is_some_and(|known| !known.robots);
        }
        match left.get_mut(repeat.host.as_str()) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    };
    let mut unexplained = Vec::new();
    for repeat in repeats {
        if !strikes.iter().zip(&mut left).any(|(strike, left)| explained(repeat, strike, left)) {
            unexplained.push(repeat);
        }
    }
    unexplained
}

/// How many pages of each host of the struck collector were asked for and not settled.
pub fn in_flight<'a>(hosts: &ByHost, strike: &'a Strike) -> BTreeMap<&'a str, u64> {
    let mut in_flight = BTreeMap::new();
    for (host, known) in &strike.hosts {
        let requests = hosts.get(host).map(Vec::as_slice).unwrap_or_default();
        let own = connection_after(requests, strike);
        let is_own = |request: &RecordedRequest| {
            request.at <= strike.at || (request.at <= strike.until && own == Some(request.connection))
        };
        let asked = requests.iter().filter(|request| &*request.path != ROBOTS && is_own(request));
        let asked: BTreeSet<&str> = asked.map(|request| &*request.path).collect();
        in_flight.insert(host.as_str(), (asked.len() as u64).saturating_sub(known.settled));
    }
    in_flight
}

/// The connection on which a struck collector may still ask a host: with a delay it has one. Where that is not used again,
/// the first after it, which may be its own, or of who comes next.
fn connection_after(requests: &[RecordedRequest], strike: &Strike) -> Option<u64> {
    let (before, later): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.at <= strike.at);
    let known = before.last().map(|request| request.connection);
    let mut later = later.into_iter().filter(|request| request.at <= strike.until).map(|request| request.connection);
    let first = later.clone().next();
    known.filter(|known| later.any(|connection| connection == *known)).or(first)
}

/// Requests of one host that came sooner after the one before than its delay.
pub fn too_close(requests: &[RecordedRequest], delay: Duration) -> Vec<String> {
    let close = requests.windows(2).filter(|pair| pair[1].at - pair[0].at < delay);
    close
        .map(|pair| {
            let (gap, host) = (pair[1].at - pair[0].at, &pair[1].host);
            format!("{host}{} came {gap:?} after {}, less than {delay:?}", pair[1].path, pair[0].path)
        })
        .collect()
}

/// With a delay, a collector has one connection to a host: two in use by turns are two collectors.
pub fn at_once(requests: &[RecordedRequest]) -> Vec<String> {
    let mut last: BTreeMap<u64, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        if last.insert(request.connection, at).is_some_and(|before| before + 1 != at) {
            found.push(format!("{}{} came on a connection after another was in use", request.host, request.path));
        }
    }
    found
}

/// The longest time between two requests that follow each other.
pub fn longest_silence(requests: &[RecordedRequest]) -> Duration {
    requests.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::strike::Known;

    const SECOND: Duration = Duration::from_secs(1);

    fn request(at: Instant, path: &str, connection: u64) -> RecordedRequest {
        RecordedRequest {
            at,
            unix_micros: 0,
            connection,
            method: "GET".into(),
            host: "a".into(),
            path: path.into(),
            headers: [].into(),
            status: 200,
        }
    }

    fn strike(at: Instant, settled: u64) -> Strike {
        let hosts = [("a".to_owned(), Known { token: 1, settled, robots: true })].into();
        Strike { at, until: at + SECOND, hosts, is_sure: true }
    }

    #[test]
    fn a_strike_explains_as_many_repeats_as_were_in_flight_and_none_elsewhere() {
        let start = Instant::now();
        let times = ["/1", "/2", "/3", "/2", "/3"].into_iter().zip(0u32..);
        let asked: Vec<_> = times.map(|(path, second)| request(start + SECOND * second * 10, path, 0)).collect();
        let hosts = by_host(asked);
        let repeats = repeats(&hosts);
        assert_eq!(repeats.iter().map(|repeat| repeat.path.as_str()).collect::<Vec<_>>(), ["/2", "/3"]);
        let count = |strike: &Strike| unexplained(&hosts, &repeats, &[strike]).len();
        let during = start + SECOND * 25;
        assert_eq!(count(&strike(during, 1)), 0, "one of three was settled");
        assert_eq!(count(&strike(during, 2)), 1);
        assert_eq!(count(&strike(during, 3)), 2);
        assert_eq!(count(&strike(start, 0)), 2, "both were asked for the first time after it");
        assert_eq!(count(&strike(start + SECOND * 50, 0)), 2, "both were asked for again before it");
        let elsewhere = Strike {
            hosts: [("b".to_owned(), Known { token: 1, settled: 0, robots: true })].into(),
            ..strike(during, 0)
        };
        assert_eq!(count(&elsewhere), 2);
    }

    #[test]
    fn what_another_collector_asks_for_was_not_in_flight() {
        let start = Instant::now();
        let asked = [("/1", 0), ("/2", 0), ("/3", 0), ("/4", 1)].into_iter().zip(0u32..);
        let asked = asked.map(|((path, connection), second)| request(start + SECOND * second, path, connection));
        let hosts = by_host(asked.collect());
        // Cut off between the first two; it goes on for a while on its connection.
        let cut = Strike { until: start + SECOND * 15, ..strike(start + SECOND / 2, 1) };
        assert_eq!(in_flight(&hosts, &cut)["a"], 2);
        let killed = strike(start + SECOND * 2, 1);
        assert_eq!(in_flight(&hosts, &killed)["a"], 3, "who asked for the fourth is not known");
        assert_eq!(in_flight(&hosts, &Strike { until: start + SECOND * 2, ..killed })["a"], 2);
    }

    #[test]
    fn what_one_held_that_was_struck_before_is_not_of_the_next() {
        let now = Instant::now();
        let (first, mut second) = (strike(now, 0), strike(now + SECOND * 9, 0));
        second.leave_out(&Strike { is_sure: false, ..strike(now, 0) });
        assert_eq!(second.hosts.len(), 1);
        second.leave_out(&first);
        assert!(second.hosts.is_empty());
        let mut another_lease = strike(now + SECOND * 30, 0);
        another_lease.hosts.values_mut().for_each(|known| known.token = 2);
        another_lease.leave_out(&first);
        assert_eq!(another_lease.hosts.len(), 1);
    }

    #[test]
    fn robots_txt_is_read_again_only_where_the_monitor_did_not_have_it() {
        let start = Instant::now();
        let hosts = by_host(vec![request(start, ROBOTS, 0), request(start + SECOND * 20, ROBOTS, 1)]);
        let repeats = repeats(&hosts);
        let known = strike(start + SECOND, 0);
        assert_eq!(unexplained(&hosts, &repeats, &[&known]).len(), 1);
        let hosts_without = [("a".to_owned(), Known { token: 1, settled: 0, robots: false })].into();
        assert_eq!(unexplained(&hosts, &repeats, &[&Strike { hosts: hosts_without, ..known }]).len(), 0);
    }

    #[test]
    fn two_connections_by_turns_are_found_and_one_after_the_other_is_not() {
        let now = Instant::now();
        let on = |connections: &[u64]| {
            let requests: Vec<_> = connections.iter().map(|connection| request(now, "/", *connection)).collect();
            at_once(&requests).len()
        };
        assert_eq!((on(&[1, 1, 2, 2]), on(&[1, 2, 1])), (0, 1));
    }

    #[test]
    fn what_comes_before_its_delay_is_found() {
        let now = Instant::now();
        let requests = [request(now, "/1", 0), request(now + SECOND, "/2", 0), request(now + SECOND * 3, "/3", 0)];
        assert_eq!(too_close(&requests, SECOND * 2).len(), 1);
        assert_eq!(too_close(&requests, SECOND).len(), 0);
        assert_eq!(longest_silence(&requests), SECOND * 2);
    }
}
