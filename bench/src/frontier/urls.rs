//! URLs as a crawl of many hosts meets them: the links of a page go to its own host for the most part. Deterministic.

use seine_common::url::CanonicalUrl;
use seine_monitor::frontier::Candidate;
use seine_monitor::place::Order;
use seine_monitor::record::QueueEntry;

/// Ten million URLs are spread over this many hosts; fewer over fewer.
const HOSTS: u64 = 100_000;
/// Of a page's links, so many stay on its host.
const ON_ITS_HOST: u64 = 80;

pub struct UrlSource {
    hosts: u64,
    next: u64,
    dice: u64,
}

impl UrlSource {
    pub fn new(urls: u64) -> Self {
        Self { hosts: (urls / 100).clamp(1, HOSTS), next: 0, dice: 0x9e37_79b9_7f4a_7c15 }
    }

    pub fn hosts(&self) -> u64 {
        self.hosts
    }

    /// New URLs that come together.
    pub fn batch(&mut self, count: u64) -> Vec<Candidate> {
        let home = self.roll() % self.hosts;
        (0..count).map(|number| self.candidate(home, number)).collect()
    }

    fn candidate(&mut self, home: u64, number: u64) -> Candidate {
        let host = if self.roll() % 100 < ON_ITS_HOST { home } else { self.roll() % self.hosts };
        let (serial, salt) = (self.next, self.roll() % 100_000);
        self.next += 1;
        let text = format!("https://www.host-{host}.example.org/section-{}/article-{salt}-{serial}.html", serial % 37);
        let url = CanonicalUrl::parse(&text).expect("it is a URL");
        let entry = QueueEntry {
            url: text,
            depth: 3,
            discovered_from: format!("https://www.host-{home}.example.org/section-1/"),
            ..QueueEntry::default()
        };
        Candidate { host: url.host(), url, place: Order::DepthFirst.place(3, serial / 100, number as u32), entry }
    }

    /// xorshift: fast, and the same every time.
    fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }
}
