//! Hosts that an administrator has blocked, and those let go again.

use seine_proto::monitor::v1::{
    Admission, DelayReason, HostSettings, HostState, ListHostsRequest, ListedHost, Pinned, Scope,
};

use super::*;

const REASON: &str = "asked by mail";

fn block(bench: &mut Bench, pattern: &str) -> BlockHostsResponse {
    let request = BlockHostsRequest { pattern: pattern.to_owned(), reason: REASON.to_owned() };
    let answer = bench.keeper.block(&request).unwrap();
    bench.keeper.grant_ready().unwrap();
    answer
}

fn unblock(bench: &mut Bench, pattern: &str) -> Result<UnblockHostsResponse> {
    let answer = bench.keeper.unblock(&UnblockHostsRequest { pattern: pattern.to_owned() });
    bench.keeper.grant_ready().unwrap();
    answer
}

fn resume(bench: &mut Bench, name: &str) {
    let request = SetCrawlStateRequest { name: name.to_owned(), state: CrawlState::Running.into() };
    bench.keeper.set_state(&request).unwrap();
    bench.keeper.grant_ready().unwrap();
}

fn hear_revoked(bench: &mut Bench) -> u64 {
    match bench.hear() {
        monitor_message::Message::Revoke(revoke) => revoke.token,
        other => panic!("expected a revocation, heard {other:?}"),
    }
}

fn pin(bench: &mut Bench, token: u64, address: &str) -> Pinned {
    bench.say(collector_message::Message::Pin(Pin { token, address: address.to_owned(), allowed_by_name: true }));
    match bench.hear() {
        monitor_message::Message::Pinned(pinned) => pinned,
        other => panic!("expected pinned, heard {other:?}"),
    }
}

fn list(bench: &Bench, request: ListHostsRequest) -> Vec<ListedHost> {
    let mut request = request;
    let mut hosts = Vec::new();
    loop {
        let answer = bench.keeper.list_hosts(&request).unwrap();
        hosts.extend(answer.hosts);
        request.cursor = answer.cursor;
        if request.cursor.is_empty() {
            hosts.sort_by(|a, b| a.host.cmp(&b.host));
            return hosts;
        }
    }
}

#[test]
fn a_lease_that_was_not_sent_yet_is_ended_by_a_block_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    assert_eq!(block(&mut bench, "a.test").leases, 1);
    let lease = bench.hear_lease();
    assert_eq!(hear_revoked(&mut bench), lease.token, "the end of a lease comes after the lease");
}

#[test]
fn what_waits_on_a_blocked_host_goes_on_waiting_over_a_restart_until_it_is_unblocked() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(1_000_000);
    let mut bench = Bench::new(dir.path(), clock.clone(), true);
    let settings = || crawl("c", &["http://a.test/", "http://b.test/"]);
    bench.add(settings());
    let leases = [bench.hear_lease(), bench.hear_lease()];
    let of = |host: &str| leases.iter().find(|lease| lease.host == host).unwrap().clone();
    assert_eq!(block(&mut bench, "a.test").leases, 1);
    assert_eq!(hear_revoked(&mut bench), of("a.test").token);
    bench.give_back(of("a.test").token, None);
    assert_eq!(bench.state("c"), CrawlState::Running, "b.test is left");
    bench.settle(of("b.test").token, &urls(&of("b.test"))[0], saved());
    bench.hear_settled();
    bench.give_back(of("b.test").token, Some(0));
    let status = bench.keeper.status(CrawlId(1)).unwrap();
    assert_eq!((status.state(), status.queued, status.blocked_hosts), (CrawlState::Finished, 1, 1));
    assert!(status.waiting_reason.contains("a.test is blocked: asked by mail"), "{}", status.waiting_reason);
    drop(bench);

    let mut bench = Bench::new(dir.path(), clock, true);
    bench.advance(10_000);
    bench.add(settings());
    assert!(bench.silent(), "it is blocked after a restart too");
    assert_eq!(bench.state("c"), CrawlState::Finished, "and the crawl does not hang");
    let answer = unblock(&mut bench, "A.test").unwrap();
    assert_eq!((answer.hosts, answer.finished_crawls.as_slice()), (1, ["c".to_owned()].as_slice()));
    resume(&mut bench, "c");
    assert_eq!(bench.hear_lease().host, "a.test");
    let refusal = unblock(&mut bench, "a.test").unwrap_err().to_string();
    assert!(refusal.contains("a.test is not blocked"), "{refusal}");
}

#[test]
fn a_block_holds_over_all_crawls_and_a_crawl_of_a_hundred_blocked_hosts_ends_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    block(&mut bench, "*.many.test");
    let seeds: Vec<String> = (0..100).map(|number| format!("http://h{number}.many.test/")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    for name in ["first", "second"] {
        bench.add(crawl(name, &seeds));
        for _ in 0..3 {
            bench.advance(1);
        }
        assert_eq!(bench.state(name), CrawlState::Finished);
        assert_eq!(bench.keeper.status(bench.keeper.crawl_named(name).unwrap()).unwrap().blocked_hosts, 100);
    }
    assert!(bench.silent());
    assert_eq!(unblock(&mut bench, "*.many.test").unwrap().hosts, 200);
    resume(&mut bench, "second");
    assert!(bench.hear_lease().host.ends_with(".many.test"));
}

