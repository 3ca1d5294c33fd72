//! For tests: a frontier with something of everything that one keeps, and the log of its saved pages.

use seine_common::address::AddressKey;
use seine_common::host::HostKey;
use seine_proto::common::v1::{ArchivePosition, DescribedLink, Description};
use seine_proto::filesaver::v1::{LogEntry, log_entry::Entry};
use seine_proto::monitor::v1::{Outcome, OutcomeKind, Revisit, Robots};

use super::{Candidate, Frontier, Settlement};
use crate::place::{Class, Place};
use crate::record::{
    AddressRecord, BlockRecord, CrawlId, CrawlRecord, ForgettingRecord, HostRecord, LeaseRecord, QueueEntry, UrlRecord,
};
use crate::tests_support::{candidate, crawl, outcome, settled};

pub const CRAWLS: u32 = 2;
pub const HOSTS: u32 = 40;
pub const ADDRESSES: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
pub const LOG: &str = "the log";
/// When what was saved is due again.
pub const DUE_MS: i64 = 1_000;

pub fn url(host: u32, page: u32) -> String {
    format!("http://h{host}.test/{page}")
}

pub fn host(number: u32) -> HostKey {
    HostKey::from_stored(format!("h{number}.test"))
}

pub fn is_leased(crawl: u32, host: u32) -> bool {
    crawl == 1 && host.is_multiple_of(5)
}

/// Of each host: page 0 is saved and waits for a visit, page 1 is saved, 2 is to be tried again, 3 to 5 wait.
pub fn fill(frontier: &mut Frontier) {
    for id in 1..=CRAWLS {
        let settings = crawl(&format!("crawl {id}"), &[&url(3, 3)]);
        frontier.put_crawl(&CrawlRecord { id, settings, ..CrawlRecord::default() }).unwrap();
        for number in 0..HOSTS {
            fill_host(frontier, CrawlId(id), number);
        }
        frontier.put_planning(CrawlId(id), b"planned").unwrap();
        frontier.count_excluded(CrawlId(id), "out of scope", "http://elsewhere.test/");
    }
    frontier.save_exclusions().unwrap();
    frontier.begin_epoch(7).unwrap();
    frontier.put_slots(b"slots").unwrap();
    frontier.put_block(&BlockRecord { pattern: "*.blocked.test".into(), ..BlockRecord::default() }).unwrap();
    let forgetting = ForgettingRecord { id: 3, host: "gone.test".into(), ..ForgettingRecord::default() };
    frontier.put_forgetting(&forgetting).unwrap();
    for address in ADDRESSES.map(|address| AddressKey::parse(address).unwrap()) {
        frontier.put_address(address, &AddressRecord { requests_since_pause: 5, rests_until_ms: 9 }).unwrap();
    }
}

fn fill_host(frontier: &mut Frontier, crawl: CrawlId, number: u32) {
    let host = host(number);
    let sequence = frontier.next_sequence(crawl);
    let pages: Vec<Candidate> = (0..6).map(|page| candidate(&url(number, page), page, sequence, page)).collect();
    frontier.admit(crawl, &pages, i64::from(number)).unwrap();
    for (page, position) in pages[..2].iter().zip(0..) {
        let outcome = Outcome { archive: Some(archived(number, position)), ..outcome(OutcomeKind::Saved) };
        let record = UrlRecord { next_visit_ms: DUE_MS, ..settled(page, outcome) };
        frontier.settle(crawl, &host, page.place, Settlement::Done(Box::new(record))).unwrap();
    }
    let retry = Settlement::Retry { due_ms: 5_000, outcome: outcome(OutcomeKind::Timeout) };
    frontier.settle(crawl, &host, pages[2].place, retry).unwrap();
    let visit = Revisit { saved: true, etag: "tag".into(), ..Revisit::default() };
    let sequence = frontier.next_sequence(crawl);
    let again = Candidate {
        place: Place::in_turn(Class::Revisit, sequence, number),
        entry: QueueEntry { revisit: Some(visit), ..pages[0].entry.clone() },
        ..pages[0].clone()
    };
    frontier.revisit(crawl, vec![again], 0).unwrap();
    frontier.requeue_host(crawl, &host, 50).unwrap();
    let record = HostRecord { host: host.as_str().to_owned(), ..HostRecord::default() };
    frontier.put_host(&record).unwrap();
    frontier.move_host(&record, &format!("192.0.2.{number}")).unwrap();
    let robots = Robots { origin: format!("http://{}", host.as_str()), ..Robots::default() };
    frontier.put_robots(&host, &robots).unwrap();
    if is_leased(crawl.0, number) {
        let token = frontier.next_token().unwrap();
        let lease = LeaseRecord { token, crawl: crawl.0, host: host.as_str().to_owned(), ..LeaseRecord::default() };
        frontier.grant(&lease, &HostRecord { lease_token: token, ..record }).unwrap();
    }
}

fn archived(host: u32, page: u32) -> ArchivePosition {
    let offset = u64::from(host * 10 + page);
    ArchivePosition { file: "a.warc.gz".into(), offset, length: 9, filesaver: LOG.into() }
}

/// The pages of both crawls that are saved; each names all pages of its host.
pub fn logged() -> Vec<LogEntry> {
    let hosts = (1..=CRAWLS).flat_map(|crawl| (0..HOSTS).map(move |host| (crawl, host)));
    let pages = hosts.flat_map(|(crawl, host)| (0..2).map(move |page| (crawl, host, page)));
    pages
        .map(|(crawl, host, page)| {
            let links = (0..6).map(|page| DescribedLink { url: url(host, page), ..DescribedLink::default() });
            let page = Description {
                url: url(host, page),
                crawl: format!("crawl {crawl}"),
                epoch: 1,
                token: 1,
                depth: page,
                status: 200,
                bytes: 10,
                generate: true,
                fingerprint: 7,
                archive: Some(archived(host, page)),
                links: links.collect(),
                ..Description::default()
            };
            LogEntry { entry: Some(Entry::Description(page)) }
        })
        .collect()
}
