//! The states of an address over all of its hosts, before and after a restart.

use super::*;

fn states(bench: &Bench, url: &str) -> (String, String) {
    let explained = bench.keeper.explain(url).unwrap();
    (explained.host_state, explained.address_state)
}

fn pin(bench: &mut Bench, token: u64) {
    let address = "192.0.2.7".to_owned();
    bench.say(collector_message::Message::Pin(Pin { token, address, allowed_by_name: false }));
    bench.hear();
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
    assert_eq!(bench.keeper.frontier.hosts_at("192.0.2.7", 9).unwrap().len(), 1);
    let moved = Pin { token: lease.token, address: "192.0.2.70".to_owned(), allowed_by_name: false };
    bench.say(collector_message::Message::Pin(moved));
    assert_eq!(bench.keeper.frontier.hosts_at("192.0.2.7", 9).unwrap().len(), 0);
    assert_eq!(bench.keeper.frontier.hosts_at("192.0.2.70", 9).unwrap().len(), 1);
}
