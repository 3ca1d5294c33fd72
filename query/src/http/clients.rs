//! Who is asking, and whether they ask too often.
//!
//! A client is an address (of IPv6 its network of 64 bits, which is what one household or server gets). Each has a bucket
//! of tokens that refills steadily; a request takes one. Memory is bounded: buckets that are full again are forgotten, and
//! when too many clients are active at once, those that are new share one bucket.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use ipnet::IpNet;
use seine_common::config::ClientLimit;

/// Clients that are told apart at the same time.
const MAX_CLIENTS: usize = 50_000;
/// How often room is looked for when there is none.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);
const FORWARDED_FOR: &str = "x-forwarded-for";
/// What proxies add to the requests of their clients.
const SIGNS_OF_A_PROXY: [&str; 5] = [FORWARDED_FOR, "forwarded", "x-real-ip", "x-forwarded-proto", "via"];

/// Whether somebody asks on behalf of somebody else.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    SIGNS_OF_A_PROXY.iter().any(|name| headers.contains_key(*name))
}

/// The client behind a connection: the last address in `X-Forwarded-For` that is not a trusted proxy's own, when the
/// connection itself comes from one.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted_proxies.iter().any(|network| network.contains(&address));
    let mut client = peer.to_canonical();
    if !is_trusted(client) {
        return client;
    }
    let values: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok()).collect();
    for text in values.iter().rev().flat_map(|value| value.rsplit(',')) {
        // What stands before an address that cannot be read may be anybody's invention.
        let Ok(address) = text.trim().parse::<IpAddr>() else { break };
        client = address.to_canonical();
        if !is_trusted(client) {
            break;
        }
    }
    client
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

pub struct ClientLimiter {
    limit: ClientLimit,
    buckets: Mutex<Buckets>,
}

struct Buckets {
    of_clients: HashMap<IpAddr, Bucket>,
    /// For clients that there is no room for.
    shared: Option<Bucket>,
    swept_at: Option<Instant>,
}

impl ClientLimiter {
    pub fn new(limit: ClientLimit) -> Self {
        let buckets = Buckets { of_clients: HashMap::new(), shared: None, swept_at: None };
        Self { limit, buckets: Mutex::new(buckets) }
    }

    /// Whether a client on this machine may ask as often as it likes.
    pub fn spares_loopback(&self) -> bool {
        !self.limit.on_loopback
    }

    /// Takes a token, or says how long to wait for the next one.
    pub fn admit(&self, client: IpAddr, now: Instant) -> Result<(), Duration> {
        let client = network_of(client);
        let full = Bucket { tokens: f64::from(self.limit.burst), at: now };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.of_clients.contains_key(&client) && buckets.of_clients.len() >= MAX_CLIENTS {
            buckets.sweep(&self.limit, now);
        }
        let has_room = buckets.of_clients.len() < MAX_CLIENTS;
        let bucket = match buckets.of_clients.contains_key(&client) || has_room {
            true => buckets.of_clients.entry(client).or_insert(full),
            false => buckets.shared.get_or_insert(full),
        };
        bucket.refill(&self.limit, now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.tokens) / self.limit.per_second))
    }
}

impl Buckets {
    /// Forgets clients whose bucket is full: they are as good as new.
    fn sweep(&mut self, limit: &ClientLimit, now: Instant) {
        if self.swept_at.is_some_and(|at| now.duration_since(at) < SWEEP_PAUSE) {
            return;
        }
        self.swept_at = Some(now);
        self.of_clients.retain(|_, bucket| {
            bucket.refill(limit, now);
            bucket.tokens < f64::from(limit.burst)
        });
    }
}

impl Bucket {
    fn refill(&mut self, limit: &ClientLimit, now: Instant) {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * limit.per_second;
        self.tokens = (self.tokens + gained).min(f64::from(limit.burst));
        self.at = self.at.max(now);
    }
}

fn network_of(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const LIMIT: ClientLimit = ClientLimit { per_second: 2.0, burst: 3, on_loopback: true };

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_burst_is_admitted_and_then_the_rate() {
        let limiter = ClientLimiter::new(LIMIT);
        let start = Instant::now();
        let one = address("192.0.2.1");
        for _ in 0..3 {
            assert_eq!(limiter.admit(one, start), Ok(()));
        }
        assert_eq!(limiter.admit(one, start), Err(Duration::from_millis(500)));
        assert_eq!(limiter.admit(address("192.0.2.2"), start), Ok(()), "others are not concerned");
        let later = start + Duration::from_millis(500);
        assert_eq!(limiter.admit(one, later), Ok(()));
        assert!(limiter.admit(one, later).is_err());
    }

    #[test]
    fn one_network_of_ipv6_is_one_client_and_mapped_addresses_are_ipv4() {
        let limiter = ClientLimiter::new(ClientLimit { burst: 1, ..LIMIT });
        let now = Instant::now();
        assert!(limiter.admit(address("2001:db8::1"), now).is_ok());
        assert!(limiter.admit(address("2001:db8::2"), now).is_err());
        assert!(limiter.admit(address("2001:db8:0:1::2"), now).is_ok());
        assert!(limiter.admit(address("192.0.2.1"), now).is_ok());
        assert!(limiter.admit(address("::ffff:192.0.2.1"), now).is_err());
    }

    #[test]
    fn memory_is_bounded_and_a_flood_of_strangers_shares_one_bucket() {
        let limiter = ClientLimiter::new(LIMIT);
        let now = Instant::now();
        let client = |number: u32| IpAddr::from(number.to_be_bytes());
        for number in 0..MAX_CLIENTS as u32 {
            assert!(limiter.admit(client(number), now).is_ok());
        }
        let strangers = (0..10).filter(|number| limiter.admit(client(1 << 30 | number), now).is_ok()).count();
        assert_eq!(strangers, 3, "the shared burst");
        let later = now + Duration::from_secs(60);
        assert!(limiter.admit(client(1 << 31), later).is_ok());
        assert_eq!(limiter.buckets.lock().unwrap().of_clients.len(), 1, "who was quiet is forgotten");
    }

    #[test]
    fn a_forwarded_address_is_believed_from_trusted_proxies_only() {
        let proxies = ["10.0.0.0/8".parse().unwrap(), "127.0.0.1/32".parse().unwrap()];
        let seen = |peer: &str, forwarded: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(FORWARDED_FOR, HeaderValue::from_static(forwarded));
            client(address(peer), &headers, &proxies).to_string()
        };
        assert_eq!(seen("192.0.2.9", "192.0.2.1"), "192.0.2.9");
        assert_eq!(seen("127.0.0.1", "192.0.2.1"), "192.0.2.1");
        assert_eq!(seen("127.0.0.1", "6.6.6.6, 192.0.2.1, 10.1.1.1"), "192.0.2.1", "the client may invent the first");
        assert_eq!(seen("127.0.0.1", "192.0.2.1, nonsense"), "127.0.0.1");
        assert_eq!(seen("127.0.0.1", ""), "127.0.0.1");
        assert_eq!(client(address("127.0.0.1"), &HeaderMap::new(), &[]).to_string(), "127.0.0.1");
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate_are_admitted(waits in prop::collection::vec(0u64..400, 1..200)) {
            let limiter = ClientLimiter::new(LIMIT);
            let start = Instant::now();
            let (mut now, mut admitted) = (start, 0.0);
            for wait in waits {
                now += Duration::from_millis(wait);
                if limiter.admit(address("192.0.2.1"), now).is_ok() {
                    admitted += 1.0;
                }
                prop_assert!(admitted <= 3.0 + 2.0 * (now - start).as_secs_f64() + 1e-6);
            }
        }
    }
}
