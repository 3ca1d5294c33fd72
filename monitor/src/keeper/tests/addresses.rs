//! The states of an address over all of its hosts, before and after a restart.

use seine_common::address::AddressKey;

use super::*;
use crate::record::AddressRecord;

fn states(bench: &Bench, url: &str) -> (String, String) {
    let explained = bench.keeper.explain(url).unwrap();
    (explained.host_state, explained.address_state)
}

fn pin(bench: &mut Bench, token: u64) -> Pinned {
    pin_at(bench, token, "192.0.2.7")
}

fn pin_at(bench: &mut Bench, token: u64, address: &str) -> Pinned {
    bench.say(collector_message::Message::Pin(Pin { token, address: address.to_owned(), allowed_by_name: false }));
    match bench.hear() {
        monitor_message::Message::Pinned(pinned) => pinned,
        other => panic!("a pin is answered, not {other:?}"),
    }
}

fn hosts_at(bench: &Bench, address: &str) -> usize {
    bench.keeper.frontier.hosts_at(AddressKey::parse(address).unwrap(), 9).unwrap().len()
}

fn give_back(bench: &mut Bench, token: u64, requests: u32) {
    let returned = ReturnLease { token, since_last_request_ms: Some(0), requests, ..ReturnLease::default() };
    bench.say(collector_message::Message::ReturnLease(returned));
}

/// After ten requests an address rests for a minute.
fn with_pause(seeds: &[&str]) -> Crawl {
    Crawl { requests_before_pause: Some(10), pause_ms: Some(60_000), ..crawl("c", seeds) }
}

#[test]
fn an_address_is_as_busy_as_its_busiest_host_and_done_with_the_last_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    bench.add(crawl("c", &["http://a.test/", "http://b.test/"]));
    let (a, b) = (bench.hear_lease(), bench.hear_lease());
    assert_eq!(states(&bench, "http://a.test/"), ("active".to_owned(), String::new()), "no address yet");
    pin(&mut bench, a.token);
    pin(&mut bench, b.token);
    let (of_a, of_b) = (format!("http://{}/", a.host), format!("http://{}/", b.host));
    bench.settle(a.token, &urls(&a)[0], saved());
    bench.hear_settled();
    bench.give_back(a.token, Some(0));
    assert_eq!(states(&bench, &of_a), ("resting".to_owned(), "active".to_owned()), "it rests after its work");
    bench.settle(b.token, &urls(&b)[0], Outcome { retry_after_s: 30, ..outcome(OutcomeKind::SlowDown) });
    bench.hear_settled();
    bench.give_back(b.token, Some(0));
    bench.advance(2_000);
    assert_eq!(states(&bench, &of_a), ("done".to_owned(), "resting".to_owned()));
    drop(bench);

    let bench = Bench::new(dir.path(), clock.clone(), true);
    assert_eq!(states(&bench, &of_a), ("done".to_owned(), "resting".to_owned()), "a restart changes nothing");
    assert_eq!(states(&bench, &of_b), ("resting".to_owned(), "resting".to_owned()));
    clock.advance(120_000);
    assert_eq!(states(&bench, &of_a), ("done".to_owned(), "waiting".to_owned()));
    let mut bench = bench;
    bench.advance(0);
    let again = bench.hear_lease();
    bench.settle(again.token, &urls(&again)[0], saved());
    bench.hear_settled();
    bench.give_back(again.token, Some(0));
    bench.advance(2_000);
    assert_eq!(states(&bench, &of_b), ("done".to_owned(), "done".to_owned()));
}

#[test]
fn a_host_that_moves_leaves_its_old_address() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    pin(&mut bench, lease.token);
    assert_eq!(hosts_at(&bench, "192.0.2.7"), 1);
    let moved = Pin { token: lease.token, address: "192.0.2.70".to_owned(), allowed_by_name: false };
    bench.say(collector_message::Message::Pin(moved));
    assert_eq!(hosts_at(&bench, "192.0.2.7"), 0);
    assert_eq!(hosts_at(&bench, "192.0.2.70"), 1);
}