#[test]
fn a_host_found_in_a_blocked_network_is_refused_and_looked_up_again_after_a_day() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    block(&mut bench, "192.0.2.0/24");
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    assert!(!pin(&mut bench, lease.token, "192.0.2.7").go, "nothing may be asked there");
    bench.give_back(lease.token, None);
    assert_eq!(bench.state("c"), CrawlState::Finished);
    resume(&mut bench, "c");
    assert!(bench.silent());
    bench.advance(24 * 60 * 60 * 1000);
    resume(&mut bench, "c");
    let lease = bench.hear_lease();
    assert!(pin(&mut bench, lease.token, "192.0.3.7").go, "it has moved");
    assert_eq!(block(&mut bench, "192.0.3.7").leases, 1, "a lease ends by the address at which it is asking");
    assert_eq!(hear_revoked(&mut bench), lease.token);
}

#[test]
fn a_host_whose_name_is_an_address_needs_no_look_up_to_be_blocked() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    block(&mut bench, "127.0.0.0/8");
    bench.add(crawl("c", &["http://127.0.0.1:8000/"]));
    assert!(bench.silent());
    assert_eq!(bench.state("c"), CrawlState::Finished);
}

#[test]
fn hosts_are_listed_by_pattern_state_and_block_whether_they_were_asked_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    block(&mut bench, "b.test");
    let settings = Crawl { scope: Scope::Any.into(), ..crawl("c", &["http://a.test/", "http://b.test/"]) };
    bench.add(settings);
    bench.hear_lease();
    let names = |hosts: Vec<ListedHost>| hosts.into_iter().map(|host| host.host).collect::<Vec<_>>();
    let all = list(&bench, ListHostsRequest::default());
    let states: Vec<_> = all.iter().map(|host| (host.host.as_str(), host.state(), host.block.is_some())).collect();
    assert_eq!(states, [("a.test", HostState::Active, false), ("b.test", HostState::Waiting, true)]);
    let blocked = ListHostsRequest { only_blocked: true, ..ListHostsRequest::default() };
    assert_eq!(names(list(&bench, blocked)), ["b.test"]);
    let active = ListHostsRequest { state: HostState::Active.into(), ..ListHostsRequest::default() };
    assert_eq!(names(list(&bench, active)), ["a.test"]);
    let named = ListHostsRequest { pattern: "a.test".into(), ..ListHostsRequest::default() };
    assert_eq!(names(list(&bench, named)), ["a.test"]);
}

#[test]
fn a_host_is_shown_with_its_delay_its_queue_its_robots_txt_and_its_lease() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    let slower = HostSettings { pattern: "a.test".into(), delay_ms: Some(7_000), ..HostSettings::default() };
    bench.add(Crawl { hosts: vec![slower], ..crawl("c", &["http://a.test/", "http://a.test/x"]) });
    let lease = bench.hear_lease();
    pin(&mut bench, lease.token, "192.0.2.7");
    let robots = seine_proto::monitor::v1::Robots {
        origin: "http://a.test".into(),
        fetched_at_ms: 1_000_000,
        ..seine_proto::monitor::v1::Robots::default()
    };
    let found = seine_proto::monitor::v1::RobotsFound { token: lease.token, robots: Some(robots) };
    bench.say(collector_message::Message::Robots(found));
    let shown = bench.keeper.show_host("a.test").unwrap();
    let host = shown.host.unwrap();
    assert_eq!((host.state(), host.address.as_str()), (HostState::Active, "192.0.2.7"));
    let of_crawl = &shown.crawls[0];
    assert_eq!((of_crawl.queued, of_crawl.delay_ms), (2, 7_000));
    assert_eq!(of_crawl.delay_because(), DelayReason::HostSettings);
    assert_eq!(shown.robots[0].fresh_until_ms, 1_000_000 + 24 * 60 * 60 * 1000);
    let held = shown.lease.unwrap();
    assert_eq!((held.token, held.collector.as_str(), held.ending), (lease.token, "c", false));
    assert!(bench.keeper.show_host("no host").is_err());
}

#[test]
fn a_url_that_waits_has_one_state_and_one_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/", "http://a.test/x"]));
    let lease = bench.hear_lease();
    let told = |bench: &Bench| {
        let verdict = bench.keeper.explain("http://a.test/x").unwrap().crawls.remove(0);
        (verdict.state, verdict.reason, verdict.rule)
    };
    assert_eq!(told(&bench).0, "leased");
    block(&mut bench, "a.test");
    hear_revoked(&mut bench);
    let (state, reason, rule) = told(&bench);
    assert_eq!((state.as_str(), reason.as_str()), ("queued", "a.test is blocked: asked by mail"));
    assert!(rule.contains("no rule excludes it"), "{rule}");
    unblock(&mut bench, "a.test").unwrap();
    bench.give_back(lease.token, None);
    // What waits is out of the rules now.
    let deny_urls = vec!["*/x".to_owned()];
    let admission = Some(Admission { deny_urls, ..Admission::default() });
    let settings = Crawl { admission, ..crawl("c", &["http://a.test/"]) };
    bench.keeper.add_crawl(AddCrawlRequest { crawl: Some(settings), again: false }).unwrap();
    let (state, reason, rule) = told(&bench);
    assert_eq!((state.as_str(), &reason), ("excluded", &rule), "not leased and excluded at once");
}
