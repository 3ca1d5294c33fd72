//! What is wrong elsewhere and what the Monitor does about it.

use seine_proto::monitor::v1::{NodeInfo, Trouble};

use super::*;

impl Bench {
    /// The node of the one collector says what is wrong with it.
    fn tell(&mut self, troubles: &[(&str, &str, bool)]) {
        let trouble = |&(tier, reason, pauses): &(&str, &str, bool)| Trouble {
            tier: tier.to_owned(),
            reason: reason.to_owned(),
            pauses,
        };
        let troubles = troubles.iter().map(trouble).collect();
        self.keeper.nodes.register(&NodeInfo { id: "c".to_owned(), troubles, ..NodeInfo::default() }).unwrap();
        self.keeper.look_after_things().unwrap();
        self.keeper.grant_ready().unwrap();
    }

    fn waiting_reason(&self) -> String {
        self.keeper.status(CrawlId(1)).unwrap().waiting_reason
    }
}

#[test]
fn a_disk_that_is_almost_full_anywhere_stops_fetching_and_room_lets_it_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.add(crawl("c", &["http://a.test/"]));
    let lease = bench.hear_lease();
    bench.tell(&[("filesaver", "paused: the disk of /d has 3.0 % free", true)]);
    assert!(matches!(bench.hear(), monitor_message::Message::Revoke(revoke) if revoke.token == lease.token));
    bench.give_back(lease.token, None);
    assert_eq!(bench.waiting_reason(), "paused: the disk of /d has 3.0 % free");
    assert!(bench.silent());
    bench.tell(&[]);
    bench.hear_lease();
    assert_eq!(bench.waiting_reason(), "");
}

#[test]
fn a_collector_that_cannot_deliver_gets_no_lease_and_its_reason_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.tell(&[("collector", "pages cannot be saved: no room", false)]);
    bench.add(crawl("c", &["http://a.test/"]));
    assert!(bench.silent());
    assert_eq!(bench.waiting_reason(), "pages cannot be saved: no room");
    bench.tell(&[]);
    bench.hear_lease();
}

#[test]
fn what_keeps_no_page_from_being_saved_is_told_and_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(dir.path(), Clock::manual(1_000_000), true);
    bench.tell(&[("indexer", "stopped: the log is damaged", false)]);
    bench.add(crawl("c", &["http://a.test/"]));
    bench.hear_lease();
    assert_eq!(bench.waiting_reason(), "");
    assert_eq!(bench.keeper.status(CrawlId(1)).unwrap().troubles, ["indexer: stopped: the log is damaged"]);
}