#[test]
fn the_hosts_of_an_address_share_its_requests_and_rest_together() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    bench.add(with_pause(&["http://a.test/", "http://b.test/", "http://c.test/"]));
    let leases = [bench.hear_lease(), bench.hear_lease(), bench.hear_lease()];
    let tokens = leases.clone().map(|lease| lease.token);
    // Of the first nobody knows yet that others are there: it may have all.
    assert_eq!(pin(&mut bench, tokens[0]).request_allowance, 10);
    assert!(!pin(&mut bench, tokens[1]).go, "all is promised");
    bench.give_back(tokens[1], None);
    give_back(&mut bench, tokens[0], 4);
    assert_eq!(pin(&mut bench, tokens[2]).request_allowance, 3, "six are left for two");
    bench.advance(1_000);
    let again = [bench.hear_lease(), bench.hear_lease()];
    assert_eq!(pin(&mut bench, again[0].token).request_allowance, 3);
    give_back(&mut bench, tokens[2], 3);
    bench.give_back(again[1].token, None);
    assert_eq!(states(&bench, "http://a.test/").1, "active");
    // The process dies; of the last three requests nobody knows, so they count as made.
    drop(bench);

    let mut bench = Bench::new(dir.path(), clock, true);
    bench.advance(50_000);
    assert!(bench.silent(), "every host of the address rests");
    for lease in &leases {
        let url = format!("http://{}/", lease.host);
        assert_eq!(states(&bench, &url), ("resting".to_owned(), "resting".to_owned()), "{url}");
    }
    let explained = bench.keeper.explain("http://a.test/").unwrap();
    assert_eq!(explained.host_rests_because, "general pause after many requests of its address 192.0.2.7");
    let reason = bench.keeper.status(CrawlId(1)).unwrap().waiting_reason;
    assert!(reason.contains("general pause after many requests of its address 192.0.2.7"), "{reason}");
    bench.advance(9_000);
    assert!(bench.silent(), "to the end");
    bench.advance(1_000);
    let leases = [bench.hear_lease(), bench.hear_lease(), bench.hear_lease()];
    assert!(pin(&mut bench, leases[0].token).request_allowance > 3, "it begins anew");
}

#[test]
fn a_host_that_moved_to_an_address_that_rests_waits_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let address = AddressKey::parse("192.0.2.7").unwrap();
    let rests = AddressRecord { rests_until_ms: 1_030_000, ..AddressRecord::default() };
    bench.keeper.frontier.put_address(address, &rests).unwrap();
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    assert!(!pin(&mut bench, lease.token).go);
    bench.give_back(lease.token, None);
    assert_eq!(states(&bench, "http://a.test/"), ("resting".to_owned(), "resting".to_owned()));
    bench.advance(20_000);
    assert!(bench.silent());
    bench.advance(10_000);
    assert_eq!(bench.hear_lease().host, "a.test");
}

#[test]
fn hosts_behind_those_of_a_resting_address_are_not_held_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let address = AddressKey::parse("192.0.2.7").unwrap();
    let rests = AddressRecord { rests_until_ms: 9_000_000, ..AddressRecord::default() };
    bench.keeper.frontier.put_address(address, &rests).unwrap();
    let seeds: Vec<String> = (0..200).map(|number| format!("http://h{number}.test/")).collect();
    for seed in &seeds {
        let host = seine_common::url::CanonicalUrl::parse(seed).unwrap().host();
        let record = bench.keeper.frontier.host(&host).unwrap();
        bench.keeper.frontier.move_host(&record, "192.0.2.7").unwrap();
    }
    bench.add(crawl("many", &seeds.iter().map(String::as_str).collect::<Vec<_>>()));
    bench.clock.advance(1);
    let mut seeds = seeds;
    seeds.push("http://elsewhere.test/".to_owned());
    bench.add(crawl("many", &seeds.iter().map(String::as_str).collect::<Vec<_>>()));
    for _ in 0..4 {
        bench.advance(1);
    }
    assert_eq!(bench.hear_lease().host, "elsewhere.test");
    assert!(bench.silent());
}

#[test]
fn an_ipv6_network_of_64_bits_counts_as_one_address() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://b.test/", "http://c.test/"]));
    let tokens: Vec<u64> = (0..3).map(|_| bench.hear_lease().token).collect();
    assert!(pin_at(&mut bench, tokens[0], "2a00:1:2:3::1").go);
    assert!(pin_at(&mut bench, tokens[1], "2a00:1:2:3::2").go);
    assert!(!pin_at(&mut bench, tokens[2], "2a00:1:2:3:ffff::3").go, "two hosts of it are asked already");
    assert!(pin_at(&mut bench, tokens[2], "2a00:1:2:4::3").go, "the next network is another");
    assert_eq!(hosts_at(&bench, "2a00:1:2:3::9"), 2);
}

#[test]
fn a_crawl_of_public_sites_is_asked_once_for_a_contact() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let with_contact = Crawl {
        user_agent: Some("bot/1 (+https://example.org/bot)".to_owned()),
        ..crawl("named", &["http://n.test/"])
    };
    bench.add(with_contact);
    bench.add(crawl("nameless", &["http://a.test/", "http://b.test/"]));
    let leases = [bench.hear_lease(), bench.hear_lease(), bench.hear_lease()];
    assert!(bench.keeper.asked_for_contact.is_empty());
    for lease in &leases {
        bench.say(collector_message::Message::Pin(Pin {
            token: lease.token,
            address: "127.0.0.1".to_owned(),
            allowed_by_name: true,
        }));
        bench.hear();
    }
    assert!(bench.keeper.asked_for_contact.is_empty(), "private networks need none");
    for lease in &leases {
        pin_at(&mut bench, lease.token, "93.184.216.34");
    }
    assert_eq!(bench.keeper.asked_for_contact.len(), 1);
    assert!(bench.keeper.asked_for_contact.contains(&CrawlId(2)));
}
