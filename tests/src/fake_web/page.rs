//! Puts a page together: from its host and number to the bytes of its body.
//!
//! Every choice is drawn from seed, host and number, so the same page is the same bytes whenever it is asked for. It is
//! copied from ready pieces into the caller's buffer, so that serving costs a few microseconds. Its layout is in
//! `page/writer.rs`, its links in `graph.rs`.

mod writer;

use self::writer::Writer;
use super::config::FakeWebConfig;
use super::dice::Dice;
use super::filler::Filler;
use super::graph::{self, Link};
use super::text::{Lang, TextPool};

/// Everything from which pages are made.
#[derive(Debug)]
pub struct Pages {
    config: FakeWebConfig,
    pools: Vec<(TextPool, u32)>,
    filler: Filler,
}

/// Who asks for which page, and under which names the hosts are reached.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub host: usize,
    /// The host as the client named it, for absolute links to itself.
    pub authority: &'a str,
    /// The hosts as they are known, for links to others.
    pub authorities: &'a [String],
}

/// Buffers that a connection keeps from page to page.
#[derive(Debug, Default)]
pub struct Scratch {
    links: Vec<Link>,
}

impl Pages {
    pub fn new(config: FakeWebConfig) -> Self {
        let pools = config
            .langs
            .iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|&(lang, weight)| (TextPool::new(&config, lang), weight))
            .collect();
        Self { filler: Filler::new(config.seed), pools, config }
    }

    pub fn config(&self) -> &FakeWebConfig {
        &self.config
    }

    pub fn lang_of(&self, host: usize, page: u32) -> Lang {
        self.pool(host, page).lang
    }

    fn dice(&self, host: usize, page: u32) -> Dice {
        Dice::keyed(self.config.seed, host as u64, u64::from(page))
    }

    fn pool(&self, host: usize, page: u32) -> &TextPool {
        let total: u32 = self.pools.iter().map(|(_, weight)| weight).sum();
        let mut point =
            Dice::keyed(self.config.seed ^ 0x1a96, host as u64, u64::from(page)).below(total as usize) as u32;
        for (pool, weight) in &self.pools {
            if point < *weight {
                return pool;
            }
            point -= weight;
        }
        unreachable!("the point is below the sum of the weights")
    }

    /// What a page is called, in the language of the pool: its title without the number, and the text of links to it.
    fn name<'a>(&self, pool: &'a TextPool, host: usize, page: u32) -> &'a [u8] {
        let mut dice = Dice::keyed(self.config.seed ^ 0x0007_171e, host as u64, u64::from(page));
        pool.phrase(&mut dice)
    }

    /// Appends the body of page `page`.
    pub fn write_page(&self, place: Place<'_>, page: u32, scratch: &mut Scratch, out: &mut Vec<u8>) {
        graph::links_of(&self.config, place.host, page, &mut scratch.links);
        let mut dice = self.dice(place.host, page);
        let span = self.config.page_bytes.end() - self.config.page_bytes.start() + 1;
        let size = self.config.page_bytes.start() + dice.below(span);
        Writer::new(self, place, self.pool(place.host, page), out).page(page, size, &scratch.links, &mut dice);
    }

    /// Appends the body of `/`: it links to the first pages, the private section and the faults asked for.
    pub fn write_root(&self, place: Place<'_>, out: &mut Vec<u8>) {
        Writer::new(self, place, &self.pools[0].0, out).root();
    }

    /// Appends the body of a page under `/private/`.
    pub fn write_private(&self, page: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<!DOCTYPE html><html lang=\"en\"><head><title>Private ");
        push_number(out, page);
        out.extend_from_slice(b"</title></head><body><p>robots.txt asks not to read this: secretword");
        push_number(out, page);
        out.extend_from_slice(b".</p><p><a href=\"/private/");
        push_number(out, page.wrapping_add(1));
        out.extend_from_slice(b".html\">more</a></p></body></html>\n");
    }
}

/// Appends a number in decimal, without an allocation.
pub fn push_number(out: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0u8; 10];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}
